"""Forward-gdt: forward greedy selection by the gradient."""

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
    Unit,
    check,
)
from greedyexp.algorithms.foba._thresholds import gradient_theory
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem


@algorithm(
    "forward_gdt",
    title="Forward-gdt",
    paper="Liu, Fujimaki & Ye (2014), Algorithm 1 without backward steps",
    requires=needs,
    check=check,
    theory=gradient_theory,
    theory_requires=("truth",),
    takes_sparse=True,
    stops=("epsilon", "max_features", "max_groups"),
)
def forward_gdt(
    problem: Problem,
    *,
    loss: LossName = "squared",
    ridge: Ridge = 0.0,
    intercept: Intercept = False,
    epsilon: Epsilon = None,
    max_features: MaxFeatures = None,
    max_groups: MaxGroups = None,
    unit: Unit = "feature",
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Forward greedy selection that takes the feature with the largest derivative.

    ``foba_gdt`` without its backward steps: take the feature j outside the support with the largest
    |grad_j Q|, fit all coefficients of the support again, until max |grad_j Q| < epsilon or a limit
    is reached. With the squared loss it is ``omp`` with ``normalize`` false.

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
        With ``group`` a step takes the row with the largest l2 norm of its derivatives; sizes and
        epsilon are then of rows.
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
        When the loss does not take the data.

    Notes
    -----
    Ties, the end of precision, fits without a certificate and the threshold of theory are as in
    ``foba_gdt``.

    References
    ----------
    J. Liu, R. Fujimaki, J. Ye, Forward-backward greedy algorithms for general convex smooth
    functions over a cardinality constraint, 2014, section 5.
    """
    model = Model(loss, ridge, intercept)
    limits = Limits("epsilon", epsilon, max_features, max_groups)
    return greedy_path(problem, model, slope_rule(unit), limits, ratio=0.0, grid=grid, unit=unit)
