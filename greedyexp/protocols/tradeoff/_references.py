"""Predictors that estimates are compared with, on the risk that was minimised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from greedyexp.algorithms._risk_settings import radius_of
from greedyexp.core.errors import DataError
from greedyexp.losses.loss import Loss
from greedyexp.problems.problem import Problem
from greedyexp.solvers.l1_ball import minimise_over_ball, minimise_unsmoothed_over_ball
from greedyexp.theory.theorems import Reference


@dataclass(frozen=True)
class Compared:
    """A reference and whether it can be relied on.

    Parameters
    ----------
    reference : Reference
    trouble : str
        Why it cannot, a sentence without its end; empty when all is well.
    """

    reference: Reference
    trouble: str = ""


def compared(
    names: Sequence[str],
    problem: Problem,
    loss: Loss,
    params: dict,
    radius: float | None,
    *,
    original: bool,
) -> list[Compared]:
    """The predictors of these names.

    Parameters
    ----------
    names : sequence of {"l1_ball", "truth", "support"}
    problem : Problem
        One task.
    loss : Loss
        What the algorithm minimised.
    params : dict
        Of the algorithm: its ``radius``, if it has one, is that of the ball where none is given.
    radius : float, optional
        The l1 norm allowed; that of the truth where neither is given.
    original : bool
        Whether ``l1_ball`` minimises the loss before it was smoothed.

    Raises
    ------
    ConfigError, DataError
        When the data do not tell what a reference is made from.
    """
    found = []
    for name in names:
        if name == "l1_ball":
            known = params.get("radius") if radius is None else radius
            found.append(_ball(loss, radius_of(problem, known, "protocol 'tradeoff'"), original))
        elif name == "truth":
            found.append(_at(name, loss, _truth(problem, name)))
        else:
            fitted = loss.minimise(np.flatnonzero(_truth(problem, name)).tolist())
            told = f": {fitted.message}" if fitted.message else ""
            lack = "" if fitted.converged else f"the fit to the true support has no proof{told}"
            found.append(_at(name, loss, fitted.params, trouble=lack))
    return found


def _truth(problem: Problem, name: str) -> np.ndarray:
    if problem.truth is None:
        raise DataError(
            f"reference '{name}' needs the true coefficients, which the data do not tell.",
            remedy="Compare with l1_ball.",
        )
    return problem.truth[:, 0]


def _at(
    name: str, loss: Loss, params: np.ndarray, *, gap: float = 0.0, trouble: str = ""
) -> Compared:
    known = Reference(name, params, loss.value(params), gap, loss.unsmoothed(params))
    return Compared(known, trouble)


def _ball(loss: Loss, radius: float, original: bool) -> Compared:
    best = (
        minimise_unsmoothed_over_ball(loss, radius)
        if original
        else minimise_over_ball(loss, radius)
    )
    told = f": {best.message}" if best.message else ""
    trouble = "" if best.converged else f"the minimiser over the l1 ball has no proof{told}"
    return _at("l1_ball", loss, best.params, gap=best.gap, trouble=trouble)
