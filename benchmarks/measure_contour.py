"""Count the fits that the contour of a phase diagram needs, along the contour and on the full grid.

The contour of the Lasso in ``configs/phase_diagram.yaml``: the number of samples at which it
recovers in half of the trials, for 16 numbers of nonzero coefficients. The profile quick puts
trials where success crosses one half; the profile paper has trials at every point. The smallest
number of its trials is found with which the mean width of the intervals is that of the profile
quick. All points are fitted in both. Intervals of the profile quick are wider by themselves, since
they are valid at any stopping time.

Run with ``python benchmarks/measure_contour.py``; it reads ``results/phase_diagram/paper`` and
writes to a temporary folder only.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import greedyexp
from greedyexp.stats.crossing import crossing
from greedyexp.stats.sequential import nominal_confidence
from greedyexp.theory.donoho_tanner import donoho_tanner

ROOT = Path(__file__).parents[1]
P = 200


def contour(frame: pd.DataFrame, *, located: bool) -> pd.DataFrame:
    """Return the crossing of each sparsity."""
    confidence = nominal_confidence(0.95, sequential=located)
    rows = []
    for s, points in frame.groupby("sparsity"):
        counts = points.groupby("n_samples")["recovered"].agg(["sum", "count"])
        counted = (counts.index, counts["sum"], counts["count"])
        fit = crossing(*counted, confidence=confidence, whole=True)
        rows.append((s, fit.estimate, (fit.high - fit.low) / 2))
    return pd.DataFrame(rows, columns=["s", "n", "half_width"])


def summary(name: str, fits: int, found: pd.DataFrame) -> str:
    away = found["n"] - P * donoho_tanner(found["s"] / P)
    return (
        f"{name}: {fits} fits, half width {found['half_width'].mean():.2f} samples,"
        f" root mean square distance to the curve of Donoho & Tanner"
        f" {np.sqrt((away**2).mean()):.2f} samples"
    )


def main() -> None:
    grid = greedyexp.open(ROOT / "results/phase_diagram/paper").rows
    grid = grid[grid["algorithm"] == "lasso"]
    with tempfile.TemporaryDirectory() as folder:
        config = ROOT / "configs/phase_diagram.yaml"
        rows = greedyexp.run(config, out=folder, only="algorithm=lasso", progress=False)
    found = contour(rows, located=True)
    print(summary("along the contour", len(rows), found))
    # Trials continue at points where the claim was open; all points have the first ones.
    common = grid.groupby(["sparsity", "n_samples"])["replicate"].nunique().min()
    for trials in range(2, common + 1):
        part = grid[grid["replicate"] < trials]
        fixed = contour(part, located=False)
        if fixed["half_width"].mean() <= found["half_width"].mean():
            print(summary(f"full grid, {trials} trials", len(part), fixed))
            print(f"{len(part) / len(rows):.1f} times fewer fits along the contour")
            break


if __name__ == "__main__":
    main()
