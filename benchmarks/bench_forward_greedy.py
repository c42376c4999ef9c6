"""Time forward greedy steps over an l1 ball, and compare them with gradients by NumPy.

Prints microseconds, with n = 2000 and d = 500, of a step, of a gradient X^T L'(X w) / n (two passes
over the design) and of X^T L' alone (one pass), for the squared loss with rows of its Gram matrix
or all of it, the logistic and the smoothed hinge loss. The ratios are those of whole runs,
including the set-up. Then prints nanoseconds of a step on a quadratic risk, with a Gram matrix and
with moments of features that share a hidden variable. All times are processor times on one thread.
Run: python benchmarks/bench_forward_greedy.py
"""

from __future__ import annotations

import time

import numpy as np
from threadpoolctl import threadpool_limits

from greedyexp.algorithms.sparsity import _frank_wolfe as frank_wolfe
from greedyexp.algorithms.sparsity.forward_greedy import forward_greedy
from greedyexp.kernels.scalar_losses import slopes
from greedyexp.losses.risk import bind_risk
from greedyexp.problems.moments import SpreadMoments
from greedyexp.problems.problem import Problem, as_problem

N_SAMPLES, N_FEATURES, RADIUS, BETA = 2000, 500, 2.0, 10.0
STEPS, RATIO = 10_000, 1.5
LOSSES = ("squared, rows", "squared, Gram matrix", "logistic", "hinge")
SIZES, MANY = (20, 100, 2048), {20: 10**7, 100: 10**7, 2048: 10**5}


def seconds(work):
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


def designed(n: int, d: int):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (n, d)) * rng.random((n, d))
    truth = np.zeros(d)
    truth[:5] = 0.4
    return X, X @ truth + 0.5 * rng.standard_normal(n)


def bare(X, loss, passes: int):
    """Compute one gradient for each step, with one or two passes over the design."""
    weights = np.zeros(X.shape[1])
    weights[:5] = 0.1
    margins = X @ weights
    for _ in range(STEPS):
        if passes == 2:
            margins = X @ weights
        slope = slopes(loss.kind, loss.beta, margins, loss.responses)
        gradient = X.T @ slope / len(X)
    return gradient


def against_gradients():
    X, y = designed(N_SAMPLES, N_FEATURES)
    print(f"n = {N_SAMPLES}, d = {N_FEATURES}, {STEPS} steps; us a step, ratio at most {RATIO}")
    for name in LOSSES:
        kind, _, gram = name.partition(", ")
        problem = as_problem(X, y if kind == "squared" else np.sign(y))
        beta = BETA if kind == "hinge" else None
        loss = bind_risk(kind, problem, beta=beta)
        two, one = (seconds(lambda: bare(X, loss, passes))[0] for passes in (2, 1))  # noqa: B023
        frank_wolfe.MOST_KEPT = 2048 if gram == "Gram matrix" else 0
        for step in ("paper", "line_search"):
            options = {"loss": kind, "beta": beta, "radius": RADIUS, "step": step}
            spent, path = seconds(
                lambda: forward_greedy(problem, steps=STEPS, **options)  # noqa: B023
            )
            made = int(path.facts["steps"][-1])
            print(
                f"  {name}, {step}: {1e6 * spent / made:.1f}, of two passes"
                f" {1e6 * two / STEPS:.1f} (ratio {spent / made / two * STEPS:.2f}), of one"
                f" {1e6 * one / STEPS:.1f} (ratio {spent / made / one * STEPS:.2f})"
            )
    frank_wolfe.MOST_KEPT = 2048


def of_quadratics():
    print("ns a step where the gradient is kept")
    for d in SIZES:
        X, y = designed(N_SAMPLES, d)
        tilt = np.full(d, 1.0 / 3.0)
        moments = SpreadMoments(1.0 - tilt**2, tilt, tilt, 1.0)
        spread = Problem((np.zeros((0, d)),), (np.zeros(0),), moments=moments)
        for what, problem, options in (
            ("Gram matrix", as_problem(X, y), {"radius": 1.5}),
            ("spread moments", spread, {"radius": 2.0, "risk": "population"}),
        ):
            for step in ("paper", "line_search"):
                spent, path = seconds(
                    lambda: forward_greedy(problem, steps=MANY[d], step=step, **options)  # noqa: B023
                )
                made = int(path.facts["steps"][-1])
                print(f"  d = {d}, {what}, {step}: {1e9 * spent / made:.0f} of {made} steps")


def main():
    against_gradients()
    of_quadratics()


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
