"""Memory of the methods of best_subset_today, each in a process of its own.

The data are those of configs/best_subset_today.yaml at theta = 3, with independent columns,
coefficients +-1 and noise 0.5, and the same with ten times as many features. Each process first
fits a small problem, so that its libraries are loaded and compiled. Then it fits one whole path.

Prints a table with the memory of the process before the path, and what the path adds at its peak.
With --page it is written into docs/best_subset_today.md. Needs the extra 'peers'.
Run: python benchmarks/measure_subsets.py
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from measure_scale import forget_peak, peak

from greedyexp import config
from greedyexp.core import registry
from greedyexp.generators.multitask_overlap import multitask_overlap
from greedyexp.problems.problem import Problem

REPOSITORY = Path(__file__).parents[1]
PAGE = REPOSITORY / "docs" / "best_subset_today.md"
BLOCK = re.compile(r"(<!-- memory -->\n).*?(<!-- end of memory -->)", re.DOTALL)
SIZES = 200, 2000


def draw(p: int) -> Problem:
    return multitask_overlap(
        np.random.default_rng(p), p=p, n_tasks=1, sparsity=10, kappa=0.0, theta=3.0, noise_std=0.5
    )


def methods() -> dict[str, tuple[str, dict]]:
    """Return label -> algorithm and parameters, for the methods that are tuned by the truth."""
    experiment = config.load(REPOSITORY / "configs" / "best_subset_today.yaml", profile="paper")
    return {
        one.label: (one.name, one.params) for one in experiment.algorithms if one.tuning == "oracle"
    }


def measure(label: str, p: int) -> tuple[int, int]:
    """Return the bytes of this process before one path, and those that the path adds."""
    name, params = methods()[label]
    fit = registry.find("algorithm", name).function
    fit(draw(60), **params)
    problem = draw(p)
    forget_peak()
    before = peak()
    fit(problem, **params)
    return before, peak() - before


def elsewhere(label: str, p: int) -> tuple[int, int]:
    """Return ``measure`` from a new process with one thread."""
    one = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    command = [sys.executable, __file__, "--one", label, str(p)]
    done = subprocess.run(
        command, env=os.environ | one, stdout=subprocess.PIPE, text=True, check=True
    )
    before, added = json.loads(done.stdout.splitlines()[-1])
    return before, added


def table() -> str:
    """Measure all methods; return a Markdown table in MiB."""
    columns = ["method", "process", *(f"path, p = {p}" for p in SIZES)]
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for label in methods():
        found = [elsewhere(label, p) for p in SIZES]
        cells = [f"{found[0][0] / 2**20:.0f}", *(f"{added / 2**20:.1f}" for _, added in found)]
        lines.append(f"| {label} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--page", action="store_true", help=f"write the table into {PAGE.name}")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        label, p = given.one
        print(json.dumps(measure(label, int(p))))
        return
    found = table()
    if given.page:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(BLOCK.sub(lambda block: f"{block[1]}{found}{block[2]}", text), "utf-8")


if __name__ == "__main__":
    main()
