"""Forward-obj: forward greedy selection by the gain of each feature."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms._loss_settings import Intercept, LossName, Model, Ridge, needs
from greedyexp.algorithms.foba._paths import greedy_path
from greedyexp.algorithms.foba._rules import gain_rule
from greedyexp.algorithms.foba._settings import (
    Delta,
    Limits,
    MaxFeatures,
    MaxGroups,
    Prune,
    check,
)
from greedyexp.algorithms.foba._thresholds import gain_theory
from greedyexp.algorithms.pursuit._judged import Judged
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem


@algorithm(
    "forward_obj",
    title="Forward-obj",
    paper="Liu, Fujimaki & Ye (2014), Algorithm 1 without backward steps",
    requires=needs,
    check=check,
    theory=gain_theory,
    theory_requires=("truth",),
    takes_sparse=True,
    stops=("delta", "max_features", "max_groups"),
)
def forward_obj(
    problem: Problem,
    *,
    loss: LossName = "squared",
    ridge: Ridge = 0.0,
    intercept: Intercept = False,
    delta: Delta = None,
    max_features: MaxFeatures = None,
    max_groups: MaxGroups = None,
    judge: Judged = "coordinate",
    prune: Prune = True,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Forward greedy selection that takes the feature with the largest gain.

    ``foba_obj`` without its backward steps: take the feature j outside the support with the largest
    gain Q(b) - min_a Q(b + a e_j), fit all coefficients of the support again, until all gains are
    less than delta or a limit is reached. With the squared loss it is ``omp``.

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
    delta : float >= 0, optional
        Absolute, for the mean over samples.
    max_features : int >= 1, optional
        End with so many coefficients; by default half of the smaller of their number and that of
        samples if nothing else is given that ends the run.
    max_groups : int >= 1, optional
        End before a step that uses more rows of the matrix of coefficients than this. A feature of
        a chain (a sensor) has a coefficient for each class, and is in use when one of them is.
    judge : {"coordinate", "refit"}
        With ``refit`` gains are those after all coefficients are fitted again, for the squared loss
        only: orthogonal least squares.
    prune : bool
        Leave out features whose gain a bound shows not to be the largest: fewer one-dimensional
        problems, the same choices. With false all of them are solved in each step, as printed.
        The bounds are of the ``logistic`` loss; gains of the others are computed all the same.
    grid : dict with one array, optional
        ``max_features``, ``max_groups`` or ``delta``: return one estimate for each of its values,
        which then stand for that limit; the other limits stay.

    Returns
    -------
    Path
        The answers for max_features = 0, 1, ... up to where the run ends, or for max_groups when
        that is given; the last is the answer for the limits as given. ``objective`` is Q,
        ``facts`` are the ``additions`` and ``removals`` so far, ``history`` has one entry for each
        step with the feature, Q after it, and the goodness of a feature that was taken or the
        cost of one that was dropped.

    Raises
    ------
    ConfigError
        When a limit is impossible for this problem, or the loss has no such option.
    DataError
        When the loss does not take the data.

    Notes
    -----
    Ties, the end of precision and fits without a certificate are as in ``foba_gdt``, the threshold
    of theory as in ``foba_obj``.

    References
    ----------
    J. Liu, R. Fujimaki, J. Ye, Forward-backward greedy algorithms for general convex smooth
    functions over a cardinality constraint, 2014, section 5.
    """
    model = Model(loss, ridge, intercept)
    limits = Limits("delta", delta, max_features, max_groups)
    return greedy_path(
        problem, model, gain_rule(judge, prune), limits, ratio=0.0, grid=grid, judge=judge
    )
