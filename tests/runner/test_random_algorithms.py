"""Algorithms that draw at random get the stream of their replicate, whatever the protocol."""

from __future__ import annotations

import numpy as np
import pytest
from kept_registry import kept_registry

import greedyexp
from greedyexp.core import registry
from greedyexp.core.parts import Algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem
from greedyexp.protocols.fitting import cross_validated, fit


def drawn(problem, *, rng=None, grid=None):
    """One number, as the coefficient of the first feature."""
    rng = np.random.default_rng(0) if rng is None else rng
    coef = np.zeros((1, problem.n_features, 1))
    coef[0, 0, 0] = rng.random()
    return Path(coef, {"lam": np.ones(1)}, np.zeros(1), np.ones(1, bool))


def problem_of() -> Problem:
    X = np.arange(12.0).reshape(6, 2)
    return Problem((X,), (X[:, 0],))


def test_a_stream_is_given_to_who_takes_one():
    part = Algorithm("drawn", drawn)
    path = fit(part, problem_of(), {}, rng=np.random.default_rng(5))
    assert path.coef[0, 0, 0] == np.random.default_rng(5).random()
    assert fit(part, problem_of(), {}).coef[0, 0, 0] == np.random.default_rng(0).random()
    plain = Algorithm("plain", lambda problem, grid=None: drawn(problem))
    fit(plain, problem_of(), {}, rng=np.random.default_rng(5))


def test_folds_go_on_with_the_same_stream():
    seen = []

    def noting(problem, *, rng=None, grid=None):
        seen.append(rng)
        return drawn(problem, rng=rng)

    rng = np.random.default_rng(1)
    cross_validated(Algorithm("n", noting), problem_of(), {}, folds=2, rng=rng)
    assert len(seen) == 3
    assert all(one is rng for one in seen)


def test_a_seed_starts_the_stream_of_one_fit():
    with kept_registry():
        prescribed = {"theory": lambda problem: {"lam": np.ones(1)}}
        registry.algorithm("s_drawn", **prescribed)(drawn)
        X, y = problem_of().X[0], problem_of().y[0]

        def first(**asked):
            return greedyexp.solve("s_drawn", X, y, **asked).coef[0]

        for seed in (0, 5):
            expected = np.random.default_rng(seed).random()
            for tuning in ("end", "theory", "cv"):
                assert first(tuning=tuning, folds=2, seed=seed) == expected
        assert first() == first(seed=0)


@pytest.mark.parametrize(
    ("protocol", "algorithm"),
    [
        ("recovery", "r_plain"),
        ("recovery", {"r_drawn": {"tuning": "cv", "folds": 2}}),
        ({"selection": {"sizes": [1]}}, "r_drawn"),
    ],
)
def test_every_replicate_draws_anew_and_alike_in_every_run(tmp_path, protocol, algorithm):
    with kept_registry():

        @registry.generator("r_data")
        def data(rng):
            """Six rows."""
            return problem_of()

        @registry.algorithm("r_plain")
        def plain(problem, *, rng=None):
            """One estimate."""
            return drawn(problem, rng=rng).coef[0]

        registry.algorithm("r_drawn")(drawn)
        registry.metric("r_first", better=None)(lambda problem, coef: coef[..., 0, 0])
        config = {
            "name": "random",
            "protocol": protocol,
            "data": {"generator": "r_data"},
            "trials": 4,
            "algorithms": [algorithm],
            "metrics": ["r_first"],
        }
        values = [
            greedyexp.run(config, out=tmp_path / name, engine="serial")["r_first"].tolist()
            for name in ("one", "two")
        ]
    assert len(set(values[0])) == 4
    assert values[0] == values[1]
