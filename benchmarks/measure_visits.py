"""How often FoBa finds the true support with the first and the last state of a size, and the time.

For each correlation of neighbouring columns and each ``beyond``, prints the share of data sets in
which the estimate of the true size has the true support, and milliseconds of a fit. On one thread.
Run: python benchmarks/measure_visits.py
"""

from __future__ import annotations

import numpy as np
from _measuring import cpu_seconds
from threadpoolctl import threadpool_limits

from greedyexp.algorithms.foba.gain import foba_obj
from greedyexp.algorithms.foba.gradient import foba_gdt
from greedyexp.generators.gaussian import gaussian

N_SAMPLES, N_FEATURES, SPARSITY, NOISE = 104, 200, 10, 0.1
DATA_SETS = 60
RULES = {
    "first": {"visit": "first"},
    "last, 0 beyond": {"beyond": 0},
    "last, 5 beyond": {"beyond": 5},
    "last, 10 beyond (default)": {},
    "last, 40 beyond": {"beyond": 40},
}


def data(correlation):
    for seed in range(DATA_SETS):
        yield gaussian(
            np.random.default_rng(seed),
            n_samples=N_SAMPLES,
            p=N_FEATURES,
            sparsity=SPARSITY,
            values="sign",
            noise_std=NOISE,
            correlation=correlation,
        )


def measure(select, correlation):
    problems = list(data(correlation))
    calls = [
        lambda options=options: [select(one, max_features=SPARSITY, **options) for one in problems]
        for options in RULES.values()
    ]
    seconds = cpu_seconds(*calls, repeats=3)
    for rule, call, taken in zip(RULES, calls, seconds, strict=True):
        right = [
            np.array_equal(path.supports[-1], problem.truth != 0)
            for path, problem in zip(call(), problems, strict=True)
        ]
        print(
            f"{select.__name__:9s} {correlation:4.1f}  {rule:26s} {np.mean(right):5.2f}"
            f" {1e3 * taken / DATA_SETS:7.2f} ms {taken / seconds[0]:5.2f}"
        )


def main():
    print(f"n = {N_SAMPLES}, p = {N_FEATURES}, {SPARSITY} values of +-1, noise {NOISE}")
    print("correlation, rule, share of true supports, time of a fit, ratio to the first row")
    with threadpool_limits(1):
        for select in (foba_gdt, foba_obj):
            for correlation in (0.0, 0.9):
                measure(select, correlation)


if __name__ == "__main__":
    main()
