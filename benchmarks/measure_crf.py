"""Time the chain loss and selections at the sizes of the paper, on one thread.

Prints the wall times of a value with its gradient for 130 sentences and for a home of 270 000 words
with 14 classes, of FoBa-obj and FoBa-gdt on sentences with their ratio, and of some steps of a
selection in the home with the number of passes over the data of each refit.
Run: python benchmarks/measure_crf.py
"""

from __future__ import annotations

import resource
import time

import numpy as np
from threadpoolctl import threadpool_limits

from greedyexp.generators.simulated_home import simulated_home
from greedyexp.generators.synthetic_chains import synthetic_chains
from greedyexp.losses.binding import bind

REPEATS = 7
# Steps of the selection among 56 coefficients of sentences, and of that in the home.
N_FEATURES, N_STEPS = 30, 12


def seconds(function, repeats=REPEATS):
    """The shortest wall time."""
    function()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def select(loss, n_features, goodness):
    """Make forward steps with refits, and the backward steps of FoBa.

    Returns the fit and the number of passes over the data for each addition.
    """
    fit, gained, passes = loss.fit(), [], []
    while len(fit.support) < n_features:
        before = fit.value
        fit.add([int(goodness(fit).argmax())])
        passes.append(fit.evaluations)
        gained.append(before - fit.value)
        while (costs := fit.removal_costs()).min() < 0.5 * gained[-1]:
            gained.pop()
            fit.remove([fit.support[int(costs.argmin())]])
    return fit, passes


def by_gain(fit):
    return fit.gains()


def by_slope(fit):
    return np.abs(fit.gradient)


def pass_over(loss):
    params = 0.3 * np.random.default_rng(0).standard_normal(loss.size + loss.n_dense)
    once = seconds(lambda: loss.value_and_gradient(params))
    print(
        f"{loss.n_samples} words, {len(loss.chains)} chains, {len(params)} parameters: "
        f"value and gradient {1e3 * once:.3f} ms"
    )


def sentences():
    problem = synthetic_chains(np.random.default_rng(0))
    loss = bind("crf", problem, ridge=1e-2)
    times = {}
    for name, goodness in (("FoBa-obj", by_gain), ("FoBa-gdt", by_slope)):

        def run(goodness=goodness):
            # A new loss each time, since a loss keeps its fit without features.
            return select(bind("crf", problem, ridge=1e-2), N_FEATURES, goodness)

        times[name] = seconds(run, 3)
        passes = run()[1]
        print(
            f"  {name} to {N_FEATURES} of {loss.size} coefficients: {times[name]:.3f} s, "
            f"{np.mean(passes):.1f} passes in each refit"
        )
    print(f"  times faster than obj: {times['FoBa-obj'] / times['FoBa-gdt']:.1f}")


def home():
    loss = bind("crf", simulated_home(np.random.default_rng(0)), ridge=1e-4)
    pass_over(loss)
    begin = time.perf_counter()
    loss.fit()
    print(f"  fit without features: {time.perf_counter() - begin:.1f} s")
    begin = time.perf_counter()
    fit, passes = select(loss, N_STEPS, by_slope)
    print(
        f"  FoBa-gdt to {N_STEPS} coefficients: {time.perf_counter() - begin:.1f} s, "
        f"{np.mean(passes):.1f} passes in each refit, certified: {fit.converged}"
    )
    support = fit.support
    print(f"  removal costs of {len(support)}: {seconds(fit.removal_costs, 1):.2f} s")


def main():
    problem = synthetic_chains(np.random.default_rng(0), n_words=1900)
    pass_over(bind("crf", problem, ridge=1e-2))
    sentences()
    home()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"largest memory {peak:.2f} GiB")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
