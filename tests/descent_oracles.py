"""Problems of one task and plain loops to hold iterative methods against."""

from __future__ import annotations

import numpy as np

from greedyexp.problems.problem import Problem


def one_task(seed: int, n: int, p: int, *, start: bool = False, noise: float = 0.5) -> Problem:
    """Gaussian design, signs as coefficients on at most eight features, and noise."""
    rng = np.random.default_rng(seed)
    P = rng.standard_normal((n, p))
    truth = np.zeros(p)
    truth[rng.choice(p, min(8, p), replace=False)] = 1.0
    truth *= rng.choice([-1.0, 1.0], p)
    y = P @ truth + noise * rng.standard_normal(n)
    first = rng.standard_normal((p, 1)) if start else None
    return Problem((P,), (y,), start=first)


def beginning(problem: Problem) -> np.ndarray:
    """The first estimate (p,)."""
    if problem.start is None:
        return np.zeros(problem.n_features)
    return problem.start[:, 0].copy()


def smoothness_l1(problem: Problem) -> float:
    return (problem.X[0] ** 2).sum(axis=0).max() / len(problem.y[0])


def smoothness_l2(problem: Problem) -> float:
    P = problem.X[0]
    smaller = P @ P.T if P.shape[0] < P.shape[1] else P.T @ P
    return np.linalg.eigvalsh(smaller)[-1] / len(P)


def gradient(problem: Problem, coef: np.ndarray) -> np.ndarray:
    return problem.X[0].T @ (problem.X[0] @ coef - problem.y[0]) / len(problem.y[0])


def value(problem: Problem, coef: np.ndarray, lam: float) -> float:
    residual = problem.X[0] @ coef - problem.y[0]
    return (residual**2).sum() / (2 * len(residual)) + lam * np.abs(coef).sum()


def iterates(problem: Problem, step, count: int) -> np.ndarray:
    """The beginning and ``count`` estimates after it, each ``step(coef, gradient)``."""
    path = [beginning(problem)]
    for _ in range(count):
        path.append(step(path[-1], gradient(problem, path[-1])))
    return np.array(path)


def greatest_difference(iteration, path: np.ndarray) -> float:
    """How far the estimates of an ``Iteration`` come from those of a plain loop."""
    worst = 0.0
    for k, coef in enumerate(path):
        iteration.advance(k)
        assert iteration.iteration == k
        worst = max(worst, np.abs(iteration.coef - coef).max())
    return worst


def gauss_southwell(smoothness: float):
    """One step of the plain rule."""

    def step(coef, grad):
        moved = coef.copy()
        i = np.argmax(np.abs(grad))
        moved[i] -= grad[i] / smoothness
        return moved

    return step


def soft(values, threshold: float):
    return np.sign(values) * np.maximum(np.abs(values) - threshold, 0.0)
