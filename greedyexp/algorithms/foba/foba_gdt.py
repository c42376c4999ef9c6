"""FoBa-gdt: forward-backward greedy selection by the gradient."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms._loss_settings import Intercept, LossName, Model, Ridge, needs
from greedyexp.algorithms.foba._paths import greedy_path
from greedyexp.algorithms.foba._rules import slope_rule
from greedyexp.algorithms.foba._settings import (
    Epsilon,
    Limits,
    MaxFeatures,
    MaxGroups,
    Ratio,
    StopRule,
    Unit,
    check,
)
from greedyexp.algorithms.foba._thresholds import gradient_theory
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem


@algorithm(
    "foba_gdt",
    title="FoBa-gdt",
    paper="Liu, Fujimaki & Ye (2014), Algorithm 1",
    requires=needs,
    check=check,
    theory=gradient_theory,
    theory_requires=("truth",),
    takes_sparse=True,
    stops=("epsilon", "max_features", "max_groups"),
)
def foba_gdt(
    problem: Problem,
    *,
    loss: LossName = "squared",
    ridge: Ridge = 0.0,
    intercept: Intercept = False,
    epsilon: Epsilon = None,
    max_features: MaxFeatures = None,
    max_groups: MaxGroups = None,
    unit: Unit = "feature",
    backward_ratio: Ratio = 0.5,
    stop: StopRule = "optimum",
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Forward-backward greedy selection that takes the feature with the largest derivative.

    A forward step takes the feature j outside the support with the largest |grad_j Q| and fits all
    coefficients of the support again; by how much Q fell is recorded for the new size k. Backward
    steps follow while the feature i with the least cost Q(b - b_i e_i) - Q(b), the others left as
    they are, costs less than ``backward_ratio`` times what is recorded for the present size: it is
    dropped and the rest is fitted again. Before a forward step the run ends when
    max |grad_j Q| < epsilon, or a limit is reached.

    Parameters
    ----------
    problem : Problem
        One task for ``squared`` and ``logistic``; chains of labelled words for ``crf``.
    loss : {"squared", "logistic", "crf"}
        ||y - X b||^2 / (2 n), the mean of log(1 + exp(-y_i x_i b)), or the negative
        log-likelihood of a linear chain by word.
    ridge : float >= 0
        ridge / 2 ||b||^2 is added; it spares the intercept, but nothing of ``crf``.
    intercept : bool
        Never selected or dropped, fitted each time; not for ``crf``, whose transitions are that.
    epsilon : float >= 0, optional
        Absolute, for the mean over samples.
    max_features : int >= 1, optional
        End with so many coefficients; by default half of the smaller of their number and that of
        samples if nothing else is given that ends the run.
    max_groups : int >= 1, optional
        End before a step that uses more rows of the matrix of coefficients than this. A feature of
        a chain (a sensor) has a coefficient for each class, and is in use when one of them is.
    unit : {"feature", "group"}
        With ``group`` a step takes the row with the largest l2 norm of its derivatives, and drops
        one at the cost of setting it to zero; sizes and epsilon are then of rows.
    backward_ratio : float in (0, 1]
        The paper has 1/2.
    stop : {"optimum", "theorem"}
        Which epsilon tuning by theory prescribes; of no effect otherwise.
    grid : dict with one array, optional
        ``max_features``, ``max_groups`` or ``epsilon``: return one estimate for each of its values,
        which then stand for that limit; the other limits stay.

    Returns
    -------
    Path
        The answers for max_features = 0, 1, ... up to where the run ends, or for max_groups when
        that is given or unit is ``group``; the last is the answer for the limits as given.
        ``objective`` is Q, ``facts`` are the ``additions`` and ``removals`` so far, ``history`` has
        one entry for each step with the feature, Q after it, and the goodness of a feature that
        was taken or the cost of one that was dropped.

    Raises
    ------
    ConfigError
        When a limit is impossible for this problem, or the loss has no such option.
    DataError
        When the loss does not take the data, or rounding undoes what backward steps gain.

    Notes
    -----
    *Ties*, equality to a relative 1e-10: the lowest feature.

    *The end of precision.* Nothing is left to gain from a feature whose derivative is at most 1e-9
    of the lesser of the largest one at the fit without features and of what its own can be there,
    sqrt(2 L_j Q) with L_j the largest curvature along j; nor where the gain that its derivative
    promises, g_j^2 / (2 L_j), is at most 1e-14 of Q. Once the derivative of the best feature is at
    most 1e-6 of the largest one at that fit, such features are passed over, so that small columns
    are not lost beside large ones. When none is left, or a step lowers Q by no more than
    1e-14 of it, the run ends at the state before, and says so.

    *Fits without a certificate* (classes that are separable and no ridge) end the path at the last
    state that has one; answers for limits beyond are that state, not converged.

    *Termination.* When a backward step brings the run back to a size, Q is below what it was when
    the run last went up from there, since what is dropped costs less than that step gained. So runs
    end, although a support may come back. A return at no less Q, by rounding, is an error.

    *The listing* numbers states by k and changes k before it uses it; the text, followed here,
    compares with the decrease recorded when the present size was last reached from below.

    *Theory* prescribes epsilon = ||grad Q(b)||_inf at the minimiser b on the true support, as in
    the paper's experiments, and a millionth more: a run that comes to that support ends there. With
    ``stop: theorem`` it is 2 sqrt(2) rho_+(1) / rho_- times that (Theorem 2), rho_- measured on the
    union of the true support and that of the estimate, which is what bounds the errors of the
    estimate (Theorem 5).

    References
    ----------
    J. Liu, R. Fujimaki, J. Ye, Forward-backward greedy algorithms for general convex smooth
    functions over a cardinality constraint, 2014, Algorithm 1.
    """
    model = Model(loss, ridge, intercept)
    limits = Limits("epsilon", epsilon, max_features, max_groups)
    return greedy_path(
        problem, model, slope_rule(unit), limits, ratio=backward_ratio, grid=grid, unit=unit
    )
