"""Seconds of the greedy selection of edges: 100 variables, 500 rows, to 100 edges, on one thread.

The selections with ``beyond`` by default go on to 200 edges.
Run: python benchmarks/measure_graphs.py
"""

from __future__ import annotations

from functools import partial

import numpy as np
from _measuring import cpu_seconds
from threadpoolctl import threadpool_limits

from greedyexp.algorithms.foba.gain import foba_obj, forward_obj
from greedyexp.algorithms.foba.gradient import foba_gdt
from greedyexp.generators.gaussian_graph import gaussian_graph

VARIABLES, ROWS, EDGES = 100, 500, 100


SELECTIONS = {
    "forward_obj": (forward_obj, {}),
    "foba_obj, 0 beyond": (foba_obj, {"beyond": 0}),
    "foba_obj": (foba_obj, {}),
    "foba_gdt": (foba_gdt, {}),
}


def main():
    for graph in ("chain", "star", "grid", "random"):
        problem = gaussian_graph(np.random.default_rng(0), n_samples=ROWS, p=VARIABLES, graph=graph)
        for name, (select, options) in SELECTIONS.items():
            call = partial(select, problem, loss="logdet", max_features=EDGES, **options)
            (seconds,) = cpu_seconds(call, repeats=3)
            print(f"{graph:7s} {name:20s} {seconds:5.2f} s")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
