"""Count wrong decisions at the boundary of claims, if trials continue until claims are decided.

Each synthetic run has six tests of one figure. In four of them the truth is on the boundary, so
that every decision is wrong; two others are easily decided, which makes the others' levels less
strict. Trials start at 20 and double where claims are open, up to 320. Every run is judged twice:
by the rule of ``stats.multiplicity``, and by Holm's method at 5% after every look, as if each were
the only one.

Run with ``python benchmarks/measure_looks.py [RUNS [FIRST]]``, by default 2000 runs from the first
on, which takes about 20 minutes.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from scipy.stats import beta

from greedyexp.claims.entries import compile_claim
from greedyexp.claims.judging import evaluate_claims
from greedyexp.claims.setting import AlgorithmSweep, Setting
from greedyexp.stats.multiplicity import Looks

LOOKS = Looks(20)
MOST = 320
POINTS = (1, 2, 3)
LABELS = ("a", "b")
TESTS = ("mean(a, error) < mean(b, error)", "proportion(a, success) > 0.5")
SETTING = Setting(
    axes=(("x",),),
    algorithms={label: AlgorithmSweep(success="success") for label in LABELS},
    binary=("success",),
    measured=("error", "success"),
    columns=("x",),
)
CLAIMS = [
    compile_claim({"id": f"claim{k}", "quote": "q", "test": test}, SETTING, "figure")
    for k, test in enumerate(TESTS)
]


def table(rng: np.random.Generator) -> pd.DataFrame:
    """The rows of a run with all trials; only the point x = 3 is not on the boundary."""
    rows = []
    for x in POINTS:
        common = rng.standard_normal(MOST)
        for label in LABELS:
            shift = float(x == 3 and label == "b")
            error = 0.7 * common + 0.7 * rng.standard_normal(MOST) + shift
            success = (rng.uniform(size=MOST) < (0.9 if x == 3 else 0.5)).astype(int)
            columns = {"error": error, "success": success, "replicate": np.arange(MOST)}
            rows.append(pd.DataFrame({**columns, "x": x, "algorithm": label}))
    return pd.concat(rows, ignore_index=True).assign(status="ok", message="")


def with_looks(whole: pd.DataFrame) -> tuple[set[tuple[str, int]], int]:
    """The decided tests by claim and point, and the number of rows that the rule needed."""
    arms = np.repeat(np.arange(len(POINTS) * len(LABELS)), MOST)
    replicate = whole["replicate"].to_numpy()
    trials = np.full(len(POINTS) * len(LABELS), LOOKS.trials(1))
    found = None
    while True:
        here = replicate < trials[arms]
        frame = whole[here].reset_index(drop=True)
        found = evaluate_claims(CLAIMS, frame, SETTING, LOOKS, arms[here], found)
        wanted = LOOKS.trials(found.taken + 1)
        open_arms = sorted(found.open_arms(MOST)) if wanted <= MOST else []
        if not open_arms:
            return decided(found.judged), len(frame)
        trials[open_arms] = wanted


def without_looks(whole: pd.DataFrame) -> set[tuple[str, int]]:
    """The tests that Holm's method at 5% decides after any look."""
    found: set[tuple[str, int]] = set()
    for look in range(1, LOOKS.up_to(MOST) + 1):
        frame = whole[whole["replicate"] < LOOKS.trials(look)].reset_index(drop=True)
        found |= decided(evaluate_claims(CLAIMS, frame, SETTING).judged)
    return found


def decided(judged) -> set[tuple[str, int]]:
    return {(one.claim.id, test.group["x"]) for one in judged for test in one.tests if test.decided}


def simulated(runs: range) -> tuple[np.ndarray, int, int]:
    """Simulate runs by their numbers.

    Returns
    -------
    array (2,)
        Runs with a wrong decision, by the rule and with 5% at every look.
    int
        Decisions of the two easy tests by the rule.
    int
        Rows that the rule needed.
    """
    wrong, easy, rows = np.zeros(2, dtype=int), 0, 0
    for run in runs:
        whole = table(np.random.default_rng([20120626, run]))
        right, needed = with_looks(whole)
        for rule, found in enumerate((right, without_looks(whole))):
            wrong[rule] += any(x != 3 for _, x in found)
        easy += sum(x == 3 for _, x in right)
        rows += needed
    return wrong, easy, rows


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    wrong, easy, rows = simulated(range(first, first + runs))
    full = len(POINTS) * len(LABELS) * MOST
    for rule, count in zip(("looks", "5% at every look"), wrong, strict=True):
        low = beta.ppf(0.025, count, runs - count + 1) if count else 0.0
        high = beta.ppf(0.975, count + 1, runs - count)
        print(
            f"{rule}: a wrong decision in {count} of {runs} runs, {count / runs:.2%}"
            f" (95% interval {low:.2%} to {high:.2%})"
        )
    print(
        f"the easy tests were decided in {easy / (2 * runs):.2%} of the runs; the rule needed"
        f" {rows / runs / full:.0%} of the rows of {MOST} trials at every point"
    )


if __name__ == "__main__":
    main()
