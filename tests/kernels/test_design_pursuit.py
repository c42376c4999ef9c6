"""Pursuits from the designs take the features of pursuits in Gram form and make the same fits."""

import numpy as np
import pytest
from sklearn.linear_model import orthogonal_mp

from greedyexp.algorithms.pursuit.omp import gram_pays, group_omp, omp
from greedyexp.estimates.sparse import SparseEstimates
from greedyexp.kernels import design_pursuit
from greedyexp.kernels import omp as gram_pursuit
from greedyexp.problems.problem import as_problem


def both(
    problem, most, *, together=False, normalize=True, refit=False, counts=None, gram_form=True
):
    """Return the results in Gram form and from the designs."""
    rows = np.minimum(problem.n_samples, problem.n_features)
    counts = np.arange(most + 1) if counts is None else np.array(counts)
    options = (
        problem.response_power,
        np.full(problem.n_tasks, -1.0),
        np.minimum(rows, max(1, counts[-1])),
        together,
        normalize,
        refit,
        counts,
        False,
        1,
    )
    found = design_pursuit.pursuits(problem.designs, problem.y, *options)
    if not gram_form:
        return found
    gram = problem.gram[:1] if problem.shared_design else problem.gram
    return gram_pursuit.pursuits(gram, [problem.correlation], *options), found


def coef_of(found, p):
    """Return the coefficients (m, p, r)."""
    shape = (p, len(found.smallest))
    return SparseEstimates(found.ends, found.entries, found.values, shape).dense()


def assert_same(problem, most, **options):
    one, other = both(problem, most, **options)
    assert (one.reached, one.skipped) == (other.reached, other.skipped)
    for name in ("ends", "entries", "sizes"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    largest = np.abs(one.values).max()
    np.testing.assert_allclose(other.values, one.values, rtol=1e-7, atol=1e-9 * largest)
    np.testing.assert_allclose(other.loss, one.loss, rtol=1e-7, atol=1e-12 * one.loss[0])
    assert np.array_equal(one.sizes, np.diff(one.ends))


def designs_of(kind, rng, sizes, p):
    """Designs that are hard for columns rounded to 8 bits, and ordinary ones."""
    for n in sizes:
        X = rng.standard_normal((n, p))
        if kind == "correlated":
            X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, p)) + 0.3 * X
        elif kind == "heavy tails":
            X = X / rng.uniform(0.001, 1.0, (n, p)) ** 2
        elif kind == "binary":
            X = np.where(rng.random((n, p)) < 0.1, 1.0, 0.0)
            X[0] = 1.0
        elif kind == "scales":
            X = X * 10.0 ** rng.uniform(-30, 30, p)
        elif kind == "constant":
            X = X + 100.0
        yield X


@pytest.mark.parametrize(
    "kind", ["plain", "correlated", "heavy tails", "binary", "scales", "constant"]
)
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"normalize": False},
        {"refit": True},
        {"together": True},
        {"together": True, "refit": True},
    ],
)
def test_both_forms_take_the_same_features(kind, shared, options):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        sizes = (40,) if shared else (40, 33, 70)
        X = list(designs_of(kind, rng, sizes, 55))
        truth = np.zeros((55, 3))
        truth[rng.choice(55, 5, replace=False)] = rng.standard_normal((5, 3))
        X = X * 3 if shared else X
        Y = [
            x @ (b / np.abs(x).max(axis=0)) + 0.1 * rng.standard_normal(len(x))
            for x, b in zip(X, truth.T, strict=True)
        ]
        problem = as_problem(X[0], np.stack(Y, axis=1)) if shared else as_problem(X, Y)
        assert problem.shared_design == shared
        assert_same(problem, 12, **options)
        assert_same(problem, 12, counts=[0, 3, 9], **options)


@pytest.mark.parametrize("tasks", [1, 3, 4, 5, 9])
@pytest.mark.parametrize("refit", [False, True])
def test_any_number_of_responses_shares_passes(tasks, refit):
    rng = np.random.default_rng(tasks)
    X = next(designs_of("correlated", rng, (60,), 80))
    Y = X[:, :6] @ rng.standard_normal((6, tasks)) + 0.1 * rng.standard_normal((60, tasks))
    assert_same(as_problem(X, Y), 20, together=tasks > 1, refit=refit)


@pytest.mark.parametrize("rows", [2, 31, 32, 33, 1023, 1024, 1025, 2100])
@pytest.mark.parametrize("features", [1, 7, 8, 127, 129])
def test_sizes_around_those_of_tiles_and_blocks(rows, features):
    rng = np.random.default_rng(rows + features)
    X = rng.standard_normal((rows, features))
    assert_same(as_problem(X, rng.standard_normal(rows)), min(rows - 1, features, 6))


def test_largest_entries_of_long_columns_do_not_overflow():
    X = np.ones((5000, 3))
    X[:2500, 1] = -1.0
    X[::2, 2] = 0.0
    y = X @ [3.0, -2.0, 1.0]
    assert_same(as_problem(X, y), 3)


def test_duplicate_and_zero_columns():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 20))
    X[:, 7] = 0.0
    doubled = np.hstack([X, -2.0 * X, X])
    for options in ({}, {"refit": True}, {"normalize": False}):
        assert_same(as_problem(doubled, rng.standard_normal((40, 2))), 15, **options)
    coef = coef_of(both(as_problem(doubled, rng.standard_normal(40)), 15, gram_form=False), 60)
    assert np.flatnonzero(coef[-1]).max() < 20


def test_equal_scores_go_to_the_lowest_feature():
    found = both(as_problem(np.eye(8)[:, ::-1] * 3.0, np.ones(8)), 4, gram_form=False)
    for k, coef in enumerate(coef_of(found, 8)):
        assert np.flatnonzero(coef[:, 0]).tolist() == list(range(k))


def test_a_column_almost_in_the_span_is_left_out_and_counted():
    Q = np.linalg.qr(np.random.default_rng(12).standard_normal((10, 4)))[0]
    X = np.column_stack([Q[:, 0], Q[:, 0] + 1e-6 * Q[:, 1], Q[:, 2]])
    y = 3 * Q[:, 0] + Q[:, 1] + 1e-7 * Q[:, 2]
    for refit in (False, True):
        found = both(as_problem(X, y), 3, refit=refit, gram_form=False)
        assert np.flatnonzero(coef_of(found, 3)[-1]).tolist() in ([0, 2], [1, 2])
        assert found.skipped == 1


def test_nearly_dependent_columns_are_fitted_as_by_least_squares():
    Q = np.linalg.qr(np.random.default_rng(13).standard_normal((30, 4)))[0]
    X = np.column_stack([Q[:, 0], Q[:, 0] + 1e-4 * Q[:, 1], Q[:, 2]])
    y = 2 * X[:, 0] + X[:, 2] + 5.0 * Q[:, 1] + 0.1 * Q[:, 3]
    coef = coef_of(both(as_problem(X, y), 3, gram_form=False), 3)
    np.testing.assert_allclose(coef[-1, :, 0], np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-10)


def test_an_entry_in_the_span_stays_zero_while_other_tasks_gain():
    rng = np.random.default_rng(3)
    X = [rng.standard_normal((20, 6)) for _ in range(2)]
    X[0][:, 4] = X[0][:, 1]
    y = [rng.standard_normal(20) for _ in range(2)]
    assert_same(as_problem(X, y), 6, together=True)


def test_full_supports_and_exact_fits_end_the_pursuit():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((6, 20))
    found = both(as_problem(X, rng.standard_normal(6)), 15, gram_form=False)
    assert found.reached == 6
    assert found.loss[-1] < 1e-25
    truth = np.zeros(20)
    truth[[3, 5]] = 1.0, -2.0
    found = both(as_problem(X, X @ truth), 15, gram_form=False)
    assert found.reached <= 6
    np.testing.assert_allclose(X @ coef_of(found, 20)[-1, :, 0], X @ truth, atol=1e-12)
    zero = both(as_problem(X, np.zeros(6)), 3, gram_form=False)
    assert zero.reached == 0
    assert not len(zero.values)


def test_designs_in_column_order_and_of_one_row():
    rng = np.random.default_rng(5)
    X, y = np.asfortranarray(rng.standard_normal((30, 40))), rng.standard_normal(30)
    rules = (False, True, False, np.array([5]), False, 1)
    options = (np.array([y @ y / 30]), np.array([-1.0]), np.array([5]), *rules)
    one = design_pursuit.pursuits([X], [y], *options)
    other = design_pursuit.pursuits([np.ascontiguousarray(X)], [y], *options)
    assert np.array_equal(one.entries, other.entries)
    assert np.array_equal(one.values, other.values)
    row = np.array([[1.0, -4.0, 2.0]])
    rules = (False, False, False, np.array([1]), False, 1)
    options = (np.array([9.0]), np.array([-1.0]), np.array([1]), *rules)
    coef = coef_of(design_pursuit.pursuits([row], [np.array([3.0])], *options), 3)
    np.testing.assert_allclose(coef[0, :, 0], [0.0, -0.75, 0.0])


@pytest.mark.parametrize("seed", range(3))
def test_equals_scikit_learn_with_many_features(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 4200))
    y = X[:, rng.choice(4200, 5)] @ rng.uniform(1, 2, 5) + 0.1 * rng.standard_normal(60)
    problem = as_problem(X, y)
    path = omp(problem, normalize=False, grid={"n_atoms": [15]})
    assert "gram" not in vars(problem)
    expected = orthogonal_mp(X, y, n_nonzero_coefs=15)
    np.testing.assert_allclose(path.coef[0, :, 0], expected, atol=1e-10)
    tasks = as_problem(X, np.stack([y, -y], axis=1))
    rows = group_omp(tasks, n_rows=6).coef
    assert "gram" not in vars(tasks)
    np.testing.assert_allclose(rows[:, :, :1], omp(problem, n_atoms=6).coef, atol=1e-12)


def test_the_form_is_chosen_by_cost():
    def pays(n, p, r, most, shared=True, together=False):
        shape = {"n_samples": n, "n_features": p, "n_tasks": r, "shared_design": shared}
        return gram_pays(shape, most, together)

    # The shipped experiments use the Gram form, whose numbers are published.
    assert pays(200, 50, 1, 25)
    assert pays(100, 200, 1, 50)
    assert pays(400, 512, 100, 50)
    assert not pays(400, 512, 1, 50)
    assert not pays(400, 512, 10, 50, together=True)
    assert pays(2000, 100, 10, 50, together=True)
    assert not pays(400, 512, 10, 50, shared=False, together=True)
    assert pays(10**6, 4096, 10**4, 50)
    assert not pays(10**6, 4097, 10**4, 50)
