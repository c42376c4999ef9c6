"""The logistic loss with an optional ridge and intercept."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.special import expit

from greedyexp.core.registry import loss
from greedyexp.kernels import logistic_lines, logistic_newton
from greedyexp.kernels.newton_path import NewtonPath
from greedyexp.kernels.scalar_losses import LOGISTIC
from greedyexp.losses.loss import TIE, UNCONVERGED, Fit, Loss, Restricted
from greedyexp.losses.recession import needed, separating_direction
from greedyexp.losses.signed_columns import (
    SignedColumns,
    derivative_tolerance,
    two_values,
)
from greedyexp.problems.checks import Indices
from greedyexp.problems.problem import Problem


class LogisticLoss(Loss):
    """Q(b, c) = mean_i log(1 + exp(-y_i (x_i b + c))) + ridge / 2 ||b||^2.

    Parameters
    ----------
    X : array (n, p) or sparse array
    y : array (n,)
        Labels; each is one of the two ``values``.
    ridge : float >= 0
        Penalty on the selectable coefficients.
    intercept : bool
        If true, c is a dense coefficient without a penalty. Otherwise c = 0.
    values : pair of float
        Labels encoded as -1 and 1.

    Notes
    -----
    The tolerance of a derivative is 1e-10 times the smaller of ``scale`` and the mean |value| of
    its column, or the rounding error of that mean if it is larger.

    Without a ridge there is a minimum unless the columns separate the classes: some combination of
    them is nonnegative on one class, nonpositive on the other, and not zero.

    The kernels of ``scalar_losses`` use ``kind`` and ``responses`` (n,) in {-1, 1}.
    """

    kind = LOGISTIC
    beta = 0.25
    rho = 1.0
    scores = True
    # For the fit without features, which gives each loss its own scale.
    scale = 1.0

    def __init__(
        self,
        X,
        y: np.ndarray,
        *,
        ridge: float = 0.0,
        intercept: bool = False,
        values: tuple[float, float] = (-1.0, 1.0),
    ):
        self.values = values
        self.labels = self.responses = self._signs(y)
        self.columns = SignedColumns(X, self.labels, centre=intercept)
        self.means = self.columns.means if intercept else None
        self.shape = (self.columns.n_features, 1)
        self.n_dense = int(intercept)
        self.n_samples = self.columns.n_samples
        self.ridge = float(ridge)
        self.penalty = np.full(self.size + self.n_dense, self.ridge)
        self.penalty[self.size :] = 0.0
        self.two_classes = bool((self.labels != self.labels[0]).any())
        self.scale = self.columns.scale_of(self.fit().full_gradient[: self.size], 1.0)

    @cached_property
    def largest_feature(self) -> float:
        return self.columns.largest

    def value(self, params: np.ndarray) -> float:
        margins = self._margins(params)
        mean = logistic_lines.losses(margins, np.empty_like(margins))
        return mean + 0.5 * self.ridge * float(params[: self.size] @ params[: self.size])

    def gradient(self, params: np.ndarray) -> np.ndarray:
        margins = self._margins(params)
        weights = np.empty_like(margins)
        logistic_lines.losses(margins, weights)
        gradient = self.gradient_of(params, weights)
        if self.means is not None:
            gradient[: self.size] += gradient[self.size] * self.means
        return gradient

    @property
    def smoothness(self) -> np.ndarray:
        weights = np.full(self.n_samples, 0.25)
        sums = np.append(self.columns.powers(weights), np.full(self.n_dense, weights.sum()))
        return sums / self.n_samples + self.penalty

    def coordinate_minima(self, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return steps a_j and gains Q(b) - min_a Q(b + a e_j), both (d,).

        Without a ridge there is no minimum along a signed column whose entries all have the same
        sign. The step is then infinite, and the gain is the decrease to the infimum.
        """
        return self.minima(self._margins(params), params)

    def minima(self, margins: np.ndarray, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``coordinate_minima`` from known margins (n,)."""
        columns, coef = self.columns.columns, params[: self.size]
        return logistic_lines.line_minima(columns, margins, self.ridge, coef)

    def gradient_of(self, params: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the gradient from weights 1 / (1 + exp(m_i)), where m (n,) are the margins.

        Derivatives by features are those along centred columns, if there is an intercept.
        """
        sums = self.columns.times(weights)
        if self.n_dense:
            sums = np.append(sums, self.labels @ weights)
        return self.penalty * params - sums / self.n_samples

    def minimise(self, support: Indices, start: np.ndarray | None = None) -> Restricted:
        return Restricted.of(LogisticFit(self, support, start))

    def row_losses(self, X, y: np.ndarray, params: np.ndarray) -> np.ndarray:
        """Return log(1 + exp(-y (x b + c))), shape (m, n)."""
        predicted = params[:, : self.size] @ X.T + params[:, self.size :].sum(axis=1)[:, None]
        return np.logaddexp(0.0, -self._signs(y) * predicted)

    def fit(self) -> LogisticFit:
        return LogisticFit(self)

    def newton_path(self, start: np.ndarray) -> NewtonPath:
        dense = np.tile(self.labels, (self.n_dense, 1))
        return NewtonPath(self.columns.columns, dense, self.ridge, start)

    def _signs(self, y: np.ndarray) -> np.ndarray:
        return np.where(y == self.values[1], 1.0, -1.0)

    def _margins(self, params: np.ndarray) -> np.ndarray:
        coef = params[: self.size]
        margins = self.columns.sum_of(coef)
        if self.means is None:
            return margins
        return margins + (params[self.size] + self.means @ coef) * self.labels


class LogisticFit(Fit[LogisticLoss]):
    """A minimiser over a support that keeps the signed columns of the support in one array.

    With an intercept, these columns are centred, and the fit has the intercept for them.
    Newton's method starts from the last minimiser. If there is no minimum, the coefficients stay as
    they were, ``converged`` is False, and ``message`` lists features that separate the classes.

    Parameters
    ----------
    loss : LogisticLoss
    support : sequence of int
    start : array (d + q,), optional
    """

    def __init__(
        self,
        loss: LogisticLoss,
        support: Indices = (),
        start: np.ndarray | None = None,
    ):
        self.loss = loss
        self.support = []
        # The signed columns of ``_indices`` as rows.
        self._signed = np.tile(loss.labels, (loss.n_dense, 1))
        self._margins, self._weights = np.empty(loss.n_samples), np.empty(loss.n_samples)
        # Whether a minimum is known to exist over the current support.
        self._known = loss.ridge > 0.0 and (loss.n_dense == 0 or loss.two_classes)
        self._full: np.ndarray | None = None
        self._coef = np.zeros(loss.n_dense)
        self._append(support)
        if start is not None:
            self._coef[:] = start[self._indices]
            self._coef[: loss.n_dense] += self._shift
        self._refit()

    def add(self, features: Indices) -> None:
        self._known = self._known and (self.loss.ridge > 0.0 or not len(features))
        self._append(features)
        self._refit()

    def remove(self, features: Indices) -> None:
        gone = {int(feature) for feature in features}
        stays = [place for place, feature in enumerate(self._indices) if feature not in gone]
        self._signed, self._coef = self._signed[stays], self._coef[stays]
        self.support = [feature for feature in self.support if feature not in gone]
        self._refit()

    @property
    def params(self) -> np.ndarray:
        params = np.zeros(self.loss.size + self.loss.n_dense)
        params[self._indices] = self._coef
        params[self.loss.size :] -= self._shift
        return params

    @property
    def _shift(self) -> float:
        """The intercept for centred columns minus that for the columns themselves."""
        means, coef = self.loss.means, self._coef[self.loss.n_dense :]
        return 0.0 if means is None else float(means[self.support] @ coef)

    @property
    def full_gradient(self) -> np.ndarray:
        """Gradient over all coefficients, computed on first use; shape (d + q,)."""
        if self._full is None:
            self._full = self.loss.gradient_of(self.params, self._weights)
        return self._full

    def gains(self) -> np.ndarray:
        gains = self.loss.minima(self._margins, self.params)[1]
        gains[self.support] = 0.0
        return gains

    def best_gain(self) -> tuple[int, float]:
        """Return the feature of the largest gain, and that gain, from few line searches.

        Bounds from the slope and curvature at the minimiser rule out the other features.
        """
        columns = self.loss.columns
        feature, gain, _ = logistic_lines.best_line(
            columns.columns,
            self._margins,
            self.gradient,
            columns.powers(self._weights * (1.0 - self._weights)) / self.loss.n_samples,
            columns.reach,
            self.loss.ridge,
            TIE,
        )
        return feature, gain

    def removal_costs(self, most: float = np.inf) -> np.ndarray:
        first, ridge = self.loss.n_dense, self.loss.ridge
        own, coef = self._signed[first:], self._coef[first:]
        return logistic_lines.falls(own, coef, self._margins, self._weights, ridge, most)

    @property
    def _indices(self) -> list[int]:
        """Indices in ``params`` of the signed columns: the intercept, then the support."""
        return [*range(self.loss.size, self.loss.size + self.loss.n_dense), *self.support]

    @property
    def _free(self) -> int:
        """Number of signed columns without a penalty; they come first."""
        return self.loss.n_dense if self.loss.ridge > 0.0 else len(self._indices)

    def _append(self, features: Indices) -> None:
        """Append features with coefficients of zero."""
        self.support.extend(int(feature) for feature in features)
        self._signed = np.vstack([self._signed, self.loss.columns.rows(features)])
        self._coef = np.append(self._coef, np.zeros(len(features)))

    def _refit(self) -> None:
        self._full = None
        start, separating = self._coef.copy(), None
        status = self._search(patient=False)
        if status in (logistic_newton.SEPARATED, logistic_newton.DOUBTFUL):
            status, separating = self._check_separation(status)
        self.converged = status == logistic_newton.CONVERGED
        self.message = "" if self.converged else self._explanation(separating)
        if separating is not None:
            self._coef = start
            self._evaluate()

    def _check_separation(self, status: int) -> tuple[int, np.ndarray | None]:
        """Continue to the minimum if it exists, else return a separating direction."""
        separating, certain = separating_direction(self._signed[: self._free])
        if status == logistic_newton.SEPARATED:
            return status, self._coef if separating is None else separating
        if separating is not None and certain:
            return status, separating
        self._known = separating is None
        status = self._search(patient=True)
        return status, None if self._known else separating

    def _search(self, patient: bool) -> int:
        sizes = np.abs(self._signed).mean(axis=1)
        status, self.value, self._known = logistic_newton.minimise(
            self._signed,
            self.loss.penalty[self._indices],
            derivative_tolerance(sizes, self.loss.scale),
            self._coef,
            self._margins,
            self._weights,
            self._known,
            patient,
        )
        return status

    def _evaluate(self) -> None:
        """Compute margins, weights and value at the current coefficients."""
        self._margins[:] = self._coef @ self._signed
        self.value = logistic_lines.losses(self._margins, self._weights)
        self.value += 0.5 * float(self.loss.penalty[self._indices] @ self._coef**2)

    def _explanation(self, separating: np.ndarray | None) -> str:
        if separating is None:
            return UNCONVERGED
        indices = self._indices
        part = sorted(indices[place] for place in needed(self._signed, separating))
        part = [feature for feature in part if feature < self.loss.size]
        if not part:
            return "all labels are equal; there is no optimal intercept."
        names, many = ", ".join(map(str, part)), len(part) > 1
        return (
            f"feature{'s' if many else ''} {names} separate{'' if many else 's'} the two classes;"
            " without a ridge no minimum exists."
        )


@loss(
    "logistic",
    title="Logistic loss",
    requires=("two_values",),
    has_kernel=True,
    expected=expit,
)
def logistic(problem: Problem, *, ridge: float, intercept: bool) -> LogisticLoss:
    """Mean of log(1 + exp(-y_i x_i b)) for labels y_i = -1 and 1."""
    y = problem.y[0]
    values = two_values(y, "logistic")
    return LogisticLoss(problem.X[0], y, ridge=ridge, intercept=intercept, values=values)
