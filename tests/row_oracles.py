"""Independent statements of the row-penalised problem: values, optimality, a conic solver."""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse


def penalty(coef, lam_s, lam_b):
    """sum over rows of max {<u, b_i> : |u_j| <= lam_s, sum |u_j| <= lam_b}, by greedy filling."""
    sizes = -np.sort(-np.abs(coef), axis=1)
    before = lam_s * np.arange(coef.shape[1])
    price = np.clip(lam_b - before, 0, lam_s)
    return float((sizes * price).sum())


def objective(problem, coef, lam_s, lam_b):
    loss = 0.0
    for X, y, b in zip(problem.X, problem.y, coef.T, strict=True):
        loss += np.sum((y - X @ b) ** 2) / (2 * len(y))
    return loss + penalty(coef, lam_s, lam_b)


def kkt_violation(problem, coef, lam_s, lam_b):
    """How far the gradient is from the subdifferential, in units of lam_s.

    b is optimal exactly when every row of the gradient lies in the dual unit set and reaches the
    penalty of its row of b in the inner product.
    """
    pairs = zip(problem.X, problem.y, coef.T, strict=True)
    grad = np.stack([X.T @ (y - X @ b) / len(y) for X, y, b in pairs], axis=1)
    outside = max(np.abs(grad).max() - lam_s, np.abs(grad).sum(axis=1).max() - lam_b, 0.0)
    short = 0.0
    for b, g in zip(coef, grad, strict=True):
        if np.any(b):
            short = max(short, abs(penalty(b[None], lam_s, lam_b) - b @ g) / np.abs(b).max())
    return max(outside, short) / lam_s


def conic_optimum(problem, lam_s, lam_b):
    """Optimal value with S and B as variables of their own, by an interior-point method."""
    p, r, n = problem.n_features, problem.n_tasks, problem.n_samples
    total = int(n.sum())
    design = sparse.block_diag(problem.X)
    y = np.concatenate(problem.y)
    entries, rows = p * r, p
    none = sparse.csc_matrix
    eye = sparse.identity(entries)
    per_row = sparse.vstack([sparse.identity(p)] * r)
    columns = [entries, entries, entries, rows, total]  # S, B, |S|, max |B|, residual

    def stack(*blocks):
        height = next(block.shape[0] for block in blocks if block is not None)
        return sparse.hstack(
            [
                none((height, width)) if block is None else block
                for block, width in zip(blocks, columns, strict=True)
            ]
        )

    constraints = sparse.vstack(
        [
            stack(design, design, None, None, sparse.identity(total)),
            stack(eye, None, -eye, None, None),
            stack(-eye, None, -eye, None, None),
            stack(None, eye, None, -per_row, None),
            stack(None, -eye, None, -per_row, None),
        ]
    ).tocsc()
    curvature = np.zeros(sum(columns))
    curvature[-total:] = np.repeat(1 / n, n)
    prices = np.concatenate(
        [np.zeros(2 * entries), np.full(entries, lam_s), np.full(rows, lam_b), np.zeros(total)]
    )
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        sparse.diags(curvature).tocsc(),
        prices,
        constraints,
        np.concatenate([y, np.zeros(4 * entries)]),
        [clarabel.ZeroConeT(total), clarabel.NonnegativeConeT(4 * entries)],
        settings,
    )
    return solver.solve().obj_val


def awkward_problem(seed):
    """Tiny data made to hurt (whole numbers, low rank, mixed column scales) and a tuning for it."""
    from greedyexp.problems.problem import as_problem

    rng = np.random.default_rng(seed)
    r, p = int(rng.integers(2, 6)), int(rng.integers(1, 16))
    sizes = rng.integers(2, 14, size=r)
    kind = seed % 5
    if kind == 0:
        X = [rng.integers(-1, 2, (n, p)).astype(float) for n in sizes]
    elif kind == 1:
        X = [rng.integers(0, 2, (n, p)).astype(float) for n in sizes]
    elif kind == 2:
        X = [rng.standard_normal((n, 2)) @ rng.standard_normal((2, p)) for n in sizes]
    elif kind == 3:
        X = [rng.standard_normal((sizes[0], p))] * r
    else:
        X = [np.sign(rng.standard_normal((n, p))) * rng.choice([1.0, 1e-3], p) for n in sizes]
    whole = seed % 2
    y = [
        rng.integers(-2, 3, len(D)).astype(float) if whole else rng.standard_normal(len(D))
        for D in X
    ]
    ratio = [1.0, float(rng.integers(1, r + 1)), float(rng.uniform(1, r)), float(r)]
    lam_min_ratio = 10.0 ** -rng.integers(1, 6, 3)[-1]
    return as_problem(X, y), {"n_lams": 9, "ratio": ratio, "lam_min_ratio": lam_min_ratio}


def random_problem(seed, n, p, r, *, support=4, noise=0.3, shared=False):
    """Gaussian data; ``n`` is an int or one for each task."""
    from greedyexp.problems.problem import as_problem

    rng = np.random.default_rng(seed)
    sizes = np.broadcast_to(n, r)
    designs = [rng.standard_normal((size, p)) for size in sizes]
    if shared:
        designs = [designs[0]] * r
    truth = np.zeros((p, r))
    truth[:support] = rng.choice([-1.0, 1.0], (support, r)) * (rng.random((support, r)) < 0.7)
    y = [X @ b + noise * rng.standard_normal(len(X)) for X, b in zip(designs, truth.T, strict=True)]
    return as_problem(designs[0] if shared else designs, y, truth=truth, noise_std=noise)
