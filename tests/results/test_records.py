"""Columns that figures read, sizes, and the labels of swept algorithms."""

import pandas as pd
import pytest

from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.experiment.parameters import Parameters
from greedyexp.experiment.variants import Variant
from greedyexp.results.context import Context
from greedyexp.results.records import group_columns, matches
from greedyexp.results.text import count_text

SWEPT = [f"rmp (lam={lam}, L={size})" for lam in (0.1, 1.0) for size in (1, 2)]
NAMES = dict.fromkeys(["rmp", "omp", *SWEPT], "rmp")
VARIANTS = {label: Variant("rmp", ("lam", "L")) for label in SWEPT}
CONTEXT = Context("t", "paper", 1, "", NAMES, {}, variants=VARIANTS)


def table(**columns):
    frame = pd.DataFrame({"algorithm": [*SWEPT, "omp"], "status": "ok"})
    return pd.DataFrame({**columns, **frame})


@pytest.mark.parametrize(
    ("name", "given", "read"),
    [
        ("constants", {"mark": "edge"}, ["p", "algorithm", "edge", "value", "lower", "upper"]),
        ("convergence", {"row": "data"}, ["data", "algorithm", "record", "iteration", "gap"]),
        (
            "coordinates",
            {"panel": None},
            ["record", "iteration", "coordinate", "coefficient"],
        ),
        (
            "epsilon_curve",
            {"panel": "n_samples", "mark": 1.0},
            ["p", "n_samples", "algorithm", "record", "epsilon", "iterations"],
        ),
        (
            "rates",
            {"line": ["n_samples"]},
            ["aspect_ratio", "n_samples", "record", "rate", "predicted_rate"],
        ),
        (
            "transition_threshold",
            {"success": {"default": "sign_support", "omp": "row_support"}},
            ["kappa", "theta", "algorithm", "sign_support", "row_support"],
        ),
    ],
)
def test_columns_that_a_figure_reads_follow_from_its_parameters(name, given, read):
    part = registry.find("figure", name)
    assert part.columns(**Parameters(part).read_all(given)) == read


def test_a_sweep_is_one_algorithm_if_its_parameters_are_columns():
    frame = table(lam=0.1, L=1)
    folded, keys = group_columns(frame, CONTEXT, None, "lam", "algorithm", "L", "lam")
    assert keys == ["lam", "algorithm", "L"]
    assert folded["algorithm"].tolist() == ["rmp"] * 4 + ["omp"]
    apart, _ = group_columns(frame, CONTEXT, "lam", "algorithm")
    assert apart["algorithm"].tolist() == frame["algorithm"].tolist()


def test_sizes_count_as_columns_and_others_must_be_there():
    sized, keys = group_columns(table(n_samples=10, n_features=30), CONTEXT, "aspect_ratio")
    assert sized[keys[0]].tolist() == [3.0] * 5
    with pytest.raises(ConfigError, match="no column 'lamb'"):
        group_columns(table(lam=0.1), CONTEXT, "lamb")


def test_counts_that_vary_are_written_as_a_range():
    assert count_text(pd.Series([3, 3])) == "3"
    assert count_text(pd.Series([2, 3])) == "2 to 3"


def test_a_boolean_is_no_number():
    numbers, booleans = pd.Series([0.0, 1.0, 2.0, None]), pd.Series([0.0, 1.0, None])
    assert matches(numbers, [1]).tolist() == [False, True, False, False]
    assert not matches(numbers, [True, False]).any()
    assert matches(booleans, [True]).tolist() == [False, True, False]
    assert not matches(pd.Series([0, 1], name="replicate"), [True]).any()
