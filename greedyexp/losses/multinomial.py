"""The multinomial logistic loss, for several classes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import expit, logsumexp, softmax

from greedyexp.core.errors import DataError
from greedyexp.core.listing import listed
from greedyexp.core.registry import loss
from greedyexp.losses.loss import UNCONVERGED, Loss, PlainFit, Restricted
from greedyexp.losses.recession import NAMED, NO_WEIGHT, separating_direction
from greedyexp.losses.sample import SampleLoss, exists, newton
from greedyexp.losses.signed_columns import SignedColumns, derivative_tolerance
from greedyexp.problems.chains import classes_of
from greedyexp.problems.checks import Indices
from greedyexp.problems.problem import Problem


class OneClass(SampleLoss):
    """The multinomial loss along the scores of one class, up to a constant.

    If the other scores stay, it is log(1 + exp(-y m)), where m is the score of the class minus the
    logarithm of the sum of the exponentials of the others, and y = 1 for rows of the class and
    y = -1 for others.
    """

    beta = 0.25
    concordance = 1.0

    def losses(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, -y * predictions)

    def slopes(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        return -y * expit(-y * predictions)

    def curvatures(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        return expit(predictions) * expit(-predictions)


class MultinomialLoss(Loss):
    """Q(B, c) = mean_i [log sum_k exp(s_ik) - s_i,class(i)] + ridge / 2 ||B||^2, s_i = x_i B + c.

    Parameters
    ----------
    X : array (n, p) or sparse array
    labels : int array (n,)
        Classes, from 0 to r - 1.
    n_classes : int
        r.
    ridge : float >= 0
        Penalty on the entries of B, shape (p, r).
    intercept : bool
        If true, c has an entry for each class, without a penalty. Otherwise c = 0.

    Notes
    -----
    A number that is added to all entries of a row of B, or of c, changes no probability. Minimisers
    over whole rows are those with sum 0.

    Without a ridge there is no minimum if some scores, not the same for all classes in all rows,
    are in each row largest for its class.
    """

    beta = 0.5
    scores = True
    # For the fit without features, which gives each loss its own scale.
    scale = 1.0

    def __init__(self, X, labels, *, n_classes: int, ridge: float = 0.0, intercept: bool = False):
        self.n_samples = len(labels)
        self.columns = SignedColumns(X, np.ones(self.n_samples), centre=intercept)
        self.labels = labels
        self.shape = (self.columns.n_features, n_classes)
        self.n_dense = n_classes * intercept
        self.ridge = float(ridge)
        self.penalty = np.append(np.full(self.size, self.ridge), np.zeros(self.n_dense))
        self._members = np.arange(n_classes) == labels[:, None]
        self._one = [
            OneClass(self.columns, 2.0 * member - 1.0, ridge=ridge) for member in self._members.T
        ]
        null = self.minimise([])
        first = self.centred(null.gradient).reshape(self.shape)
        self.scale = self.columns.scale_of(np.abs(first).max(axis=1), 1.0)

    @property
    def largest_feature(self) -> float:
        return self.columns.largest

    @property
    def smoothness(self) -> np.ndarray:
        powers = self.columns.powers(np.full(self.n_samples, 0.25)) / self.n_samples
        return np.append(np.repeat(powers, self.shape[1]), np.full(self.n_dense, 0.25)) + (
            self.penalty
        )

    def value(self, params: np.ndarray) -> float:
        logs = _logs(self._scores(params))
        return float(-logs[self._members].mean()) + 0.5 * float(self.penalty @ params**2)

    def gradient(self, params: np.ndarray) -> np.ndarray:
        return self.value_and_gradient(params)[1]

    def value_and_gradient(self, params: np.ndarray) -> tuple[float, np.ndarray]:
        value, excess = self._value(self._scores(params))
        sums = np.column_stack([self.columns.times(part) for part in excess.T]).ravel()
        if self.n_dense:
            total = excess.sum(axis=0)
            sums = np.append(sums + np.outer(self.columns.means, total).ravel(), total)
        return value + 0.5 * float(self.penalty @ params**2), sums + self.penalty * params

    def coordinate_minima(self, params: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        every = np.arange(self.shape[0])
        found = [one.minima(every, *line) for one, line in self._lines(params)]
        steps, gains = np.stack(found, axis=-1).reshape(2, -1)
        return steps, gains

    def largest_gain(self, params: np.ndarray, slopes: np.ndarray) -> tuple[int, float]:
        """Return the coefficient of the largest gain, and that gain; see ``SampleLoss``."""
        r, found = self.shape[1], []
        for k, (one, (margins, coef)) in enumerate(self._lines(params)):
            feature, gain = one.largest_gain(margins, coef, np.ascontiguousarray(slopes[k::r]))
            found.append((-gain, feature * r + k))
        best = min(found)
        return best[1], -best[0]

    def removal_costs(self, params: np.ndarray, support: Indices) -> np.ndarray:
        features, classes = np.divmod(np.asarray(support, dtype=np.int64), self.shape[1])
        costs = np.zeros(len(features))
        for k, (one, (margins, coef)) in enumerate(self._lines(params)):
            own = features[classes == k]
            costs[classes == k] = -one.gains(own, -coef[own], margins, coef)
        return costs

    def without(self, params: np.ndarray, indices: Indices) -> np.ndarray:
        changed = super().without(params, indices)
        if self.n_dense:
            places = np.asarray(indices, dtype=np.int64)
            moves = self.columns.means[places // self.shape[1]] * params[places]
            np.add.at(changed, self.size + places % self.shape[1], moves)
        return changed

    def fit(self) -> MultinomialFit:
        return MultinomialFit(self)

    def minimise(self, support: Indices, start: np.ndarray | None = None) -> Restricted:
        r = self.shape[1]
        places = np.asarray(support, dtype=np.int64)
        features, owners = np.unique(places // r, return_inverse=True)
        ones = np.ones((int(self.n_dense > 0), self.n_samples))
        rows = np.vstack([ones, self.columns.rows(features)])
        # The row and the class of each free coefficient; intercepts come first.
        owner = np.append(np.zeros(self.n_dense, dtype=np.int64), owners + len(ones))
        of = np.append(np.arange(self.n_dense), places % r)
        penalty = np.append(np.zeros(self.n_dense), np.full(len(places), self.ridge))
        shift = np.zeros((len(places), self.n_dense))
        if self.n_dense:
            shift[np.arange(len(places)), places % r] = self.columns.means[places // r]
        own, weights = rows[owner], np.zeros(len(owner))
        if start is not None:
            weights[self.n_dense :] = start[places]
            weights[: self.n_dense] = start[self.size :] + start[places] @ shift

        def scores(weights: np.ndarray) -> np.ndarray:
            coef = np.zeros((len(rows), r))
            coef[owner, of] = weights
            return rows.T @ coef

        def function(weights: np.ndarray) -> tuple[float, np.ndarray]:
            value, excess = self._value(scores(weights))
            slopes = (rows @ excess)[owner, of] + penalty * weights
            return value + float(penalty @ weights**2 / 2), slopes

        # Equal changes of all classes change nothing. Gradients have no part along them, and with
        # this pattern added to the Hessian no step has one.
        whole = (np.bincount(owner, minlength=len(rows)) == r)[owner] & (penalty == 0.0)
        level = (owner[:, None] == owner) & whole

        def hessian(weights: np.ndarray) -> np.ndarray:
            shared = own * np.exp(_logs(scores(weights))).T[of]
            made = (shared @ own.T) * (of[:, None] == of) - shared @ shared.T
            made = made / self.n_samples + np.diag(penalty)
            return made + level * (level @ made.diagonal() / r**2)

        tolerance = derivative_tolerance(np.abs(rows).mean(axis=1)[owner], self.scale)
        end = newton(function, hessian, weights, tolerance)
        params = np.zeros(self.size + self.n_dense)
        found = end.x - np.where(whole, level @ end.x / r, 0.0)
        params[places] = found[self.n_dense :]
        params[self.size :] = found[: self.n_dense] - params[places] @ shift
        message = "" if end.converged else UNCONVERGED
        free = slice(self.n_dense if self.ridge > 0.0 else None)
        # A row whose scores along v differ by 1 has at least this second derivative.
        least = np.exp(_logs(scores(end.x)).min()) / 2.0 / self.n_samples
        if not exists(hessian(end.x)[free, free], end.gradient[free], least):
            message = self._separated(rows, owner[free], of[free], places // r) or message
        return Restricted(params, end.value, self.gradient(params), not message, message)

    def _separated(self, rows, owner, of, features) -> str:
        """Return which features separate the classes, or an empty text if none do.

        Parameters
        ----------
        rows : array (m, n)
        owner, of : int arrays (k,)
            Row and class of each coefficient without a ridge.
        features : int array
            Features of these coefficients after the intercepts.
        """
        own = (of[:, None] == self.labels) * rows[owner]
        ahead = [own - (of[:, None] == k) * rows[owner] for k in range(self.shape[1])]
        direction = separating_direction(np.hstack(ahead))[0] if len(of) else None
        if direction is None:
            return ""
        used = np.abs(direction[self.n_dense :]) > NO_WEIGHT * np.abs(direction).max()
        named = np.unique(features[: len(used)][used]).tolist()
        if not named:
            return "a class has no rows; there are no optimal intercepts."
        return (
            f"feature{'s' * (len(named) > 1)} {listed(named, NAMED)} separate"
            f"{'s' * (len(named) == 1)} classes; without a ridge no minimum exists."
        )

    def row_losses(self, X, y: np.ndarray, params: np.ndarray) -> np.ndarray:
        """Return the negative log-probabilities of the classes of other rows, shape (m, n).

        Parameters
        ----------
        X : array (n, p) or CSR array
        y : array (n, r)
            Indicators of the classes.
        params : array (m, d + q)
        """
        losses = []
        for one in params:
            dense = one[self.size :] if self.n_dense else np.zeros(self.shape[1])
            scores = X @ one[: self.size].reshape(self.shape) + dense
            losses.append(-_logs(scores)[np.arange(len(y)), y.argmax(axis=1)])
        return np.array(losses)

    def _value(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the mean loss and its derivatives in the scores, (n, r)."""
        logs = _logs(scores)
        excess = (np.exp(logs) - self._members) / self.n_samples
        return float(-logs[self._members].mean()), excess

    def _scores(self, params: np.ndarray) -> np.ndarray:
        coef = params[: self.size].reshape(self.shape)
        scores = np.column_stack([self.columns.sum_of(column) for column in coef.T])
        if not self.n_dense:
            return scores
        return scores + (params[self.size :] + self.columns.means @ coef)

    def _lines(self, params: np.ndarray) -> Iterator[tuple[OneClass, tuple]]:
        """Yield each class with its margins (n,) and its coefficients (p,)."""
        scores, coef = self._scores(params), params[: self.size].reshape(self.shape)
        for k, one in enumerate(self._one):
            others = logsumexp(np.delete(scores, k, axis=1), axis=1)
            yield one, (scores[:, k] - others, np.ascontiguousarray(coef[:, k]))

    def centred(self, gradient: np.ndarray) -> np.ndarray:
        """Return derivatives (d,) along columns, which are centred with an intercept."""
        slopes = gradient[: self.size].copy()
        if self.n_dense:
            slopes -= np.outer(self.columns.means, gradient[self.size :]).ravel()
        return slopes


def _logs(scores: np.ndarray) -> np.ndarray:
    """Return logarithms of the probabilities of classes with these scores, (n, r)."""
    lower = scores - scores.max(axis=1, keepdims=True)
    return lower - np.log(np.exp(lower).sum(axis=1, keepdims=True))


class MultinomialFit(PlainFit):
    """A fit that searches few lines for the best gain."""

    loss: MultinomialLoss

    def best_gain(self) -> tuple[int, float]:
        slopes = self.loss.centred(self.full_gradient)
        slopes[self.support] = 0.0
        return self.loss.largest_gain(self.params, slopes)


@loss(
    "multinomial",
    title="Multinomial logistic loss",
    requires=("classes",),
    per_class=True,
    expected=lambda scores: softmax(scores, axis=-1),
)
def multinomial(problem: Problem, *, ridge: float, intercept: bool) -> MultinomialLoss:
    """Mean negative log-probability of the class k of each row, proportional to exp(x_i b_k)."""
    shared = problem.shared_design and len(set(problem.n_samples)) == 1
    members = np.stack(problem.y) if shared else np.zeros(1)
    if not (np.isin(members, (0.0, 1.0)).all() and (members.sum(axis=0) == 1.0).all()):
        raise DataError(
            "each row must be of exactly one class.",
            remedy="Give the same X for every class, and responses that are 1 where a row is of"
            " the class and 0 elsewhere.",
        )
    return MultinomialLoss(
        problem.X[0],
        classes_of(problem.y),
        n_classes=problem.n_tasks,
        ridge=ridge,
        intercept=intercept,
    )
