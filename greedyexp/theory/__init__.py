"""Closed forms: constants, bounds and thresholds with their equation numbers.

theorems: registry of theorems on accuracy and sparsity, and the bounds that they return.
sparsity_bounds: Theorems 1 to 5 on sparse predictors, constants of the risk.
sparsity_smoothing: theorems on Lipschitz losses, which are smoothed.
spread_label, sign_sums: features needed if the label is spread over all of them.
convergence_rates: proved and predicted rates of iterative methods on least squares.
constants: certified constants of least squares, and optima.
l1_curvature, max_cut, semidefinite: curvature in the l1 norm, exact and by relaxation.
spectrum: singular values with a proved error, and the numerical rank.
noise: penalties and thresholds above the noise in the gradient.
forward_backward: thresholds and error bounds of forward-backward selection.
transitions: predicted phase transitions.
donoho_tanner: the phase transition of l1 minimisation.
"""
