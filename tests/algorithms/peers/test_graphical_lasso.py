"""The graphical lasso: the function it minimises, and the l1 path of the same function."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.covariance import GraphicalLasso

from greedyexp.algorithms.lasso.l1_path import l1_path
from greedyexp.algorithms.peers.graphical_lasso import graphical_lasso
from greedyexp.generators.gaussian_graph import gaussian_graph
from greedyexp.problems.pairs import as_pairs


def penalised(path, v, S, alpha):
    """The objective of each estimate, with the penalty."""
    values = []
    for coef, diagonal in zip(path.coef[:, :, 0], path.dense, strict=True):
        T = np.zeros((v, v))
        T[np.triu_indices(v, 1)] = coef
        T += T.T + np.diag(diagonal)
        values.append(-np.linalg.slogdet(T)[1] + (S * T).sum())
    return np.array(values) + 2 * alpha * np.abs(path.coef).sum(axis=(1, 2))


def test_estimates_are_those_of_the_estimator_of_scikit_learn():
    X = np.random.default_rng(0).standard_normal((40, 5)) @ np.diag([1, 2, 1, 0.5, 1])
    X[:, 1] += X[:, 0]
    path = graphical_lasso(as_pairs(X), alpha=[0.3, 0.1])
    for alpha, coef, diagonal in zip((0.3, 0.1), path.coef[:, :, 0], path.dense, strict=True):
        T = GraphicalLasso(alpha=alpha).fit(X).precision_
        np.testing.assert_allclose(coef, T[np.triu_indices(5, 1)], rtol=1e-10)
        np.testing.assert_allclose(diagonal, T.diagonal(), rtol=1e-10)


def test_the_l1_path_is_never_above_the_graphical_lasso():
    problem = gaussian_graph(np.random.default_rng(3), n_samples=60, p=9, graph="grid")
    S = problem.covariance.matrix
    theirs = graphical_lasso(problem, n_alphas=8, tol=1e-6, max_iter=500)
    alphas = theirs.grid["alpha"]
    assert theirs.sparse.sizes[0] == 0
    ours = l1_path(problem, loss="logdet", lam=(2 * alphas).tolist())
    assert ours.converged.all()
    one, other = penalised(ours, 9, S, alphas), penalised(theirs, 9, S, alphas)
    np.testing.assert_allclose(ours.objective, one, rtol=1e-12)
    # scikit-learn solves its inner problems to 1e-4.
    assert (one <= other + 1e-12).all()
    np.testing.assert_allclose(one, other, atol=1e-3)


def test_standardised_variables_make_units_irrelevant():
    X = np.random.default_rng(1).standard_normal((50, 6))
    X[:, 1:] += 0.7 * X[:, :-1]
    units = np.array([1.0, 10.0, 0.1, 5.0, 1.0, 2.0])
    paths = [graphical_lasso(as_pairs(Y), standardize=True, n_alphas=6) for Y in (X, X * units)]
    one, other = np.triu_indices(6, 1)
    np.testing.assert_allclose(
        paths[0].coef[:, :, 0], paths[1].coef[:, :, 0] * units[one] * units[other], atol=1e-8
    )
    raw = [graphical_lasso(as_pairs(Y), n_alphas=6) for Y in (X, X * units)]
    assert not np.array_equal(raw[0].sparse.sizes, raw[1].sparse.sizes)


def test_a_fit_that_does_not_reach_the_gap_is_not_converged():
    problem = gaussian_graph(np.random.default_rng(0), n_samples=12, p=16, graph="grid")
    path = graphical_lasso(problem, n_alphas=4, max_iter=1, tol=1e-10)
    assert not path.converged[1:].any()


@pytest.mark.parametrize("grid", [[0.5, 0.2, 0.1]])
def test_a_grid_gives_its_points(grid):
    problem = gaussian_graph(np.random.default_rng(0), p=6)
    path = graphical_lasso(problem, grid={"alpha": np.array(grid)})
    assert path.grid["alpha"].tolist() == grid
