"""Losses and their fits: the interface that algorithms and solvers use."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from greedyexp.core.errors import ConfigError, DataError, UserError
from greedyexp.problems.checks import Indices

# Largest |gradient| over the free coefficients that a restricted minimiser may leave, relative to
# ``Loss.scale``.
TOLERANCE = 1e-10
# Gains that agree to this relative precision are equal.
TIE = 1e-10


@dataclass(frozen=True)
class Restricted:
    """A minimiser of a loss over the coefficients of a support.

    Parameters
    ----------
    params : array (d + q,)
        Selectable coefficients, exact zeros off the support, then the dense ones.
    value : float
        The loss there.
    gradient : array (d + q,)
        Its gradient there.
    converged : bool
        Whether the gradient over the free coefficients is below the tolerance.
    message : str
        Why there is no certificate, a sentence; empty when all is well.
    """

    params: np.ndarray
    value: float
    gradient: np.ndarray
    converged: bool
    message: str = ""


class Loss(ABC):
    """A convex smooth function Q >= 0 of d = p r selectable coefficients and q dense ones.

    Coefficients are a vector ``params`` (d + q,): the matrix (p, r) of selectable ones row by row,
    then the dense ones (an intercept, the transitions of a chain), which are in every model and
    never selected or removed. Q is a mean over samples plus ``ridge / 2`` times the squared norm
    of what the loss says it penalises.

    Attributes
    ----------
    shape : pair of int
        (p, r).
    n_dense : int
        q.
    n_samples : int
        What Q is a mean over; ``n_samples * Q`` is the sum that papers print.
    ridge : float >= 0
    scale : float > 0
        What gradients are compared with: max |gradient| at the best fit without any feature.
    beta : float > 0
        Of a loss that is the mean of L(<x_i, b>, y_i): Lipschitz constant of the derivative of L
        by its first argument; infinite where there is none.
    rho : float > 0
        Lipschitz constant of L itself; infinite where there is none. Of a smoothed loss that of
        the loss before.
    largest_feature : float >= 0
        max |x_ij|.
    """

    shape: tuple[int, int]
    n_dense: int = 0
    n_samples: int
    ridge: float = 0.0
    beta: float = math.inf
    rho: float = math.inf

    @cached_property
    def scale(self) -> float:
        raise NotImplementedError

    @cached_property
    def largest_feature(self) -> float:
        raise NotImplementedError

    @property
    def size(self) -> int:
        """d, the number of selectable coefficients."""
        return self.shape[0] * self.shape[1]

    @abstractmethod
    def value(self, params: np.ndarray) -> float:
        """Q."""

    @abstractmethod
    def gradient(self, params: np.ndarray) -> np.ndarray:
        """Gradient of Q, shape (d + q,)."""

    def unsmoothed(self, params: np.ndarray) -> float:
        """Q with L as it was before it was smoothed; Q itself of a loss that is smooth."""
        return self.value(params)

    def value_and_gradient(self, params: np.ndarray) -> tuple[float, np.ndarray]:
        """Q and its gradient, in one pass where a loss has one."""
        return self.value(params), self.gradient(params)

    @abstractmethod
    def curvature(self, params: np.ndarray) -> np.ndarray:
        """Second derivative of Q along each coordinate, shape (d + q,)."""

    @property
    @abstractmethod
    def smoothness(self) -> np.ndarray:
        """Upper bound of ``curvature`` over all params, shape (d + q,)."""

    def steepest(self, value: float) -> np.ndarray:
        """What no |derivative| exceeds where Q has this value: sqrt(2 L_j Q), shape (d,).

        Since Q >= 0, and its curvature along j is at most L_j = ``smoothness``.
        """
        return np.sqrt(2.0 * abs(value) * self.smoothness[: self.size])

    def strong_convexity(self, support: Indices) -> float:
        """rho_- >= 0 between points whose selectable coefficients are in one support.

        Q(b') >= Q(b) + <grad Q(b), b' - b> + rho_- / 2 ||b' - b||^2, with the best dense
        coefficients of each. Of any loss its ridge is known to be one.
        """
        return self.ridge

    @abstractmethod
    def coordinate_minima(self, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All one-dimensional minima: steps a_j and gains Q(b) - min_a Q(b + a e_j), both (d,)."""

    @abstractmethod
    def minimise(self, support: Indices, start: np.ndarray | None = None) -> Restricted:
        """The minimiser over the coefficients ``support`` and the dense ones.

        Parameters
        ----------
        support : sequence of int in [0, d)
        start : array (d + q,), optional
            Where to begin; what it has off the support is dropped.
        """

    def removal_costs(self, params: np.ndarray, support: Indices) -> np.ndarray:
        """Q(b - b_i e_i) - Q(b) for each i of the support, the others as they are."""
        value = self.value(params)
        costs = np.empty(len(support))
        for place, index in enumerate(support):
            without = params.copy()
            without[index] = 0.0
            costs[place] = self.value(without) - value
        return costs

    def row_losses(self, X, y: np.ndarray, params: np.ndarray) -> np.ndarray:
        """How badly each row of other data is predicted, without any penalty.

        Parameters
        ----------
        X : array (n, p) or CSR array
        y : array (n,)
            Responses, coded as those fitted to.
        params : array (m, d + q)
            m estimates.

        Returns
        -------
        array (m, n)

        Raises
        ------
        DataError
            When rows mean nothing alone.
        """
        raise DataError("this loss is not one of single rows.", remedy="Use tuning 'end'.")

    def fit(self) -> Fit:
        """The minimiser over no feature, ready to take some.

        A loss with a factorisation to keep has a fit of its own.
        """
        return PlainFit(self)


L = TypeVar("L", bound=Loss)


@dataclass(frozen=True)
class LossKind:
    """Properties of a loss that are known without data.

    Parameters
    ----------
    name : str
    build : callable
        ``build(problem, ridge=..., intercept=...)`` returns the loss of a problem; a smoothed loss
        takes ``beta`` instead of ``intercept``.
    traits : tuple of str
        Traits that the data must have.
    intercept : bool
        Whether the loss can have an intercept.
    per_class : bool
        Whether tasks are classes, and every feature has one coefficient per class. Other losses
        take a single task.
    smoothed : bool
        Whether the loss is not smooth by itself and needs smoothing.
    """

    name: str
    build: Callable[..., Loss]
    traits: tuple[str, ...] = ()
    intercept: bool = True
    per_class: bool = False
    smoothed: bool = False

    def refusal(self, *, n_tasks: int, intercept: bool) -> UserError | None:
        """Return the error if the loss cannot have so many tasks or an intercept, else None."""
        if intercept and not self.intercept:
            return ConfigError(
                f"the {self.name} loss has no intercept.", remedy="Leave intercept out."
            )
        if n_tasks > 1 and not self.per_class:
            return DataError(
                f"the {self.name} loss takes one response, but the data have {n_tasks}.",
                remedy="Select one of them.",
            )
        return None


class ChainLoss(Loss):
    """A loss of labelled chains of words, whose labels can be predicted."""

    @abstractmethod
    def decode(self, X, chains, params: np.ndarray, how: str = "marginal") -> np.ndarray:
        """Labels of the words of other chains.

        Parameters
        ----------
        X : array (n, p) or CSR array
        chains : int array (c,)
        params : array (d + q,)
        how : "marginal" or "viterbi"
            The most probable label of each word, or the most probable labelling of each chain; the
            lowest label where several are.

        Returns
        -------
        int array (n,)

        Raises
        ------
        ConfigError, DataError
            When there is no such decoding, or the chains do not fit X.
        """


class Fit(ABC, Generic[L]):
    """The minimiser of a loss over a support that grows and shrinks.

    Attributes
    ----------
    loss : Loss
    support : list of int
        In the order of entry.
    params : array (d + q,)
        The present minimiser.
    value : float
        The loss there.
    full_gradient : array (d + q,)
        Its gradient there, over all coefficients.
    converged : bool
        Whether the present minimiser carries its certificate.
    message : str
        What a user should know of it; empty when all is well.
    """

    loss: L
    support: list[int]
    value: float
    converged: bool
    message: str
    _params: np.ndarray
    _full_gradient: np.ndarray

    @property
    def params(self) -> np.ndarray:
        return self._params

    @property
    def full_gradient(self) -> np.ndarray:
        return self._full_gradient

    @abstractmethod
    def add(self, features: Indices) -> None:
        """Take features into the support and minimise."""

    @abstractmethod
    def remove(self, features: Indices) -> None:
        """Take features out of the support and minimise."""

    @property
    def gradient(self) -> np.ndarray:
        """Gradient over the selectable coefficients (d,), zero on the support."""
        gradient = self.full_gradient[: self.loss.size].copy()
        gradient[self.support] = 0.0
        return gradient

    def gains(self) -> np.ndarray:
        """Q(b) - min_a Q(b + a e_j) for every feature (d,), zero on the support."""
        gains = self.loss.coordinate_minima(self.params)[1]
        gains[self.support] = 0.0
        return gains

    def best_gain(self) -> tuple[int, float]:
        """The feature of the largest gain and that gain.

        Gains that agree to a relative ``TIE`` are equal, and the lowest index wins.
        """
        gains = self.gains()
        feature = int(np.argmax(gains >= gains.max() * (1.0 - TIE)))
        return feature, float(gains[feature])

    def refit_gains(self) -> np.ndarray:
        """Decrease of Q when a feature joins and all are fitted again, for every feature (d,).

        Only the squared loss has it.
        """
        raise NotImplementedError

    def removal_costs(self) -> np.ndarray:
        """Q(b - b_i e_i) - Q(b) for each i of the support, in its order, without a refit."""
        return self.loss.removal_costs(self.params, self.support)

    def refit_removal_costs(self) -> np.ndarray:
        """Increase of Q when a feature leaves and the others are fitted again, in support order.

        Only the squared loss has it.
        """
        raise NotImplementedError


class PlainFit(Fit[Loss]):
    """A fit that minimises anew at each change, from where it stands; of any loss."""

    def __init__(self, loss: Loss):
        self.loss = loss
        self.support = []
        self._minimise(None)

    def add(self, features: Indices) -> None:
        self.support.extend(int(feature) for feature in features)
        self._minimise(self.params)

    def remove(self, features: Indices) -> None:
        gone = set(features)
        self.support = [feature for feature in self.support if feature not in gone]
        self._minimise(self.params)

    def _minimise(self, start: np.ndarray | None) -> None:
        found = self.loss.minimise(self.support, start)
        self._params, self.value, self._full_gradient = found.params, found.value, found.gradient
        self.converged, self.message = found.converged, found.message
