"""Compare the maximum-cut relaxation with SCS and Clarabel through cvxpy.

Times start from the matrix C and end with a solution. All solutions are then certified in the same
way: the primal matrix is scaled to a unit diagonal and the dual point until it is feasible. SCS and
Clarabel use the loosest of some tolerances that gives the required certified gap. Times are wall
times of the solvers alone, the shortest of several alternating runs.
Run: python benchmarks/bench_max_cut.py
"""

from __future__ import annotations

import time
import warnings

import cvxpy as cp
import numpy as np
from _measuring import Comparison, report

from greedyexp.theory.max_cut import max_cut

P, GAP, REPEATS = 50, 1e-6, 3
PEERS = ("SCS", "CLARABEL")
TOLERANCES = [10.0**-k for k in range(4, 11)]


def designs():
    rng = np.random.default_rng(0)
    yield "Gaussian, n = 100", rng.standard_normal((100, P))
    yield "Gaussian, n = 50", rng.standard_normal((50, P))
    yield "decaying columns, n = 50", rng.standard_normal((50, P)) / np.sqrt(np.arange(1, P + 1))
    small = rng.standard_normal((100, P))
    small[:, -1] /= 10
    yield "one small column, n = 100", small


def certified_gap(C, Z, y):
    values, vectors = np.linalg.eigh((Z + Z.T) / 2)
    V = vectors * np.sqrt(np.maximum(values, 0))
    V /= np.linalg.norm(V, axis=1)[:, None]
    y = np.maximum(np.abs(y), np.diag(C))
    root = np.sqrt(y)
    dual = y.sum() * np.linalg.eigvalsh(C / root / root[:, None])[-1]
    return 1 - np.sum((C @ V) * V) / dual


def peer(C, solver, tolerance):
    """Seconds in the solver, and the certified gap of its solution."""
    scale = np.abs(C).max()
    Z = cp.Variable(C.shape, PSD=True)
    diagonal = cp.diag(Z) <= 1
    problem = cp.Problem(cp.Maximize(cp.trace((C / scale) @ Z)), [diagonal])
    if solver == "SCS":
        problem.solve("SCS", eps_abs=tolerance, eps_rel=tolerance, max_iters=100_000)
    else:
        names = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
        problem.solve("CLARABEL", max_threads=1, **dict.fromkeys(names, tolerance))
    seconds = problem.solver_stats.solve_time
    return seconds, certified_gap(C, Z.value, scale * diagonal.dual_value)


def loosest(C, solver):
    """The first tolerance whose solution has the required gap, or the last one."""
    for tolerance in TOLERANCES:
        if peer(C, solver, tolerance)[1] <= GAP:
            break
    return tolerance


def own_time(C):
    start = time.perf_counter()
    cut = max_cut(C, tol=GAP)
    return time.perf_counter() - start, (cut.dual - cut.primal) / cut.dual


def comparisons():
    warnings.simplefilter("ignore")
    for name, design in designs():
        C = np.linalg.inv(design.T @ design)
        C = (C + C.T) / 2
        tolerances = {solver: loosest(C, solver) for solver in PEERS}
        own, peers = [], {solver: [] for solver in PEERS}
        for _ in range(REPEATS):
            own += [own_time(C) for _ in range(10)]
            for solver, tolerance in tolerances.items():
                peers[solver].append(peer(C, solver, tolerance))
        ours, gap = min(own)
        for solver, runs in peers.items():
            theirs, other = min(runs)
            what = f"maximum-cut relaxation, {name}, p = {P}"
            remark = f"certified gaps {gap:.1e} and {other:.1e}"
            yield Comparison(what, solver, ours, theirs, remark)


if __name__ == "__main__":
    report(comparisons, __doc__)
