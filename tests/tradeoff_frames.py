"""Tables as protocol tradeoff writes them, of runs whose excess is c / (k + 3) after k steps."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from greedyexp.results.context import Context

CONTEXT = Context(
    "demo",
    "smoke",
    3,
    "A paper, Theorems 1 to 5",
    {"forward": "forward_greedy", "corrective": "fully_corrective", "fixed": "replacement_steps"},
    {"forward": "Forward greedy", "corrective": "Fully corrective", "fixed": "Replacement"},
)
EPSILONS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
MARKS = (0, 1, 2, 5, 10, 20, 50, 100, 1000)
# Steps times excess by algorithm; that of replicate r is 1 + r times as much.
SIZES = {"forward": 2.0, "corrective": 0.5}
HEAD = ["p", "replicate", "algorithm", "status", "message", "record", "theorem", "reference"]


def table(rows: list[dict]) -> pd.DataFrame:
    """Rows with the columns that every table has, data before them and measurements after."""
    frame = pd.DataFrame(rows).assign(status="ok", message="")
    head = [name for name in HEAD if name in frame]
    return frame[[*head, *(name for name in frame if name not in head)]]


def size(algorithm: str, replicate: int) -> float:
    """What the excess is after k steps, times k + 3."""
    return SIZES.get(algorithm, 0.1) * (1 + replicate)


def accuracy_rows(
    algorithm: str,
    theorems=("T2",),
    *,
    trials=3,
    epsilons=EPSILONS,
    budget=math.inf,
    times=4.0,
    reference="l1_ball",
    p=10,
    features=None,
) -> list[dict]:
    """k(epsilon) = ceil(c / epsilon), which is promised to be at most ``times`` that of the first.

    Parameters
    ----------
    features : int, optional
        What each predictor has; as many as steps when None.
    """
    rows = []
    for r in range(trials):
        for theorem in theorems:
            for epsilon in epsilons:
                c = size(algorithm, r)
                steps = math.ceil(c / epsilon * (1 - 1e-12)) if epsilon < 1 else 0
                reached = steps <= budget
                rows.append(
                    {
                        "p": p,
                        "replicate": r,
                        "algorithm": algorithm,
                        "record": "epsilon",
                        "theorem": theorem,
                        "reference": reference,
                        "epsilon": epsilon,
                        "steps": steps if reached else np.nan,
                        "features_needed": (features or steps) if reached else np.nan,
                        "steps_bound": np.nan if theorem == "none" else times * c / epsilon,
                    }
                )
    return rows


def step_rows(
    algorithm: str,
    theorems=("T2",),
    *,
    trials=3,
    marks=MARKS,
    lower=0.0,
    times=4.0,
    references=("l1_ball",),
    p=10,
    features=None,
    most=200,
) -> list[dict]:
    """Excess c / (k + 3) - ``lower`` and its bounds; one feature for each step, up to ``most``."""
    rows = []
    for r in range(trials):
        for k in marks:
            head = {"p": p, "replicate": r, "algorithm": algorithm, "step": k}
            excess = size(algorithm, r) / (k + 3) - lower
            own = {"features": features or min(k, most), "risk": 1 + excess, "gap": 2 * excess}
            rows.append(head | {"record": "step"} | own)
            for i, reference in enumerate(references):
                for theorem in theorems:
                    bound = np.nan if theorem == "none" else times * size(algorithm, r) / (k + 3)
                    bound_row = {"record": "bound", "theorem": theorem, "reference": reference}
                    bound_row |= {"excess": excess + i, "excess_bound": bound}
                    rows.append(head | bound_row | {"reference_features": 7 + 2 * r})
    return rows
