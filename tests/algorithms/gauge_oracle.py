"""The step of the ultimate method as it is printed, and constants of its geometry by force."""

from itertools import combinations, product

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import linprog


def gaussian_data(seed, n, p, sparsity=4, noise=0.5):
    """P and y = P a + noise."""
    rng = np.random.default_rng(seed)
    P = rng.standard_normal((n, p))
    truth = np.zeros(p)
    chosen = rng.choice(p, min(sparsity, p), replace=False)
    truth[chosen] = rng.choice([-1.0, 1.0], len(chosen))
    return P, P @ truth + noise * rng.standard_normal(n)


def objective(P, y, coef, lam):
    residual = P @ coef - y
    return residual @ residual / (2 * len(y)) + lam * np.abs(coef).sum()


def smoothness(P):
    return (P**2).sum(axis=0).max() / len(P)


def gauge(P, x):
    """Least ||a||_1 with P a = x, by the simplex method."""
    p = P.shape[1]
    answer = linprog(np.ones(2 * p), A_eq=np.hstack([P, -P]), b_eq=x, method="highs-ds")
    assert answer.status == 0
    return answer.fun


def primal_step(P, y, coef, lam):
    """Eq. 20 in 4 p + 1 variables b+, b-, nu+, nu-, s: its value and the next point.

    Minimises <g, b> + (L1 / 2) s^2 + lam ||nu||_1 subject to P nu - P b = P coef, ||b||_1 <= s.
    """
    n, p = P.shape
    gradient = P.T @ (P @ coef - y) / n
    price = np.full(p, lam)
    linear = np.concatenate([gradient, -gradient, price, price, [0.0]])
    curvature = np.zeros(4 * p + 1)
    curvature[-1] = smoothness(P)
    balance = np.hstack([-P, P, P, -P, np.zeros((n, 1))])
    length = np.concatenate([np.ones(2 * p), np.zeros(2 * p), [-1.0]])
    positive = np.hstack([-np.eye(4 * p), np.zeros((4 * p, 1))])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.diag(curvature)),
        linear,
        sparse.csc_matrix(np.vstack([balance, length, positive])),
        np.concatenate([P @ coef, np.zeros(4 * p + 1)]),
        [clarabel.ZeroConeT(n), clarabel.NonnegativeConeT(4 * p + 1)],
        settings,
    )
    solution = solver.solve()
    parts = np.array(solution.x)
    estimate = parts[2 * p : 3 * p] - parts[3 * p : 4 * p]
    return solution.obj_val, P @ estimate


def model_value(P, y, coef, estimate, lam):
    """Value of the model at the next point P ``estimate``, both gauges by the simplex method."""
    x, following = P @ coef, P @ estimate
    gradient = (x - y) / len(y)
    length = gauge(P, following - x)
    return gradient @ (following - x) + smoothness(P) / 2 * length**2 + lam * gauge(P, following)


def lojasiewicz_l1(P):
    """min ||P^T v||_inf^2 / n over ||v||_2 = 1, from all vertices of ||P^T v||_inf <= 1."""
    n, p = P.shape
    longest = 0.0
    for chosen in combinations(range(p), n):
        square = P[:, chosen].T
        if abs(np.linalg.det(square)) < 1e-9:
            continue
        for signs in product([-1.0, 1.0], repeat=n):
            vertex = np.linalg.solve(square, signs)
            if np.abs(P.T @ vertex).max() <= 1 + 1e-9:
                longest = max(longest, vertex @ vertex)
    return 1 / (n * longest)
