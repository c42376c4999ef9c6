"""Minimise a convex smooth loss plus an l1 norm along decreasing weights of the norm."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import scipy

from greedyexp.kernels.coordinate_descent import descend_quadratic
from greedyexp.kernels.newton_path import NewtonPath
from greedyexp.losses.loss import TOLERANCE, Loss, Restricted
from greedyexp.problems.checks import require_memory

# Fraction of a second derivative to add to it; for dense coefficients, a fraction of the largest
# one. Differences of gradients are noisy, and the model must not be concave where the loss is flat.
FLOOR = 1e-6
_DENSE_FLOOR = 1e-7
_SWEEPS = 10
ROUNDS = 200

# Step of the differences of gradients, in units that bound curvatures below 1 by 1.
DIFFERENCE = 1e-5
SUFFICIENT = 1e-4
# If the expected decrease is smaller than this fraction of the objective, use derivatives: the
# decrease may be below rounding error.
CLOSE = 1e-8
SHORTEST = 1e-10
# Number of steps after which to recompute second derivatives.
_STALE = 25
# Coefficients enter once the violation among those in use is below this fraction of the largest
# violation.
EAGER = 0.1
# At most this number of coefficients enters at a time, or as many as are not zero.
FEW = 100
# Accuracy of the model's minimiser, relative to the current residual.
_INNER = 1e-3


class QuadraticModel:
    """Second derivatives of a loss over q dense and a growing set of selectable coefficients.

    Attributes
    ----------
    hessian : array (q + m, q + m)
        Symmetric positive definite, dense coefficients first.
    """

    def __init__(self, n_dense: int):
        self.n_dense = n_dense
        self.hessian = np.zeros((0, 0))

    def grow(self, columns: np.ndarray) -> None:
        """Add k coefficients.

        Parameters
        ----------
        columns : array (q + m + k, k)
            Second derivatives with respect to each new coefficient and all others, the new ones
            last.
        """
        old, k = len(self.hessian), columns.shape[1]
        mixed, own = columns[:old], 0.5 * (columns[old:] + columns[old:].T)
        # Where the loss is flat, a difference is rounding error of either sign.
        curvature = np.abs(own.diagonal())
        curvature[curvature == 0.0] = 1.0
        own[np.diag_indices(k)] = curvature
        dense = old < self.n_dense
        own[np.diag_indices(k)] += _DENSE_FLOOR * curvature.max() if dense else FLOOR * curvature
        # Scale second derivatives to one. Otherwise an intercept with large features would count as
        # linearly dependent on them.
        units = np.sqrt(self.hessian.diagonal())[:, None]
        scaled = mixed / units
        apart = (
            scipy.linalg.solve(self.hessian / (units * units.T), scaled, assume_a="pos")
            if old
            else 0
        )
        shadow = scaled.T @ apart if old else 0.0
        grown = np.empty((old + k, old + k))
        grown[:old, :old] = self.hessian
        grown[:old, old:], grown[old:, :old] = mixed, mixed.T
        grown[old:, old:] = (
            _nearest_positive_definite(own - shadow, np.sqrt(own.diagonal())) + shadow
        )
        self.hessian = grown

    def learn(self, move: np.ndarray, change: np.ndarray) -> None:
        """Apply the BFGS update; the Hessian then maps ``move`` to ``change``."""
        image = self.hessian @ move
        along, product = move @ image, move @ change
        if not (product > 0.0 and along > 0.0):
            return
        self.hessian += np.outer(change, change) / product - np.outer(image, image) / along

    def minimise(
        self, gradient: np.ndarray, u: np.ndarray, lam: float, tolerance: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Minimise the model plus lam times the l1 norm of the selectable coefficients.

        The dense coefficients are eliminated. Coordinate descent finds the signs. Steps to the
        minimiser with these signs, or to the first change of a sign, avoid the slow convergence at
        the end.

        Parameters
        ----------
        gradient : array (q + m,)
            Gradient of the loss at the current point.
        u : array (m,)
            Selectable coefficients there.
        lam : float > 0
        tolerance : float
            Largest violation of the optimality conditions of the model.

        Returns
        -------
        step : array (q,)
            Step of the dense coefficients.
        found : array (m,)
            New selectable coefficients.
        """
        q = self.n_dense
        dense, mixed = self.hessian[:q, :q], self.hessian[:q, q:]
        if q:
            factor = scipy.linalg.cho_factor(dense)
            slope = gradient[q:] - mixed.T @ scipy.linalg.cho_solve(factor, gradient[:q])
            curvature = self.hessian[q:, q:] - mixed.T @ scipy.linalg.cho_solve(factor, mixed)
        else:
            slope, curvature = gradient.copy(), self.hessian
        found = _minimise(np.ascontiguousarray(curvature), slope, u.copy(), lam, tolerance)
        if not q:
            return np.zeros(0), found
        return -scipy.linalg.cho_solve(factor, gradient[:q] + mixed @ (found - u)), found


def _nearest_positive_definite(matrix: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Return a positive definite matrix close to one that mixes old and new derivatives."""
    scaled = matrix / np.outer(units, units)
    values, vectors = scipy.linalg.eigh(scaled)
    if values[0] >= FLOOR:
        return matrix
    values = np.maximum(np.abs(values), FLOOR)
    return (vectors * values) @ vectors.T * np.outer(units, units)


def _minimise(
    hessian: np.ndarray, slope: np.ndarray, u: np.ndarray, lam: float, tolerance: float
) -> np.ndarray:
    for _ in range(ROUNDS):
        if descend_quadratic(hessian, slope, u, lam, tolerance, _SWEEPS):
            break
        while _step_to_sign_change(hessian, slope, u, lam):
            pass
    return u


def _step_to_sign_change(hessian: np.ndarray, slope: np.ndarray, u: np.ndarray, lam: float) -> bool:
    """Move to the minimiser with the signs of u, or to the first zero; return True for a zero."""
    active = np.flatnonzero(u)
    try:
        factor = scipy.linalg.cho_factor(hessian[np.ix_(active, active)])
    except scipy.linalg.LinAlgError:
        return False
    step = -scipy.linalg.cho_solve(factor, slope[active] + lam * np.sign(u[active]))
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = np.where(step * u[active] < 0.0, -u[active] / step, np.inf)
    blocking = int(lengths.argmin()) if len(lengths) else 0
    length = min(1.0, lengths.min(initial=1.0))
    u[active] += length * step
    blocked = bool(length < 1.0)
    if blocked:
        u[active[blocking]] = 0.0
    slope += hessian[:, active] @ (length * step)
    return blocked


def largest_slope(loss: Loss, gradient: np.ndarray) -> float:
    """Return the largest derivative without features, zero if derivatives are rounding errors."""
    steepest = float(np.abs(gradient).max())
    return steepest if steepest > TOLERANCE * loss.scale else 0.0


class L1Fit:
    """The minimiser of Q(b, c) + lam ||b||_1 over selectable b and dense c, for successive lam.

    A proximal quasi-Newton method (Lee, Sun & Saunders 2014) on a working set. Each evaluation
    gives all derivatives; coefficients with too large derivatives enter. A coefficient that enters
    costs one additional evaluation for its second derivatives by differences. From then on, BFGS
    updates maintain the second derivatives, also from one lam to the next.

    Parameters
    ----------
    loss : Loss
    null : Restricted
        The fit without selectable coefficients, where the path starts.

    Attributes
    ----------
    largest : float
        The smallest lam with b = 0; zero if the derivatives there are rounding errors.
    params : array (d + q,)
        The current minimiser, with exact zeros.
    objective : float
        Q(b, c) + lam ||b||_1.
    residual : float
        Largest violation of the optimality conditions, in units of the gradient. It is |g_j + lam
        sign b_j| for nonzero b_j, |g_j| - lam for zero b_j, and |g_j| for dense coefficients.
    evaluations : int
        Number of evaluations of values and gradients.
    """

    def __init__(self, loss: Loss, null: Restricted):
        self.loss, self.null = loss, null
        self.params, self._value, self._gradient = null.params, null.value, null.gradient
        self.largest = largest_slope(loss, null.gradient[: loss.size])
        self.evaluations = 0
        # In least squares, coefficients and rounding errors of derivatives grow with the response.
        # Without a bound on the curvature, longer steps could overflow.
        growth = np.where(np.isinf(loss.smoothness), 1.0, np.sqrt(max(1.0, null.value)))
        self._differences = DIFFERENCE * growth / loss.inverse_units
        self._working = np.arange(0)
        self._refresh()
        self._measure(np.inf)

    def follow(self, lam: float, tolerance: float, max_steps: int) -> bool:
        """Minimise for another lam, starting from the last fit; return whether it has converged.

        Parameters
        ----------
        lam : float > 0
        tolerance : float
            Largest ``residual``.
        max_steps : int
            Largest number of steps.
        """
        self._measure(lam)
        self._enter(self._violators())
        for count in range(1, max_steps + 1):
            if self.residual <= tolerance:
                return True
            if EAGER * self._outside >= self._inside:
                self._enter(self._violators())
            elif count % _STALE == 0:
                self._refresh()
            if not self._step(tolerance):
                break
        return self.residual <= tolerance

    def _measure(self, lam: float) -> None:
        """Compute the objective and the violations inside and outside the working set."""
        self._lam, size = lam, self.loss.size
        b, g = self.params[:size], self._gradient[:size]
        if np.isinf(lam):
            self.objective, away = self._value, np.zeros(size)
        else:
            self.objective = self._value + lam * float(np.abs(b).sum())
            away = np.where(b != 0.0, np.abs(g + lam * np.sign(b)), np.maximum(np.abs(g) - lam, 0))
        away = np.append(away, np.abs(self._gradient[size:]))
        self._inside = float(away[self._working].max(initial=0.0))
        away[self._working] = 0.0
        self._outside = float(away.max())
        self.residual = max(self._inside, self._outside)

    def _violators(self) -> np.ndarray:
        """Return coefficients outside the working set with the largest derivatives above lam."""
        sizes = np.abs(self._gradient[: self.loss.size])
        sizes[self._working[self.loss.n_dense :]] = 0.0
        over = np.flatnonzero(sizes > self._lam)
        most = max(FEW, np.count_nonzero(self.params))
        return np.sort(over[np.argsort(-sizes[over], kind="stable")[:most]])

    def _enter(self, coefficients: np.ndarray) -> None:
        """Add coefficients to the working set and the model.

        If rounding errors of its updates have made the model indefinite, make a new one.
        """
        if not len(coefficients):
            return
        self._working = np.concatenate((self._working, coefficients))
        # Eigenvectors, a factor and the matrices that they are computed from.
        _require_model(len(self._working), 6)
        columns = np.empty((len(self._working), len(coefficients)))
        for place, index in enumerate(coefficients):
            ahead = self.params.copy()
            ahead[index] += self._differences[index]
            change = self._evaluate(ahead)[1] - self._gradient
            columns[:, place] = change[self._working] / (ahead[index] - self.params[index])
        try:
            self._model.grow(columns)
        except scipy.linalg.LinAlgError:
            self._refresh()

    def _refresh(self) -> None:
        """Recompute second derivatives at the current point."""
        size, q = self.loss.size, self.loss.n_dense
        own = self._working[q:]
        self._working = np.arange(0)
        self._model = QuadraticModel(q)
        self._enter(np.arange(size, size + q))
        self._enter(own)

    def _step(self, tolerance: float) -> bool:
        """Minimise the model and search towards its minimiser; return False without progress.

        If rounding errors of its updates have made the model indefinite, make a new one.
        """
        size, q, working = self.loss.size, self.loss.n_dense, self._working
        own = working[q:]
        accuracy = _INNER * max(self._inside, tolerance)
        for _ in range(2):
            with suppress(scipy.linalg.LinAlgError):
                dense, found = self._model.minimise(
                    self._gradient[working], self.params[own], self._lam, accuracy
                )
                break
            self._refresh()
        else:
            return False
        target = self.params.copy()
        target[own] = found
        target[size:] += dense
        move = target - self.params
        norms = np.abs(target[:size]).sum() - np.abs(self.params[:size]).sum()
        fall = float(self._gradient @ move) + self._lam * float(norms)
        if not fall < 0.0:
            return False
        length = 1.0
        while length >= SHORTEST:
            trial = target if length == 1.0 else self.params + length * move
            value, gradient = self._evaluate(trial)
            if self._decreases_enough(trial, value, gradient, move, length, fall):
                break
            length *= 0.5
        else:
            return False
        self._model.learn(length * move[working], (gradient - self._gradient)[working])
        self.params, self._value, self._gradient = trial, value, gradient
        self._measure(self._lam)
        return True

    def _decreases_enough(self, trial, value, gradient, move, length: float, fall: float) -> bool:
        """Return whether the objective has decreased enough, by values or, near the end, by slopes.

        A convex function has decreased wherever its slope is still negative. By the condition of
        Hager & Zhang, the decrease is also sufficient if the slope, with opposite sign, is at most
        0.8 of the first slope.
        """
        b, step = trial[: self.loss.size], move[: self.loss.size]
        objective = value + self._lam * float(np.abs(b).sum())
        if not np.isfinite(objective):
            return False
        if objective <= self.objective + SUFFICIENT * length * fall:
            return True
        bend = np.where(b != 0.0, np.sign(b) * step, -np.abs(step)).sum()
        slope = float(gradient @ move) + self._lam * float(bend)
        close = -fall <= CLOSE * abs(self.objective)
        return bool(slope <= 0.0 or (close and slope <= -0.8 * fall))

    def _evaluate(self, params: np.ndarray) -> tuple[float, np.ndarray]:
        self.evaluations += 1
        return self.loss.value_and_gradient(params)


class NewtonFit:
    """What ``L1Fit`` computes, for a loss with a compiled solver; see there for the attributes."""

    def __init__(self, loss: Loss, null: Restricted, path: NewtonPath):
        self.loss, self.null, self._path = loss, null, path
        self.largest = largest_slope(loss, null.gradient[: loss.size])

    @property
    def params(self) -> np.ndarray:
        params, size = self._path.coef.copy(), self.loss.size
        if self.loss.means is not None:
            params[size:] -= self.loss.means @ params[:size]
        return params

    @property
    def objective(self) -> float:
        return self._path.objective

    @property
    def residual(self) -> float:
        return self._path.violation

    @property
    def evaluations(self) -> int:
        return self._path.evaluations

    def follow(self, lam: float, tolerance: float, max_steps: int) -> bool:
        """Minimise for another lam; return whether the fit has converged."""
        # As many may enter in the first step; a factor and its matrix.
        held = np.count_nonzero(self._path.coef)
        _require_model(min(held + max(FEW, held), self.loss.size), 2)
        return self._path.follow(lam, tolerance, max_steps)


def _require_model(size: int, matrices: int) -> None:
    """Raise ``DataError`` if square matrices of so many coefficients do not fit into memory."""
    require_memory(
        8.0 * matrices * size**2,
        f"a model of {size} coefficients",
        "Give more values of lam or a smaller radius, or use fewer features.",
    )


def l1_fit(loss: Loss) -> L1Fit | NewtonFit:
    """Return the fit without selectable coefficients, from which ``follow`` goes on."""
    null = loss.minimise(())
    path = loss.newton_path(null.params)
    return L1Fit(loss, null) if path is None else NewtonFit(loss, null, path)
