"""Compare forward-backward selection with the logistic loss with skscope.

FoBa-gdt is compared with skscope's FobaSolver, once with its default settings (it then selects
twice the number of features and drops half) and once with settings for the same algorithm.
FoBa-obj, whose gains are bounded, is compared with the search that computes every gain, on the two
Gaussian classes of Liu, Fujimaki & Ye (2014).
Run: python benchmarks/bench_foba_logistic.py
"""

from __future__ import annotations

import os

import numpy as np
from _measuring import Comparison, cpu_seconds, report

from greedyexp.algorithms.foba.gain import foba_obj
from greedyexp.algorithms.foba.gradient import foba_gdt
from greedyexp.generators.two_class_gaussian import two_class_gaussian
from greedyexp.problems.problem import Problem, as_problem

SPARSITY, RIDGE = 14, 0.01
N_SAMPLES, N_FEATURES, N_SELECTED = 1000, 5000, 30
TURNS = 5


def select(rule, problem: Problem, count, **params):
    grid = {"max_features": [count]}
    path = rule(problem, loss="logistic", ridge=RIDGE, grid=grid, **params)
    if not path.converged.all():
        raise SystemExit(path.message)
    return path


def pruned():
    problem = two_class_gaussian(np.random.default_rng(0), sparsity=SPARSITY)
    ours, theirs = cpu_seconds(
        lambda: select(foba_obj, problem, SPARSITY),
        lambda: select(foba_obj, problem, SPARSITY, prune=False),
        repeats=TURNS,
    )
    n, d = problem.X[0].shape
    what = f"FoBa-obj, logistic, {n} x {d}, {SPARSITY} features"
    return Comparison(what, "every gain computed", ours, theirs)


def comparisons():
    yield pruned()
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    import jax.numpy as jnp
    from skscope import FobaSolver

    rng = np.random.default_rng(0)
    X, truth = rng.standard_normal((N_SAMPLES, N_FEATURES)), np.zeros(N_FEATURES)
    truth[rng.choice(N_FEATURES, N_SELECTED, replace=False)] = 1.0
    y = np.where(X @ truth + rng.logistic(size=N_SAMPLES) > 0, 1.0, -1.0)
    problem, atoms = as_problem(X, y), jnp.asarray(X * y[:, None])

    def loss(coef):
        return jnp.mean(jnp.logaddexp(0.0, -atoms @ coef)) + 0.5 * RIDGE * jnp.sum(coef * coef)

    # By default it selects twice the number of features and drops half.
    asked = FobaSolver(N_FEATURES, N_SELECTED, N_SAMPLES)
    alike = FobaSolver(N_FEATURES, N_SELECTED // 2, N_SAMPLES, strict_sparsity=False)
    peers = {
        "skscope as called": (asked, 2),
        "skscope with the settings of the same algorithm": (alike, TURNS),
    }
    for peer, (solver, turns) in peers.items():
        solver.solve(loss, jit=True)  # compiled before the clock starts
        path = select(foba_gdt, problem, N_SELECTED)
        ours, theirs = cpu_seconds(
            lambda: select(foba_gdt, problem, N_SELECTED),
            lambda solver=solver: solver.solve(loss, jit=True),
            repeats=turns,
        )
        what = f"FoBa-gdt, logistic, {N_SAMPLES} x {N_FEATURES}, {N_SELECTED} features"
        remark = f"objectives {path.objective[0]:.9f} and {solver.objective_value:.9f}"
        yield Comparison(what, peer, ours, theirs, remark)


if __name__ == "__main__":
    report(comparisons, __doc__)
