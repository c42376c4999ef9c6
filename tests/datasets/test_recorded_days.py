"""Records of days: times to samples of chains, and training and test chains."""

from __future__ import annotations

import numpy as np
import pytest
from chain_checks import states_a_chain_problem

from greedyexp.core.errors import DataError
from greedyexp.generators import _labelled_chains as timeline
from greedyexp.generators._labelled_chains import (
    NO_ACTIVITY,
    LabelledChains,
    Spans,
    sampled,
    split_days,
)

# --- time to samples --------------------------------------------------------------------------


def random_spans(seed, count, kinds, horizon=400):
    rng = np.random.default_rng(seed)
    begin = rng.integers(-20, horizon, count)
    end = begin + rng.integers(0, 60, count)
    kind = rng.integers(0, kinds, count)
    return Spans(begin.astype(float), end.astype(float), kind, tuple("abcde"[:kinds]))


@pytest.mark.parametrize("seed", range(12))
def test_samples_are_those_of_a_walk_through_the_seconds(seed):
    spans = random_spans(seed, 14, 3)
    edges = np.arange(0.0, 401.0, 10.0)
    labels = timeline.dominant_kinds(spans, edges)
    on = np.zeros((40, 3), dtype=bool)
    on[timeline.overlapping_cells(spans, edges)] = True
    last = np.full(40, -1)
    cells, kinds = timeline.last_started(spans, edges)
    last[cells] = kinds
    for cell in range(40):
        seconds = range(10 * cell, 10 * cell + 10)
        holders = [_holder(spans, second) for second in seconds]
        held = [holders.count(kind) for kind in range(3)]
        assert labels[cell] == (held.index(max(held)) if max(held) else -1)
        for kind in range(3):
            meets = any(
                b in seconds or (b < seconds[0] and e > seconds[0])
                for b, e, k in zip(spans.begin, spans.end, spans.kind, strict=True)
                if k == kind
            )
            assert on[cell, kind] == meets
        begun = [(b, i) for i, b in enumerate(spans.begin) if b <= seconds[-1]]
        assert last[cell] == (spans.kind[max(begun)[1]] if begun else -1)


def _holder(spans, second):
    """The kind of the span that began last of those that hold a second."""
    holding = [
        (b, i)
        for i, (b, e) in enumerate(zip(spans.begin, spans.end, strict=True))
        if b <= second < e
    ]
    return spans.kind[max(holding)[1]] if holding else None


def test_days_without_anything_are_left_out():
    day = 86_400.0
    activities = Spans.named([8 * 3600, 3 * day + 60], [9 * 3600, 3 * day + 120], ["b", "a"])
    sensors = Spans.named([9 * 3600, day + 30], [9 * 3600 + 5, day + 31], ["m", "n"])
    record = sampled(sensors, activities, 60.0, "last_fired")
    # From 8 o'clock; the second day has an event only, the third nothing, the fourth two minutes.
    assert record.lengths.tolist() == [16 * 60, 24 * 60, 2]
    assert record.class_names == ("a", "b", NO_ACTIVITY)
    assert record.labels[:60].tolist() == [1] * 60
    assert record.labels[60:].tolist() == [2] * (15 * 60 + 24 * 60 + 1) + [0]
    assert not record.X[:60].any()
    assert record.X[60].tolist() == [1, 0]
    # What fired last is known on the next days too.
    assert record.X[-1].tolist() == [0, 1]


def test_no_class_is_added_where_all_is_labelled():
    sensors = Spans.named([0], [1], ["m"])
    record = sampled(sensors, Spans.named([0, 60], [60, 120], ["a", "b"]), 60.0, "raw")
    assert record.class_names == ("a", "b")
    assert record.labels.tolist() == [0, 1]
    assert record.X.tolist() == [[1], [0]]


def test_too_many_samples_are_refused_in_a_sentence():
    spans = Spans.named([0, 1e12], [60, 1e12 + 1], ["a", "b"])
    with pytest.raises(DataError, match=r"samples of 60 seconds.*look for a wrong date\."):
        sampled(spans, spans, 60.0, "raw")


# --- splits -----------------------------------------------------------------------------------


def numbered(count):
    """Chains of 1, 2, ... words, each word carrying the number of its chain."""
    lengths = np.arange(1, count + 1)
    number = np.repeat(np.arange(count), lengths)
    return LabelledChains(number[:, None].astype(float), number % 2, lengths, ("x",), ("a", "b"))


@pytest.mark.parametrize(
    ("count", "share", "fitted"),
    [(6, 0.5, 3), (7, 0.3, 2), (4, 0.01, 1), (4, 0.99, 3), (2, 0.5, 1)],
)
def test_whole_chains_are_split_at_random(count, share, fitted):
    seen = set()
    for seed in range(30):
        problem = split_days(np.random.default_rng(seed), numbered(count), share)
        states_a_chain_problem(problem)
        assert len(problem.chains) == fitted
        for X, y, chains in (
            (problem.X, problem.y, problem.chains),
            (problem.X_test, problem.y_test, problem.chains_test),
        ):
            assert X[0][:, 0].tolist() == [c - 1 for c in chains for _ in range(c)]
            assert (np.stack(y).argmax(axis=0) == X[0][:, 0] % 2).all()
        assert sorted([*problem.chains, *problem.chains_test]) == list(range(1, count + 1))
        seen.add(tuple(problem.chains))
    assert len(seen) > 1


def test_one_day_cannot_be_split():
    with pytest.raises(DataError, match="spans one day; at least two are needed"):
        split_days(np.random.default_rng(0), numbered(1), 0.5)
