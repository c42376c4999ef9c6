"""Losses and their fits: the interface that algorithms and solvers use."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.problems.checks import Indices

if TYPE_CHECKING:
    from greedyexp.kernels.newton_path import NewtonPath

# Tolerance on |gradient| over the free coefficients of a restricted minimiser, relative to
# ``Loss.scale``.
TOLERANCE = 1e-10
# Message of a fit that is not converged although a minimum exists.
UNCONVERGED = "the gradient over the support does not reach its tolerance."
# Gains that agree to this relative precision are ties.
TIE = 1e-10


@dataclass(frozen=True)
class Restricted:
    """A minimiser of a loss over the coefficients of a support.

    Parameters
    ----------
    params : array (d + q,)
        Selectable coefficients, exactly zero outside the support, then the dense ones.
    value : float
        Loss at ``params``.
    gradient : array (d + q,)
        Gradient at ``params``.
    converged : bool
        Whether the gradient over the free coefficients is within the tolerance.
    message : str
        Reason for no convergence; empty if there is none.
    """

    params: np.ndarray
    value: float
    gradient: np.ndarray
    converged: bool
    message: str = ""

    @classmethod
    def of(cls, fit: Fit) -> Restricted:
        """Return the minimiser that a fit has found."""
        return cls(fit.params, fit.value, fit.full_gradient, fit.converged, fit.message)


class Loss(ABC):
    """A convex smooth function Q of d = p r selectable and q dense coefficients.

    Coefficients are a vector ``params`` (d + q,): the matrix (p, r) of selectable ones row by row,
    then the dense ones (an intercept, the transitions of a chain, or the diagonal of a precision
    matrix). The dense ones are in every model. They are never selected or removed. Q is a mean over
    samples plus ``ridge / 2`` times the squared norm of the penalised coefficients, and infinite
    outside its domain.

    A model with an intercept does not change if a constant is added to a feature. Steps, gains,
    costs and bounds along a coefficient therefore refer to the centred column x_j - mean(x_j): the
    intercept moves by -mean(x_j) times the step.

    Attributes
    ----------
    shape : pair of int
        (p, r).
    n_dense : int
        q.
    n_samples : int
        Number of samples in the mean; papers often print the sum, ``n_samples * Q``.
    ridge : float >= 0
    least : float
        Lower bound of Q. A loss with another one than zero overrides ``steepest``.
    means : array (d,) or None
        Means of the columns if the loss has an intercept, which is then the only dense coefficient.
    beta : float > 0
        For a mean of L(<x_i, b>, y_i), the Lipschitz constant of the derivative of L in its first
        argument; infinite if there is none.
    rho : float > 0
        Lipschitz constant of L; infinite if there is none. For a smoothed loss it is the constant
        before smoothing.
    scores : bool
        Whether predictions are not on the scale of the responses, such as scores of classes or
        logarithms of means.
    """

    shape: tuple[int, int]
    n_dense: int = 0
    n_samples: int
    ridge: float = 0.0
    least: float = 0.0
    means: np.ndarray | None = None
    beta: float = math.inf
    rho: float = math.inf
    scores: bool = False

    @property
    @abstractmethod
    def scale(self) -> float:
        """Reference size of gradients: max |gradient| at the best fit without features; > 0."""

    @property
    @abstractmethod
    def largest_feature(self) -> float:
        """The largest |x_ij|."""

    @property
    def size(self) -> int:
        """Number of selectable coefficients, d."""
        return self.shape[0] * self.shape[1]

    @abstractmethod
    def value(self, params: np.ndarray) -> float:
        """Return Q."""

    @abstractmethod
    def gradient(self, params: np.ndarray) -> np.ndarray:
        """Return the gradient of Q, shape (d + q,)."""

    def unsmoothed(self, params: np.ndarray) -> float:
        """Return Q before smoothing; for a smooth loss this is Q itself."""
        return self.value(params)

    def value_and_gradient(self, params: np.ndarray) -> tuple[float, np.ndarray]:
        """Return Q and its gradient, in one pass if the loss supports it."""
        return self.value(params), self.gradient(params)

    @property
    @abstractmethod
    def smoothness(self) -> np.ndarray:
        """Upper bound of the second derivative along each coefficient, shape (d + q,).

        It is infinite if there is none.
        """

    def name_of(self, feature: int) -> str:
        """Return the name of a feature in messages."""
        return f"feature {feature}"

    @property
    def inverse_units(self) -> np.ndarray:
        """One over a typical size of each coefficient, for differences of gradients; (d + q,)."""
        # A large bound on the curvature may be far too large, and a tiny step is lost in rounding.
        return np.sqrt(np.clip(self.smoothness, np.finfo(float).tiny, 1.0))

    def steepest(self, value: float) -> np.ndarray:
        """Return an upper bound of each |derivative| where Q has this value, shape (d,).

        The bound is sqrt(2 L_j Q), because Q >= 0 and its curvature along j is at most L_j =
        ``smoothness``.
        """
        return np.sqrt(2.0 * abs(value) * self.smoothness[: self.size])

    def strong_convexity(self, support: Indices) -> float:
        """Return rho_- >= 0, the strong convexity of Q restricted to one support.

        Q(b') >= Q(b) + <grad Q(b), b' - b> + rho_- / 2 ||b' - b||^2 for all b and b' on the
        support, each with its best dense coefficients. The default is the ridge, which is a lower
        bound of rho_- for every loss.
        """
        return self.ridge

    @abstractmethod
    def coordinate_minima(self, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return steps a_j and gains Q(b) - min_a Q(b + a e_j) of all coefficients, both (d,)."""

    @abstractmethod
    def minimise(self, support: Indices, start: np.ndarray | None = None) -> Restricted:
        """Return the minimiser over the coefficients ``support`` and the dense ones.

        Parameters
        ----------
        support : sequence of int in [0, d)
        start : array (d + q,), optional
            Starting point; entries outside the support are ignored.
        """

    def removal_costs(self, params: np.ndarray, support: Indices) -> np.ndarray:
        """Return Q(b - b_i e_i) - Q(b) for each i of the support, without a refit."""
        value = self.value(params)
        costs = np.empty(len(support))
        for place, index in enumerate(support):
            costs[place] = self.value(self.without(params, [index])) - value
        return costs

    def without(self, params: np.ndarray, indices: Indices) -> np.ndarray:
        """Return a copy of the coefficients in which those at these indices are zero.

        An intercept changes with them so that the mean prediction stays.
        """
        changed = params.copy()
        changed[indices] = 0.0
        if self.means is not None:
            changed[self.size] += self.means[indices] @ params[indices]
        return changed

    def row_losses(self, X, y: np.ndarray, params: np.ndarray) -> np.ndarray:
        """Return the prediction loss of each row of other data, without a penalty.

        Parameters
        ----------
        X : array (n, p) or CSR array
        y : array (n,), or (n, r) for a loss of r classes
            Responses, coded as in the fitted data.
        params : array (m, d + q)
            m estimates.

        Returns
        -------
        array (m, n)

        Raises
        ------
        DataError
            If the loss is not a sum over single rows.
        """
        raise DataError("this loss is not a sum over single rows.", remedy="Use tuning 'end'.")

    def fit(self) -> Fit:
        """Return the fit without features.

        A loss that keeps a factorisation overrides this method.
        """
        return PlainFit(self)

    def newton_path(self, start: np.ndarray) -> NewtonPath | None:
        """Return a compiled solver of the loss plus an l1 norm, or None if there is none.

        Parameters
        ----------
        start : array (d + q,)
            Coefficients of columns that are centred if there is an intercept.
        """
        return None


L = TypeVar("L", bound=Loss)


class ChainLoss(Loss):
    """A loss of labelled chains of words that can predict labels."""

    scores = True

    @abstractmethod
    def decode(self, X, chains, params: np.ndarray, how: str = "marginal") -> np.ndarray:
        """Predict the labels of the words of other chains.

        Parameters
        ----------
        X : array (n, p) or CSR array
        chains : int array (c,)
            Length of each chain.
        params : array (d + q,)
        how : "marginal" or "viterbi"
            Most probable label of each word, or most probable labelling of each chain. Ties go to
            the lowest label.

        Returns
        -------
        int array (n,)

        Raises
        ------
        ConfigError
            If ``how`` is unknown.
        DataError
            If the chains do not fit X.
        """


class Fit(ABC, Generic[L]):
    """The minimiser of a loss over a support that grows and shrinks.

    Attributes
    ----------
    loss : Loss
    support : list of int
        In the order of entry.
    params : array (d + q,)
        The current minimiser.
    value : float
        Loss at ``params``.
    full_gradient : array (d + q,)
        Gradient at ``params``, over all coefficients.
    converged : bool
        Whether the gradient over the support is within the tolerance.
    message : str
        Remarks for the user; empty if there are none.
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
        """Add features to the support and minimise."""

    @abstractmethod
    def remove(self, features: Indices) -> None:
        """Remove features from the support and minimise."""

    @property
    def gradient(self) -> np.ndarray:
        """Gradient over the selectable coefficients, zero on the support; shape (d,)."""
        gradient = self.full_gradient[: self.loss.size].copy()
        gradient[self.support] = 0.0
        return gradient

    def gains(self) -> np.ndarray:
        """Return Q(b) - min_a Q(b + a e_j) for every feature, zero on the support; shape (d,)."""
        gains = self.loss.coordinate_minima(self.params)[1]
        gains[self.support] = 0.0
        return gains

    def best_gain(self) -> tuple[int, float]:
        """Return the feature of the largest gain, and that gain; ties go to the lowest index."""
        return highest(self.gains())

    def removal_costs(self, most: float = np.inf) -> np.ndarray:
        """Return Q(b - b_i e_i) - Q(b) for each i of the support, in its order, without a refit.

        A cost may be replaced by a lower bound of it that is above ``most``.
        """
        return self.loss.removal_costs(self.params, self.support)


def highest(scores: np.ndarray) -> tuple[int, float]:
    """Return the index of the largest score, and the score; ties go to the lowest index."""
    place = int((scores >= scores.max() * (1.0 - TIE)).argmax())
    return place, float(scores[place])


class PlainFit(Fit[Loss]):
    """A fit for any loss; it minimises again after each change, from the current point."""

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
