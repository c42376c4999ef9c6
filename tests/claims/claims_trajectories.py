"""Small tables with several rows for each replicate, and one claim on them."""

from __future__ import annotations

import pandas as pd

from greedyexp.claims.entries import compile_claim
from greedyexp.claims.judging import evaluate_claims
from greedyexp.claims.setting import setting_of
from greedyexp.experiment.design import design_of
from greedyexp.protocols.base import Measured

KEYS = ("record", "epsilon", "iteration")
NUMBERS = ("iterations", "gap", "guarantee", "rate")
MEASURED = [Measured(name, "key") for name in KEYS]
MEASURED += [Measured(n, "number", open_ended=n == "iterations") for n in NUMBERS]


def words(*, sweep=None, algorithms=("gd", "cd")):
    config = {
        "name": "made",
        "data": {"generator": "g", "sweep": sweep or {}},
        "algorithms": list(algorithms),
        "trials": 10,
    }
    return setting_of(design_of(config), MEASURED, ("p", "n_samples", "lam"))


def frame_of(rows):
    """Return a table; cells without a value are empty."""
    empty = dict.fromkeys([*KEYS, *NUMBERS])
    plain = {"p": 10, "n_samples": 50, "lam": None, "algorithm": "gd", "status": "ok"}
    frame = pd.DataFrame([plain | empty | row for row in rows])
    frame[list(KEYS[1:] + NUMBERS)] = frame[list(KEYS[1:] + NUMBERS)].astype(float)
    return frame


def judge(rows, test, *, where=None, margin=None, exhaustive=False, **given):
    """Judge one claim on rows."""
    frame = frame_of(rows)
    setting = words(**given)
    entry = {"id": "one", "quote": "q", "test": test, "where": where or {}}
    entry |= {"margin": margin, "exhaustive": exhaustive}
    return evaluate_claims([compile_claim(entry, setting, "1")], frame, setting).judged[0]


def hits(counts, epsilon=1e-6, **more):
    """Return rows of record epsilon, one per replicate; None means not reached."""
    return [
        {"record": "epsilon", "epsilon": epsilon, "iterations": k, "replicate": i} | more
        for i, k in enumerate(counts)
    ]


def course(gaps, replicate=0, **more):
    """Return rows of record iteration."""
    return [
        {"record": "iteration", "iteration": k, "gap": gap, "replicate": replicate} | more
        for k, gap in enumerate(gaps)
    ]


def failure(replicate, **more):
    return {"replicate": replicate, "status": "timeout"} | more
