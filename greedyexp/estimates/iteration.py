"""Iterative methods that advance on request."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from greedyexp.core.errors import PluginError


class Iteration(ABC):
    """An iterative method on G(a) = ||P a - y||^2 / (2 n) + lam ||a||_1, paused between two steps.

    No history is stored; memory does not grow with the number of iterations. The caller may
    stop at any iteration to record it; stops do not change the iterates.

    Attributes
    ----------
    lam : float >= 0
        Weight of the l1 norm.
    iteration : int >= 0
        Number of steps so far.
    coef : array (p,)
        The current estimate, with exact zeros.
    last_outside : int
        See ``watch``.
    trouble : str
        Reason why the iterates are no longer reliable; empty if they are.
    """

    lam: float = 0.0
    iteration: int = 0
    last_outside: int = -1
    trouble: str = ""
    _outside: np.ndarray | None = None

    @property
    @abstractmethod
    def coef(self) -> np.ndarray:
        """The current estimate, a new array (p,)."""

    @property
    @abstractmethod
    def objective(self) -> float:
        """G at the current estimate, from a fresh residual."""

    @abstractmethod
    def advance(self, until: int, target: float = -np.inf) -> None:
        """Step until ``iteration == until`` or to the first iterate with objective <= target.

        Make no step if one of these conditions already holds.

        Parameters
        ----------
        until : int
        target : float
            Objective at which to stop. By default, there is no target.
        """

    def watch(self, inside: np.ndarray) -> None:
        """Start to record when the estimate has a nonzero coefficient outside a set.

        From now on, ``last_outside`` is the last iteration whose estimate has such a coefficient,
        including the current iteration. It is -1 if there has been none since the call.

        Parameters
        ----------
        inside : bool array (p,)
        """
        self._outside = np.flatnonzero(~np.asarray(inside, dtype=bool))
        self.last_outside = -1
        self._note()

    def _note(self) -> None:
        """Update ``last_outside``; ``advance`` must call this after every step."""
        if self._outside is not None and self.coef[self._outside].any():
            self.last_outside = self.iteration


class SteppedIteration(Iteration):
    """Base class of iterative methods written in Python; subclasses define ``step``.

    A function that returns an instance is registered as an algorithm::

        class Descent(SteppedIteration):
            def step(self, coef):
                slope = self.design.T @ (self.design @ coef - self.response)
                return coef - slope / (self.design**2).sum()

        @algorithm("slow_descent", yields="iterates")
        def slow_descent(problem):
            return Descent(problem.X[0], problem.y[0])

    Parameters
    ----------
    design : array (n, p)
        P.
    response : array (n,)
        y.
    lam : float >= 0
    start : array (p,), optional
        First estimate; zero by default.

    Raises
    ------
    PluginError
        If a member is used although a subclass defines ``__init__`` without calling this one, or if
        ``step`` does not return an array (p,).
    """

    def __init__(self, design, response, lam: float = 0.0, start=None):
        self.design, self.response, self.lam = design, response, float(lam)
        self._coef = np.zeros(design.shape[1]) if start is None else np.array(start, dtype=float)

    @abstractmethod
    def step(self, coef: np.ndarray) -> np.ndarray:
        """Return the estimate (p,) after ``coef``, which is a copy and may be modified."""

    @property
    def coef(self) -> np.ndarray:
        return self._present.copy()

    @property
    def objective(self) -> float:
        coef = self._present
        return objective(self.design, self.response, coef, self.lam)

    def advance(self, until: int, target: float = -np.inf) -> None:
        while self.iteration < until and not self.objective <= target:
            self._coef = self._stepped()
            self.iteration += 1
            self._note()

    @property
    def _present(self) -> np.ndarray:
        if "_coef" not in vars(self):
            raise PluginError(
                f"{type(self).__name__}.__init__ does not call super().__init__(design, response)."
            )
        return self._coef

    def _stepped(self) -> np.ndarray:
        after = self.step(self.coef)
        if isinstance(after, np.ndarray) and after.shape == self._coef.shape:
            return after
        found = f"shape {after.shape}" if isinstance(after, np.ndarray) else type(after).__name__
        raise PluginError(
            f"{type(self).__name__}.step must return an array of shape {self._coef.shape},"
            f" but returned {found}."
        )


def objective(design: np.ndarray, response: np.ndarray, coef: np.ndarray, lam: float) -> float:
    """Return ||P a - y||^2 / (2 n) + lam ||a||_1.

    Parameters
    ----------
    design : array (n, p)
    response : array (n,)
    coef : array (p,)
    lam : float
    """
    residual = design @ coef - response
    return float(residual @ residual / (2 * len(response)) + lam * np.abs(coef).sum())
