"""Labelled samples, and the logistic loss written out."""

from __future__ import annotations

import numpy as np
from scipy.special import expit


def classes(seed=0, n=80, p=12, binary=False):
    """Noisy labels of a sparse model, columns of different sizes."""
    rng = np.random.default_rng(seed)
    if binary:
        X = (rng.random((n, p)) < 0.3).astype(float)
    else:
        X = rng.standard_normal((n, p)) * rng.uniform(0.5, 2.0, p)
    margins = 2.0 * X[:, 0] - X[:, 3] + rng.logistic(size=n)
    return X, np.where(margins > np.median(margins), 1.0, -1.0)


def plain_value(X, y, ridge, intercept, params):
    """The loss written out, with the intercept last."""
    coef, shift = (params[:-1], params[-1]) if intercept else (params, 0.0)
    margins = y * (X @ coef + shift)
    return np.logaddexp(0.0, -margins).mean() + 0.5 * ridge * coef @ coef


def curvature(X, coef):
    """Second derivatives of the mean loss along each coordinate, without a ridge."""
    predicted = X @ coef
    return (expit(predicted) * expit(-predicted)) @ X**2 / len(X)
