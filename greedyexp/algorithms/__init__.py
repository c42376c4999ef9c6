"""Algorithms along a tuning path, named as in the papers; each registered part is one function.

constants         constants of a design
dirty             single entries plus whole rows
foba              forward and forward-backward greedy selection
lasso             penalised least squares and other losses
matching_pursuit  matching pursuit and related descent methods, studied iterate by iterate
peers             methods of other packages
pursuit           orthogonal matching pursuit
sparsity          algorithms that trade accuracy for sparsity
_parameters       parameters that several algorithms share, and their checks
_equal_columns    pairs of equal columns, for ties
"""
