"""The sweep grammar: grids, zips and ranges, and the canonical order of their points."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal

import pytest
from experiment_parts import base, message, registered  # noqa: F401 (an autouse fixture)
from hypothesis import given, settings
from hypothesis import strategies as st

from greedyexp.config import load
from greedyexp.experiment.sweep import read_range


def points(sweep, names=("p", "s", "kappa", "theta"), **fixed):
    """The swept values of each point."""
    data = {"generator": "t_overlap", **fixed, "sweep": sweep}
    experiment = load(base(data=data, profiles=None))
    return [tuple(point.params[name] for name in names) for point in experiment.points]


def values(**keys):
    return list(read_range({key.rstrip("_"): value for key, value in keys.items()}, "theta"))


def test_grid_is_the_product_in_canonical_order():
    got = points({"theta": [2, 1], "kappa": [0.5, 0.25], "p": [8, 4]}, ("p", "kappa", "theta"))
    assert got == list(itertools.product([4, 8], [0.25, 0.5], [1.0, 2.0]))


def test_order_in_the_file_does_not_matter():
    one = points({"theta": [1, 2, 3], "p": [4, 8]})
    assert one == points({"p": [8, 4], "theta": [3, 1, 2]})


def test_swept_and_fixed_values_normalise_alike():
    experiment = load(base(data={"generator": "t_overlap", "p": 8, "noise_std": 1, "kappa": 1}))
    point = experiment.points[0].params
    assert [type(point[name]) for name in ("p", "kappa", "theta", "noise_std")] == [
        int,
        float,
        float,
        float,
    ]
    swept = load(
        base(data={"generator": "t_overlap", "sweep": {"p": [8.0], "noise_std": [1.0]}, "kappa": 1})
    )
    assert repr(swept.points) == repr(experiment.points)
    assert swept.swept == []


def test_defaults_are_read_like_values_a_user_gives():
    # kappa's default is the int 1 for a float parameter
    experiment = load(base(data={"generator": "t_overlap", "p": 8}))
    assert repr(experiment.points[0].params["kappa"]) == "1.0"


def test_zip_pairs_lists_and_crosses_with_the_grid():
    got = points({"zip": {"p": [4, 8], "s": [1, 2]}, "theta": [1, 3]}, ("p", "s", "theta"))
    assert got == [(4, 1, 1.0), (4, 1, 3.0), (8, 2, 1.0), (8, 2, 3.0)]


def test_several_zips_cross_each_other():
    got = points({"zip": [{"p": [4, 8], "s": [1, 2]}, {"kappa": [0, 1], "theta": [5, 1]}]})
    assert got == [(4, 1, 0, 5), (4, 1, 1, 1), (8, 2, 0, 5), (8, 2, 1, 1)]


def test_zip_takes_ranges_of_equal_length():
    sweep = {"zip": {"p": {"from": 4, "to": 8, "step": 2}, "s": [1, 2, 3]}}
    assert points(sweep, ("p", "s")) == [(4, 1), (6, 2), (8, 3)]


def test_a_zipped_parameter_that_starts_and_ends_alike_is_swept():
    data = {"generator": "t_overlap", "sweep": {"zip": {"p": [4, 6, 8], "s": [2, 1, 2]}}}
    assert load(base(data=data)).swept == ["p", "s"]


def test_linear_step_gives_the_numbers_a_user_would_type():
    got = values(from_=0.4, to=4.4, step=0.2)
    assert got[:4] == [0.4, 0.6, 0.8, 1]
    assert got == [float(f"{k / 10:.1f}") for k in range(4, 45, 2)]
    assert len(got) == 21


@given(
    start=st.integers(-500, 500),
    step=st.integers(1, 300),
    count=st.integers(1, 60),
    p=st.integers(0, 6),
)
@settings(deadline=None, derandomize=True, max_examples=200)
def test_linear_ranges_are_exact_decimals(start, step, count, p):
    # the decimal literal of every value, built from integers alone
    literal = [float(Decimal(start + k * step).scaleb(-p)) for k in range(count)]
    ends = {"from_": literal[0], "to": literal[-1]}
    assert values(**ends, step=float(Decimal(step).scaleb(-p))) == literal
    assert values(**ends, num=count) == literal


def test_a_step_that_overshoots_stops_before_the_end():
    assert values(from_=0, to=1, step=0.3) == [0, 0.3, 0.6, 0.9]


def test_log_ranges_have_exact_ends_and_round_ratios():
    assert values(from_=0.001, to=1000, num=7, scale="log") == [0.001, 0.01, 0.1, 1, 10, 100, 1000]
    octaves = values(from_=64, to=512, num=4, scale="log")
    assert octaves == [64, 128, 256, 512]
    assert all(isinstance(value, int) for value in octaves)
    ends = values(from_=0.1, to=0.7, num=5, scale="log")
    assert (ends[0], ends[-1]) == (0.1, 0.7)
    ratios = [b / a for a, b in itertools.pairwise(ends)]
    assert all(math.isclose(ratio, 7**0.25, rel_tol=1e-11) for ratio in ratios)
    assert all(len(Decimal(repr(value)).as_tuple().digits) <= 12 for value in ends)


def test_ranges_of_whole_numbers_suit_whole_number_parameters():
    got = points({"p": {"from": 4, "to": 16, "num": 3, "scale": "log"}}, ("p",))
    assert got == [(4,), (8,), (16,)]
    assert all(type(p) is int for (p,) in got)


def test_a_list_parameter_is_swept_by_a_list_of_lists():
    entry = {"t_path": {"sweep": {"w": [[1.1], [1.2, 1.3]]}}}
    specs = load(base(algorithms=[entry])).algorithms
    assert [(spec.label, spec.swept, spec.params["w"]) for spec in specs] == [
        ("t_path (w=[1.1])", {"w": [1.1]}, [1.1]),
        ("t_path (w=[1.2, 1.3])", {"w": [1.2, 1.3]}, [1.2, 1.3]),
    ]


def test_lists_and_nothing_are_ordered_by_value_too():
    file = {"generator": "t_file", "name": "a", "sweep": {"exponents": [[10], [9, 1], None, [9]]}}
    parts = {"algorithms": ["t_lasso"], "metrics": ["t_size"], "figures": None, "profiles": None}
    settings = base(data=file, **parts)
    got = [point.params["exponents"] for point in load(settings).points]
    assert got == [None, [9.0], [9.0, 1.0], [10.0]]


BAD = [
    ({"p": []}, "the sweep of p is empty"),
    ({"p": 64}, "must be a list or a range"),
    ({"p": [8, 16, 8]}, "has 8 twice"),
    ({"theta": [1, 1.0]}, "has 1.0 twice"),
    ({"q": [1]}, "no parameter 'q' to sweep"),
    ({"theta": {"from": 2, "to": 1, "step": 0.1}}, "from 2 is more than to 1"),
    ({"theta": {"from": 1, "to": 2, "step": 0}}, "step of theta must be more than 0"),
    ({"theta": {"from": 1, "to": 2, "step": -1}}, "step of theta must be more than 0"),
    ({"theta": {"from": 1, "to": 2, "num": 0}}, "at least 1, but is 0"),
    ({"theta": {"from": 1, "to": 2, "num": 2.5}}, "whole number"),
    ({"theta": {"from": 1, "to": 2, "num": True}}, "but is true"),
    ({"theta": {"from": 1, "to": 2, "num": 1}}, "from and to are different"),
    ({"theta": {"from": 1, "to": 1, "num": 3}}, "from and to are equal"),
    ({"theta": {"from": 1, "to": 2}}, "either num or step"),
    ({"theta": {"from": 1, "to": 2, "num": 2, "step": 1}}, "either num or step"),
    ({"theta": {"to": 2, "num": 2}}, "lacks 'from'"),
    ({"theta": {"from": "a", "to": 2, "num": 2}}, "'from' of theta must be a number"),
    ({"theta": {"from": 1, "to": float("inf"), "num": 2}}, "'to' of theta must be a number"),
    ({"theta": {"from": 1, "to": 2, "nmu": 2}}, "Did you mean 'num'?"),
    ({"theta": {"from": 1, "to": 2, "num": 2, "scale": "ln"}}, "linear or log, not 'ln'"),
    ({"theta": {"from": 0, "to": 2, "num": 2, "scale": "log"}}, "starts above 0"),
    ({"theta": {"from": 1, "to": 2, "step": 1, "scale": "log"}}, "takes num, not step"),
    ({"p": {"from": 4, "to": 5, "num": 3}}, "p must be a whole number, but is 4.5"),
    ({"zip": {"p": [4, 8], "s": [1, 2, 3]}}, "p has 2, s has 3"),
    ({"zip": []}, "zip is empty"),
    ({"zip": {}}, "zip must map parameters to lists"),
    ({"zip": {"p": [4, 4], "s": [1, 1]}}, "sweep of p and s has 4 and 1 twice"),
    ({"zip": {"p": [4, 8]}, "p": [4]}, "p is swept twice"),
    ({"zip": [{"p": [4, 8]}, {"p": [4]}]}, "p is swept twice"),
    ({"zip": {"q": [4, 8]}}, "no parameter 'q'"),
    ([1, 2], "sweep must be a mapping"),
]


@pytest.mark.parametrize(("sweep", "words"), BAD)
def test_bad_sweeps_are_refused_with_a_sentence(sweep, words):
    fixed = {} if isinstance(sweep, dict) and ("p" in sweep or "zip" in sweep) else {"p": 16}
    data = {"generator": "t_overlap", **fixed, "sweep": sweep}
    assert words in message(base(data=data, profiles=None))


def test_huge_sweeps_are_refused_before_they_are_expanded():
    for end in (1e9, 1e300):
        sweep = {"theta": {"from": 1, "to": end, "step": 0.001}}
        data = {"generator": "t_overlap", "p": 8, "sweep": sweep}
        assert "more than 10000000 replicates" in message(base(data=data))
    data = {"generator": "t_overlap", "p": 8}
    assert "10000000 rows" in message(base(data=data, trials=6_000_000))
    entry = {"t_path": {"sweep": {"nu": {"from": 0.1, "to": 0.9, "num": 1_000_000_000}}}}
    assert "10000000 rows" in message(base(algorithms=[entry]))
