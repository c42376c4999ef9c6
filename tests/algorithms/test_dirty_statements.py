"""Statements of Jalali & Sanghavi (2012) on the end of Algorithm 1, with measured constants.

The constants of the restricted eigenvalue property are those of the union of true and estimated
support, which is all that the proofs use: Cmin^2 ||delta||^2 <= ||X delta||^2 / (2 n) <= rho^2
Cmin^2 ||delta||^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy.linalg import hadamard
from sklearn.linear_model import LogisticRegression
from slow_greedy_dirty import SlowGreedyDirty

from greedyexp.algorithms.dirty.greedy_dirty import greedy_dirty
from greedyexp.core import registry
from greedyexp.problems.problem import as_problem

SEEDS = range(60)


@dataclass(frozen=True)
class End:
    """A finished run, with the data and the parameters."""

    run: SlowGreedyDirty
    truth: np.ndarray
    noise: list[np.ndarray]
    epsilon: float

    def selected(self, j: int) -> set[int]:
        return {i for i, task in self.run.active if task == j}

    def true(self, j: int) -> set[int]:
        return set(np.flatnonzero(self.truth[:, j]).tolist())

    def union(self, j: int) -> list[int]:
        return sorted(self.selected(j) | self.true(j))

    def constants(self, j: int) -> tuple[float, float]:
        """Return Cmin and rho over the union of the supports of a task."""
        X = self.run.X[j][:, self.union(j)]
        least, largest = np.linalg.eigvalsh(X.T @ X / (2 * len(X)))[[0, -1]]
        return math.sqrt(least), math.sqrt(largest / least)

    def slope(self, j: int) -> float:
        """Return lambda of a task: the largest entry of the gradient at the truth."""
        return float(abs(self.run.X[j].T @ self.noise[j]).max()) / len(self.noise[j])

    def error(self, j: int) -> float:
        return float(np.linalg.norm(self.run.coef[:, j] - self.truth[:, j]))

    def loss(self, coef: np.ndarray, j: int) -> float:
        residual = self.run.y[j] - self.run.X[j] @ coef[:, j]
        return float(residual @ residual) / (2 * len(residual))


@cache
def ended(seed: int) -> End:
    """Return a run on correlated columns, with a threshold from far too low to too high."""
    rng = np.random.default_rng(seed)
    n, p, w, nu = 60, 12, rng.uniform(1.05, 1.95), rng.uniform(0.1, 0.5)
    mixing = np.eye(p) + 0.2 * rng.standard_normal((p, p))
    X = [rng.standard_normal((n, p)) @ mixing for _ in range(2)]
    truth = rng.uniform(0.2, 1.0, (p, 2)) * (rng.random((p, 2)) < 0.3)
    noise = [0.3 * rng.standard_normal(n) for _ in range(2)]
    y = [x @ b + z for x, b, z in zip(X, truth.T, noise, strict=True)]
    run, epsilon = SlowGreedyDirty(X, y, w, nu), 10 ** rng.uniform(-3.5, -1)
    run.run(epsilon)
    coef = greedy_dirty(as_problem(X, y), w=w, nu=nu, epsilon=epsilon).coef[0]
    np.testing.assert_allclose(coef, run.coef, atol=1e-9)
    return End(run, truth, noise, epsilon)


def test_the_runs_end_with_missing_and_with_wrong_entries():
    ends = [ended(seed) for seed in SEEDS]
    for j in range(2):
        assert any(end.true(j) - end.selected(j) for end in ends)
        assert any(end.selected(j) - end.true(j) for end in ends)
    assert any(end.run.rows for end in ends)


@pytest.mark.parametrize("j", [0, 1])
def test_a_stopped_forward_step_bounds_the_loss(j):
    """Lemma 3, without the absolute value."""
    for seed in SEEDS:
        end = ended(seed)
        smallest, rho = end.constants(j)
        missing = len(end.true(j) - end.selected(j))
        gap = end.loss(end.run.coef, j) - end.loss(end.truth, j)
        bound = 2 * rho * smallest * math.sqrt(missing * end.epsilon) * end.error(j)
        assert gap <= bound + 1e-12


@pytest.mark.parametrize("j", [0, 1])
def test_a_stopped_forward_step_bounds_the_error(j):
    """Lemma 4, which is Lemma 1 (i)."""
    for seed in SEEDS:
        end = ended(seed)
        smallest, rho = end.constants(j)
        missing = len(end.true(j) - end.selected(j))
        noise = end.slope(j) * math.sqrt(len(end.union(j))) / smallest
        assert end.error(j) <= (noise + 2 * rho * math.sqrt(missing * end.epsilon)) / smallest


def test_stopped_backward_steps_bound_the_number_of_wrong_entries():
    """Lemma 5, which is Lemma 1 (ii), in the mean over tasks and for rows that are wrong in all."""
    wrong_entries = 0
    for seed in SEEDS:
        end = ended(seed)
        wrong = [end.selected(j) - end.true(j) for j in range(2)]
        if any((i in wrong[0]) != (i in wrong[1]) for i in end.run.rows):
            continue
        size = sum(
            float(end.run.coef[[*wrong[j]], j] @ end.run.coef[[*wrong[j]], j]) for j in (0, 1)
        )
        largest = max(rho * smallest for smallest, rho in map(end.constants, range(2)))
        count = len(wrong[0]) + len(wrong[1])
        wrong_entries += count
        assert size >= end.run.w * end.run.nu * end.epsilon * count / (2 * largest**2) - 1e-12
    assert wrong_entries >= 20


def orthogonal(seed: int, r: int = 2) -> tuple[list[np.ndarray], np.random.Generator]:
    """Return designs with X^T X = n I, where rho = 1 and Cmin^2 = 1/2 for every sparsity."""
    rng = np.random.default_rng(seed)
    columns = hadamard(64).astype(float)
    return [columns[:, rng.permutation(64)[:20]] for _ in range(r)], rng


@pytest.mark.parametrize("w", [1.5, 1.9])
def test_theorem_1_holds_on_orthogonal_designs(w):
    """Values of one size, and a weight away from d - 1 = 1."""
    nu, r, C_squared = 0.5, 2, 0.5
    for seed in range(40):
        X, rng = orthogonal(seed)
        support = np.zeros((20, 2), dtype=bool)
        support[:3] = True
        support[3, 0] = support[4, 1] = True
        noise = [0.01 * rng.standard_normal(64) for _ in range(r)]
        slope = max(float(abs(x.T @ z).max()) / 64 for x, z in zip(X, noise, strict=True))
        eta, sparsity = 2 + 8 * r / (w * nu), 4
        epsilon = 4 * eta * r**2 * sparsity * slope**2 / (w * nu * C_squared)
        smallest = 1.01 * 4 * math.sqrt(epsilon / C_squared)
        truth = smallest * support * rng.choice([-1.0, 1.0], support.shape)
        y = [x @ b + z for x, b, z in zip(X, truth.T, noise, strict=True)]
        coef = greedy_dirty(as_problem(X, y), w=w, nu=nu, epsilon=epsilon).coef[0]
        bound = slope * math.sqrt(eta / C_squared) + 2 * math.sqrt(epsilon)
        bound *= math.sqrt(r * sparsity / C_squared)
        assert np.linalg.norm(coef - truth) <= bound
        assert np.array_equal(coef != 0, support)


def test_entries_of_different_sizes_enter_a_shared_row_one_by_one():
    """A counterexample to Remark 3 and to the labels of Theorem 1 (b), without noise."""
    X = [np.ones((1, 1))] * 2
    y = [np.array([1.0]), np.array([0.5])]
    run = SlowGreedyDirty(X, y, w=1.5, nu=0.5)
    run.run(1e-6)
    assert run.singles == {(0, 0), (0, 1)}
    assert not run.rows
    np.testing.assert_array_equal(run.coef, [[1.0, 0.5]])


def test_the_noise_level_of_corollary_1_shrinks_as_stated():
    """(C1): the gradient at the truth is below a constant times sqrt(log(r p) / n)."""
    rng, r, sigma = np.random.default_rng(0), 2, 0.7
    for n, p in [(50, 20), (50, 2000), (800, 200), (3200, 50)]:
        found = []
        for _ in range(20):
            X, z = rng.standard_normal((n, p)), sigma * rng.standard_normal((n, r))
            found.append(abs(X.T @ z).max() / n)
        # By the bound on normal tails, with squared columns of at most 2 n.
        assert max(found) <= 2 * sigma * math.sqrt(2 * math.log(r * p * 20) / n)
        assert min(found) >= 0.5 * sigma * math.sqrt(math.log(r * p) / n)


def recovered(
    seed: int, theta: float, kappa: float, w: list[float], nu: float, p: int = 128
) -> set[float]:
    """Return the weights of rows with which some threshold recovers the signs."""
    generate = registry.find("generator", "multitask_overlap").function
    rng = np.random.default_rng(seed)
    problem = generate(rng, p=p, theta=theta, kappa=kappa, values="sign", noise_std=0.1)
    path = greedy_dirty(problem, w=w, nu=nu)
    right = (np.sign(path.coef) == problem.truth).all(axis=(1, 2))
    return set(path.grid["w"][right].tolist())


@pytest.mark.deep
def test_a_smaller_backward_factor_recovers_less():
    """Remark 2: a trade-off between recovery and computation."""
    rates = [
        np.mean([bool(recovered(seed, 0.75, 2 / 3, [1.25, 1.5, 1.75], nu)) for seed in range(100)])
        for nu in (0.01, 0.5)
    ]
    assert rates[0] < rates[1]


def test_a_smaller_backward_factor_removes_less():
    """Remark 2: fewer backward steps."""

    class Counting(SlowGreedyDirty):
        removals = 0

        def remove(self, chosen):
            self.removals += 1
            super().remove(chosen)

    removals = []
    for nu in (0.05, 0.5):
        count = 0
        for seed in SEEDS:
            end = ended(seed)
            run = Counting(end.run.X, end.run.y, end.run.w, nu)
            run.run(1e-4)
            count += run.removals
        removals.append(count)
    assert removals[0] < removals[1]


@pytest.mark.deep
def test_few_samples_need_a_weight_near_one_and_many_one_near_two():
    """Section 4.1, for kappa = 0.8: the weight that succeeds most often."""
    weights = [1.05, 1.2, 1.35, 1.5, 1.65, 1.8, 1.95]
    best = {}
    for theta in (0.65, 1.1):
        found = [recovered(seed, theta, 0.8, weights, 0.5) for seed in range(150)]
        rates = [sum(w in one for one in found) for w in weights]
        best[theta] = weights[int(np.argmax(rates))]
    assert best[0.65] <= 1.35
    assert best[1.1] >= 1.65


@pytest.mark.deep
def test_the_transition_becomes_sharper_with_more_features():
    """Conjecture 1: the distance from 25% to 75% of success, by a logistic curve."""
    widths = []
    for p, thetas in ((64, np.arange(0.6, 1.3, 0.1)), (512, np.arange(0.56, 0.74, 0.03))):
        won = [
            [bool(recovered(seed, theta, 2 / 3, [1.25, 1.5, 1.75], 0.5, p)) for seed in range(60)]
            for theta in thetas
        ]
        x = np.repeat(thetas, 60)[:, None]
        curve = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000)
        widths.append(2 * math.log(3) / curve.fit(x, np.ravel(won)).coef_[0, 0])
    assert 0 < widths[1] < 0.5 * widths[0]
