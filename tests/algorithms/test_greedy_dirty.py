"""The greedy method against Algorithm 1 written down again, paths by hand and symmetries."""

import math

import numpy as np
import pytest
from greedy_problems import three_unequal_entries, two_tasks
from scipy.linalg import hadamard
from slow_greedy_dirty import SlowGreedyDirty
from squared_fits import squared_loss, stationarity

from greedyexp.algorithms.dirty import greedy_dirty as module
from greedyexp.algorithms.dirty.greedy_dirty import greedy_dirty
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.theory import noise as theory


def random_tasks(rng, noise=0.3, designs=None):
    r, p = int(rng.integers(2, 4)), int(rng.integers(3, 9))
    if designs is None:
        designs = [rng.standard_normal((n, p)) for n in rng.integers(3, 12, size=r)]
    r, p = len(designs), designs[0].shape[1]
    truth = rng.standard_normal((p, r)) * (rng.random((p, r)) < 0.5)
    y = [x @ b + noise * rng.standard_normal(len(x)) for x, b in zip(designs, truth.T, strict=True)]
    return designs, y


def gaussian(rng):
    return random_tasks(rng)


def shared(rng):
    r, p, n = int(rng.integers(2, 4)), int(rng.integers(3, 9)), int(rng.integers(3, 12))
    return random_tasks(rng, designs=[rng.standard_normal((n, p))] * r)


def noiseless(rng):
    return random_tasks(rng, noise=0.0)


def orthogonal_with_ties(rng):
    p = int(rng.integers(3, 8))
    columns = hadamard(8).astype(float)
    designs = [columns[:, rng.permutation(8)[:p]] for _ in range(2)]
    truth = rng.choice([-1.0, 0.0, 0.0, 1.0, 2.0], size=(p, 2))
    return designs, [x @ b for x, b in zip(designs, truth.T, strict=True)]


def integers(rng):
    designs, y = random_tasks(rng)
    return [np.round(1.5 * x) for x in designs], [np.round(v) for v in y]


def dependent(rng):
    """Duplicate, scaled and zero columns, other ones in every task, and few rows."""
    designs, y = random_tasks(rng)
    for x in designs:
        for _ in range(2):
            to, source = rng.integers(0, x.shape[1], 2)
            x[:, to] = x[:, source] * rng.choice([1.0, -2.0])
        if rng.random() < 0.3:
            x[:, rng.integers(x.shape[1])] = 0.0
    return designs, y


KINDS = (gaussian, shared, noiseless, orthogonal_with_ties, integers, dependent)


@pytest.fixture(params=["matrix", "rows"])
def form(request, monkeypatch):
    """Read the Gram matrix, or compute its rows when they are needed."""
    if request.param == "rows":
        monkeypatch.setattr(module, "LARGEST_GRAM", 0)


def between(path):
    """A threshold inside the interval that each point of a path of one w answers for."""
    low = path.grid["epsilon"]
    high = np.r_[2 * low[0] + 1, low[:-1]]
    return low + 0.3 * (high - low)


def compare_with_algorithm_1(X, y, w, nu, stack):
    same = all(x is X[0] for x in X)
    problem = as_problem(X[0] if same else X, np.stack(y, axis=1) if same else y)
    path = greedy_dirty(problem, w=w, nu=nu, stack=stack, relative_floor=1e-6)
    scale = sum(v @ v / len(v) for v in y)
    rewards = []
    # A run does not depend on where it stops, so the next, smaller threshold continues it.
    slow = SlowGreedyDirty(X, y, w, nu, stack)
    for k, epsilon in enumerate(between(path)):
        met = slow.run(epsilon)
        np.testing.assert_allclose(path.coef[k], slow.coef, atol=1e-9 + 1e-9 * abs(slow.coef).max())
        assert path.objective[k] == pytest.approx(slow.loss(), rel=1e-9, abs=1e-12 * scale)
        rewards.append(met[-1])
    assert path.converged.all()
    return path, rewards


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("stack", ["single", "per_class"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_threshold_equals_algorithm_1(kind, stack):
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X, y = kind(rng)
        r = len(X)
        w = float(rng.choice([1.0, 1 + (r - 1) / 2, r, rng.uniform(1, r)]))
        nu = rng.uniform(0.1, 0.95)
        if stack == "single":
            nu = min(nu, 0.95 / w)  # with w nu >= 1 there may be no end
        path, rewards = compare_with_algorithm_1(X, y, w, nu, stack)
        # Every label but the last, which is where the run was told to stop, is a reward.
        np.testing.assert_allclose(path.grid["epsilon"][:-1], rewards[:-1], rtol=1e-8)


@pytest.mark.deep
@pytest.mark.parametrize("stack", ["single", "per_class"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_many_more_problems_equal_algorithm_1(kind, stack):
    for seed in range(1000, 1400):
        rng = np.random.default_rng(seed)
        X, y = kind(rng)
        w = float(rng.choice([1.0, rng.uniform(1, len(X))]))
        nu = rng.uniform(0.1, 0.95 if stack == "per_class" else 0.95 / w)
        compare_with_algorithm_1(X, y, w, nu, stack)


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("seed", [398, 1072, 1569, 1679, 1900, 2660, 2087, 19051])
def test_entries_left_out_come_back_when_a_removal_frees_them(seed):
    # Rare, so searched for; w = 1 makes rows with a single live entry. The first six free an entry
    # of a present row, the last two one that is chosen again later.
    X, y = dependent(np.random.default_rng([77, seed]))
    compare_with_algorithm_1(X, y, 1.0, 0.9, "per_class")


def test_a_path_computed_by_hand():
    # Orthogonal columns: an entry gains y^2 / (2 n). Entry (0, 0) gains 2, row 0 together 17/8,
    # row 1 together 9/4; with w = 1.5 the rewards are 2 for the entry, then 3/2 for row 1, then
    # 1/8 for entry (0, 1), which row 0 could offer at 1/12 only.
    Y = np.array([[4.0, 1.0], [3.0, 3.0], [0.0, 0.0], [0.0, 0.0]])
    path = greedy_dirty(as_problem(2.0 * np.eye(4), Y), w=1.5)
    supports = [set(map(tuple, np.argwhere(coef))) for coef in path.coef]
    row = {(1, 0), (1, 1)}
    assert supports == [set(), {(0, 0)}, {(0, 0)} | row, {(0, 0), (0, 1)} | row]
    np.testing.assert_allclose(path.grid["epsilon"][:3], [2.0, 1.5, 0.125], rtol=1e-12)


def test_a_row_takes_over_an_entry_with_its_earlier_reward():
    # w = 1.9: entry 1 > row 1.8 / w, then row 0.8 / w > entry 0.4. The row's reward goes with the
    # covered entry; the row costs 1.8 / w = 0.947 and is held against the entry's reward 1.
    stays = greedy_dirty(three_unequal_entries(), w=1.9, nu=0.5)
    assert [np.count_nonzero(coef) for coef in stays.coef] == [0, 1, 3]
    assert stays.converged.all()
    np.testing.assert_allclose(stays.grid["epsilon"][:2], [1.0, 0.8 / 1.9], rtol=1e-12)


def test_with_w_one_a_row_replaces_the_entry_it_covers():
    # Ties go to the row, so that with w = 1 only rows are ever added.
    rng = np.random.default_rng(3)
    X, Y = rng.standard_normal((30, 6)), rng.standard_normal((30, 3))
    path = greedy_dirty(as_problem(X, Y), w=1.0)
    per_row = (path.coef != 0).sum(axis=2)
    assert set(np.unique(per_row)) == {0, 3}


def test_with_w_r_rows_win_only_when_all_entries_gain_equally():
    rng = np.random.default_rng(4)
    X, Y = rng.standard_normal((30, 6)), rng.standard_normal((30, 3))
    path = greedy_dirty(as_problem(X, Y), w=3.0)
    counts = (path.coef != 0).sum(axis=(1, 2))
    assert counts[1] == 1
    equal = greedy_dirty(as_problem(X, np.stack([Y[:, 0]] * 3, axis=1)), w=3.0)
    assert (equal.coef != 0).sum(axis=(1, 2))[1] == 3


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("w", [1.0, 1.5, 2.0])
def test_of_equal_columns_the_first_is_taken(w):
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((30, 6)), rng.standard_normal((30, 2))
    path = greedy_dirty(as_problem(np.hstack([X, -X]), Y), w=w, epsilon=0.0)
    assert np.count_nonzero(path.coef[0][:6]) == 12
    assert not path.coef[0][6:].any()


@pytest.mark.parametrize("stack", ["single", "per_class"])
def test_noiseless_well_conditioned_problems_are_recovered_with_threshold_zero(stack):
    # Theorem 1, Remark 1. Rows with both entries are shared when w < 2.
    for seed in range(10):
        rng = np.random.default_rng(seed)
        truth = np.zeros((30, 2))
        truth[rng.choice(30, 4, replace=False)] = rng.choice([-1.0, 1.0], (4, 2))
        truth[rng.choice(30, 2, replace=False), rng.integers(0, 2, 2)] = 1.5
        X = [rng.standard_normal((300, 30)) for _ in range(2)]
        y = [x @ b for x, b in zip(X, truth.T, strict=True)]
        path = greedy_dirty(as_problem(X, y), w=1.5, stack=stack, epsilon=0.0)
        np.testing.assert_allclose(path.coef[0], truth, atol=1e-11)
        assert np.array_equal(path.coef[0] != 0, truth != 0)


def test_theory_threshold_recovers_the_support():
    prescribed = registry.find("algorithm", "greedy_dirty").theory
    for seed in range(10):
        problem = two_tasks(seed)
        grid = prescribed(problem, nu=0.5)
        assert grid["w"].tolist() == [1.5]
        assert grid["epsilon"][0] == pytest.approx(2 * 0.01 * math.log(80) / 80)
        coef = greedy_dirty(problem, grid=grid).coef[0]
        assert np.array_equal(np.sign(coef), problem.truth)
    with pytest.raises(DataError, match="noise level"):
        prescribed(as_problem(problem.X[0], np.ones((80, 2))))


def test_noise_alone_exceeds_the_theory_threshold_as_rarely_as_derived():
    rng = np.random.default_rng(0)
    n, p, r, sigma, trials = 50, 20, 2, 0.5, 4000
    X = rng.standard_normal((n, p))
    gains = (X.T @ (sigma * rng.standard_normal((n, r * trials)))) ** 2
    gains /= 2 * n * (X**2).sum(axis=0)[:, None]
    largest = gains.reshape(p, r, trials).max(axis=(0, 1))
    epsilon = theory.stopping_threshold(sigma, n, p, r)
    assert np.mean(largest > epsilon) <= 1 / (p * r)
    assert np.mean(largest > epsilon / 3) > 0.5


def test_each_point_is_the_answer_up_to_the_epsilon_of_the_one_before():
    problem = two_tasks(1)
    path = greedy_dirty(problem, w=1.4)
    low = path.grid["epsilon"]
    assert (np.diff(low) < 0).all()
    inside = greedy_dirty(problem, grid={"w": np.full(len(low), 1.4), "epsilon": between(path)})
    np.testing.assert_array_equal(inside.coef, path.coef)
    below = np.nextafter(low[:-1], 0)
    next_ones = greedy_dirty(problem, grid={"w": np.full(len(below), 1.4), "epsilon": below})
    np.testing.assert_array_equal(next_ones.coef, path.coef[1:])


def test_own_grid_gives_the_path_back_and_pairs_keep_their_order():
    problem = two_tasks(2)
    path = greedy_dirty(problem)
    again = greedy_dirty(problem, grid=path.grid)
    np.testing.assert_array_equal(again.coef, path.coef)
    np.testing.assert_array_equal(again.objective, path.objective)
    order = np.random.default_rng(0).permutation(len(path))
    shuffled = {name: values[order] for name, values in path.grid.items()}
    again = greedy_dirty(problem, grid=shuffled)
    np.testing.assert_array_equal(again.coef, path.coef[order])
    for name in ("w", "epsilon"):
        np.testing.assert_array_equal(again.grid[name], shuffled[name])


def test_default_range_of_thresholds_is_that_of_the_experiments():
    problem = two_tasks(3)
    path = greedy_dirty(problem)
    unit = 4 * math.log(40) / 80
    assert path.grid["epsilon"].min() == pytest.approx(1e-4 * unit)
    assert path.grid["epsilon"].max() <= 10 * unit
    np.testing.assert_allclose(np.unique(path.grid["w"]), [1.05, 1.25, 1.5, 1.75, 1.95])
    narrow = greedy_dirty(problem, w=1.5, c=(0.1, 1.0))
    low = narrow.grid["epsilon"]
    assert low[-1] == pytest.approx(0.1 * unit)
    assert low[0] <= unit
    # The first point is the answer at the upper end of the range.
    top = greedy_dirty(problem, w=1.5, epsilon=unit)
    np.testing.assert_array_equal(narrow.coef[0], top.coef[0])


def test_without_known_sparsity_the_path_ends_at_a_part_of_the_first_reward():
    known = two_tasks(3)
    problem = Problem(known.X, known.y)
    path = greedy_dirty(problem, w=1.5)
    assert path.grid["epsilon"][-1] == pytest.approx(1e-4 * path.grid["epsilon"][0], rel=1e-12)
    short = greedy_dirty(problem, w=1.5, relative_floor=0.3)
    assert short.grid["epsilon"][-1] == pytest.approx(0.3 * path.grid["epsilon"][0], rel=1e-12)
    np.testing.assert_array_equal(short.coef, path.coef[: len(short)])


def test_thresholds_given_outright_are_crossed_with_the_weights():
    problem = two_tasks(4)
    path = greedy_dirty(problem, w=[1.8, 1.2], epsilon=[0.01, 0.1])
    assert path.grid["w"].tolist() == [1.8, 1.8, 1.2, 1.2]
    assert path.grid["epsilon"].tolist() == [0.01, 0.1, 0.01, 0.1]
    one = greedy_dirty(problem, w=1.2, epsilon=0.1)
    np.testing.assert_array_equal(path.coef[3], one.coef[0])


def test_objective_is_the_loss_and_estimates_are_least_squares_fits():
    problem = two_tasks(5, n=60)
    path = greedy_dirty(problem)
    for coef, objective in zip(path.coef, path.objective, strict=True):
        assert objective == pytest.approx(squared_loss(problem, coef), rel=1e-9)
        assert stationarity(problem, coef) < 1e-11


def test_scaling_and_permuting_columns_changes_nothing_else():
    problem = two_tasks(6)
    rng = np.random.default_rng(0)
    scale, order = 10.0 ** rng.uniform(-4, 4, 40), rng.permutation(40)
    plain = greedy_dirty(problem)
    scaled = greedy_dirty(
        Problem(tuple(x * scale for x in problem.X), problem.y, noise_std=0.3, sparsity=4)
    )
    np.testing.assert_allclose(scaled.coef * scale[:, None], plain.coef, atol=1e-9)
    np.testing.assert_allclose(scaled.grid["epsilon"], plain.grid["epsilon"], rtol=1e-8)
    moved = greedy_dirty(
        Problem(tuple(x[:, order] for x in problem.X), problem.y, noise_std=0.3, sparsity=4)
    )
    np.testing.assert_allclose(moved.coef, plain.coef[:, order], atol=1e-10)


def test_exchanging_tasks_exchanges_columns_of_the_estimate():
    problem = two_tasks(7)
    swapped = greedy_dirty(Problem(problem.X[::-1], problem.y[::-1], noise_std=0.3, sparsity=4))
    plain = greedy_dirty(problem)
    np.testing.assert_allclose(swapped.coef, plain.coef[:, :, ::-1], atol=1e-10)


def test_weights_outside_the_interval_are_refused():
    with pytest.raises(ConfigError, match=r"w = 2\.5 lies outside the interval from 1 to .* 2"):
        greedy_dirty(two_tasks(0), w=[1.5, 2.5])
    with pytest.raises(ConfigError, match=r"w = 0\.9 lies outside"):
        greedy_dirty(two_tasks(0), w=0.9)
    with pytest.raises(ConfigError, match="empty"):
        greedy_dirty(two_tasks(0), w=[])
    assert set(greedy_dirty(two_tasks(0), w=[1.0, 2.0]).grid["w"]) == {1.0, 2.0}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": -0.1}, "number >= 0"),
        ({"epsilon": []}, "at least one"),
        ({"grid": {"w": [1.5], "epsilon": [0.1, 0.2]}}, "same number"),
        ({"grid": {"w": [1.5], "epsilon": [np.nan]}}, "number >= 0"),
        ({"c": (1.0, 0.1)}, "increasing pair"),
    ],
)
def test_impossible_thresholds_are_refused(arguments, words):
    with pytest.raises(ConfigError, match=words):
        greedy_dirty(two_tasks(0), **arguments)


def test_parameters_are_declared_with_their_ranges():
    part = registry.find("algorithm", "greedy_dirty")
    assert part.fixed_requirements == ("multi_task",)
    assert part.takes_grid
    assert part.parameters(w=1.5).w == 1.5
    assert part.parameters(w=[1.2, 1.8], stack="per_class").w == [1.2, 1.8]
    for wrong in ({"nu": 1.0}, {"nu": 0.0}, {"stack": "both"}, {"max_support": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            part.parameters(**wrong)
