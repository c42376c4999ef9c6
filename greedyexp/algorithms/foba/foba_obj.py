"""FoBa-obj: forward-backward greedy selection by the gain of each feature."""

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
    Ratio,
    StopRule,
    check,
)
from greedyexp.algorithms.foba._thresholds import gain_theory
from greedyexp.algorithms.pursuit._judged import Judged
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem


@algorithm(
    "foba_obj",
    title="FoBa-obj",
    paper="Liu, Fujimaki & Ye (2014), Algorithm 1",
    requires=needs,
    check=check,
    theory=gain_theory,
    theory_requires=("truth",),
    takes_sparse=True,
    stops=("delta", "max_features", "max_groups"),
)
def foba_obj(
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
    backward_ratio: Ratio = 0.5,
    stop: StopRule = "optimum",
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Forward-backward greedy selection that takes the feature with the largest gain.

    A forward step takes the feature j outside the support with the largest gain
    Q(b) - min_a Q(b + a e_j) and fits all coefficients of the support again; by how much Q fell is
    recorded for the new size k. Backward steps follow while the feature i with the least cost
    Q(b - b_i e_i) - Q(b), the others left as they are, costs less than ``backward_ratio`` times
    what is recorded for the present size: it is dropped and the rest is fitted again. Before a
    forward step the run ends when all gains are less than delta, or a limit is reached.

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
        With ``refit`` gains and costs are those after all coefficients are fitted again, for the
        squared loss only: what orthogonal least squares and its backward elimination go by.
    prune : bool
        Leave out features whose gain a bound shows not to be the largest: fewer one-dimensional
        problems, the same choices. With false all of them are solved in each step, as printed.
        The bounds are of the ``logistic`` loss; gains of the others are computed all the same.
    backward_ratio : float in (0, 1]
        The paper has 1/2.
    stop : {"optimum", "theorem"}
        Which delta tuning by theory prescribes; of no effect otherwise.
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
        When the loss does not take the data, or rounding undoes what backward steps gain.

    Notes
    -----
    Ties, the end of precision, fits without a certificate and termination are as in ``foba_gdt``.

    *Theory* prescribes delta = Q(b) - min Q(b + a e_j) over a and j outside the true support, at
    the minimiser b on it, as in the paper's experiments, and a millionth more: a run that comes to
    that support ends there. With ``stop: theorem`` it is 4 rho_+(1) / rho_-^2 times the square of
    max |grad_j Q(b)| (Theorem 1), rho_- measured on the union of the true support and that of the
    estimate, which is what bounds the errors of the estimate (Theorem 4).

    References
    ----------
    J. Liu, R. Fujimaki, J. Ye, Forward-backward greedy algorithms for general convex smooth
    functions over a cardinality constraint, 2014, Algorithm 1.
    """
    model = Model(loss, ridge, intercept)
    limits = Limits("delta", delta, max_features, max_groups)
    return greedy_path(
        problem,
        model,
        gain_rule(judge, prune),
        limits,
        ratio=backward_ratio,
        grid=grid,
        judge=judge,
    )
