"""Losses for ``foba_oracle.select`` whose minimisers and one-dimensional minima scipy finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit


@dataclass
class Smooth:
    """Any convex smooth function of p coefficients and q dense ones."""

    whole: Callable  # params (p + q,) -> value, gradient
    p: int
    q: int = 0
    means: np.ndarray | None = None  # of the columns, with an intercept

    def value(self, coef, dense):
        return self.whole(np.append(coef, dense))[0]

    def gradient(self, coef, dense):
        return self.whole(np.append(coef, dense))[1][: self.p]

    def minimum(self, support):
        """Coefficients (p,), dense ones (q,) and the least value on these coefficients."""
        free = np.append(sorted(support), np.arange(self.p, self.p + self.q)).astype(int)

        def reduced(values):
            params = np.zeros(self.p + self.q)
            params[free] = values
            value, gradient = self.whole(params)
            return value, gradient[free]

        found = np.zeros(len(free))
        for _ in range(3 if len(free) else 0):
            options = {"gtol": 1e-11, "maxiter": 2000}
            found = minimize(reduced, found, jac=True, method="BFGS", options=options).x
        params = np.zeros(self.p + self.q)
        params[free] = found
        return params[: self.p], params[self.p :], self.whole(params)[0]

    def single_gains(self, coef, dense):
        """Q(b) - min_a Q(b + a e_j) for every j, by Brent's method."""
        start, gains = self.value(coef, dense), np.zeros(self.p)
        for j in range(self.p):

            def line(step, j=j):
                return self.value(*self.moved(coef, dense, j, step))

            gains[j] = start - min(start, minimize_scalar(line, tol=1e-12).fun)
        return gains

    def moved(self, coef, dense, j, step):
        """The coefficients after a step along one column, centred if there is an intercept."""
        moved = coef.copy()
        moved[j] += step
        return moved, dense if self.means is None else dense - step * self.means[j]


def logistic(X, y, ridge=0.0, intercept=False) -> Smooth:
    """mean log(1 + exp(-y (x b + c))) + ridge / 2 ||b||^2, labels -1 and 1."""
    n, p = X.shape
    tall = np.column_stack([X, np.ones(n)]) if intercept else X

    def whole(params):
        margins = y * (tall @ params)
        value = np.logaddexp(0.0, -margins).mean() + ridge / 2 * (params[:p] @ params[:p])
        gradient = -tall.T @ (y * expit(-margins)) / n
        gradient[:p] += ridge * params[:p]
        return value, gradient

    return Smooth(whole, p, int(intercept), X.mean(axis=0) if intercept else None)
