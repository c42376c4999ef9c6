"""Count the fits that the contour of a phase diagram needs, along the contour and on the full grid.

The contour of the Lasso in ``configs/phase_diagram.yaml``: the number of samples at which it
recovers in half of the trials, for 16 numbers of nonzero coefficients. The profile quick puts
trials where success crosses one half; the profile paper has trials at every point.

Fits are compared in two ways. First, both are run, and the smallest number of trials of the grid is
found with which the mean width of the intervals is that of the profile quick. Intervals of the
profile quick are wider by themselves, since they are valid at any stopping time. Second, both are
simulated from the logistic curves that were fitted to the grid, so that the crossings are known,
and the number of trials of the grid is found with which the root mean square error of the contour
is that of the profile quick. A fit of the grid uses the points near the crossing, as in tables and
figures, or all points, which is better if the curves are exactly logistic, as here. The simulation
is repeated with half the width, for which trials along the contour spend less of their effort on
finding it.

Run with ``python benchmarks/measure_contour.py``; it reads ``results/phase_diagram/paper`` and
writes to a temporary folder only. It takes about four minutes.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

import greedyexp
from greedyexp.runner.allocation import LocateRule
from greedyexp.stats.crossing import Crossing, crossing
from greedyexp.stats.sequential import nominal_confidence, placed_crossing
from greedyexp.theory.donoho_tanner import donoho_tanner

ROOT = Path(__file__).parents[1]
P = 200
GRID = np.arange(2.0, 241.0, 2.0)
# The rule of the profile quick, and one with half the width, which needs more trials at a point.
QUICK = LocateRule(5, 200, np.arange(4.0, 241.0, 4.0), 0.5, 2.0)
NARROW = replace(QUICK, most=1000, half_width=1.0)
REPEATS = 100
# More trials at a point than any design needs here.
MOST = 1024


def contour(frame: pd.DataFrame, *, located: bool) -> pd.DataFrame:
    """Return the crossing of each sparsity."""
    confidence = nominal_confidence(0.95, sequential=located)
    rows = []
    for s, points in frame.groupby("sparsity"):
        counts = points.groupby("n_samples")["recovered"].agg(["sum", "count"])
        counted = (counts.index, counts["sum"], counts["count"])
        fit = crossing(*counted, confidence=confidence, whole=True)
        rows.append((s, fit.estimate, (fit.high - fit.low) / 2, fit.slope))
    return pd.DataFrame(rows, columns=["s", "n", "half_width", "slope"])


def summary(name: str, fits: int, found: pd.DataFrame) -> str:
    away = found["n"] - P * donoho_tanner(found["s"] / P)
    return (
        f"{name}: {fits} fits, half width {found['half_width'].mean():.2f} samples,"
        f" root mean square distance to the curve of Donoho & Tanner"
        f" {np.sqrt((away**2).mean()):.2f} samples"
    )


def compare_widths(grid: pd.DataFrame) -> None:
    """Run the profile quick and compare the widths of its intervals with those of the grid."""
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
            print(f"same width: {len(part) / len(rows):.1f} times fewer fits along the contour")
            break


def locate(rng: np.random.Generator, curve: Crossing, rule: LocateRule) -> tuple[int, Crossing]:
    """Simulate a rule for one sparsity: the number of its trials and its crossing."""
    p = probability(curve, rule.values)
    trials = rule.first(len(p))
    successes = rng.binomial(trials, p)
    while True:
        wanted = rule.grown(trials, successes)
        if np.array_equal(wanted, trials):
            return int(trials.sum()), placed_crossing(rule.values, successes, trials)
        successes = successes + rng.binomial(wanted - trials, p)
        trials = wanted


def probability(curve: Crossing, x: np.ndarray) -> np.ndarray:
    return np.asarray(expit(curve.slope * (x - curve.estimate)))


def error(estimate: Callable[[Crossing], float], curves: list[Crossing]) -> float:
    """Return the root mean square error of the contour over repetitions."""
    errors = [estimate(c) - c.estimate for _ in range(REPEATS) for c in curves]
    return float(np.sqrt(np.mean(np.square(errors))))


def compare_errors(grid: pd.DataFrame, rule: LocateRule) -> None:
    """Simulate both designs from the fitted curves and compare the errors of their contours."""
    fitted = contour(grid, located=False)
    curves = [
        Crossing(n, n, n, slope) for n, slope in zip(fitted["n"], fitted["slope"], strict=True)
    ]
    rng = np.random.default_rng(20090403)
    fits = 0

    def along(curve: Crossing) -> float:
        nonlocal fits
        count, found = locate(rng, curve, rule)
        fits += count
        return found.estimate

    def grid_error(trials: int, whole: bool) -> float:
        def on_grid(curve: Crossing) -> float:
            counts = rng.binomial(trials, probability(curve, GRID))
            return crossing(GRID, counts, np.full(len(GRID), trials), whole=whole).estimate

        return error(on_grid, curves)

    reached = error(along, curves)
    fits_along = fits / REPEATS
    print(
        f"simulated along the contour, half width {rule.half_width:g}: {fits_along:.0f} fits,"
        f" error {reached:.2f} samples"
    )
    for name, whole in (("points near the crossing", False), ("all points", True)):
        enough = bisect_left(
            range(1, MOST), True, key=lambda trials: grid_error(trials, whole) <= reached
        )
        trials = enough + 1
        total = trials * len(GRID) * len(curves)
        print(
            f"full grid, fit to {name}: {trials} trials, {total} fits;"
            f" {total / fits_along:.1f} times fewer fits along the contour"
        )


def main() -> None:
    grid = greedyexp.open(ROOT / "results/phase_diagram/paper").rows
    grid = grid[grid["algorithm"] == "lasso"]
    compare_errors(grid, QUICK)
    compare_errors(grid, NARROW)
    compare_widths(grid)


if __name__ == "__main__":
    main()
