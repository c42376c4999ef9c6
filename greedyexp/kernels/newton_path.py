"""Minimisers of a mean of sample losses plus an l1 norm, along decreasing weights of the norm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from greedyexp.kernels import native

if TYPE_CHECKING:
    from greedyexp.kernels.logistic_columns import Columns


class NewtonPath:
    """Minimise mean_i L(z_i b + d_i c) + ridge / 2 ||b||^2 + lam ||b||_1 over b and c.

    L(a) = log(1 + exp(-a)). The quadratic model of each step has the exact second derivatives by
    the coefficients that are not zero and by those whose derivatives exceed lam.

    Parameters
    ----------
    columns : Columns
        z, the signed columns of p features.
    dense : array (q, n)
        d, the signed columns of coefficients without a penalty.
    ridge : float >= 0
    start : array (p + q,)
        b and c.

    Attributes
    ----------
    coef : array (p + q,)
        The current minimiser; it changes with each call of ``follow``.
    objective, violation : float
        Value, and the largest violation of optimality in units of the gradient.
    evaluations : int
        Number of evaluations of the losses of all samples so far.
    """

    def __init__(self, columns: Columns, dense: np.ndarray, ridge: float, start: np.ndarray):
        responses = np.ones(dense.shape[1])
        self._native = native.newton_path.NewtonPath(columns.native, dense, responses, ridge, start)

    def follow(self, lam: float, tolerance: float, max_steps: int) -> bool:
        """Minimise for another lam > 0; return whether ``violation`` is at most the tolerance."""
        return self._native.follow(lam, tolerance, max_steps)

    @property
    def coef(self) -> np.ndarray:
        return self._native.coef

    @property
    def objective(self) -> float:
        return self._native.objective

    @property
    def violation(self) -> float:
        return self._native.violation

    @property
    def evaluations(self) -> int:
        return self._native.evaluations
