"""How often 95% intervals of thresholds contain the threshold, for curves of many shapes.

The true curves rise from 10% to 90% of their range within one unit of x, apart from those that
jump. They cross 50% at a random place between two points. The trials have a fixed number at each
point, or they are located by the rule of adaptive trials. For each curve and grid, the table has
the coverage in percent and the mean width of two intervals: that of a logistic curve alone, and the
one that is reported. An infinite end counts as the end of the grid in the width. A second table has
the coverage of the difference of two thresholds on the same data, and a third one that of falling
curves whose direction is taken from the data.

With --page the tables are written into docs/guide/intervals.md.
Run: python benchmarks/measure_coverage.py [--runs N] [--page]
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit, ndtr

from greedyexp.claims.combinations import contrast
from greedyexp.claims.entries import compile_claim
from greedyexp.claims.estimates import Estimator
from greedyexp.claims.setting import AlgorithmSweep, Setting
from greedyexp.claims.table import Table
from greedyexp.runner.allocation import LocateRule
from greedyexp.stats.crossing import crossing
from greedyexp.stats.direction import trend
from greedyexp.stats.sequential import located_crossing, placed_crossing

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "intervals.md"
BLOCK = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- end of \w+ -->)", re.DOTALL)
LEVEL = 0.5

Curve = Callable[[np.ndarray], np.ndarray]


def ceiling(plateau: float) -> Curve:
    """Return a logistic curve that rises to a plateau, and crosses 50% at 0 if it does."""
    start = logit(LEVEL / plateau) if plateau > LEVEL else 0.0
    return lambda x: plateau * expit(4.4 * x + start)


CURVES: dict[str, Curve] = {
    "logistic": lambda x: expit(4.4 * x),
    "long upper tail": lambda x: np.exp(-np.log(2) * np.exp(-3.1 * x)),
    "long lower tail": lambda x: 1 - np.exp(-np.log(2) * np.exp(3.1 * x)),
    "jump": lambda x: (x > 0).astype(float),
    "jump to 0.9": lambda x: 0.9 * (x > 0),
} | {f"ceiling {plateau}": ceiling(plateau) for plateau in (0.9, 0.8, 0.65, 0.55, 0.45)}
# The second is never reached.
TRUTH = dict.fromkeys(CURVES, 0.0) | {"ceiling 0.45": np.inf}


class Grid(NamedTuple):
    """Points a step apart, in units of the rise, with the trials at each if these are fixed."""

    step: float
    points: int
    trials: int


GRIDS = {"coarse": Grid(1.0, 11, 100), "medium": Grid(1 / 3, 21, 50), "fine": Grid(0.1, 41, 20)}


def placed(rng: np.random.Generator, grid: Grid) -> np.ndarray:
    """Return the points of a grid, at a random place."""
    return grid.step * (np.arange(grid.points) - grid.points // 2 + rng.random())


def fixed_trials(rng: np.random.Generator, curve: Curve, grid: Grid) -> tuple:
    """Return points, successes and trials."""
    x = placed(rng, grid)
    return x, rng.binomial(grid.trials, curve(x)), np.full(grid.points, grid.trials)


def located_trials(rng: np.random.Generator, curve: Curve, grid: Grid) -> tuple:
    """Return points, successes and trials that the rule of adaptive trials asks for."""
    x = placed(rng, grid)
    rule = LocateRule(batch=10, most=200, values=x, level=LEVEL, half_width=0.075)
    wins, done, wanted = np.zeros(len(x)), np.zeros(len(x), dtype=int), rule.first(len(x))
    while not np.array_equal(wanted, done):
        wins = wins + rng.binomial(wanted - done, curve(x))
        done, wanted = wanted, rule.grown(wanted, wins)
    return x, wins, done


class Measured(NamedTuple):
    """Coverage of an interval, and its mean width."""

    coverage: float
    width: float


def measure(
    name: str, grid: Grid, *, located: bool, runs: int, seed: int = 7
) -> tuple[Measured, Measured]:
    """Return how well the logistic and the reported interval cover one threshold."""
    rng = np.random.default_rng(seed)
    hits, widths = np.zeros((runs, 2)), np.zeros((runs, 2))
    for run in range(runs):
        draw = located_trials if located else fixed_trials
        data = draw(rng, CURVES[name], grid)
        alone = (placed_crossing if located else crossing)(*data)
        for i, fit in enumerate((alone, located_crossing(*data, "rising", sequential=located))):
            hits[run, i] = fit.low <= TRUTH[name] <= fit.high
            widths[run, i] = np.diff(np.clip([fit.low, fit.high], data[0][0], data[0][-1]))[0]
    before, after = map(Measured, hits.mean(axis=0), widths.mean(axis=0))
    return before, after


SETTING = Setting(
    axes=(("theta",),),
    algorithms={label: AlgorithmSweep(success="support") for label in "ab"},
    binary=("support",),
    measured=("support",),
    columns=("theta",),
)
FORM = (
    compile_claim(
        {"id": "difference", "quote": "-", "test": "threshold(a) - threshold(b) < 0"}, SETTING, "-"
    )
    .tests[0]
    .form
)


def measure_difference(name: str, grid: Grid, *, runs: int, seed: int = 7) -> Measured:
    """Return how well the interval covers the difference of two thresholds on common data.

    The curves have one shape, and their crossings are up to two steps apart. Their outcomes are
    correlated by normal variables with correlation 0.8.
    """
    rng = np.random.default_rng(seed)
    hits, widths = np.zeros(runs), np.zeros(runs)
    for run in range(runs):
        x = placed(rng, grid)
        away = 2 * grid.step * rng.random()
        shape = (grid.trials, len(x))
        shared, parts = rng.standard_normal(shape), []
        for label, shift in (("a", away), ("b", 0.0)):
            latent = np.sqrt(0.8) * shared + np.sqrt(0.2) * rng.standard_normal(shape)
            support = (ndtr(latent) < CURVES[name](x - shift)).astype(int)
            replicate = np.repeat(np.arange(grid.trials), len(x))
            columns = {"theta": np.tile(x, grid.trials), "replicate": replicate}
            parts.append(pd.DataFrame(columns | {"algorithm": label, "support": support.ravel()}))
        frame = pd.concat(parts, ignore_index=True).assign(status="ok", message="")
        found = contrast(FORM, (), Estimator(Table(frame, SETTING)))
        low, high = found.interval(0.95)
        hits[run], widths[run] = low <= away <= high, min(high - low, 2 * (x[-1] - x[0]))
    return Measured(float(hits.mean()), float(widths.mean()))


# Success at both ends of a falling logistic curve.
FALLS = ((0.55, 0.45), (0.7, 0.3), (0.9, 0.1), (0.99, 0.01))


def measure_direction(
    start: float, end: float, trials: int, *, runs: int, seed: int = 7
) -> tuple[float, float, float]:
    """Return the shares of single curves with each direction, and the coverage of 50%.

    The curve has eleven points and falls from one probability to the other.
    """
    rng, x = np.random.default_rng(seed), np.linspace(-1, 1, 11)
    slope = (logit(end) - logit(start)) / 2
    given, hits = [], 0
    for _ in range(runs):
        place = rng.uniform(-0.5, 0.5)
        data = x, rng.binomial(trials, expit(slope * (x - place))), np.full(11, trials)
        given.append(trend(*data))
        fit = located_crossing(*data, given[-1], sequential=False)
        hits += fit.low <= place <= fit.high
    return given.count("falling") / runs, given.count("rising") / runs, hits / runs


def direction_table(runs: int) -> str:
    lines = [
        "| success at the ends | trials per point | called falling | called rising | coverage |",
        "|---|---|---|---|---|",
    ]
    for start, end in FALLS:
        for trials in (5, 20, 100):
            shares = measure_direction(start, end, trials, runs=runs)
            cells = " | ".join(f"{100 * share:.3g}" for share in shares)
            lines.append(f"| {start:g} to {end:g} | {trials} | {cells} |")
            print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def text(measured: Measured) -> str:
    return f"{100 * measured.coverage:.0f} ({measured.width:.2f})"


def threshold_table(runs: int) -> str:
    lines = [
        "| curve | step | fixed, logistic | reported | located, logistic | reported |",
        "|---|---|---|---|---|---|",
    ]
    for name in CURVES:
        for grid in GRIDS.values():
            cells = [
                text(one)
                for located in (False, True)
                for one in measure(name, grid, located=located, runs=runs)
            ]
            lines.append(f"| {name} | {grid.step:.2g} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def difference_table(runs: int) -> str:
    names = [name for name in CURVES if np.isfinite(TRUTH[name])]
    lines = [f"| curve | {' | '.join(f'step {g.step:.2g}' for g in GRIDS.values())} |"]
    lines.append("|---" * (len(GRIDS) + 1) + "|")
    for name in names:
        cells = [text(measure_difference(name, grid, runs=runs)) for grid in GRIDS.values()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def write_page(tables: dict[str, str]) -> None:
    """Write blocks of the page, by name."""

    def written(block: re.Match) -> str:
        return f"{block[1]}{tables[block[2]]}{block[3]}" if block[2] in tables else block[0]

    PAGE.write_text(BLOCK.sub(written, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the coverage of thresholds.")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name}")
    given = parser.parse_args()
    tables = {
        "thresholds": threshold_table(given.runs),
        "differences": difference_table(given.runs),
        "directions": direction_table(5 * given.runs),
        "runs": f"Each number is from {given.runs} simulated runs.\n",
    }
    if given.page:
        write_page(tables)


if __name__ == "__main__":
    main()
