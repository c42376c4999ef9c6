"""Marchenko-Pastur edges and rates against simulated designs and the printed formulas."""

import numpy as np
import pytest

from greedyexp.core.errors import ConfigError
from greedyexp.theory.convergence_rates import (
    edges,
    gradient_rate,
    predict_coordinate_descent,
    predict_gradient_descent,
)


@pytest.mark.parametrize("aspect_ratio", [0.1, 0.5, 2.0, 5.0])
def test_eigenvalues_of_large_designs_end_there(aspect_ratio):
    n = int(600 / max(aspect_ratio, 1))
    p = int(n * aspect_ratio)
    P = 2 * np.random.default_rng(0).standard_normal((n, p))
    values = np.linalg.svd(P, compute_uv=False) ** 2 / n
    lower, upper = edges(aspect_ratio, variance=4.0)
    assert values[-1] == pytest.approx(lower, rel=0.25)
    assert values[0] == pytest.approx(upper, rel=0.08)


@pytest.mark.parametrize("r", [0.2, 1.0])
def test_rate_of_fewer_columns_is_the_printed_one(r):
    printed = 1 - (1 - r**0.5) ** 2 / (1 + r**0.5) ** 2
    assert gradient_rate(r) == pytest.approx(printed)


@pytest.mark.parametrize("r", [1.0, 3.0, 20.0])
def test_rate_of_more_columns_is_the_printed_one(r):
    printed = 1 - r * (1 - (1 / r) ** 0.5) ** 2 / (1 + r**0.5) ** 2
    assert gradient_rate(r) == pytest.approx(printed)


def test_predictions():
    assert predict_gradient_descent(50, 200) == pytest.approx((8 / 9) ** 2)
    assert predict_gradient_descent(50, 50) == 1
    assert predict_coordinate_descent(50, 10) == pytest.approx(0.9)
    assert predict_coordinate_descent(50, 500) == pytest.approx(0.98)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_impossible_values_are_refused(value):
    with pytest.raises(ConfigError, match="aspect_ratio"):
        edges(value)
    with pytest.raises(ConfigError, match="aspect_ratio"):
        gradient_rate(value)
    with pytest.raises(ConfigError, match="variance"):
        edges(1.0, value)
    with pytest.raises(ConfigError, match="0 columns"):
        predict_gradient_descent(5, 0)
