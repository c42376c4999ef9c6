"""Rows of protocol ``tradeoff``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from greedyexp.protocols.tradeoff._bounds import Pair
from greedyexp.protocols.tradeoff._run import Estimates, FirstRun
from greedyexp.theory.theorems import Reference


def step_rows(seen: Estimates, at: np.ndarray) -> list[dict]:
    """Return the cost and the accuracy of the estimates at these positions."""
    return [
        {
            "record": "step",
            "step": int(seen.asked[i]),
            "features": int(seen.features[i]),
            "risk": _cell(seen.risk[i]),
            "gap": _cell(seen.gap[i]),
            "l1_norm": _cell(seen.l1_norm[i]),
        }
        for i in at
    ]


def bound_rows(seen: Estimates, at: np.ndarray, pairs: Sequence[Pair]) -> list[dict]:
    """Return the excess over each reference and its bounds at these positions."""
    rows = []
    for pair in pairs:
        excess, bound = pair.excess(seen), pair.excess_bound(seen.counted)
        rows += [
            {
                "record": "bound",
                **pair.keys,
                "step": int(seen.asked[i]),
                "excess": _cell(excess[i]),
                "excess_bound": _cell(bound[i]),
                "gap": _cell(seen.gap[i]),
                "reference_features": pair.reference.n_features,
            }
            for i in at
        ]
    return rows


def epsilon_rows(
    run: FirstRun,
    pairs: Sequence[Pair],
    epsilons: Sequence[float],
    kept: Mapping[tuple[int, int], bool],
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
        for j, reached in enumerate(_reached(run, pair, epsilons)):
            within = kept.get((i, j))
            rows.append(
                {
                    "record": "epsilon",
                    **pair.keys,
                    "epsilon": float(epsilons[j]),
                    **reached,
                    "steps_bound": _cell(bounds[j]),
                    "log_steps_bound": _log(_cell(bounds[j])),
                    "within": None if within is None else int(within),
                }
            )
    return rows


def accuracy_rows(
    run: FirstRun, references: Sequence[Reference], epsilons: Sequence[float]
) -> list[dict]:
    """Return the steps and features for each accuracy, once for each reference."""
    return [
        {
            "record": "accuracy",
            "reference": reference.name,
            "epsilon": float(epsilon),
            **reached,
        }
        for reference in references
        for epsilon, reached in zip(
            epsilons,
            _reached(run, Pair(reference, None, run.seen.was_smoothed), epsilons),
            strict=True,
        )
    ]


def _reached(run: FirstRun, pair: Pair, epsilons: Sequence[float]) -> list[dict]:
    """Return the steps and features needed for each accuracy; None if it was not reached."""
    excess = pair.excess(run.seen)
    found = []
    for at in run.places(excess, epsilons):
        steps = None if at is None else int(run.seen.steps[at])
        found.append(
            {
                "steps": steps,
                "log_steps": _log(steps),
                "features_needed": None if at is None else int(run.seen.features[at]),
                "excess_at_end": None if at is None else _cell(excess[at]),
            }
        )
    return found


def theorem_rows(pairs: Sequence[Pair]) -> list[dict]:
    """Return the constants of the risk in each theorem."""
    rows = []
    for pair in pairs:
        constants = {} if pair.bound is None else pair.bound.constants
        rows.append(
            {
                "record": "theorem",
                **pair.keys,
                "smoothness": constants.get("beta"),
                "strong_convexity": constants.get("lam"),
            }
        )
    return rows


def reference_rows(references: Sequence[Reference], original: bool) -> list[dict]:
    """Return the size and the risk of each reference, before smoothing if ``original``."""
    return [
        {
            "record": "reference",
            "reference": one.name,
            "reference_features": one.n_features,
            "reference_l1_norm": one.l1_norm,
            "reference_risk": one.original if original else one.value,
            "reference_gap": one.gap,
        }
        for one in references
    ]


def _cell(value: np.generic) -> int | float | None:
    """Return a number for the CSV; an empty cell if it is not finite."""
    return value.item() if np.isfinite(value) else None


def _log(steps: float | None) -> float | None:
    """Return the logarithm to base 10, 0 for zero steps."""
    return None if steps is None else math.log10(max(1.0, steps))
