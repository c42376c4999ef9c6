"""Rows of protocol ``tradeoff``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from greedyexp.protocols.base import rows_of
from greedyexp.protocols.tradeoff._bounds import Pair, without_theorem
from greedyexp.protocols.tradeoff._run import Estimates, FirstRun
from greedyexp.theory.theorems import Reference


def step_rows(seen: Estimates, at: np.ndarray) -> list[dict]:
    """Return the cost and the accuracy of the estimates at these positions."""
    return rows_of(
        "step",
        step=seen.asked[at],
        features=seen.features[at],
        risk=seen.risk[at],
        gap=seen.gap[at],
        l1_norm=seen.l1_norm[at],
    )


def bound_rows(seen: Estimates, at: np.ndarray, pairs: Sequence[Pair]) -> list[dict]:
    """Return the excess over each reference and its bounds at these positions."""
    rows = []
    for pair in pairs:
        rows += rows_of(
            "bound",
            **pair.keys,
            step=seen.asked[at],
            excess=pair.excess(seen)[at],
            excess_bound=pair.excess_bound(seen.counted)[at],
            gap=seen.gap[at],
            reference_features=pair.reference.n_features,
        )
    return rows


def epsilon_rows(
    run: FirstRun,
    pairs: Sequence[Pair],
    epsilons: Sequence[float],
    kept: Mapping[tuple[int, int], int],
) -> list[dict]:
    """Return the steps and features for each accuracy, and the bounds on the steps.

    Parameters
    ----------
    kept : mapping
        See ``bounds_kept``.
    """
    rows = []
    for i, pair in enumerate(pairs):
        bounds = pair.steps_bound(epsilons)
        rows += rows_of(
            "epsilon",
            **pair.keys,
            **_reached(run, pair, epsilons),
            steps_bound=bounds,
            log_steps_bound=_log(bounds),
            within=[kept.get((i, j)) for j in range(len(epsilons))],
        )
    return rows


def accuracy_rows(
    run: FirstRun, references: Sequence[Reference], epsilons: Sequence[float]
) -> list[dict]:
    """Return the steps and features for each accuracy, once for each reference."""
    rows = []
    for reference in references:
        reached = _reached(run, without_theorem(reference, run.seen), epsilons)
        rows += rows_of("accuracy", reference=reference.name, **reached)
    return rows


def _reached(run: FirstRun, pair: Pair, epsilons: Sequence[float]) -> dict[str, Any]:
    """Return the columns of steps and features for each accuracy; None if it was not reached."""
    excess = pair.excess(run.seen)
    places = run.places(excess, epsilons)
    steps, features, at_end = (
        [None if at is None else values[at] for at in places]
        for values in (run.seen.steps.tolist(), run.seen.features.tolist(), excess.tolist())
    )
    return {
        "epsilon": [float(epsilon) for epsilon in epsilons],
        "steps": steps,
        "log_steps": _log(steps),
        "features_needed": features,
        "excess_at_end": at_end,
    }


def theorem_rows(pairs: Sequence[Pair]) -> list[dict]:
    """Return the constants of the risk in each theorem."""
    rows = []
    for pair in pairs:
        beta, lam = (pair.bound.constants.get(name) for name in ("beta", "lam"))
        rows += rows_of("theorem", **pair.keys, smoothness=beta, strong_convexity=lam)
    return rows


def reference_rows(references: Sequence[Reference], original: bool) -> list[dict]:
    """Return the size and the risk of each reference, before smoothing if ``original``."""
    rows = []
    for one in references:
        rows += rows_of(
            "reference",
            reference=one.name,
            reference_features=one.n_features,
            reference_l1_norm=one.l1_norm,
            reference_risk=one.original if original else one.value,
            reference_gap=one.gap,
        )
    return rows


def _log(steps: Iterable[float | None]) -> list[float | None]:
    """Return logarithms to base 10, 0 for zero steps."""
    return [None if count is None else math.log10(max(1.0, count)) for count in steps]
