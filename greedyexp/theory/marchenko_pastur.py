"""Where the eigenvalues of large random designs end, and the rates that follow.

For P (n, p) of independent entries with mean zero and variance s^2, as p / n tends to r, the
nonzero eigenvalues of P^T P / n fill an interval. The paper writes d for p.
"""

from __future__ import annotations

import math

from greedyexp.core.errors import ConfigError


def edges(aspect_ratio: float, variance: float = 1.0) -> tuple[float, float]:
    """s^2 (1 - sqrt r)^2 and s^2 (1 + sqrt r)^2, limits of the extreme nonzero eigenvalues.

    For r > 1 the same formula holds for the nonzero ones: those of P P^T / n are r times those of
    P P^T / p, whose aspect ratio is 1 / r.

    Parameters
    ----------
    aspect_ratio : float > 0
        r = p / n.
    variance : float > 0
        s^2.

    Raises
    ------
    ConfigError
        When one is not positive and finite.

    References
    ----------
    Z. Bai, J. W. Silverstein, Spectral analysis of large dimensional random matrices, 2010,
    Theorem 5.11; Moucer, Taylor & Bach (2024), Theorem 5.
    """
    for name, number in (("aspect_ratio", aspect_ratio), ("variance", variance)):
        if not (number > 0 and math.isfinite(number)):
            raise ConfigError(f"{name} = {number} must be positive and finite.")
    root = math.sqrt(aspect_ratio)
    return variance * (1 - root) ** 2, variance * (1 + root) ** 2


def gradient_rate(aspect_ratio: float) -> float:
    """1 - lambda_min / lambda_max over the ``edges``, the limit of 1 - mu2 / L2.

    Corollary 6 in both regimes: r (1 - sqrt(1 / r))^2 = (1 - sqrt r)^2.

    Parameters
    ----------
    aspect_ratio : float > 0
        r = p / n.

    Raises
    ------
    ConfigError
        When it is not positive and finite.

    References
    ----------
    Moucer, Taylor & Bach (2024), Corollary 6.
    """
    smallest, largest = edges(aspect_ratio)
    return 1 - smallest / largest


def predict_gradient_descent(n_samples: int, p: int) -> float:
    """Limit of the factor of the gap per iteration of gradient descent.

    The square of Corollary 6, since the exponent 2 k is a theorem on quadratics.

    Parameters
    ----------
    n_samples, p : int >= 1
        Rows and columns.

    Raises
    ------
    ConfigError
        When one is not positive.
    """
    return gradient_rate(_aspect_ratio(n_samples, p)) ** 2


def predict_coordinate_descent(n_samples: int, p: int) -> float:
    """1 - 1 / min(n, p), what 1 - mu1 / L1 concentrates at.

    Proved for independent columns, p much smaller than n, and for the relaxation mu1_sdp where p is
    much larger (the bound mu1L <= L1 / n of Lemma 23 holds for it only).

    Parameters, errors
    ------------------
    As for ``predict_gradient_descent``.

    References
    ----------
    Moucer, Taylor & Bach (2024), Corollary 10.
    """
    _aspect_ratio(n_samples, p)
    return 1 - 1 / min(n_samples, p)


def _aspect_ratio(n_samples: int, p: int) -> float:
    if n_samples < 1 or p < 1:
        raise ConfigError(f"a design of {n_samples} rows and {p} columns has no aspect ratio.")
    return p / n_samples
