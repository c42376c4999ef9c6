"""Time and memory of fits as the number of features grows, at theta = 1 and kappa = 0.3.

The data are those of ``multitask_overlap`` with s = p / 10 nonzero coefficients in each of two
tasks, s capped so that the two designs fit into 5 GiB. The greedy dirty model fits both tasks with
one weight, down to the noise level. The others fit the first task: the Lasso at 20 penalties down
to a tenth of the largest, OMP s atoms, and forward greedy s steps in the l1 ball of the truth.

Prints processor seconds on one thread and the memory that a fit takes beyond its data, beside
scikit-learn where it has the method, and slopes on logarithmic axes. Each fit has its own process.
Run: python benchmarks/measure_scale.py --largest 4096
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from greedyexp.algorithms.dirty.greedy_dirty import greedy_dirty
from greedyexp.algorithms.lasso.lasso import lasso
from greedyexp.algorithms.pursuit.omp import omp
from greedyexp.algorithms.sparsity.forward_greedy import forward_greedy
from greedyexp.generators.multitask_overlap import multitask_overlap
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.theory.noise import stopping_threshold

KAPPA, WEIGHT = 0.3, 1.5
SMALLEST, LARGEST = 2**9, 2**14
MOST_BYTES = 5 * 2**30  # of the two designs
GREEDY_DIRTY, LASSO, OMP, FORWARD_GREEDY = METHODS = (
    "greedy_dirty",
    "lasso",
    "omp",
    "forward_greedy",
)


def draw(p: int) -> Problem:
    """Return the two tasks."""
    s = round(p / 10)
    while 16.0 * s * math.log(p - (2 - KAPPA) * s) * p > MOST_BYTES:
        s -= 1
    return multitask_overlap(np.random.default_rng(p), p=p, sparsity=s, kappa=KAPPA)


def penalties(problem: Problem) -> np.ndarray:
    return np.abs(problem.correlation).max() * np.geomspace(1.0, 0.1, 20)


def fit(method: str, problem: Problem) -> None:
    if method == GREEDY_DIRTY:
        sizes = int(problem.n_samples.min()), problem.n_features, problem.n_tasks
        greedy_dirty(problem, w=WEIGHT, epsilon=stopping_threshold(problem.noise_std, *sizes))
    elif method == LASSO:
        lasso(problem, grid={"lam": penalties(problem)})
    elif method == OMP:
        omp(problem, grid={"n_atoms": np.array([float(problem.sparsity)])})
    else:
        steps = {"steps": np.array([float(problem.sparsity)])}
        forward_greedy(problem, radius=float(np.abs(problem.truth).sum()), grid=steps)


def fit_by_scikit_learn(method: str, problem: Problem) -> None:
    from sklearn.linear_model import lasso_path, orthogonal_mp

    if method == LASSO:
        lasso_path(problem.X[0], problem.y[0], alphas=penalties(problem))
    else:
        orthogonal_mp(problem.X[0], problem.y[0], n_nonzero_coefs=problem.sparsity)


SIDES: dict[str, Callable[[str, Problem], None]] = {
    "greedyexp": fit,
    "scikit-learn": fit_by_scikit_learn,
}


def measure(method: str, side: str, p: int) -> dict:
    """Return seconds, bytes, n and s of one fit, made in this process."""
    work = SIDES[side]
    work(method, ready(method, draw(64)))
    problem = ready(method, draw(p))
    forget_peak()
    before = peak()
    times: list[float] = []
    while len(times) < 3 and sum(times) < 1.0:
        fresh = as_problem(list(problem.X), list(problem.y), truth=problem.truth, noise_std=0.1)
        begin = time.process_time()
        work(method, fresh)
        times.append(time.process_time() - begin)
    n = int(problem.n_samples.min())
    return {"seconds": min(times), "bytes": peak() - before, "n": n, "s": problem.sparsity}


def ready(method: str, problem: Problem) -> Problem:
    """Return the tasks that a method fits."""
    tasks = 2 if method == GREEDY_DIRTY else 1
    return as_problem(
        list(problem.X[:tasks]),
        list(problem.y[:tasks]),
        truth=problem.truth[:, :tasks],
        noise_std=0.1,
    )


def forget_peak() -> None:
    """Make the present memory the largest so far; only Linux can do this."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        print("the memory of drawing the data may hide that of the fit", file=sys.stderr)


def peak() -> int:
    """Return the largest memory of this process so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def elsewhere(method: str, side: str, p: int) -> dict:
    """Return ``measure`` from a new process with one thread."""
    one = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    command = [sys.executable, __file__, "--one", method, side, str(p)]
    done = subprocess.run(
        command, env=os.environ | one, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)


def slope(rows: list[dict], name: str) -> float:
    """Return the slope of a quantity in p on logarithmic axes."""
    found = [(row["p"], row[name]) for row in rows if row[name]]
    if len(found) < 2:
        return math.nan
    return float(np.polyfit(*np.log(np.array(found, dtype=float)).T, 1)[0])


def table(method: str, sizes: list[int]) -> list[dict]:
    """Measure and print one method at all sizes; return one row for each."""
    peer = "scikit-learn" if method in (LASSO, OMP) else ""
    rows = []
    for p in sizes:
        own = elsewhere(method, "greedyexp", p)
        other = elsewhere(method, peer, p) if peer else {"seconds": None, "bytes": None}
        row = {
            "what": f"{method}, {own['n']} x {p}, s = {own['s']}",
            "peer": peer,
            "ours": own["seconds"],
            "theirs": other["seconds"],
            "ratio": other["seconds"] / own["seconds"] if peer else None,
            "method": method,
            "p": p,
            "n": own["n"],
            "s": own["s"],
            "our_bytes": own["bytes"],
            "their_bytes": other["bytes"],
        }
        rows.append(row)
        ours = f"{row['ours']:10.3f} s {row['our_bytes'] / 2**20:8.0f} MiB"
        theirs = f"{row['theirs']:10.3f} s {row['their_bytes'] / 2**20:8.0f} MiB" if peer else ""
        times = f"{row['ratio']:8.1f} times" if peer else ""
        print(f"{row['what']:40s} {ours}   {theirs} {times}", flush=True)
    ends = [f"{slope(rows, name):.2f}" for name in ("ours", "our_bytes", "theirs", "their_bytes")]
    print(f"{'slopes':40s} {ends[0]:>10}   {ends[1]:>8}       ", end="")
    print(f"{ends[2]:>10}   {ends[3]:>8}" if peer else "", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--largest", type=int, default=LARGEST, help="largest number of features")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--json", type=Path, help="write the rows to this file, too")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        method, side, p = options.one
        print(json.dumps(measure(method, side, int(p))))
        return
    sizes = [2**k for k in range(9, 31) if SMALLEST <= 2**k <= options.largest]
    print(f"{'':40s} {'greedyexp':>12} {'memory':>12}   {'scikit-learn':>12} {'memory':>12}")
    rows = [row for method in options.methods for row in table(method, sizes)]
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
