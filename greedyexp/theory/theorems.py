"""Theorems on accuracy and sparsity: their registry, and the bounds that they give.

A theorem is a function that returns a ``RiskBound``. The decorator ``theorem`` registers it, in a
module of this package or in a plugin.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from greedyexp import theory
from greedyexp.core.parts import Algorithm

# Value of the column ``theorem`` in rows to which no theorem applies.
NO_THEOREM = "none"
# A number of steps is rounded down if it exceeds an integer by at most this relative amount.
WHOLE = 1e-12


@dataclass(frozen=True)
class Theorem:
    """A registered theorem.

    Parameters
    ----------
    name : str
        A short name, such as ``T2``; each reading of a theorem has a name of its own.
    title : str
        The text in figures and tables.
    bound : callable
        The function that returns its ``RiskBound``.
    order : float
        Position in legends and tables.
    holds : {"always", "in_expectation"}
        In expectation, the excess bound holds for the mean over runs and the number of steps with
        probability 1/2.
    """

    name: str
    title: str
    bound: Callable[..., RiskBound]
    order: float
    holds: Literal["always", "in_expectation"]


_REGISTERED: dict[str, Theorem] = {}


def theorem(
    name: str,
    title: str,
    *,
    order: float = math.inf,
    holds: Literal["always", "in_expectation"] = "always",
):
    """Register a function that returns a ``RiskBound`` as a theorem; see ``Theorem``.

    Raises
    ------
    ValueError
        If the package already has a theorem of this name.
    """

    def decorate(bound: Callable[..., RiskBound]) -> Callable[..., RiskBound]:
        known = _REGISTERED.get(name)
        source = known.bound.__module__ if known else bound.__module__
        if source != bound.__module__ and source.startswith("greedyexp."):
            raise ValueError(f"theorem '{name}' is already part of greedyexp; use another name.")
        _REGISTERED[name] = Theorem(name, title, bound, order, holds)
        return bound

    return decorate


def theorems() -> dict[str, Theorem]:
    """Return all registered theorems by name, in the order in which they are shown."""
    for module in pkgutil.iter_modules(theory.__path__):
        importlib.import_module(f"{theory.__name__}.{module.name}")
    return dict(sorted(_REGISTERED.items(), key=lambda item: item[1].order))


def known_theorems(algorithms: Iterable[Algorithm]) -> dict[str, Theorem] | None:
    """Return all theorems by name; None if a plugin may have theorems that it does not register.

    Parameters
    ----------
    algorithms : iterable of Algorithm
        All algorithms. Their modules have been imported, so their theorems are registered.
    """
    if any(part.theorems is not None and not part.shipped for part in algorithms):
        return None
    return theorems()


@dataclass(frozen=True)
class Reference:
    """A predictor wbar that estimates are compared with.

    Parameters
    ----------
    name : {"l1_ball", "truth", "support"}
        The minimiser of the risk over an l1 ball, the true coefficients, or the minimiser on their
        support.
    params : array (d,)
    value : float
        R(wbar).
    gap : float
        Upper bound on R(wbar) minus the minimum that defines wbar; 0 for the truth.
    original : float
        The risk at wbar with the loss before smoothing; ``value`` if the loss is smooth.
    """

    name: str
    params: np.ndarray
    value: float
    gap: float
    original: float

    @property
    def l1_norm(self) -> float:
        """||wbar||_1."""
        return float(np.abs(self.params).sum())

    @property
    def n_features(self) -> int:
        """||wbar||_0."""
        return int(np.count_nonzero(self.params))


@dataclass(frozen=True)
class RiskBound:
    """An upper bound on the excess risk R(w_k) - R(wbar) after k steps, and on the steps needed.

    Parameters
    ----------
    theorem : str
        Name of the theorem.
    constants : mapping of str to float
        The constants in the bound: beta, lam, l1_norm, n_features, ...
    excess : callable
        From k, an array of int >= 0, to the bound; infinite where there is none.
    steps : callable
        From epsilon, an array of float > 0, to the least number of steps (whole, as a float) after
        which the excess is at most epsilon; infinite where there is none.
    original : bool
        True if the bound is on the excess of the loss before smoothing.
    unmet : str
        The condition that fails if the bound is infinite, a clause.
    """

    theorem: str
    constants: Mapping[str, float]
    excess: Callable[[np.ndarray], np.ndarray]
    steps: Callable[[np.ndarray], np.ndarray]
    original: bool = False
    unmet: str = "it needs a loss with a finite constant"

    @property
    def why_infinite(self) -> str:
        """The condition that fails; empty if the bound is finite after one step."""
        return "" if np.isfinite(self.excess(np.array([1.0]))).all() else self.unmet


def excess_form(form: Callable[[np.ndarray], np.ndarray], *, start: int = 1) -> Callable:
    """Extend a bound for k >= start to all k >= 0, infinite before start."""

    def excess(k) -> np.ndarray:
        k = np.asarray(k, dtype=float)
        if not (k >= 0.0).all():
            raise ValueError("steps must be >= 0.")
        return np.where(k >= start, form(np.maximum(k, start)), np.inf)

    return excess


def steps_form(form: Callable[[np.ndarray], np.ndarray]) -> Callable:
    """Round a number of steps up, as a function of epsilon > 0."""

    def steps(epsilon) -> np.ndarray:
        epsilon = np.asarray(epsilon, dtype=float)
        if not (epsilon > 0.0).all():
            raise ValueError("epsilon must be > 0.")
        return np.ceil(form(epsilon) * (1.0 - WHOLE))

    return steps


def no_bound(values) -> np.ndarray:
    """Return infinity for each value."""
    return np.full(np.shape(values), np.inf)


def check_positive(**values: float) -> None:
    """Raise ValueError unless all values are positive."""
    for name, value in values.items():
        if not value > 0.0:
            raise ValueError(f"{name} must be > 0, but is {value!r}.")


def check_nonnegative(**values: float) -> None:
    """Raise ValueError unless all values are at least zero."""
    for name, value in values.items():
        if not value >= 0.0:
            raise ValueError(f"{name} must be >= 0, but is {value!r}.")


def check_reading(reading: str, known: tuple[str, ...]) -> None:
    """Raise ValueError unless the reading is known."""
    if reading not in known:
        raise ValueError(f"there is no reading '{reading}': use {', '.join(known)}.")
