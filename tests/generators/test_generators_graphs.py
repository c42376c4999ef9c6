"""Gaussian graphs: their edges, their laws, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components, shortest_path

from greedyexp.config import load
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.generators.gaussian_graph import check, gaussian_graph

SHAPES = [
    ("chain", 9, None),
    ("star", 9, None),
    ("star", 9, 4),
    ("grid", 9, None),
    ("random", 30, 3),
]


def precision(problem):
    v = len(problem.covariance.matrix)
    T = np.zeros((v, v))
    T[np.triu_indices(v, 1)] = problem.truth[:, 0]
    return T + T.T + np.eye(v)


@pytest.mark.parametrize(("graph", "p", "degree"), SHAPES)
def test_edges_form_the_graph(graph, p, degree):
    problem = gaussian_graph(np.random.default_rng(0), p=p, graph=graph, degree=degree)
    T = precision(problem)
    edges = (T != 0) & ~np.eye(p, dtype=bool)
    degrees = sorted(edges.sum(axis=0).tolist())
    longest = shortest_path(edges, unweighted=True)
    components = connected_components(edges)[0]
    assert problem.facts == {"edges": edges.sum() // 2, "max_degree": max(degrees)}
    assert problem.sparsity == edges.sum() // 2
    assert problem.shape["n_features"] == p * (p - 1) // 2
    if graph == "chain":
        assert degrees == [1, 1] + [2] * (p - 2)
        assert longest.max() == p - 1
    elif graph == "star":
        leaves = degree or p - 1
        assert degrees == [0] * (p - 1 - leaves) + [1] * leaves + [leaves]
        assert components == p - leaves
    elif graph == "grid":
        assert degrees == [2] * 4 + [3] * 4 + [4]
        assert longest.max() == 4
    # All edges have one size, and the largest eigenvalue of I - T is the strength.
    assert len(np.unique(T[edges])) == 1
    assert np.linalg.eigvalsh(T)[0] == pytest.approx(1 - 0.8)


def test_random_edges_have_the_mean_degree():
    rng = np.random.default_rng(1)
    problems = [
        gaussian_graph(rng, n_samples=2, p=40, graph="random", degree=3) for _ in range(200)
    ]
    counts = [problem.facts["edges"] for problem in problems]
    # 60 edges on average, with a variance of 60 (1 - 3 / 39).
    assert abs(np.mean(counts) - 60) < 4 * np.sqrt(60 * 36 / 39 / 200)


def test_the_covariance_is_that_of_the_model():
    problem = gaussian_graph(np.random.default_rng(2), n_samples=200_000, p=9, graph="grid")
    expected = np.linalg.inv(precision(problem))
    deviation = np.sqrt(2 * expected.diagonal().max() ** 2 / 200_000)
    assert np.abs(problem.covariance.matrix - expected).max() < 6 * deviation
    assert problem.covariance.n_samples == 200_000


def test_features_are_named_after_their_variables():
    problem = gaussian_graph(np.random.default_rng(0), p=4)
    assert problem.feature_names[:4] == ("x0 - x1", "x0 - x2", "x0 - x3", "x1 - x2")
    assert np.flatnonzero(problem.truth).tolist() == [0, 3, 5]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"graph": "grid", "p": 10}, "not a square"),
        ({"graph": "chain", "p": 9, "degree": 2}, "omit degree"),
        ({"graph": "star", "p": 9, "degree": 9}, "more than p - 1"),
        ({"graph": "star", "p": 9, "degree": 2.5}, "whole number"),
    ],
)
def test_impossible_graphs_are_refused(given, said):
    with pytest.raises(ValueError, match=said):
        check(**{"degree": None, **given})


def test_algorithms_of_rows_are_refused_before_work_starts():
    from greedyexp import config

    one = {
        "name": "mine",
        "data": {"generator": "gaussian_graph", "p": 6},
        "trials": 1,
        "metrics": ["support"],
    }
    for algorithm, said in (
        ({"omp": {"tuning": "oracle"}}, "needs rows of data"),
        ({"foba_obj": {"tuning": "oracle"}}, "needs rows of data"),
        ({"foba_obj": {"loss": "logdet", "ridge": 1.0, "tuning": "oracle"}}, "no ridge"),
    ):
        with pytest.raises(ConfigError, match=said):
            config.load({**one, "algorithms": [algorithm]}, profile="quick")
    other = {**one, "data": {"generator": "gaussian"}}
    with pytest.raises(ConfigError, match="variables without a response"):
        config.load(
            {**other, "algorithms": [{"foba_obj": {"loss": "logdet", "tuning": "oracle"}}]},
            profile="quick",
        )
    assert registry.find("generator", "gaussian_graph").traits({"p": 6}) >= {"covariance"}


@pytest.mark.parametrize("tuning", ["cv", "ebic_robust"])
@pytest.mark.parametrize("entry", ["graphical_lasso: {}", "foba_obj: {loss: logdet}"])
def test_tunings_by_rows_are_refused_in_one_sentence(tmp_path, tuning, entry):
    file = tmp_path / "graph.yaml"
    entry = entry.replace("}", f", tuning: {tuning}}}").replace("{, ", "{")
    file.write_text(
        "name: graph\nseed: 0\ntrials: 1\ndata: {generator: gaussian_graph, p: 4}\n"
        f"algorithms: [{entry}]\nmetrics: [support]\n"
    )
    with pytest.raises(ConfigError) as caught:
        load(file)
    assert f"tuning '{tuning}' needs rows of data" in str(caught.value)
    assert "Use tuning: oracle." in str(caught.value)
    assert "Also" not in str(caught.value)
