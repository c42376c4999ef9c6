"""Generators of labelled chains: laws, cuts, the splits they make, and time turned into samples."""

from __future__ import annotations

import random

import numpy as np
import pytest
from chain_checks import states_a_chain_problem
from scipy import stats

from greedyexp.config import load
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.core.registry import find
from greedyexp.generators.simulated_home import (
    ACTIVITIES,
    bouts,
    fired,
    last_fired,
    layout,
    mean_lengths,
    shares,
    simulated_home,
    transitions,
)
from greedyexp.generators.synthetic_chains import synthetic_chains


def sentences(seed=0, n_words=800):
    return synthetic_chains(np.random.default_rng(seed), n_words=n_words)


def small_home(seed=0, *, n_sensors=40, n_train=30_000, n_test=9_000, **given):
    params = {"interval": 10.0, "representation": "last_fired", **given}
    return simulated_home(
        np.random.default_rng(seed), n_sensors=n_sensors, n_train=n_train, n_test=n_test, **params
    )


def whole(problem):
    """Features, labels and chain lengths of both parts."""
    X = np.vstack([problem.X[0], problem.X_test[0]])
    y = np.hstack([np.stack(problem.y), np.stack(problem.y_test)]).argmax(axis=0)
    return X, y, np.concatenate([problem.chains, problem.chains_test])


# --- synthetic_chains -------------------------------------------------------------------------


def drawn_slowly(source: random.Random, n_words: int) -> list[int]:
    """The labels of the sequence, by the words of the description and the standard library."""
    labels, before = [], 0
    for _ in range(n_words):
        weights = {}
        while not any(weights.values()):
            word = [source.randint(0, m) for m in (2, 3, 4, 5)]
            weights = {s: 10 ** (s - 1) * word.count(s) for s in (1, 2, 3, 4)}
        top = max(weights.values())
        if before:
            weights[before] = max(weights[before], top / 10)
        weights[0] = 0 if before == 0 else top / 2 if before == 4 else top / 10
        before = source.choices(list(weights), list(weights.values()))[0]
        labels.append(before)
    return labels


@pytest.mark.parametrize("seed", [0, 1])
def test_sentences_are_chains_of_labelled_words(seed):
    # 122 sentences, and 107.
    problem = sentences(seed)
    states_a_chain_problem(problem)
    assert problem.X[0].shape[1] == 14
    assert problem.class_names == ("1", "2", "3", "4")
    assert problem.feature_names[:3] == ("feature 1 = 1", "feature 1 = 2", "feature 2 = 1")
    count = problem.facts["n_sentences"]
    assert len(problem.chains) == (count + 1) // 2
    assert len(problem.chains_test) == count // 2
    X, *_ = whole(problem)
    starts = np.cumsum([0, 2, 3, 4])
    assert (np.add.reduceat(X, starts, axis=1) <= 1).all()


def test_labels_have_the_expected_shares_and_sentences_the_expected_length():
    n = 200_000
    _, labels, lengths = whole(sentences(1, n))
    # Batches of a slow simulation give both the means and their standard errors.
    source = random.Random(2)
    slow = np.array([np.bincount(drawn_slowly(source, 2000), minlength=5) for _ in range(40)])
    slow = slow / 2000
    error = slow.std(axis=0, ddof=1) * np.sqrt(1 / 40 + 2000 / n)
    fast = np.array([n - len(labels), *np.bincount(labels)]) / n
    assert (np.abs(fast - slow.mean(axis=0)) < 4 * error).all()
    assert np.abs(fast - [0.13, 0.07, 0.21, 0.31, 0.28]).max() < 0.006
    assert len(lengths) == pytest.approx(0.13 * n, rel=0.03)
    assert lengths.mean() == pytest.approx(6.5, abs=0.15)


def test_each_label_follows_its_word_and_the_label_before():
    X, labels, lengths = whole(sentences(3, 60_000))
    counts = np.stack([X[:, columns].sum(axis=1) for columns in _columns_of_classes()])
    weights = counts.T * [1, 10, 100, 1000]
    before = np.r_[-1, labels[:-1]]
    before[np.cumsum(lengths)[:-1]] = -1
    inside = np.flatnonzero(before >= 0)
    top = weights.max(axis=1)
    weights[inside, before[inside]] = np.maximum(weights[inside, before[inside]], top[inside] / 10)
    expected = weights / weights.sum(axis=1, keepdims=True)
    drawn = labels[:, None] == np.arange(4)
    for last in (-1, 0, 1, 2, 3):
        rows = before == last
        spread = np.sqrt((expected * (1 - expected))[rows].sum(axis=0))
        assert (np.abs((drawn - expected)[rows].sum(axis=0)) < 4 * spread).all()
    # Where weights tell all, nothing else may be drawn.
    assert not (drawn & (expected == 0)).any()


def _columns_of_classes():
    """The columns that say "this feature has the value s", for s = 1, ..., 4."""
    values = [value for m in (2, 3, 4, 5) for value in range(1, m + 1)]
    return [[i for i, value in enumerate(values) if value == s] for s in (1, 2, 3, 4)]


def test_a_sentence_ends_most_often_after_class_four():
    _, labels, lengths = whole(sentences(4, 60_000))
    ends = np.zeros(len(labels), dtype=bool)
    ends[np.cumsum(lengths) - 1] = True
    rates = [ends[labels == s].mean() for s in range(4)]
    # Half of the largest against at most three halves; a tenth against at least one.
    assert 0.2 < rates[3] < 0.34
    assert max(rates[:3]) < 0.1


def test_too_few_words_are_refused_in_a_sentence():
    with pytest.raises(DataError, match=r"the 2 words drawn make one sentence; .* Raise n_words\."):
        sentences(0, 2)


# --- simulated_home ---------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["train", "test"])
@pytest.mark.parametrize("interval", [1.0, 10.0, 300.0])
def test_successions_keep_the_shares_of_the_table(part, interval):
    share, mean = shares(part), mean_lengths(interval)
    P = transitions(share, mean)
    assert P.min() >= 0
    assert np.diag(P).max() == 0
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-10)
    values, vectors = np.linalg.eig(P.T)
    f = np.real(vectors[:, np.argmax(np.real(values))])
    time = f * mean
    np.testing.assert_allclose(time / time.sum(), share, rtol=1e-8)


def test_the_table_is_that_of_the_paper():
    train = [81, 66, 64, 25, 6.4, 5.2, 3.9, 3.4, 2.5, 1.6, 1.5, 1.4, 0.5, 6.5]
    test = [87, 42, 46, 65, 6.0, 4.6, 4.5, 3.5, 2.6, 1.6, 1.8, 1.4, 0.3, 2.1]
    np.testing.assert_allclose(shares("train") * sum(train), train)
    np.testing.assert_allclose(shares("test") * sum(test), test)
    assert sum(train) == pytest.approx(270, rel=0.01)
    assert sum(test) == pytest.approx(270, rel=0.01)


def test_days_come_out_with_the_shares_of_the_table():
    share, runs = shares("train"), []
    lengths_of = {kind: [] for kind in range(len(ACTIVITIES))}
    for seed in range(60):
        kinds, lengths = bouts(np.random.default_rng(seed), share, 10.0, 100_000)
        assert lengths.sum() == 100_000
        assert (np.diff(kinds) != 0).all()
        runs.append(np.bincount(kinds, lengths, minlength=len(share)) / lengths.sum())
        for kind in lengths_of:
            lengths_of[kind] += lengths[:-1][kinds[:-1] == kind].tolist()
    runs = np.array(runs)
    error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    assert (np.abs(runs.mean(axis=0) - share) < 4 * error).all()
    # Sharp enough to tell the two columns of the table apart.
    assert (np.abs(shares("test") - share) > 4 * error).sum() >= 4
    for kind, mean in enumerate(mean_lengths(10.0)):
        seen = np.array(lengths_of[kind])
        # The last bout is cut: long ones more often, by less than a tenth.
        assert abs(seen.mean() - mean) < 4 * seen.std() / np.sqrt(len(seen)) + 0.1 * mean


def test_a_home_is_a_chain_problem_of_days():
    problem = small_home()
    states_a_chain_problem(problem)
    assert problem.chains.tolist() == [8640, 8640, 8640, 30_000 - 3 * 8640]
    assert problem.chains_test.tolist() == [8640, 360]
    assert problem.class_names == tuple(activity.name for activity in ACTIVITIES)
    assert problem.feature_names[0] == "sensor 01"
    assert problem.feature_names[-1] == "sensor 40"
    # One sensor fired last, from the first event on.
    fires = problem.X[0].sum(axis=1)
    assert set(fires) <= {0.0, 1.0}
    assert (np.diff(fires) >= 0).all()
    assert small_home(interval=1.0, n_train=90_000, n_test=10).chains.tolist() == [86_400, 3600]


def test_a_layout_has_copies_and_useless_sensors():
    home = layout(np.random.default_rng(0), 40)
    copies = np.flatnonzero(home.original != np.arange(40))
    assert len(copies) == 8
    assert home.useless.sum() == 5
    assert not home.useless[home.original[copies]].any()
    raw = small_home(0, representation="raw").X[0]
    other = small_home(1, representation="raw").X[0]
    for X, seed in ((raw, 0), (other, 1)):
        home = layout(np.random.default_rng(seed), 40)
        copies = np.flatnonzero(home.original != np.arange(40))
        kept = np.array([X[:, i].sum() / X[:, home.original[i]].sum() for i in copies])
        assert (X[:, copies] <= X[:, home.original[copies]]).all()
        assert (kept == 1).sum() == 4
        assert ((kept > 0.8) & (kept < 0.97)).sum() == 4


def test_useless_sensors_tell_nothing_and_others_a_lot():
    home = layout(np.random.default_rng(5), 40)
    problem = small_home(5, n_train=100_000, n_test=1, representation="raw")
    X, labels = problem.X[0], np.stack(problem.y).argmax(axis=0)
    big = [kind for kind in range(4) if (labels == kind).sum() > 2000]
    p_values = np.array(
        [
            stats.chi2_contingency(
                [
                    [column[labels == kind].sum() for kind in big],
                    [(1 - column[labels == kind]).sum() for kind in big],
                ]
            ).pvalue
            for column in X.T
        ]
    )
    assert p_values[home.useless].min() > 1e-4
    assert (p_values[~home.useless] < 1e-8).sum() >= 15


def test_sensors_fire_by_distance_and_motion():
    rng = np.random.default_rng(0)
    home = layout(rng, 40)
    cooking = [activity.name for activity in ACTIVITIES].index("Cooking")
    n, interval = 40_000, 10.0
    fires = fired(home, rng, np.array([cooking]), np.array([n]), interval)
    squares = ((home.place - ACTIVITIES[cooking].spot) ** 2).sum(axis=1)
    rate = ACTIVITIES[cooking].motion * np.exp(-squares / (2 * 1.2**2))
    watching = (home.original == np.arange(40)) & ~home.useless
    chance = 1 - np.exp(-interval * (rate + 2e-6))
    z = (fires.sum(axis=0) - n * chance) / np.sqrt(n * chance * (1 - chance) + 1)
    assert np.abs(z[watching]).max() < 4
    assert chance[watching].max() > 0.3


def test_the_last_of_several_is_any_of_them():
    rng = np.random.default_rng(0)
    fires = np.zeros((6000, 3), dtype=bool)
    fires[::3, 0] = fires[::3, 2] = True
    last = last_fired(rng, fires)
    assert (last[0::3] == last[1::3]).all()
    assert (last[0::3] == last[2::3]).all()
    assert set(last) == {0, 2}
    assert stats.binomtest(int((last[::3] == 0).sum()), 2000).pvalue > 1e-4
    assert last_fired(rng, fires[1:3]).tolist() == [-1, -1]


def test_a_home_depends_on_its_stream_alone():
    one, same, other = small_home(1), small_home(1), small_home(2)
    assert np.array_equal(one.X[0], same.X[0])
    assert np.array_equal(np.stack(one.y_test), np.stack(same.y_test))
    assert not np.array_equal(one.X[0], other.X[0])


# --- shapes and facts --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["synthetic_chains", "simulated_home", "uci_adl", "casas"])
def test_what_is_promised_of_chains(name):
    part = find("generator", name)
    assert {"labels", "chains", "test_rows", "multi_task"} <= set(part.provides)


def test_cross_validation_of_chains_is_refused_before_any_work():
    settings = {"name": "a", "data": {"generator": "synthetic_chains"}, "trials": 1}
    settings |= {"metrics": ["support_size"]}
    path = {"foba_gdt": {"loss": "crf"}}
    for entry in (path, {"foba_gdt": {"loss": "crf", "tuning": "cv"}}):
        with pytest.raises(ConfigError, match="'cv' splits rows") as caught:
            load({**settings, "algorithms": [entry]})
        assert str(caught.value).endswith("Use protocol selection.")
    assert load({**settings, "algorithms": [path], "protocol": {"selection": {"sizes": [1]}}})


@pytest.mark.parametrize(
    ("name", "given"), [("synthetic_chains", {}), ("simulated_home", {"n_train": 500, "n_test": 9})]
)
def test_shapes_and_facts_are_known_before_drawing(name, given):
    part = find("generator", name)
    params = part.parameters(**given).model_dump()
    problem = part.function(np.random.default_rng(0), **params)
    declared = part.shape(**params)
    assert declared.items() <= problem.shape.items()
    assert set(part.facts) == set(problem.facts)
