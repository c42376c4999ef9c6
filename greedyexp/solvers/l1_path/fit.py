"""Minimising a convex smooth loss plus an l1 norm, with a certificate."""

from __future__ import annotations

import numpy as np

from greedyexp.losses.loss import TOLERANCE, Loss
from greedyexp.solvers.l1_path.model import QuadraticModel

# Step of a difference of gradients, in units in which a curvature below 1 is at most 1.
DIFFERENCE = 1e-5
SUFFICIENT = 1e-4
# Falls of the objective below this part of it may drown in its rounding: derivatives decide.
CLOSE = 1e-8
SHORTEST = 1e-10
# Steps after which second derivatives are computed afresh.
STALE = 25
# Coefficients enter once those that are in satisfy their conditions to this part of the violation.
EAGER = 0.1
# Accuracy of the model's minimiser, as part of the residual that it is to reduce.
INNER = 1e-3


class L1Fit:
    """The minimiser of Q(b, c) + lam ||b||_1 over selectable b and dense c, followed along lam.

    A proximal quasi-Newton method (Lee, Sun & Saunders 2014) on a working set: every evaluation
    gives all derivatives, so that coefficients enter where these are too large. Each that enters
    costs one evaluation more, for its second derivatives by differences; from then on BFGS updates
    keep them, from one lam to the next.

    Parameters
    ----------
    loss : Loss

    Attributes
    ----------
    largest : float
        The smallest lam at which b = 0; zero where the derivatives there are rounding.
    params : array (d + q,)
        Exact zeros where a coefficient is not in use.
    objective : float
        Q(b, c) + lam ||b||_1.
    residual : float
        The largest violation of the optimality conditions, in units of the gradient: |g_j + lam
        sign b_j| where b_j is not zero, |g_j| - lam where it is, |g_j| of dense coefficients.
    evaluations : int
        Values with gradients computed so far.
    null : Restricted
        The fit without coefficients, where the path starts.
    """

    def __init__(self, loss: Loss):
        self.loss = loss
        self.null = null = loss.minimise(())
        self.params, self._value, self._gradient = null.params, null.value, null.gradient
        steepest = float(np.abs(null.gradient[: loss.size]).max())
        self.largest = steepest if steepest > TOLERANCE * loss.scale else 0.0
        self.evaluations = 0
        # Where the bound on the curvature is large it may be far off, and a tiny step drowns.
        self._units = np.sqrt(np.clip(loss.smoothness, np.finfo(float).tiny, 1.0))
        # Of least squares coefficients, and the rounding of derivatives, grow with the response.
        self._difference = DIFFERENCE * max(1.0, float(np.sqrt(null.value)))
        self._working = np.arange(0)
        self._refresh()
        self._measure(np.inf)

    def follow(self, lam: float, tolerance: float, max_steps: int) -> bool:
        """Minimise at another lam, from where the last fit ended; whether that is certified.

        Parameters
        ----------
        lam : float > 0
        tolerance : float
            Largest ``residual``.
        max_steps : int
            Most steps.
        """
        self._measure(lam)
        self._enter(self._missing())
        for count in range(1, max_steps + 1):
            if self.residual <= tolerance:
                return True
            if EAGER * self._outside >= self._inside:
                self._enter(self._missing())
            elif count % STALE == 0:
                self._refresh()
            if not self._step(tolerance):
                break
        return self.residual <= tolerance

    def _measure(self, lam: float) -> None:
        """The objective and the violations in and outside the working set."""
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

    def _missing(self) -> np.ndarray:
        """Coefficients outside the working set whose derivative is larger than lam."""
        over = np.abs(self._gradient[: self.loss.size]) > self._lam
        over[self._working[self.loss.n_dense :]] = False
        return np.flatnonzero(over)

    def _enter(self, coefficients: np.ndarray) -> None:
        """Take coefficients into the working set and the model."""
        if not len(coefficients):
            return
        self._working = np.concatenate((self._working, coefficients))
        columns = np.empty((len(self._working), len(coefficients)))
        for place, index in enumerate(coefficients):
            ahead, length = self.params.copy(), self._difference / self._units[index]
            ahead[index] += length
            change = self._evaluate(ahead)[1] - self._gradient
            columns[:, place] = change[self._working] / (ahead[index] - self.params[index])
        self._model.grow(columns)

    def _refresh(self) -> None:
        """Second derivatives where the fit stands now."""
        size, q = self.loss.size, self.loss.n_dense
        own = self._working[q:]
        self._working = np.arange(0)
        self._model = QuadraticModel(q)
        self._enter(np.arange(size, size + q))
        self._enter(own)

    def _step(self, tolerance: float) -> bool:
        """One minimiser of the model and the search towards it; False when nothing is gained."""
        size, q, working = self.loss.size, self.loss.n_dense, self._working
        own = working[q:]
        accuracy = INNER * max(self._inside, tolerance)
        dense, found = self._model.minimise(
            self._gradient[working], self.params[own], self._lam, accuracy
        )
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
            if self._falls(trial, value, gradient, move, length, fall):
                break
            length *= 0.5
        else:
            return False
        self._model.learn(length * move[working], (gradient - self._gradient)[working])
        self.params, self._value, self._gradient = trial, value, gradient
        self._measure(self._lam)
        return True

    def _falls(self, trial, value, gradient, move, length: float, fall: float) -> bool:
        """Whether the objective has fallen enough, by values or, close to the end, by derivatives.

        A convex function is lower wherever its slope is still negative, and by Hager & Zhang's
        condition low enough where its slope is less than 0.8 of the first with the other sign.
        """
        b, step = trial[: self.loss.size], move[: self.loss.size]
        objective = value + self._lam * float(np.abs(b).sum())
        if objective <= self.objective + SUFFICIENT * length * fall:
            return True
        bend = np.where(b != 0.0, np.sign(b) * step, -np.abs(step)).sum()
        slope = float(gradient @ move) + self._lam * float(bend)
        close = -fall <= CLOSE * abs(self.objective)
        return bool(slope <= 0.0 or (close and slope <= -0.8 * fall))

    def _evaluate(self, params: np.ndarray) -> tuple[float, np.ndarray]:
        self.evaluations += 1
        return self.loss.value_and_gradient(params)
