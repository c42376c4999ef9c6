"""The minimiser of a risk over an l1 ball."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms._limits import enforce
from greedyexp.algorithms._risk_settings import (
    Radius,
    Ridge,
    Risk,
    RiskLoss,
    RiskModel,
    needs_of_ball,
    radius_of,
)
from greedyexp.algorithms.sparsity._unsmoothed_risk import (
    BoundRisk,
    OptionalBeta,
    check_risk,
)
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem


@algorithm(
    "l1_ball",
    title="L1 ball",
    paper="Shalev-Shwartz, Srebro & Zhang (2009), equation 4",
    requires=needs_of_ball,
    check=check_risk,
    takes_sparse=True,
    takes_population=True,
)
def l1_ball(
    problem: Problem,
    *,
    loss: RiskLoss = "squared",
    beta: OptionalBeta = None,
    ridge: Ridge = 0.0,
    risk: Risk = "sample",
    radius: Radius = None,
) -> Path:
    """Minimise R(w) over ||w||_1 <= B1, to the rounding of derivatives.

    Parameters
    ----------
    problem : Problem
        One task; with ``risk: population`` one with moments.
    loss : {"squared", "logistic", "absolute", "hinge"}
        R(w) = E[L(<x, w>, y)] + ridge / 2 ||w||^2 with L of (a, y) = (a - y)^2 / 2,
        log(1 + exp(-y a)), |a - y| or max(0, 1 - y a).
    beta : float > 0, optional
        Smooth ``absolute`` or ``hinge`` to this; without it they are minimised as they are.
    ridge : float >= 0
    risk : {"sample", "population"}
        Whether E is the mean over the rows, or exact by moments (squared loss only).
    radius : float > 0, optional
        B1; by default the l1 norm of the true coefficients.

    Returns
    -------
    Path
        One estimate. ``objective`` is R; ``facts`` are the ``gap``, at least R(w) - min R, the
        ``radius`` and, of a loss with kinks, ``risk``, which is R too.

    Raises
    ------
    ConfigError
        When parameters are impossible together or for this problem.
    DataError
        When the loss does not take the data.

    Notes
    -----
    *The certificate* of a smooth risk is the least of <grad R(w), w> + B1 ||grad R(w)||_inf, R(w)
    and, where these are too large, ||grad R(w)||^2 / (2 mu) with mu its strong convexity; of one
    with kinks R(w) less a value of its dual, or less zero. The estimate is converged when it is at
    most 1e-11 R(0), 1e-10 R(0) with kinks; where coefficients or curvatures are large, rounding of
    a smooth risk is allowed for, up to 1e-9 R(0). Of several minimisers any is given.

    References
    ----------
    S. Shalev-Shwartz, N. Srebro, T. Zhang, Trading accuracy for sparsity, TTIC-TR-2009-3,
    equation 4 and Lemma 5.
    """
    enforce(check_risk, problem, loss=loss, beta=beta, risk=risk)
    bound = BoundRisk.of(RiskModel(loss, beta, ridge, risk), problem)
    size = radius_of(problem, radius, "algorithm 'l1_ball'")
    found = bound.minimise_over_ball(size)
    objective = np.array([found.value])
    return Path(
        coef=found.params[None, :, None],
        grid={},
        objective=objective,
        converged=np.array([found.converged]),
        message=found.message,
        loss=bound.loss,
        facts={"gap": np.array([found.gap]), "radius": np.array([size]), **bound.facts(objective)},
    )
