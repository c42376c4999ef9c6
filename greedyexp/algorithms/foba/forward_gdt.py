"""Forward-gdt: forward greedy selection by the gradient."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.foba._path import Limits, check, gradient_theory, greedy_path
from greedyexp.algorithms.foba._rules import slope_rule
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem


@algorithm(
    "forward_gdt",
    title="Forward-gdt",
    paper="Liu, Fujimaki & Ye (2014), Algorithm 1 without backward steps",
    requires=param.needs,
    check=check,
    theory=gradient_theory,
    theory_requires=("truth",),
    takes_sparse=True,
    stops=("epsilon", "max_features", "max_groups"),
)
def forward_gdt(
    problem: Problem,
    *,
    loss: param.LossName = "squared",
    ridge: param.Ridge = 0.0,
    intercept: param.Intercept = False,
    epsilon: param.Epsilon = None,
    max_features: param.MaxFeatures = None,
    max_groups: param.MaxGroups = None,
    unit: param.Unit = "feature",
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Forward greedy selection that takes the feature with the largest derivative.

    ``foba_gdt`` without its backward steps: take the feature j outside the support with the largest
    |grad_j Q| and refit all coefficients of the support, until max |grad_j Q| < epsilon or a limit
    is reached. With the squared loss it is ``omp`` with ``normalize`` false.

    Parameters
    ----------
    problem : Problem
        One task for ``squared`` and ``logistic``; chains of labelled words for ``crf``.
    loss, ridge, intercept, max_features, max_groups
        The loss and the limits, as in ``foba_gdt``.
    epsilon : float >= 0, optional
        Absolute, for the loss as a mean over samples.
    unit : {"feature", "group"}
        With ``group`` a step takes the row with the largest l2 norm of its derivatives; sizes and
        epsilon then refer to rows.
    grid : dict with one array, optional
        ``max_features``, ``max_groups`` or ``epsilon``: return one estimate for each value, which
        replaces that limit; the other limits stay.

    Returns
    -------
    Path
        The answers for max_features = 0, 1, ... up to the end of the run, or for max_groups if that
        is given or unit is ``group``; the last is the answer for the limits as given.
        ``objective`` is Q. ``facts`` are the ``additions`` and ``removals`` so far. ``history`` has
        one entry for each step: the feature, Q after it, and the goodness of a feature that was
        taken or the cost of one that was dropped.

    Raises
    ------
    ConfigError
        If a limit is impossible for this problem, or the loss has no such option.
    DataError
        If the loss does not take the data.

    Notes
    -----
    Ties, the limit of precision, fits without a certificate and the threshold of theory are as in
    ``foba_gdt``.

    References
    ----------
    J. Liu, R. Fujimaki, J. Ye, Forward-backward greedy algorithms for general convex smooth
    functions over a cardinality constraint, 2014, section 5.
    """
    model = param.Model(loss, ridge, intercept)
    limits = Limits("epsilon", epsilon, max_features, max_groups)
    return greedy_path(problem, model, slope_rule(unit), limits, ratio=0.0, grid=grid, unit=unit)
