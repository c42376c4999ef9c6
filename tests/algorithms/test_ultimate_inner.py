"""Inner loops of the ultimate method: every block against a minimiser of the printed function."""

import numpy as np
import pytest
from gauge_oracle import gaussian_data, objective, primal_step, smoothness
from scipy.linalg import null_space
from scipy.optimize import minimize, minimize_scalar

from greedyexp.algorithms.matching_pursuit.ultimate import (
    GeometricBudget,
    PublishedBudget,
    ultimate,
    ultimate_alternating,
    ultimate_ar_bcd,
)
from greedyexp.core.errors import ConfigError
from greedyexp.kernels.ultimate_inner import InnerLoop
from greedyexp.problems.problem import as_problem
from greedyexp.theory.l1_curvature import curvature_l1_sdp

LAM = 0.07


def a_state(seed=0, n=6, p=14):
    """A loop in the middle of its work, with P and everything else at random."""
    rng = np.random.default_rng(seed)
    P, y = gaussian_data(seed, n, p)
    start = rng.standard_normal(p) * (rng.random(p) < 0.5)
    slope = P.T @ (P @ start - y) / n
    state = InnerLoop(P.T, start, slope, LAM, smoothness(P)).state
    state.eta[:] = rng.standard_normal(p)
    state.null[:] = null_space(P) @ rng.standard_normal(p - n)
    state.gamma[:] = rng.dirichlet(np.ones(p))
    state.theta[:] = rng.random(p) + 0.1
    state.floor = 0.05
    return P, state


def printed(state, eta, null, gamma, norm):
    """Appendix F with the smoothed square; ``norm`` is the term of lam."""
    u = eta + null - state.start
    square = ((u**2 + state.floor**2) / gamma).sum()
    return state.slope @ (eta - state.start) + state.smoothness / 2 * square + state.lam * norm


def smooth_norm(state, eta, theta):
    return ((eta**2 + state.floor**2) / theta + theta).sum() / 2


def test_the_kernel_block_is_the_printed_one():
    P, state = a_state(1)
    Q = null_space(P)
    inverse = np.diag(1 / state.gamma)
    z = np.linalg.solve(Q.T @ inverse @ Q, Q.T @ inverse @ (state.start - state.eta))
    state.shift_in_kernel()
    assert state.null == pytest.approx(Q @ z, abs=1e-10)
    root = np.sqrt(inverse)
    least = np.linalg.lstsq(root @ Q, root @ (state.start - state.eta), rcond=None)[0]
    assert state.null == pytest.approx(Q @ least, abs=1e-10)


def test_the_kernel_block_stays_in_the_kernel_with_weights_of_many_orders():
    P, state = a_state(2)
    state.gamma[:] = 10.0 ** -np.linspace(0, 9, len(state.gamma))
    state.shift_in_kernel()
    assert np.abs(P @ state.null).max() <= 1e-13


def test_the_weights_of_the_move_minimise_over_the_simplex():
    _, state = a_state(3)

    def by_softmax(logits):
        gamma = np.exp(logits - logits.max())
        return printed(state, state.eta, state.null, gamma / gamma.sum(), 0.0)

    least = minimize(by_softmax, np.zeros(len(state.gamma)), method="BFGS", tol=1e-10).fun
    state.weigh_move()
    assert state.gamma.sum() == pytest.approx(1.0)
    own = printed(state, state.eta, state.null, state.gamma, 0.0)
    assert own <= least + 1e-10
    assert own == pytest.approx(least, rel=1e-6)


def test_the_weights_of_the_representation_minimise():
    _, state = a_state(4)
    state.weigh_representation()
    for i, theta in enumerate(state.theta):
        eta = state.eta[i : i + 1]
        best = minimize_scalar(
            lambda t, eta=eta: smooth_norm(state, eta, np.array([t])),
            bounds=(1e-9, 10),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert theta == pytest.approx(best.x, abs=1e-6)


def coordinatewise(state, norm_of):
    """Minimise the printed function over each coefficient of eta alone: it is separable in them."""
    best = state.eta.copy()
    for i in range(len(best)):

        def along(t, i=i):
            eta = state.eta.copy()
            eta[i] = t
            return printed(state, eta, state.null, state.gamma, norm_of(eta))

        options = {"xatol": 1e-11}
        best[i] = minimize_scalar(along, bounds=(-8, 8), method="bounded", options=options).x
    return best


def test_soft_thresholding_minimises():
    _, state = a_state(5)
    expected = coordinatewise(state, lambda eta: np.abs(eta).sum())
    state.threshold()
    assert state.eta == pytest.approx(expected, abs=1e-6)


def test_shrinkage_minimises():
    _, state = a_state(6)
    expected = coordinatewise(state, lambda eta: smooth_norm(state, eta, state.theta))
    state.shrink()
    assert state.eta == pytest.approx(expected, abs=1e-6)


def test_a_threshold_beyond_the_centre_gives_zero():
    _, state = a_state(7)
    state.lam = 1e3
    state.threshold()
    assert not state.eta.any()


def test_values_are_those_of_the_printed_function():
    P, state = a_state(8)
    eta, null, gamma, theta = (
        part.copy() for part in (state.eta, state.null, state.gamma, state.theta)
    )
    assert state.value(False) == pytest.approx(printed(state, eta, null, gamma, np.abs(eta).sum()))
    assert state.value(True) == pytest.approx(
        printed(state, eta, null, gamma, smooth_norm(state, eta, theta))
    )
    u = eta + null - state.start
    own = state.slope @ (eta - state.start) + state.smoothness / 2 * np.abs(u).sum() ** 2
    value, length = state.step_value()
    assert value == pytest.approx(own + LAM * np.abs(eta).sum())
    assert length == pytest.approx(np.abs(u).sum())
    assert np.abs(P @ null).max() < 1e-12


def fresh_loop(P, y, coef, lam):
    slope = P.T @ (P @ coef - y) / len(y)
    return InnerLoop(P.T, coef, slope, lam, smoothness(P))


@pytest.mark.parametrize("seed", range(4))
def test_both_loops_descend_and_their_floor_never_rises(seed):
    P, y = gaussian_data(seed, 10, 25)
    coef = ultimate(as_problem(P, y), lam=LAM)
    coef.advance(3 * seed)
    choices = np.random.default_rng(seed).random(400) < 0.5
    for run in (lambda loop: loop.alternate(400), lambda loop: loop.random_blocks(choices)):
        loop = fresh_loop(P, y, coef.coef, LAM)
        state, before = loop.state, loop.state.floor
        _, values = run(loop)
        assert np.diff(values).max() <= 1e-13
        assert 0 < state.floor < before / 100
        assert state.gamma.min() > 0


def errors_of(loop, P, y, iteration):
    """Error of the step after ever more rounds, in units of what the step is worth."""
    exact = ultimate(as_problem(P, y), lam=LAM)
    exact.advance(iteration)
    coef = exact.coef
    least, _ = primal_step(P, y, coef, LAM)
    worth = LAM * np.abs(coef).sum() - least
    errors = []
    for rounds in (10, 100, 1000, 10000):
        run = fresh_loop(P, y, coef, LAM)
        if loop == "alternating":
            run.alternate(rounds)
        else:
            run.random_blocks(np.random.default_rng(0).random(rounds) < 0.5)
        errors.append((run.state.step_value()[0] - least) / worth)
    return np.array(errors)


@pytest.mark.parametrize("iteration", [0, 4, 15])
@pytest.mark.parametrize(("n", "p"), [(10, 25), (12, 8)])
def test_the_loops_approach_the_exact_step(iteration, n, p):
    P, y = gaussian_data(11, n, p)
    errors = errors_of("alternating", P, y, iteration)
    assert errors.min() >= 0
    assert np.all(errors <= 1.5 / np.array([10, 100, 1000, 10000]))
    errors = errors_of("random", P, y, iteration)
    assert errors.min() >= 0
    assert np.diff(errors).max() < 0
    # With a kernel, weights of small coefficients make the last percent slow.
    assert errors[-1] <= (0.02 if p > n else 2e-4)


@pytest.mark.parametrize("method", [ultimate_alternating, ultimate_ar_bcd])
@pytest.mark.parametrize("lam", [0.0, 0.1])
def test_iterates_follow_the_exact_method_and_never_ascend(method, lam):
    P, y = gaussian_data(12, 15, 40)
    problem = as_problem(P, y)
    own = method(problem, lam=lam, inner_iterations=400, inner_growth=1.05)
    exact = ultimate(problem, lam=lam)
    values = [own.objective]
    for k in range(1, 31):
        own.advance(k)
        values.append(own.objective)
        assert values[-1] == pytest.approx(objective(P, y, own.coef, lam), rel=1e-12)
    assert np.diff(values).max() <= 1e-14
    exact.advance(15)
    assert own.objective < exact.objective < values[0]


@pytest.mark.parametrize("method", [ultimate_alternating, ultimate_ar_bcd])
def test_loops_cut_short_do_not_ascend(method):
    for seed in range(5):
        problem = as_problem(*gaussian_data(seed, 10, 30))
        own = method(problem, lam=0.1, inner_iterations=5, inner_growth=1.0)
        values = [own.objective]
        for k in range(1, 60):
            own.advance(k)
            values.append(own.objective)
        assert np.diff(values).max() <= 1e-14


def test_designs_of_low_rank_are_no_special_case():
    P, y = gaussian_data(13, 12, 30)
    P, y = P - P.mean(axis=0), y - y.mean()
    exact = ultimate(as_problem(P, y), lam=0.1)
    exact.advance(10)
    for method in (ultimate_alternating, ultimate_ar_bcd):
        own = method(as_problem(P, y), lam=0.1, inner_iterations=1000)
        own.advance(14)
        assert own.objective < exact.objective


def test_budgets_grow_to_their_limit():
    growing = GeometricBudget(first=10, growth=1.5, most=100)
    assert [growing.rounds(k) for k in (0, 1, 2, 5, 6, 10**7)] == [10, 15, 23, 76, 100, 100]
    assert GeometricBudget(first=7, growth=1.0, most=2000).rounds(10**7) == 7


def test_the_published_budget_is_that_of_the_script_for_figure_9():
    rate = 0.99
    table = [int((1 / rate**2) ** i) + 1 for i in range(301)]
    expected = [8 * max(table[i], i) for i in range(1, 301)]
    budget = PublishedBudget(rate, 10**6)
    assert [budget.rounds(k) for k in range(300)] == expected
    assert expected[:2] == [16, 16]
    assert expected[-1] > 8 * 300
    assert PublishedBudget(rate, 500).rounds(299) == 500
    assert PublishedBudget(1.0, 10**6).rounds(99) == 800
    assert PublishedBudget(0.0, 10**6).rounds(0) == 10**6


def alternated(P, coef, slope, lam, rounds, smoothing):
    """Appendix F.2 in numpy with a basis of the kernel; the eta of the least value."""
    L, Q = smoothness(P), null_space(P)
    best, least = coef, lam * np.abs(coef).sum()
    eta, gamma = coef, np.full(len(coef), 1 / len(coef))
    for _ in range(rounds):
        weighted = Q / gamma[:, None]
        z = np.linalg.solve(Q.T @ weighted, weighted.T @ (coef - eta))
        size = np.sqrt((eta + Q @ z - coef) ** 2 + smoothing)
        gamma = size / size.sum()
        centre = coef - Q @ z - gamma * slope / L
        eta = np.sign(centre) * np.maximum(np.abs(centre) - lam * gamma / L, 0)
        length = np.abs(eta + Q @ z - coef).sum()
        value = slope @ (eta - coef) + L / 2 * length**2 + lam * np.abs(eta).sum()
        if value < least:
            best, least = eta, value
    return best


def test_a_run_with_the_published_settings_is_that_of_a_plain_implementation():
    P, y = gaussian_data(17, 8, 20)
    lam, coef = 0.05, np.zeros(20)
    own = ultimate_alternating(
        as_problem(P, y),
        lam=lam,
        inner_budget="published",
        smoothing=1e-7,
        max_inner_iterations=10**6,
    )
    rate = 1 - curvature_l1_sdp(P).lower / smoothness(P)
    for i in range(1, 16):
        rounds = 8 * max(i, int(rate ** (-2 * i)) + 1)
        coef = alternated(P, coef, P.T @ (P @ coef - y) / 8, lam, rounds, 1e-7)
        own.advance(i)
        assert own.coef == pytest.approx(coef, abs=1e-9)
    assert own.objective < objective(P, y, np.zeros(20), lam) / 2


def test_a_given_smoothing_stays():
    P, y = gaussian_data(18, 8, 20)
    slope = P.T @ -y / 8
    loop = InnerLoop(P.T, np.zeros(20), slope, LAM, smoothness(P), 0.01)
    assert loop.state.theta == pytest.approx(np.full(20, 0.01))
    loop.alternate(100)
    loop.random_blocks(np.ones(10, dtype=bool))
    assert loop.state.floor == 0.01


def test_a_seed_decides_the_blocks():
    problem = as_problem(*gaussian_data(15, 8, 20))

    def after(seed, marks=(20,)):
        iteration = ultimate_ar_bcd(problem, lam=0.1, seed=seed, inner_iterations=20)
        for k in marks:
            iteration.advance(k)
        return iteration.coef.tobytes()

    assert after(3) == after(3, marks=(1, 7, 20))
    assert after(3) != after(4)


def test_start_and_refusals():
    P, y = gaussian_data(16, 8, 12)
    for method in (ultimate_alternating, ultimate_ar_bcd):
        with pytest.raises(ConfigError, match="takes one task"):
            method(as_problem(P, np.column_stack([y, y])), lam=0.1)
        with pytest.raises(ConfigError, match="lam must be at least 0"):
            method(as_problem(P, y), lam=-1.0)
