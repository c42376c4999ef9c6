"""Forward greedy steps over an l1 ball.

A step moves the estimate w to (1 - eta) w + eta s B e_j, where j is the coordinate with the largest
derivative, s the opposite of its sign and B the radius. Columns that are equal or opposite have
derivatives of equal size to the last digit if the entries of a quadratic risk are equal; then the
lowest one moves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from greedyexp.kernels import native


class Run:
    """A run from zero, paused between two steps; made by ``on_quadratic`` or ``on_losses``."""

    def __init__(self, state: Any):
        self._state = state

    def advance(self, until: int, target: float) -> None:
        """Make steps up to number ``until``, or until the gap is at most ``target`` if that is > 0.

        The run ends when the gap is a rounding error or a step would not change any digit. The
        steps of a run do not depend on where earlier calls stopped.
        """
        self._state.advance(until, target)

    def fresh_gap(self) -> float:
        """Return <theta, w> + B max |theta| with the gradient theta computed from w alone."""
        return self._state.fresh_gap()

    @property
    def coef(self) -> np.ndarray:
        """The current estimate w, (d,), with exact zeros; it changes with further steps."""
        return self._state.coef

    @property
    def grad(self) -> np.ndarray:
        """The gradient at w, (d,), as updated by the steps."""
        return self._state.grad

    @property
    def gap(self) -> float:
        """The duality gap at the end of the last call of ``advance``, from ``grad``."""
        return self._state.gap

    @property
    def doubt(self) -> float:
        """A bound on the rounding error of ``gap``."""
        return self._state.doubt

    @property
    def steps(self) -> int:
        """Number of steps made."""
        return self._state.steps

    @property
    def ended(self) -> bool:
        """True if the run has ended."""
        return self._state.ended


def on_quadratic(
    rows: Any,
    scale: np.ndarray,
    bump: np.ndarray,
    cross: np.ndarray,
    radius: float,
    smoothness: float,
    exact: bool,
) -> Run:
    """Return a run on w^T H w / 2 - c^T w + constant, where a step costs d.

    Column j of H is ``scale[j] * rows[j] + bump[j] e_j``, or ``scale[j] * rows[0] + bump[j] e_j``
    if there is a single row. Arrays are not copied if they are float64 in C order.

    Parameters
    ----------
    rows : array (d, d) or (1, d)
        Or an object of ``kernels.gram_rows``, for rows that are computed when needed.
    scale, bump : arrays (d,)
    cross : array (d,)
        c.
    radius : float > 0
        B.
    smoothness : float
        Smoothness of the risk with respect to the l1 norm.
    exact : bool
        Whether steps end at the minimum along their direction.
    """
    if isinstance(rows, np.ndarray):
        rows = np.ascontiguousarray(rows, dtype=float)
    arrays = (np.ascontiguousarray(array, dtype=float) for array in (scale, bump, cross))
    return Run(native.frank_wolfe.QuadraticRun(rows, *arrays, radius, smoothness, exact))


def on_losses(
    atoms: np.ndarray,
    response: np.ndarray,
    kind: int,
    beta: float,
    ridge: float,
    radius: float,
    smoothness: float,
    exact: bool,
) -> Run:
    """Return a run on mean_i L(<x_i, w>, y_i) + ridge / 2 ||w||^2, where a step costs n d.

    Arrays are not copied if they are float64 in C order.

    Parameters
    ----------
    atoms : array (d, n)
        Columns of the design.
    response : array (n,)
    kind : int
        The loss, see ``scalar_losses``.
    beta : float
        Of the loss.
    ridge : float
    radius, smoothness, exact
        See ``on_quadratic``.
    """
    arrays = (np.ascontiguousarray(array, dtype=float) for array in (atoms, response))
    return Run(
        native.frank_wolfe.MeanLossRun(*arrays, kind, beta, ridge, radius, smoothness, exact)
    )
