"""Small tidy tables for the tests of claims, and the verdicts on them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd

from greedyexp.claims.entries import compile_claim
from greedyexp.claims.evaluation import JudgedClaim
from greedyexp.claims.judging import evaluate_claims
from greedyexp.claims.setting import Setting, setting_of
from greedyexp.core import registry
from greedyexp.experiment.design import design_of
from greedyexp.protocols.recovery import columns

METRICS = ("support", "frobenius_error")
THETA = np.round(np.arange(0.4, 1.61, 0.1), 10).tolist()
SWEEP = {"theta": THETA}


def setting(
    *,
    sweep: dict | None = None,
    algorithms=("a", "b"),
    adaptive: bool = False,
    metrics=METRICS,
) -> Setting:
    """Return the setting of an experiment with some metrics."""
    config = {
        "name": "made",
        "data": {"generator": "g", "sweep": sweep or {}},
        "algorithms": list(algorithms),
        "trials": {"until": {"half_width": 0.1}, "max": 400} if adaptive else 10,
    }
    known = ("p", "kappa", "theta", "s", "n_samples", "status", "replicate", "nu")
    measured = columns([registry.find("metric", name) for name in metrics])
    return setting_of(design_of(config), measured, known)


def table(sweep: dict, outcomes: dict, **more) -> pd.DataFrame:
    """Return a table with one row for each point, replicate and algorithm.

    Parameters
    ----------
    sweep : dict of column to list
        Every combination is a point.
    outcomes : dict of label to callable of the point
        Gives the metrics of its replicates: a list of numbers for ``support``, or a dict of metric
        to list.
    more : columns of one value
    """
    rows = []
    for values in itertools.product(*sweep.values()):
        point = dict(zip(sweep, values, strict=True))
        for label, outcome in outcomes.items():
            given = outcome(point)
            given = given if isinstance(given, dict) else {"support": given}
            for replicate in range(len(next(iter(given.values())))):
                row = {name: column[replicate] for name, column in given.items()}
                rows.append({**more, **point, "replicate": replicate, "algorithm": label, **row})
    return pd.DataFrame(rows).assign(status="ok", message="")


def judge(frame, test, *, words: Setting | None = None, sweep=None, **claim) -> JudgedClaim:
    """Judge one claim alone, in a given setting or for a given sweep."""
    words = words or setting(sweep=sweep)
    entry = {"id": "one", "quote": "It is so.", "test": test, **claim}
    return evaluate_claims([compile_claim(entry, words, "Figure 1")], frame, words).judged[0]


def only(judged: JudgedClaim):
    """Return the only test of a claim."""
    (test,) = judged.tests
    return test


def wins(count: int, trials: int) -> list[int]:
    """Return ones, then zeros."""
    return [1] * count + [0] * (trials - count)


def latent(seed: int, trials: int) -> dict:
    """Return a uniform number for every data set: its difficulty for all algorithms."""
    rng = np.random.default_rng(seed)
    return {theta: rng.uniform(size=trials) for theta in THETA}


def curve(tau: float, uniform: dict, width: float = 0.1):
    """Return the outcomes of an algorithm with a transition at tau."""

    def outcomes(point):
        p = 1 / (1 + math.exp(-(point["theta"] - tau) / width))
        return (uniform[point["theta"]] < p).astype(int).tolist()

    return outcomes
