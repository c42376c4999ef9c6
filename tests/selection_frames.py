"""Rows as protocol ``selection`` gives them, for the tests of figures and tables."""

from __future__ import annotations

import numpy as np
import pandas as pd

from greedyexp.results.context import Context

TITLES = {"gdt": "FoBa-gdt", "obj": "FoBa-obj", "l1": "L1"}
CLASSES = {"sleeping": 0.3, "cooking": 0.05, "leaving": 0.6}
SENSORS = ("door", "bed", "stove", "sofa")


def context(trials: int = 4, labels=("gdt", "obj")) -> Context:
    """Of a run with so many replicates."""
    titles = {label: TITLES.get(label, label) for label in labels}
    names = {label: f"foba_{label}" for label in labels}
    return Context("made", "paper", trials, "Somebody 2014, Figure 1", names, titles)


def selection(
    *, trials=4, labels=("gdt", "obj"), sizes=(1, 2, 3), data=("a1a",), seed=0, classes=None
) -> pd.DataFrame:
    """A replicate has rows for sizes, for classes and for sensors, in this order."""
    rng = np.random.default_rng(seed)
    rows = []
    for name in data:
        for k in range(trials):
            for place, label in enumerate(labels):
                head = {"data": name, "n": 100, "replicate": k, "algorithm": label}
                head |= {"status": "ok", "message": ""}
                for size in sizes:
                    one = {"record": "size", "size": size, "reached": size}
                    one["error"] = 0.5 / size + 0.02 * place + 0.01 * rng.random()
                    one["objective"] = 500.0 / (size + place) + rng.random()
                    rows.append(head | one)
                for size in sizes[-2:]:
                    for word, error in (classes or CLASSES).items():
                        one = {"record": "class", "size": size, "class": word}
                        rows.append(head | one | {"class_error": error / size * rng.random()})
                for size in sizes[-2:]:
                    used = rng.permutation(len(SENSORS))[:size]
                    for i, word in enumerate(SENSORS):
                        one = {"record": "feature", "size": size, "feature": word}
                        rows.append(head | one | {"used": int(i in used)})
    return pd.DataFrame(rows)


def failed(frame: pd.DataFrame, label: str, replicate: int) -> pd.DataFrame:
    """The same with one replicate that failed: one row without measurements."""
    lost = (frame["algorithm"] == label) & (frame["replicate"] == replicate)
    row = frame.loc[lost, "data":"message"].iloc[:1].assign(status="error", message="broken")
    return pd.concat([frame[~lost], row], ignore_index=True)
