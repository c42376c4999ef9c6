"""Time forward-backward selection with the logistic loss, and compare it with skscope.

Prints milliseconds of FoBa-gdt and FoBa-obj, the latter with bounds and with all gains computed, on
the two Gaussian classes of Liu, Fujimaki & Ye (2014); seconds on LIBSVM's data sets if they are
installed; and the ratio to skscope's FobaSolver in alternating runs, once with its default settings
(it then selects twice the number of features and drops half) and once with settings for the same
algorithm. All times are processor times on one thread.
Run: python benchmarks/bench_foba_logistic.py
"""

from __future__ import annotations

import os
import time

import numpy as np
from threadpoolctl import threadpool_limits

from greedyexp.algorithms.foba.gain import foba_obj
from greedyexp.algorithms.foba.gradient import foba_gdt
from greedyexp.core.errors import UserError
from greedyexp.generators.libsvm_binary import libsvm_binary
from greedyexp.generators.two_class_gaussian import two_class_gaussian
from greedyexp.problems.problem import Problem, as_problem

RULES = {"gdt": foba_gdt, "obj": foba_obj}
SPARSITY, RIDGE, DATA_SETS = 14, 0.01, 5
CASES = (("gdt", {}, 5.0), ("obj", {}, 300.0), ("obj", {"prune": False}, 300.0))
N_SAMPLES, N_FEATURES, N_SELECTED = 1000, 5000, 30
TURNS, FACTOR = 5, 50
SETS, SETS_RIDGE, SETS_SELECTED, SETS_BUDGET = ("a1a", "a2a", "w1a"), 1e-4, 70, 180.0


def select(rule, problem: Problem, ridge, count, **params):
    grid = {"max_features": [count]}
    path = RULES[rule](problem, loss="logistic", ridge=ridge, grid=grid, **params)
    if not path.converged.all():
        raise SystemExit(f"{rule}: {path.message}")
    return path


def seconds(work):
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


def two_classes():
    print(f"n = 100, d = 500, {SPARSITY} features, ms as the mean over {DATA_SETS} data sets")
    for rule, params, budget in CASES:
        times = []
        for seed in range(DATA_SETS):
            problem = two_class_gaussian(np.random.default_rng(seed), sparsity=SPARSITY)

            def once():
                return select(rule, problem, RIDGE, SPARSITY, **params)  # noqa: B023

            times.append(1e3 * min(seconds(once)[0] for _ in range(9)))
        every = ", every gain computed" if params else ""
        print(f"  FoBa-{rule}{every}: {np.mean(times):.2f} (budget {budget:g})")


def sets():
    print(f"to {SETS_SELECTED} features: n Q and seconds of one run")
    total = 0.0
    for name in SETS:
        try:
            problem = libsvm_binary(np.random.default_rng(0), dataset=name)
        except UserError as error:
            print(f"  {name}: {error}")
            continue
        for rule in RULES:
            spent, path = seconds(lambda: select(rule, problem, SETS_RIDGE, SETS_SELECTED))  # noqa: B023
            total += spent
            print(f"  {name} FoBa-{rule}: {path.objective[0] * len(problem.y[0]):.1f} {spent:.2f}")
    if total:
        print(f"  in all {total:.1f} s (budget {SETS_BUDGET:g})")


def against_skscope():
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
    print(f"n = {N_SAMPLES}, d = {N_FEATURES}, {N_SELECTED} features")
    for what, solver, turns in (("as called", asked, 2), ("the same algorithm", alike, TURNS)):
        solver.solve(loss, jit=True)  # compiled before the clock starts
        ours, theirs = [], []
        for _ in range(turns):
            theirs.append(seconds(lambda: solver.solve(loss, jit=True))[0])  # noqa: B023
            spent, path = seconds(lambda: select("gdt", problem, RIDGE, N_SELECTED))
            ours.append(spent)
        print(f"  FoBa-gdt {min(ours):.3f} s, Q = {path.objective[0]:.9f}")
        print(f"  skscope, {what}, {min(theirs):.2f} s, Q = {solver.objective_value:.9f}")
        print(f"  times faster: {min(theirs) / min(ours):.0f} (at least {FACTOR})")


def main():
    two_classes()
    sets()
    against_skscope()


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
