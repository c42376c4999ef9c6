"""Compare forward greedy steps over an l1 ball with gradients X^T L'(X w) / n by NumPy.

A gradient takes two passes over the design. Times of steps are those of whole runs, including the
set-up.
Run: python benchmarks/bench_forward_greedy.py
"""

from __future__ import annotations

import numpy as np
from _measuring import Comparison, cpu_seconds, report

from greedyexp.algorithms.sparsity import _frank_wolfe as frank_wolfe
from greedyexp.algorithms.sparsity.forward_greedy import forward_greedy
from greedyexp.kernels.scalar_losses import slopes
from greedyexp.losses.risk import bind_risk
from greedyexp.problems.problem import as_problem

N_SAMPLES, N_FEATURES, RADIUS, BETA = 2000, 500, 2.0, 10.0
STEPS = 2000
LOSSES = (
    "squared with rows of its Gram matrix",
    "squared with its Gram matrix",
    "logistic",
    "hinge",
)


def designed(n: int, d: int):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (n, d)) * rng.random((n, d))
    truth = np.zeros(d)
    truth[:5] = 0.4
    return X, X @ truth + 0.5 * rng.standard_normal(n)


def gradients(X, loss, steps: int):
    """Compute one gradient X^T L'(X w) / n for each step."""
    weights = np.zeros(X.shape[1])
    weights[:5] = 0.1
    for _ in range(steps):
        slope = slopes(loss.kind, loss.beta, X @ weights, loss.responses)
        gradient = X.T @ slope / len(X)
    return gradient


def comparisons():
    X, y = designed(N_SAMPLES, N_FEATURES)
    for name in LOSSES:
        kind, _, gram = name.partition(" with ")
        problem = as_problem(X, y if kind == "squared" else np.sign(y))
        beta = BETA if kind == "hinge" else None
        loss = bind_risk(kind, problem, beta=beta)
        frank_wolfe.MOST_KEPT = 2048 if gram == "its Gram matrix" else 0
        for step in ("paper", "line_search"):
            options = {"loss": kind, "beta": beta, "radius": RADIUS, "step": step}
            path = forward_greedy(problem, steps=STEPS, **options)
            made = int(path.facts["steps"][-1])
            ours, theirs = cpu_seconds(
                lambda: forward_greedy(problem, steps=STEPS, **options),  # noqa: B023
                lambda: gradients(X, loss, made),  # noqa: B023
                repeats=1,
            )
            what = f"forward greedy, {name}, {step}, {N_SAMPLES} x {N_FEATURES}, {made} steps"
            yield Comparison(what, "gradients by NumPy", ours, theirs)
    frank_wolfe.MOST_KEPT = 2048


if __name__ == "__main__":
    report(comparisons, __doc__)
