"""Where the greedy method ends: no gain, no end, a cap, columns in the span of others."""

import numpy as np
import pytest
from greedy_problems import three_unequal_entries, two_tasks
from slow_greedy_dirty import SlowGreedyDirty
from squared_fits import squared_loss

from greedyexp.algorithms.dirty.greedy_dirty import greedy_dirty
from greedyexp.generators.multitask_overlap import multitask_overlap
from greedyexp.problems.problem import as_problem


def test_with_one_stack_and_w_nu_above_one_the_algorithm_may_never_end():
    # As above, but 0.947 <= 0.96 * 1: the row is removed at once and all begins again.
    problem = three_unequal_entries()
    path = greedy_dirty(problem, w=1.9, nu=0.96)
    assert path.converged.tolist() == [True, True, False]
    assert "no answer below epsilon = 0.421" in path.message
    answered = greedy_dirty(problem, w=1.9, nu=0.96, epsilon=[0.5, 0.1])
    assert answered.converged.tolist() == [True, False]
    assert np.count_nonzero(answered.coef[0]) == 1
    with pytest.raises(RuntimeError, match="no end"):
        SlowGreedyDirty(problem.X, problem.y, 1.9, 0.96).run(0.1)
    per_class = greedy_dirty(problem, w=1.9, nu=0.96, stack="per_class")
    assert per_class.converged.all()
    assert np.count_nonzero(per_class.coef[-1]) == 3


def test_runs_marked_as_endless_are_those_that_never_end():
    endless = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        r = int(rng.integers(3, 6))
        p, n = rng.integers(3, 6, 2)
        X = [rng.standard_normal((n, p)) for _ in range(r)]
        y = [rng.standard_normal(n) for _ in range(r)]
        path = greedy_dirty(as_problem(X, y), w=1 + 0.4 * (r - 1), nu=0.95)
        if path.converged.all():
            continue
        endless += 1
        stuck = float(path.grid["epsilon"][-1])
        with pytest.raises(RuntimeError, match="no end"):
            SlowGreedyDirty(X, y, 1 + 0.4 * (r - 1), 0.95).run(stuck, max_steps=60)
    assert endless >= 2


def test_max_support_ends_the_path_and_answers_smaller_thresholds():
    problem = two_tasks(9)
    whole = greedy_dirty(problem, w=1.5)
    short = greedy_dirty(problem, w=1.5, max_support=6)
    sizes = np.count_nonzero(short.coef, axis=(1, 2))
    assert sizes.max() <= 6
    np.testing.assert_array_equal(short.coef, whole.coef[: len(short)])
    assert np.count_nonzero(whole.coef[len(short)]) > 6
    tiny = greedy_dirty(problem, w=1.5, max_support=6, epsilon=1e-6)
    np.testing.assert_array_equal(tiny.coef[0], short.coef[-1])


def test_thresholds_that_max_support_left_unanswered_do_not_count_as_converged():
    problem = multitask_overlap(np.random.default_rng(0), p=60, kappa=0.5, theta=2.0)
    whole = greedy_dirty(problem, w=1.5, epsilon=[1.0, 1e-4])
    cut = greedy_dirty(problem, w=1.5, epsilon=[1.0, 1e-4], max_support=3)
    assert whole.converged.all()
    assert (whole.coef[1] != 0).sum() > 3
    assert cut.converged.tolist() == [True, False]
    assert (cut.coef[1] != 0).sum() <= 3
    assert "max_support ended the path" in cut.message


def test_support_never_exceeds_the_rows_of_a_task():
    rng = np.random.default_rng(8)
    X = [rng.standard_normal((n, 30)) for n in (5, 12)]
    problem = as_problem(X, [rng.standard_normal(5), rng.standard_normal(12)])
    path = greedy_dirty(problem, w=1.5, epsilon=0.0)
    assert np.count_nonzero(path.coef[0][:, 0]) == 5
    assert np.count_nonzero(path.coef[0][:, 1]) == 12
    assert path.objective[0] == pytest.approx(0.0, abs=1e-12)


def test_a_column_almost_in_the_span_is_left_out_and_reported():
    rng = np.random.default_rng(10)
    Q = np.linalg.qr(rng.standard_normal((12, 5)))[0]
    X = np.column_stack([Q[:, 0], Q[:, 0] + 1e-6 * Q[:, 1], Q[:, 2]])
    y = 3 * Q[:, 0] + Q[:, 1] + 0.5 * Q[:, 2]
    path = greedy_dirty(as_problem(X, np.stack([y, y], axis=1)), w=1.5, epsilon=0.0)
    assert (path.coef[0] != 0).any(axis=1).sum() == 2
    assert abs(path.coef).max() < 10
    assert "span of their support" in path.message


def test_nearly_dependent_columns_are_refitted_from_the_design():
    rng = np.random.default_rng(11)
    Q = np.linalg.qr(rng.standard_normal((30, 5)))[0]
    X = np.column_stack([Q[:, 0], Q[:, 0] + 1e-4 * Q[:, 1], Q[:, 2]])
    y = 2 * X[:, 0] + X[:, 2] + 5.0 * Q[:, 1] + 0.1 * Q[:, 3]
    problem = as_problem(X, np.stack([y, y], axis=1))
    path = greedy_dirty(problem, w=1.5, epsilon=0.0)
    assert "redone from the design" in path.message
    expected = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(path.coef[0][:, 0], expected, rtol=1e-10)
    assert path.objective[0] == pytest.approx(squared_loss(problem, path.coef[0]), rel=1e-12)


def test_zero_responses_and_zero_columns_give_the_zero_estimate():
    X = np.random.default_rng(0).standard_normal((9, 5))
    path = greedy_dirty(as_problem(X, np.zeros((9, 2))), w=1.5)
    assert len(path) == 1
    assert not path.coef.any()
    assert path.grid["epsilon"].tolist() == [0.0]
    blank = greedy_dirty(as_problem(np.zeros((9, 5)), np.ones((9, 2))), w=1.5, epsilon=0.0)
    assert not blank.coef.any()
