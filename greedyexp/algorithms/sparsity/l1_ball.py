"""The minimiser of a risk over an l1 ball."""

from __future__ import annotations

import numpy as np

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.sparsity._risk import (
    BoundRisk,
    check_unsmoothed,
    needs_of_ball,
)
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem
from greedyexp.problems.radius import radius_of


@algorithm(
    "l1_ball",
    title="L1 ball",
    paper="Shalev-Shwartz, Srebro & Zhang (2009), equation 4",
    requires=needs_of_ball,
    check=check_unsmoothed,
    takes_sparse=True,
    takes_population=True,
)
def l1_ball(
    problem: Problem,
    *,
    loss: param.BallLoss = "squared",
    beta: param.OptionalBeta = None,
    ridge: param.Ridge = 0.0,
    risk: param.Risk = "sample",
    radius: param.Radius = None,
) -> Path:
    """Minimise R(w) over ||w||_1 <= B1, up to rounding of the derivatives.

    Parameters
    ----------
    problem : Problem
        A problem with one task; for ``risk: population`` its moments must be known.
    loss : str
        Name of a loss that has a kernel (``greedyexp list losses``).
        R(w) = E[L(<x, w>, y)] + ridge / 2 ||w||^2 with L of (a, y) = (a - y)^2 / 2,
        log(1 + exp(-y a)), |a - y| or max(0, 1 - y a).
    beta : float > 0, optional
        Smoothness of the smoothed ``absolute`` or ``hinge`` loss; without it they are not smoothed.
    ridge : float >= 0
    risk : {"sample", "population"}
        Whether E is the mean over the rows, or exact by moments (squared loss only).
    radius : float > 0, optional
        B1; by default the l1 norm of the true coefficients.

    Returns
    -------
    Path
        One estimate. ``objective`` is R; ``facts`` are the ``gap``, at least R(w) - min R, the
        ``radius`` and, for a loss with kinks, ``risk``, which equals R.

    Raises
    ------
    ConfigError
        If parameters are impossible together or for this problem.
    DataError
        If the loss does not accept the data.

    Notes
    -----
    *The certificate* of a smooth risk is the least of <grad R(w), w> + B1 ||grad R(w)||_inf, R(w)
    and, if these are too large, ||grad R(w)||^2 / (2 mu) with mu its strong convexity. For a risk
    with kinks it is R(w) minus a lower bound: a value of the dual, or zero. The estimate is
    converged if the certificate is at most 1e-11 R(0), or 1e-10 R(0) with kinks. For large
    coefficients or curvatures, rounding of a smooth risk is tolerated, up to 1e-9 R(0). If there
    are several minimisers, any of them is returned.

    References
    ----------
    S. Shalev-Shwartz, N. Srebro, T. Zhang, Trading accuracy for sparsity, TTIC-TR-2009-3,
    equation 4 and Lemma 5.
    """
    param.enforce(check_unsmoothed, problem, loss=loss, beta=beta, risk=risk)
    bound = BoundRisk.of(problem, loss, beta=beta, ridge=ridge, risk=risk)
    size = radius_of(problem, radius, "algorithm 'l1_ball'")
    found = bound.minimise_over_ball(size)
    objective = np.array([found.value])
    return Path(
        found.params[None, :, None],
        grid={},
        objective=objective,
        converged=np.array([found.converged]),
        message=found.message,
        loss=bound.loss,
        facts={"gap": np.array([found.gap]), "radius": np.array([size]), **bound.facts(objective)},
    )
