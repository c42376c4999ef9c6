"""``check_loss``: whether a loss is what algorithms take it for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from greedyexp.core.parts import LossKind
from greedyexp.losses.loss import Loss
from greedyexp.problems.checks import is_sparse
from greedyexp.problems.problem import Problem
from greedyexp.testing.data import given
from greedyexp.testing.trial import BrokenContract, registered

_RIDGE = 0.1
# The smoothness that losses with a kink are given.
_BETA = 2.0
# Relative errors of differences, and of what is exact up to rounding.
_DIFFERENCES, _ROUNDING = 1e-5, 1e-7
_STEP = 1e-5


def check_loss(loss: Callable[..., Any] | str, problem: Problem | None = None) -> None:
    """Check that a loss is what algorithms take it for, on small data.

    The loss must be convex, and not below ``least``. Its gradient must be that of its values, and
    ``smoothness`` a bound of its second derivatives. ``minimise``, ``coordinate_minima``,
    ``removal_costs`` and ``row_losses`` must do what ``greedyexp.losses.loss.Loss`` says. With an
    intercept, a constant that is added to a feature must change no minimum.

    Parameters
    ----------
    loss : callable or str
        A function with the decorator ``loss``, or the name of a registered loss.
    problem : Problem, optional
        Data that the loss takes, with at least 5 features and a dense design. By default they are
        40 rows with responses of both signs, unless the loss requires others.

    Raises
    ------
    BrokenContract
        For the first check that fails.
    ConfigError
        If the function is not registered, or a trait is unknown.
    """
    kind = registered("loss", loss)
    if not kind.summary:
        raise BrokenContract(f"loss '{kind.name}' has no docstring, which is its help.")
    problem = problem or given(kind.fixed_requirements).problem
    options = [{"beta": _BETA}] if kind.smoothed else [{"intercept": False}]
    if kind.intercept:
        options.append({"intercept": True})
    for option in options:
        for ridge in (0.0, _RIDGE) if kind.ridge else (0.0,):
            _Check(kind, problem, ridge=ridge, **option).run()
    if kind.intercept:
        _check_constants(kind, problem)


class _Check:
    """The checks of one bound loss."""

    def __init__(self, kind: LossKind, problem: Problem, **options: Any):
        self.kind, self.options = kind, options
        self.loss: Loss = kind.function(problem, **options)
        rng = np.random.default_rng(0)
        size = self.loss.size + self.loss.n_dense
        inside = np.zeros(size)
        if not np.isfinite(self.loss.value(inside)):
            inside = self.loss.minimise([]).params
        self.points = [inside]
        for direction in rng.standard_normal((4, size)):
            while not np.isfinite(self.loss.value(inside + direction)):
                direction *= 0.5
            self.points.append(inside + direction)
        self.problem = problem

    def run(self) -> None:
        self._check_values()
        self._check_derivatives()
        self._check_minima()
        self._check_steps()
        self._check_rows()

    def _check_values(self) -> None:
        values = [self.loss.value(point) for point in self.points]
        least = self.loss.least
        self._require(min(values) >= least, f"has the value {min(values):g}, below {least:g}")
        for first, second in zip(self.points, self.points[1:], strict=False):
            ends = (self.loss.value(first) + self.loss.value(second)) / 2
            middle = self.loss.value((first + second) / 2)
            what = f"is {middle:g} between points where its mean is {ends:g}, so it is not convex"
            self._require(middle <= ends + _ROUNDING * max(1.0, abs(ends)), what)

    def _check_derivatives(self) -> None:
        bounds = self.loss.smoothness
        for point in self.points:
            gradient = self.loss.gradient(point)
            value, together = self.loss.value_and_gradient(point)
            self._require(
                np.allclose(together, gradient) and np.isclose(value, self.loss.value(point)),
                "has another value or gradient in `value_and_gradient`",
            )
            for place in range(len(point)):
                move = np.zeros(len(point))
                move[place] = _STEP
                ahead, behind = self.loss.value(point + move), self.loss.value(point - move)
                slope = (ahead - behind) / (2 * _STEP)
                off = abs(slope - gradient[place])
                what = f"has the derivative {gradient[place]:g}, but its values change by {slope:g}"
                self._require(off <= _DIFFERENCES * max(1.0, abs(slope)), what)
            if not np.isfinite(bounds[0]):
                continue
            along = self._moved(np.zeros(len(point)), 0, 1.0)
            bent = float((self.loss.gradient(point + along) - gradient) @ along)
            what = f"has the second derivative {bent:g}, above its bound {bounds[0]:g}"
            self._require(bent <= bounds[0] * (1 + _DIFFERENCES) + _ROUNDING, what)

    def _check_minima(self) -> None:
        support = [0, 2, 3]
        end = self.loss.minimise(support)
        outside = np.setdiff1d(np.arange(self.loss.size), support)
        self._require(not end.params[outside].any(), "`minimise` leaves the support")
        if not end.converged:
            self._require(bool(end.message), "`minimise` gives no reason for no convergence")
            return
        free = np.setdiff1d(np.arange(len(end.params)), outside)
        steepest = float(np.abs(self.loss.gradient(end.params)[free]).max())
        what = f"`minimise` ends with the derivative {steepest:g}"
        self._require(steepest <= _ROUNDING * max(1.0, self.loss.scale), what)
        value = self.loss.value(end.params)
        self._require(
            np.isclose(end.value, value), f"`minimise` reports {end.value:g}, not {value:g}"
        )

    def _check_steps(self) -> None:
        for point in self.points[:2]:
            steps, gains = self.loss.coordinate_minima(point)
            value = self.loss.value(point)
            for place in range(self.loss.size):
                if not np.isfinite(steps[place]):
                    continue
                for share in (1.0, 0.9, 1.1):
                    moved = self._moved(point, place, share * steps[place])
                    gained = value - self.loss.value(moved)
                    known = f"{gains[place]:g}"
                    what = f"gains {gained:g} by a step of gain {known} in `coordinate_minima`"
                    close = _DIFFERENCES * max(1.0, value)
                    self._require(gained <= gains[place] + close, what)
                    self._require(share != 1.0 or gained >= gains[place] - close, what)
        support = [1, 4]
        costs = self.loss.removal_costs(self.points[1], support)
        for cost, index in zip(costs, support, strict=True):
            without = self.loss.value(self.loss.without(self.points[1], [index]))
            true = without - self.loss.value(self.points[1])
            what = f"has the cost {cost:g} in `removal_costs`, but the difference is {true:g}"
            self._require(bool(np.isclose(cost, true, rtol=_DIFFERENCES, atol=_ROUNDING)), what)

    def _check_rows(self) -> None:
        without = self.problem.chains is not None or not self.problem.n_samples[0]
        if without or self.kind.smoothed or self.options["ridge"]:
            return
        X, y = self.problem.X[0], self.problem.y[0]
        if self.kind.per_class:
            y = np.stack(self.problem.y, axis=1)
        assert not is_sparse(X)
        mean = self.loss.row_losses(X, y, np.array(self.points)).mean(axis=1)
        # The loss may be a multiple, such as half of the squared error.
        ratios = mean / [self.loss.value(point) for point in self.points]
        what = "is not a multiple of the mean of its `row_losses`"
        self._require(np.allclose(ratios, ratios[0]), what)

    def _moved(self, point: np.ndarray, place: int, step: float) -> np.ndarray:
        """Return a point after a step along a column, which is centred with an intercept."""
        move = np.zeros(len(point))
        move[place] = step
        return point + move - self.loss.without(move, [place])

    def _require(self, holds: Any, what: str) -> None:
        if not holds:
            _broken(self.kind, f"with {self.options} {what}")


def _check_constants(kind: LossKind, problem: Problem) -> None:
    """Require the same minimum for features with other means."""
    support, shifted = [0, 2, 3], np.arange(problem.n_features) * 3.0
    design = problem.X[0] + shifted
    moved = Problem((design,) * problem.n_tasks, problem.y)
    ends = [
        kind.function(data, ridge=_RIDGE, intercept=True).minimise(support)
        for data in (problem, moved)
    ]
    if abs(ends[0].value - ends[1].value) > _ROUNDING * max(1.0, ends[0].value):
        _broken(kind, "with an intercept has another minimum if constants are added to features")


def _broken(kind: LossKind, what: str) -> NoReturn:
    raise BrokenContract(f"loss '{kind.name}' {what}.")
