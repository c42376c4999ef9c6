"""Greedy selection by the gain: FoBa-obj, and Forward-obj without its backward steps."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.foba._path import Limits, bound_loss, greedy_path, selection
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem
from greedyexp.solvers.greedy_rules import gain_rule


@selection(
    "foba_obj",
    title="FoBa-obj",
    paper="Liu, Fujimaki & Ye (2014), Algorithm 1",
    threshold="delta",
)
def foba_obj(
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
    backward_ratio: param.BackwardRatio = 0.5,
    visit: param.Visit = "last",
    beyond: param.Beyond = None,
    stop: param.StopRule = "optimum",
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Forward-backward greedy selection that takes the feature with the largest gain.

    A forward step takes the feature j outside the support with the largest gain
    Q(b) - min_a Q(b + a e_j) and refits all coefficients of the support. The decrease of Q is
    recorded for the new size k. Backward steps follow. Each drops the feature i of least cost
    Q(b - b_i e_i) - Q(b), the others left as they are, and refits the rest, while this cost is less
    than ``backward_ratio`` times the decrease recorded for the present size. The run ends before a
    forward step if all gains are less than delta, or if a limit is reached.

    Parameters
    ----------
    problem : Problem
        A problem with what the loss requires: one task, chains for ``crf``, or a covariance for
        ``logdet``.
    loss, ridge, intercept, max_features, max_groups
        The loss and the limits, as in ``foba_gdt``.
    delta : float >= 0, optional
        Absolute threshold, for the loss as a mean over samples.
    judge : {"coordinate", "refit"}
        With ``refit`` gains and costs are those after a refit of all coefficients, for the squared
        loss only, as in orthogonal least squares and its backward elimination.
    prune : bool
        Skip features whose gain, by a bound, cannot be the largest. This solves fewer
        one-dimensional problems and makes the same choices. With false, all of them are solved in
        each step, as published. Only the ``logistic`` loss has such bounds.
    backward_ratio : float in (0, 1]
        The paper uses 1/2.
    visit, beyond
        Which state is the estimate of a size, as in ``foba_gdt``.
    stop : {"optimum", "theorem"}
        The delta that tuning by theory prescribes; no effect otherwise.
    grid : dict with one array, optional
        ``max_features``, ``max_groups`` or ``delta``: return one estimate for each value, which
        replaces that limit; the other limits stay.

    Returns
    -------
    Path
        The answers for max_features = 0, 1, ... up to the end of the run, or for max_groups if that
        is given; the last is the answer for the limits as given. ``objective`` is Q. ``facts`` are
        the ``additions`` and ``removals`` so far. ``history`` has one entry for each step up to the
        last answer: the feature, Q after it, and the goodness of a feature that was added or the
        cost of one that was dropped.

    Raises
    ------
    ConfigError
        If a limit is impossible for this problem, or the loss has no such option.
    DataError
        If the loss does not accept the data, or rounding undoes the gains of backward steps.

    Notes
    -----
    Sizes, ties, the limit of precision, fits without a certificate and termination are as in
    ``foba_gdt``.

    *Theory* prescribes delta = Q(b) - min Q(b + a e_j) over a and j outside the true support, at
    the minimiser b on it, as in the paper's experiments, increased by a millionth: a run that
    reaches that support ends there. With ``stop: theorem`` it is 4 rho_+(1) / rho_-^2 times the
    square of max |grad_j Q(b)| (Theorem 1), with rho_- measured on the union of the true support
    and that of the estimate; this is enough to bound the errors of the estimate (Theorem 4).

    References
    ----------
    J. Liu, R. Fujimaki, J. Ye, Forward-backward greedy algorithms for general convex smooth
    functions over a cardinality constraint, 2014, Algorithm 1.
    """
    limits = Limits("delta", delta, max_features, max_groups)
    bound = bound_loss(problem, limits, loss=loss, ridge=ridge, intercept=intercept, judge=judge)
    return greedy_path(
        bound,
        gain_rule(judge, prune),
        limits,
        grid=grid,
        ratio=backward_ratio,
        visit=visit,
        beyond=beyond,
    )


@selection(
    "forward_obj",
    title="Forward-obj",
    paper="Liu, Fujimaki & Ye (2014), Algorithm 1 without backward steps",
    threshold="delta",
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
        A problem with what the loss requires: one task, chains for ``crf``, or a covariance for
        ``logdet``.
    loss, ridge, intercept, max_features, max_groups
        The loss and the limits, as in ``foba_gdt``.
    delta : float >= 0, optional
        Absolute threshold, for the loss as a mean over samples.
    judge : {"coordinate", "refit"}
        With ``refit`` gains are those after a refit of all coefficients, for the squared loss only:
        orthogonal least squares.
    prune : bool
        Skip features whose gain, by a bound, cannot be the largest. This solves fewer
        one-dimensional problems and makes the same choices. With false, all of them are solved in
        each step, as published. Only the ``logistic`` loss has such bounds.
    grid : dict with one array, optional
        ``max_features``, ``max_groups`` or ``delta``: return one estimate for each value, which
        replaces that limit; the other limits stay.

    Returns
    -------
    Path
        The answers for max_features = 0, 1, ... up to the end of the run, or for max_groups if that
        is given; the last is the answer for the limits as given. ``objective`` is Q. ``facts`` are
        the ``additions`` and ``removals`` so far. ``history`` has one entry for each step: the
        feature, Q after it, and the goodness of a feature that was added or the cost of one that
        was dropped.

    Raises
    ------
    ConfigError
        If a limit is impossible for this problem, or the loss has no such option.
    DataError
        If the loss does not accept the data.

    Notes
    -----
    Ties, the limit of precision and fits without a certificate are as in ``foba_gdt``, the
    threshold of theory as in ``foba_obj``.

    References
    ----------
    J. Liu, R. Fujimaki, J. Ye, Forward-backward greedy algorithms for general convex smooth
    functions over a cardinality constraint, 2014, section 5.
    """
    limits = Limits("delta", delta, max_features, max_groups)
    bound = bound_loss(problem, limits, loss=loss, ridge=ridge, intercept=intercept, judge=judge)
    return greedy_path(bound, gain_rule(judge, prune), limits, grid=grid)
