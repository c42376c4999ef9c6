"""Time of FoBa with each loss, as a multiple of that with the logistic loss.

500 rows, 200 features, selections of 20; ``multinomial`` has three classes. On one thread.
Run: python benchmarks/measure_losses.py
"""

from __future__ import annotations

import numpy as np
from _measuring import cpu_seconds
from threadpoolctl import threadpool_limits

import greedyexp
from greedyexp.generators.gaussian import gaussian

SIZE = {"n_samples": 500, "p": 200, "sparsity": 20}
DATA = {
    "logistic": {"response": "classes", "signal": 2.0},
    "squared_hinge": {"response": "classes", "signal": 2.0},
    "poisson": {"response": "counts", "signal": 1.5},
    "huber": {"noise_std": 2.0},
    "multinomial": {"response": "classes", "classes": 3, "signal": 2.0},
}


def main():
    problems = {
        loss: gaussian(np.random.default_rng(0), **SIZE, **data) for loss, data in DATA.items()
    }
    for method in ("foba_gdt", "foba_obj", "forward_obj", "l1_path"):
        calls = [
            lambda loss=loss, problem=problem, method=method: greedyexp.solve(
                method,
                problem.X[0],
                np.squeeze(np.column_stack(problem.y)),
                loss=loss,
                intercept=True,
                max_features=20,
            )
            for loss, problem in problems.items()
        ]
        seconds = cpu_seconds(*calls, repeats=5)
        for loss, taken in zip(problems, seconds, strict=True):
            print(f"{method:12s} {loss:14s} {1e3 * taken:7.1f} ms {taken / seconds[0]:5.1f}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
