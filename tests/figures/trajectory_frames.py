"""Tables of protocol ``trajectory`` with a known gap at every iteration."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from greedyexp.results.context import Context

CONTEXT = Context(
    "demo",
    "smoke",
    3,
    "A paper, Figure 1",
    {"gradient_descent": "gradient_descent", "ours": "rmp"},
    {"gradient_descent": "Gradient descent", "ours": "Ours"},
)
HEAD = ["p", "n_samples", "replicate", "algorithm", "status", "message", "record"]
EPSILONS = tuple(10.0**-k for k in range(11))


def table(rows: list[dict], **data) -> pd.DataFrame:
    """Return rows with the common columns, after the data and before the measurements."""
    frame = pd.DataFrame(rows).assign(status="ok", message="")
    head = [name for name in HEAD if name in frame]
    return frame[[*head, *(name for name in frame if name not in head)]].pipe(_with_data, data)


def _with_data(frame: pd.DataFrame, data: dict) -> pd.DataFrame:
    for name, value in data.items():
        frame.insert(0, name, value)
    return frame


def contraction(p: int, n: int = 50, algorithm: str = "gradient_descent") -> float:
    """Return the contraction of Marchenko-Pastur for gradient descent, a slower one otherwise."""
    r = p / n
    low, high = (1 - math.sqrt(r)) ** 2, (1 + math.sqrt(r)) ** 2
    rate = 1 - low / high
    return rate**2 if algorithm == "gradient_descent" else 1 - low / high / 4


def epsilon_rows(
    ps=(10, 20, 40, 50, 60, 100, 400, 1000),
    *,
    algorithms=("gradient_descent", "ours"),
    trials=3,
    epsilons=EPSILONS,
    budget=10_000,
    gap=4.0,
    n=50,
) -> list[dict]:
    """Return k(epsilon) for a gap that contracts a little faster in each replicate."""
    rows = []
    for p in ps:
        for replicate in range(trials):
            for algorithm in algorithms:
                step = math.log(contraction(p, n, algorithm)) * (1 + 0.3 * replicate)
                for epsilon in epsilons:
                    k = max(0, math.ceil(math.log(epsilon / gap) / step)) if step else math.inf
                    head = {"p": p, "n_samples": n, "replicate": replicate, "algorithm": algorithm}
                    reached = k if k <= budget else np.nan
                    rows.append(
                        head | {"record": "epsilon", "epsilon": epsilon, "iterations": reached}
                    )
    return rows


def iteration_rows(
    ps=(10, 20, 100),
    *,
    algorithms=("gradient_descent", "ours"),
    trials=3,
    marks=(0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000),
    gap=4.0,
    n=50,
    faster=1.2,
) -> list[dict]:
    """Return gaps at recorded iterations, ``faster`` than the guarantee, the prediction between."""
    rows = []
    for p in ps:
        for replicate in range(trials):
            for algorithm in algorithms:
                rate = contraction(p, n, algorithm)
                first = gap * (1 + replicate)
                for k in marks:
                    head = {"p": p, "n_samples": n, "replicate": replicate, "algorithm": algorithm}
                    gaps = {"gap": first * rate ** (faster * k), "guarantee": first * rate**k}
                    predicted = {"prediction": first * rate ** (1.1 * k)}
                    rows.append(head | {"record": "iteration", "iteration": k} | gaps | predicted)
    return rows
