"""Count the replicates needed for a transition threshold, on adaptive and on fixed grids.

The threshold of the greedy dirty model at one (p, kappa), half width 0.02 of its 95% interval.
The fixed grid is that of Figure 1 of Jalali & Sanghavi (2012), theta = 0.4, 0.6, ..., 4.4, with the
same number of replicates at each point; the smallest number that reaches the width is found in
steps of 10%. The interval of the adaptive grid is wider, since it is valid at any stopping time.

Run with ``python benchmarks/measure_locate.py``; it writes to a temporary folder only.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import greedyexp
from greedyexp.stats.crossing import Crossing
from greedyexp.stats.sequential import located_crossing

HALF_WIDTH = 0.02
KAPPA = 0.6667
LOCATE = {"locate": {"of": "theta", "half_width": HALF_WIDTH}, "min": 10, "max": 400}
FINE = {"from": 0.4, "to": 4.4, "step": 0.02}
COARSE = {"from": 0.4, "to": 4.4, "step": 0.2}
WEIGHTS = [round(1.05 + 0.05 * k, 2) for k in range(19)]


def table(folder: Path, p: int, trials, theta: dict) -> pd.DataFrame:
    """The tidy table of a run; replicates of earlier runs are reused."""
    settings = {
        "name": f"p{p}",
        "seed": 20120626,
        "trials": trials,
        "data": {
            "generator": "multitask_overlap",
            "p": p,
            "kappa": KAPPA,
            "sweep": {"theta": theta},
        },
        "algorithms": [{"greedy_dirty": {"w": WEIGHTS, "tuning": "oracle"}}],
        "metrics": ["sign_support"],
    }
    return greedyexp.run(settings, out=folder)


def threshold(frame: pd.DataFrame, *, located: bool) -> Crossing:
    """The 50% point of the sign recovery."""
    counts = frame.groupby("theta")["sign_support"].agg(["sum", "count"])
    counted = (counts.index, counts["sum"], counts["count"])
    return located_crossing(*counted, sequential=located)


def half_width(fit: Crossing) -> float:
    return (fit.high - fit.low) / 2


def fixed(folder: Path, p: int) -> tuple[pd.DataFrame, Crossing]:
    """The smallest run on the fixed grid with an interval of at most this width."""
    trials = 20
    while True:
        frame = table(folder, p, trials, COARSE)
        fit = threshold(frame, located=False)
        if half_width(fit) <= HALF_WIDTH:
            return frame, fit
        trials = int(np.ceil(1.1 * trials))


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        for p in (128, 256):
            located = table(Path(name) / "located", p, LOCATE, FINE)
            fit = threshold(located, located=True)
            grid, other = fixed(Path(name) / "grid", p)
            print(
                f"p = {p}: located {fit.estimate:.3f} +- {half_width(fit):.3f} with {len(located)}"
                f" replicates, grid {other.estimate:.3f} +- {half_width(other):.3f} with"
                f" {len(grid)}: {len(grid) / len(located):.1f} times fewer"
            )


if __name__ == "__main__":
    main()
