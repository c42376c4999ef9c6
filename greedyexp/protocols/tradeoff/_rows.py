"""The rows of protocol ``tradeoff``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from greedyexp.protocols.tradeoff._promises import Pair
from greedyexp.protocols.tradeoff._run import Seen
from greedyexp.theory.theorems import Reference


@dataclass(frozen=True)
class Reached:
    """What it took to reach an accuracy.

    Parameters
    ----------
    steps, features : int
    excess : float
        R(w) - R(wbar) there.
    """

    steps: int
    features: int
    excess: float

    @property
    def columns(self) -> dict[str, int | float | None]:
        """As the rows have it."""
        return {
            "steps": self.steps,
            "log_steps": _log(self.steps),
            "features_needed": self.features,
            "excess_at_end": cell(self.excess),
        }


_UNREACHED = dict.fromkeys(("steps", "log_steps", "features_needed", "excess_at_end"))


def cell(value) -> int | float | None:
    """A number for the CSV; what is not finite is an empty cell."""
    return value.item() if np.isfinite(value) else None


def step_rows(seen: Seen, at: Sequence[int]) -> list[dict]:
    """What the estimates at these places cost and achieve."""
    return [
        {
            "record": "step",
            "step": int(seen.asked[i]),
            "features": int(seen.features[i]),
            "risk": cell(seen.risk[i]),
            "gap": cell(seen.gap[i]),
            "l1_norm": cell(seen.l1_norm[i]),
        }
        for i in at
    ]


def reference_rows(references: Sequence[Reference], original: bool) -> list[dict]:
    """What each reference is, and its risk, of the loss before it was smoothed where asked."""
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


def theorem_rows(pairs: Sequence[Pair]) -> list[dict]:
    """The constants of the risk that each theorem is computed from."""
    rows = []
    for pair in pairs:
        constants = {} if pair.promise is None else pair.promise.constants
        rows.append(
            {
                "record": "theorem",
                **pair.keys,
                "smoothness": constants.get("beta"),
                "strong_convexity": constants.get("lam"),
            }
        )
    return rows


def bound_rows(seen: Seen, at: Sequence[int], pairs: Sequence[Pair]) -> list[dict]:
    """The excess of the estimates at these places over each reference, and its bounds."""
    rows = []
    for pair in pairs:
        excess, bound = pair.excess(seen), pair.excess_bound(seen.counted)
        rows += [
            {
                "record": "bound",
                **pair.keys,
                "step": int(seen.asked[i]),
                "excess": cell(excess[i]),
                "excess_bound": cell(bound[i]),
                "gap": cell(seen.gap[i]),
                "reference_features": pair.reference.n_features,
            }
            for i in at
        ]
    return rows


def epsilon_rows(
    pairs: Sequence[Pair],
    epsilons: Sequence[float],
    reached: Mapping[tuple[int, int], Reached],
    within: Mapping[tuple[int, int], bool],
) -> list[dict]:
    """The steps and features that each accuracy takes, and how many theorems say that it takes.

    Parameters
    ----------
    reached : mapping
        By the places of a pair and an accuracy; without those that were not reached.
    within : mapping
        See ``tradeoff_promises.kept_within``.
    """
    rows = []
    for i, pair in enumerate(pairs):
        for j, (epsilon, bound) in enumerate(
            zip(epsilons, pair.steps_bound(epsilons), strict=True)
        ):
            kept = within.get((i, j))
            rows.append(
                {
                    "record": "epsilon",
                    **pair.keys,
                    "epsilon": float(epsilon),
                    **(reached[i, j].columns if (i, j) in reached else _UNREACHED),
                    "steps_bound": cell(bound),
                    "log_steps_bound": _log(cell(bound)),
                    "within": None if kept is None else int(kept),
                }
            )
    return rows


def accuracy_rows(
    pairs: Sequence[Pair],
    epsilons: Sequence[float],
    reached: Mapping[tuple[int, int], Reached],
) -> list[dict]:
    """The same without theorems: one row for each reference and accuracy.

    Parameters
    ----------
    pairs : sequence of Pair
        One for each reference.
    reached : mapping
        See ``epsilon_rows``.
    """
    return [
        {
            "record": "accuracy",
            "reference": pair.reference.name,
            "epsilon": float(epsilon),
            **(reached[i, j].columns if (i, j) in reached else _UNREACHED),
        }
        for i, pair in enumerate(pairs)
        for j, epsilon in enumerate(epsilons)
    ]


def _log(steps: float | None) -> float | None:
    """To base 10; of no step as of one."""
    return None if steps is None else math.log10(max(1.0, steps))
