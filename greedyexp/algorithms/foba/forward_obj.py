"""Forward-obj: forward greedy selection by the gain of each feature."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.foba._path import Limits, check, gain_theory, greedy_path
from greedyexp.algorithms.foba._rules import gain_rule
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem


@algorithm(
    "forward_obj",
    title="Forward-obj",
    paper="Liu, Fujimaki & Ye (2014), Algorithm 1 without backward steps",
    requires=param.needs,
    check=check,
    theory=gain_theory,
    theory_requires=("truth",),
    takes_sparse=True,
    stops=("delta", "max_features", "max_groups"),
)
def forward_obj(
    problem: Problem,
    *,
    loss: param.LossName = "squared",
    ridge: param.Ridge = 0.0,
    intercept: param.Intercept = False,
    delta: param.Delta = None,
    max_features: param.MaxFeatures = None,
    max_groups: param.MaxGroups = None,
    judge: param.Judged = "coordinate",
    prune: param.Prune = True,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Forward greedy selection that takes the feature with the largest gain.

    ``foba_obj`` without its backward steps: take the feature j outside the support with the largest
    gain Q(b) - min_a Q(b + a e_j) and refit all coefficients of the support, until all gains are
    less than delta or a limit is reached. With the squared loss it is ``omp``.

    Parameters
    ----------
    problem : Problem
        One task for ``squared`` and ``logistic``; chains of labelled words for ``crf``.
    loss, ridge, intercept, max_features, max_groups
        The loss and the limits, as in ``foba_gdt``.
    delta : float >= 0, optional
        Absolute, for the loss as a mean over samples.
    judge : {"coordinate", "refit"}
        With ``refit`` gains are those after a refit of all coefficients, for the squared loss only:
        orthogonal least squares.
    prune : bool
        Skip features whose gain, by a bound, cannot be the largest. This solves fewer
        one-dimensional problems and makes the same choices. With false, all of them are solved in
        each step, as printed. Only the ``logistic`` loss has such bounds.
    grid : dict with one array, optional
        ``max_features``, ``max_groups`` or ``delta``: return one estimate for each value, which
        replaces that limit; the other limits stay.

    Returns
    -------
    Path
        The answers for max_features = 0, 1, ... up to the end of the run, or for max_groups if that
        is given; the last is the answer for the limits as given. ``objective`` is Q. ``facts`` are
        the ``additions`` and ``removals`` so far. ``history`` has one entry for each step: the
        feature, Q after it, and the goodness of a feature that was taken or the cost of one that
        was dropped.

    Raises
    ------
    ConfigError
        If a limit is impossible for this problem, or the loss has no such option.
    DataError
        If the loss does not take the data.

    Notes
    -----
    Ties, the limit of precision and fits without a certificate are as in ``foba_gdt``, the
    threshold of theory as in ``foba_obj``.

    References
    ----------
    J. Liu, R. Fujimaki, J. Ye, Forward-backward greedy algorithms for general convex smooth
    functions over a cardinality constraint, 2014, section 5.
    """
    model = param.Model(loss, ridge, intercept)
    limits = Limits("delta", delta, max_features, max_groups)
    return greedy_path(
        problem, model, gain_rule(judge, prune), limits, ratio=0.0, grid=grid, judge=judge
    )
