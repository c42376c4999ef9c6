"""The linear model in a fitted estimator: its coefficients and intercepts, in units of the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from greedyexp.core.errors import PluginError
from greedyexp.problems.checks import require_memory

# Largest difference between the predictions of an estimator and those of its coefficients, relative
# to the largest prediction or response.
_AGREEMENT = 1e-6
# A smaller intercept, on the same scale, is rounding error.
_ROUNDING = 1e-9


def linear_model(
    estimator: Any, X: np.ndarray, y: np.ndarray, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients and intercepts that give the predictions of a fitted estimator.

    The coefficients are ``coef_`` of the estimator, of the last step of a pipeline, or of the best
    estimator of a search. If the steps before transform the features, the coefficients are
    transformed back; zeros remain zeros when each feature is scaled by itself, or features are
    selected. Predictions on the training rows must be X b + b_0.

    Parameters
    ----------
    estimator : object
        Fitted estimator. The margins of a classifier count as its predictions.
    X : array (n, p)
    y : array (n,) or (n, r)
        Training rows.
    name : str
        Import path of its class, for messages.

    Returns
    -------
    coef : array (p, r)
    intercept : array (r,)
        Zero if it is within rounding error.

    Raises
    ------
    PluginError
        If there are no coefficients of the right shape, or predictions are not linear in the
        features with these coefficients.
    """
    final, transforms = _opened(estimator)
    coef = getattr(final, "coef_", None)
    if coef is None:
        raise PluginError(
            f"estimator '{name}' has no coefficients: '{type(final).__name__}' sets no coef_.",
            remedy="Use an estimator of a linear model.",
        )
    tasks = 1 if y.ndim == 1 else y.shape[1]
    coef = np.array(coef.toarray() if hasattr(coef, "toarray") else coef, dtype=float)
    coef = coef.reshape(1, -1) if coef.ndim == 1 else coef
    if transforms and coef.ndim == 2 and np.isfinite(coef).all():
        coef = _back(transforms, coef, X.shape[1])
    if coef.shape != (tasks, X.shape[1]):
        raise PluginError(
            f"estimator '{name}' has coefficients of shape {coef.shape}, but the data need"
            f" {(tasks, X.shape[1])}.",
            remedy="Use an estimator of a linear model, and tasks: together only if it fits"
            " several responses.",
        )
    if not np.isfinite(coef).all():
        return coef.T, np.zeros(tasks)
    return coef.T, _intercept(estimator, X, y, coef.T, name)


def _intercept(
    estimator: Any, X: np.ndarray, y: np.ndarray, coef: np.ndarray, name: str
) -> np.ndarray:
    predict = getattr(estimator, "decision_function", None) or estimator.predict
    made = np.asarray(predict(X), dtype=float).reshape(len(X), -1)
    rest = made - X @ coef
    scale = max(np.abs(made).max(), np.abs(y).max(), np.finfo(float).tiny)
    intercept = rest.mean(axis=0)
    if not np.abs(rest - intercept).max() <= _AGREEMENT * scale:
        raise PluginError(
            f"the predictions of estimator '{name}' are not X b + b_0 with its coefficients b.",
            remedy="Use an estimator of a linear model without a link function, and features that"
            " are at most shifted, scaled or selected.",
        )
    return np.where(np.abs(intercept) <= _ROUNDING * scale, 0.0, intercept)


def _opened(estimator: Any) -> tuple[Any, list[Any]]:
    """Return the estimator that has the coefficients, and the transforms before it, in order."""
    transforms: list[Any] = []
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            transforms += [
                step for _, step in estimator.steps[:-1] if step not in (None, "passthrough")
            ]
            estimator = estimator.steps[-1][1]
        else:
            return estimator, transforms


def _back(transforms: list[Any], coef: np.ndarray, n_features: int) -> np.ndarray:
    """Return coefficients (r, p) of the features from those (r, q) of transformed features."""
    require_memory(
        8.0 * n_features**2,
        f"the transformation of {n_features} features",
        "Use fewer features, or an estimator without a pipeline.",
    )
    # Row i is the i-th unit vector. The last row is the zero vector, whose image is the shift.
    images = np.vstack([np.eye(n_features), np.zeros(n_features)])
    for transform in transforms:
        images = np.asarray(transform.transform(images), dtype=float)
    return coef @ (images[:-1] - images[-1]).T
