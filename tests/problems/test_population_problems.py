"""A distribution without rows: what needs rows is refused before any work, the rest runs on it."""

from __future__ import annotations

import numpy as np
import pytest
from algorithm_cases import peer_marks
from experiment_parts import message
from kept_registry import kept_registry

import greedyexp
from greedyexp.config import load
from greedyexp.core import registry
from greedyexp.core.errors import PluginError
from greedyexp.generators.signs import rademacher
from greedyexp.problems.problem import Problem
from greedyexp.runner.evaluator import Evaluator
from greedyexp.runner.work import Work

POPULATION = {"generator": "rademacher", "n_samples": 0, "p": 20}
ROWS = {"generator": "rademacher", "n_samples": 30, "p": 20}


@pytest.fixture(autouse=True)
def of_moments():
    """An algorithm that solves the normal equations of a distribution."""
    with kept_registry():

        @registry.algorithm("t_exact", requires=("moments",), takes_population=True)
        def t_exact(problem):
            """The best linear predictor."""
            matrix = np.column_stack([problem.moments.column(j) for j in range(20)])
            return np.linalg.solve(matrix, problem.moments.cross)

        yield


def small(data, *algorithms, **others) -> dict:
    metrics = {} if "protocol" in others else {"metrics": ["frobenius_error"]}
    return {
        "name": "small",
        "data": data,
        "algorithms": list(algorithms),
        "seed": 1,
        "trials": 1,
    } | (metrics | others)


def test_an_algorithm_that_takes_a_population_runs_on_it(tmp_path):
    table = greedyexp.run(small(POPULATION, "t_exact"), out=tmp_path, engine="serial")
    assert table.status.tolist() == ["ok"]
    assert table.frobenius_error[0] < 1e-14
    assert table.n_samples[0] == 0


PROTOCOLS = {
    "estimates": {},
    "iterates": {"protocol": {"trajectory": {"iterations": 10}}},
    "constant": {"protocol": "constants"},
}
# Parameters without a default, and a loss of any responses.
GIVEN = {
    "estimator": {"class": "sklearn.linear_model.Lasso"},
    "proximal_gradient": {"lam": 0.1},
    "proximal_gs_coordinate_descent": {"lam": 0.1},
    "rmp": {"lam": 0.1},
    "smoothed_forward_greedy": {"loss": "absolute"},
}


def in_need_of_rows() -> list:
    parts = registry.parts("algorithm")
    return [
        pytest.param(name, marks=peer_marks(name))
        for name, part in parts.items()
        if not part.takes_population and "multi_task" not in part.fixed_requirements
    ]


@pytest.mark.parametrize("name", in_need_of_rows())
def test_every_other_algorithm_is_refused_in_one_sentence(name):
    others = PROTOCOLS[registry.find("algorithm", name).yields]
    entry = {name: GIVEN[name]} if name in GIVEN else name
    error = message(small(POPULATION, entry, **others))
    place, _, said = error.partition(": ")
    assert place.startswith("algorithms[0]")
    assert said == (f"algorithm '{name}' needs rows of data but generator 'rademacher' draws none.")
    load(small(ROWS, entry, **others))


def test_the_points_without_rows_are_named():
    data = {"generator": "rademacher", "p": 20, "sweep": {"n_samples": [50, 0]}}
    error = message(small(data, "omp"))
    assert "needs rows of data but generator 'rademacher' draws none at n_samples = 0." in error
    blocks = [ROWS | {"label": "rows"}, POPULATION | {"label": "law"}]
    assert "generator 'rademacher' of data 'law' draws none." in message(small(blocks, "omp"))
    load(small(data, "t_exact"))


def test_moments_are_asked_for_in_their_own_words():
    error = message(small({"generator": "gaussian"}, "t_exact"))
    assert (
        "algorithm 't_exact' needs the moments of the distribution but generator 'gaussi" in error
    )
    data = {"generator": "correlated", "sweep": {"p": [20, 5000]}}
    assert "does not know them at p = 5000." in message(small(data, "t_exact"))


def test_a_metric_of_rows_is_refused():
    error = message(small(POPULATION, "t_exact", metrics=["frobenius_error", "training_error"]))
    assert (
        "metric 'training_error' needs rows of data but generator 'rademacher' draws none" in error
    )
    load(small(ROWS, "t_exact", metrics=["frobenius_error", "training_error"]))


def test_no_metric_that_is_let_through_fails_for_want_of_rows(tmp_path):
    """Every metric either is refused or has a finite value, and none is silent."""
    traits = registry.find("generator", "rademacher").traits({"n_samples": 0, "response": "linear"})
    names = [
        name
        for name, part in registry.parts("metric").items()
        if set(part.fixed_requirements) <= {*traits, "one_response"}
        and (
            part.function.__module__.endswith("support") or name in ("frobenius_error", "recovered")
        )
    ]
    assert {"frobenius_error", "support_size", "sign_support"} <= set(names)
    plan = small(POPULATION, "t_exact", metrics=names)
    table = greedyexp.run(plan, out=tmp_path, engine="serial")
    assert table.status.tolist() == ["ok"]
    texts = [name for name in names if registry.find("metric", name).text]
    assert np.isfinite(table[names].drop(columns=texts).to_numpy(dtype=float)).all()
    assert table[texts].notna().all(axis=None)


def test_rows_held_out_and_folds_are_refused():
    error = message(small(POPULATION, "t_exact", metrics=["test_error"]))
    assert "needs rows held out for testing" in error

    @registry.algorithm("t_path", takes_population=True)
    def t_path(problem, *, grid=None):
        """A path that could be tuned."""

    error = message(small(POPULATION, {"t_path": {"tuning": "cv"}}))
    assert "tuning 'cv' needs rows of data but generator 'rademacher' draws none." in error
    load(small(POPULATION, {"t_path": {"tuning": "oracle"}}))


def test_only_a_population_may_have_no_rows():
    shape = {"n_tasks": 1, "n_samples": 0, "n_features": 20}
    provided: list[tuple[str, ...]] = [("moments",)]

    @registry.generator("t_rowless", provides=lambda **_: provided[0], shape=lambda **_: shape)
    def t_rowless(rng):
        """The moments of independent signs."""
        return Problem((np.zeros((0, 20)),), (np.zeros(0),))

    with pytest.raises(PluginError, match="has n_samples = 0; at least 1 is needed"):
        load(small({"generator": "t_rowless"}, "t_exact", metrics=["support_size"]))
    provided[0] = ("moments", "population")
    load(small({"generator": "t_rowless"}, "t_exact", metrics=["support_size"]))
    shape["n_features"] = 0
    with pytest.raises(PluginError, match="has n_features = 0; at least 1 is needed"):
        load(small({"generator": "t_rowless"}, "t_exact", metrics=["support_size"]))


def test_data_drawn_without_rows_must_be_told_of():
    counts, provided = [0], [("multi_task",)]

    @registry.generator("t_sometimes", provides=lambda **_: provided[0])
    def t_sometimes(rng):
        """As many rows as it is told of."""
        designs = tuple(np.ones((count, 20)) for count in counts)
        return Problem(designs, tuple(np.ones(count) for count in counts))

    bench = Evaluator(Work(1, ("t_sometimes",), "recovery", {}, ("support_size",), (), ()))
    for found in ([0], [3, 0]):
        counts[:] = found
        with pytest.raises(PluginError, match="without rows, but provides no trait 'population'"):
            bench.problem("t_sometimes", {}, 0)
    counts[:] = [3, 2]
    assert bench.problem("t_sometimes", {}, 0).n_samples.tolist() == [3, 2]
    provided[0], counts[:] = ("population",), [0]
    assert bench.problem("t_sometimes", {}, 0).n_samples.tolist() == [0]


def test_truth_and_moments_do_not_depend_on_the_rows():
    one = rademacher(np.random.default_rng(3), n_samples=0, p=20)
    other = rademacher(np.random.default_rng(3), n_samples=9, p=20)
    assert np.array_equal(one.truth, other.truth)
    assert np.array_equal(one.moments.cross, other.moments.cross)
