"""Minimisers of the logistic loss over a support that grows and shrinks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from greedyexp.kernels import logistic_best, logistic_lines, logistic_newton
from greedyexp.losses.logistic_separation import needed, separating_direction
from greedyexp.losses.loss import TIE, Fit

if TYPE_CHECKING:
    from greedyexp.losses.logistic import LogisticLoss


class LogisticFit(Fit):
    """The minimiser over a support, which keeps the signed columns of the support together.

    Newton's method goes on from the last minimiser. Where no minimum exists the coefficients stay
    as they were before, ``converged`` is False and ``message`` names features that separate the
    classes.

    Parameters
    ----------
    loss : LogisticLoss
    support : sequence of int
    start : array (d + q,), optional
    full_gradient : array (d + q,), optional
        The gradient at the minimiser, where it is known.
    """

    def __init__(
        self,
        loss: LogisticLoss,
        support: Sequence[int] = (),
        start: np.ndarray | None = None,
        *,
        full_gradient: np.ndarray | None = None,
    ):
        self.loss = loss
        self.support = []
        self._signed = np.empty((max(8, loss.n_dense + len(support)), loss.n_samples))
        self._signed[: loss.n_dense] = loss.labels
        # Mean |value| of each.
        self._sizes = np.ones(loss.n_dense)
        self._margins, self._weights = np.empty(loss.n_samples), np.empty(loss.n_samples)
        # Whether a minimum is known to exist over the present support.
        self._known = loss.ridge > 0.0 and (loss.n_dense == 0 or loss.two_classes)
        self._take(support)
        self._coef = np.zeros(len(self._indices))
        if start is not None:
            self._coef[:] = start[self._indices]
        self._refit()
        self._full = full_gradient

    def add(self, features: Sequence[int]) -> None:
        self._known = self._known and (self.loss.ridge > 0.0 or not len(features))
        self._take(features)
        self._coef = np.append(self._coef, np.zeros(len(features)))
        self._refit()

    def remove(self, features: Sequence[int]) -> None:
        gone = {int(feature) for feature in features}
        stays = [place for place, feature in enumerate(self._indices) if feature not in gone]
        self._signed[: len(stays)] = self._signed[stays]
        self._coef, self._sizes = self._coef[stays], self._sizes[stays]
        self.support = [feature for feature in self.support if feature not in gone]
        self._refit()

    @property
    def params(self) -> np.ndarray:
        params = np.zeros(self.loss.size + self.loss.n_dense)
        params[self._indices] = self._coef
        return params

    @property
    def full_gradient(self) -> np.ndarray:
        """Gradient over all coefficients (d + q,), computed when first asked for."""
        if self._full is None:
            self._full = self.loss.gradient_of(self.params, self._weights)
        return self._full

    def gains(self) -> np.ndarray:
        gains = self.loss.minima(self._margins, self.params)[1]
        gains[self.support] = 0.0
        return gains

    def best_gain(self) -> tuple[int, float]:
        """The feature of the largest gain, which only few features have to be tried for.

        A bound of each gain from slope and curvature at the minimiser rules out the others.
        """
        columns = self.loss.columns
        feature, gain, _ = logistic_best.best_line(
            columns.columns,
            self._margins,
            self.gradient,
            columns.powers(self._weights * (1.0 - self._weights)) / self.loss.n_samples,
            columns.reach,
            self.loss.ridge,
            TIE,
        )
        return feature, gain

    def removal_costs(self) -> np.ndarray:
        costs = np.empty(len(self.support))
        first = self.loss.n_dense
        own = self._signed[first : len(self._indices)]
        logistic_lines.falls(own, self._coef[first:], self._margins, self.loss.ridge, costs)
        return costs

    @property
    def _indices(self) -> list[int]:
        """Places in ``params`` of the signed columns: the intercept, then the support."""
        return [*range(self.loss.size, self.loss.size + self.loss.n_dense), *self.support]

    @property
    def _free(self) -> int:
        """How many of them, the first ones, have coefficients without a ridge."""
        return self.loss.n_dense if self.loss.ridge > 0.0 else len(self._indices)

    def _take(self, features: Sequence[int]) -> None:
        size = len(self._indices)
        if size + len(features) > len(self._signed):
            grown = np.empty((2 * (size + len(features)), self.loss.n_samples))
            grown[:size] = self._signed[:size]
            self._signed = grown
        for place, feature in enumerate(features, start=size):
            self.loss.columns.write(int(feature), self._signed[place])
            self.support.append(int(feature))
        taken = self._signed[size : size + len(features)]
        self._sizes = np.append(self._sizes, np.abs(taken).mean(axis=1))

    def _refit(self) -> None:
        self._full = None
        start, separating = self._coef.copy(), None
        status = self._search(patient=False)
        if status in (logistic_newton.SEPARATED, logistic_newton.DOUBTFUL):
            status, separating = self._decide(status)
        self.converged = status == logistic_newton.CONVERGED
        self.message = "" if self.converged else self._explained(separating)
        if separating is not None:
            self._coef = start
            self._evaluate()

    def _decide(self, status: int) -> tuple[int, np.ndarray | None]:
        """Go on to the minimum if there is one; otherwise a direction in which there is none."""
        separating, certain = separating_direction(self._signed[: self._free])
        if status == logistic_newton.SEPARATED:
            return status, self._coef if separating is None else separating
        if separating is not None and certain:
            return status, separating
        self._known = separating is None
        status = self._search(patient=True)
        return status, None if self._known else separating

    def _search(self, patient: bool) -> int:
        indices = self._indices
        status, self.value, self._known = logistic_newton.minimise(
            self._signed[: len(indices)],
            self.loss.penalty[indices],
            self.loss.tolerance(self._sizes),
            self._coef,
            self._margins,
            self._weights,
            self._known,
            patient,
        )
        return status

    def _evaluate(self) -> None:
        """Margins, weights and value at the present coefficients."""
        self._margins[:] = self._coef @ self._signed[: len(self._coef)]
        self.value = logistic_lines.losses(self._margins, self._weights)
        self.value += 0.5 * float(self.loss.penalty[self._indices] @ self._coef**2)

    def _explained(self, separating: np.ndarray | None) -> str:
        if separating is None:
            return "the gradient over the support could not be made as small as it should be."
        indices = self._indices
        part = sorted(indices[place] for place in needed(self._signed, separating))
        part = [feature for feature in part if feature < self.loss.size]
        if not part:
            return "all labels are the same, so that no best intercept exists."
        names, many = ", ".join(map(str, part)), len(part) > 1
        return (
            f"feature{'s' if many else ''} {names} separate{'' if many else 's'} the two classes, "
            "so that without a ridge no minimum exists."
        )
