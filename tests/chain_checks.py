"""What every problem of chains of labelled words has to be."""

from __future__ import annotations

import numpy as np

from greedyexp.problems.problem import Problem


def states_a_chain_problem(problem: Problem) -> None:
    """Assert it of a problem that tests on chains too."""
    for X, y, chains in (
        (problem.X, problem.y, problem.chains),
        (problem.X_test, problem.y_test, problem.chains_test),
    ):
        assert all(Xj is X[0] for Xj in X)
        assert X[0].dtype == np.float64
        assert X[0].shape == (chains.sum(), len(problem.feature_names))
        assert chains.min() >= 1
        indicators = np.stack(y)
        assert indicators.shape == (len(problem.class_names), chains.sum())
        assert set(np.unique(indicators)) <= {0.0, 1.0}
        assert (indicators.sum(axis=0) == 1).all()
    assert problem.facts["n_samples"] == problem.chains.sum()
    assert problem.facts["n_test"] == problem.chains_test.sum()
    assert len(set(problem.feature_names)) == len(problem.feature_names)
