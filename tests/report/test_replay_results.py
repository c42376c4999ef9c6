"""Published rows are computed again: decisions are the same, and other values up to rounding."""

from __future__ import annotations

import pandas as pd
import pytest
from cli_process import REPOSITORY

import greedyexp
from greedyexp.datasets import catalogue, places
from greedyexp.report.replay import DIFFERS
from greedyexp.results.records import identity

# Public data that a run reads.
DATA = {"foba_uci": "libsvm_binary", "handwritten_digits": "digits_mfeat"}
DATA["sensor_selection"] = "uci_adl_binary"
# A run without seconds whose first fit takes longest.
CHEAP = {"handwritten_digits": "lasso"}
# One fit takes a minute.
SLOW = ("simulated_home",)


def marked(run):
    name = run.parent.name
    marks = [pytest.mark.deep]
    if name.startswith("best_subset_today"):
        # The packages of others are installed by `make test-peers`.
        marks = [pytest.mark.peers]
    if name in DATA:
        absent = places.find(catalogue.known()[DATA[name]]) is None
        reason = f"{DATA[name]} is neither in GREEDYEXP_DATA nor fetched"
        marks.append(pytest.mark.skipif(absent, reason=reason))
    return pytest.param(run, id=name, marks=marks)


RUNS = [
    marked(run)
    for run in sorted((REPOSITORY / "results").glob("*/paper"))
    if run.parent.name not in SLOW
]


def replicate_of(run) -> dict:
    """The parameters of the first replicate or, if the run has seconds, of the fastest fit."""
    results = greedyexp.open(run)
    rows = results.rows
    if run.parent.name in CHEAP:
        rows = rows[rows["algorithm"] == CHEAP[run.parent.name]]
    seconds = rows["fit_seconds"] if "fit_seconds" in rows else pd.Series(dtype=float)
    row = rows.loc[seconds.idxmin()] if seconds.notna().any() else rows.iloc[0]
    return {name: None if pd.isna(row[name]) else row[name] for name in identity(rows)}


@pytest.mark.parametrize("run", RUNS)
def test_a_published_replicate_comes_out_again(run):
    again = greedyexp.replay(run, replicate_of(run))
    assert len(again.values) > 0
    differing = again.values[again.values["verdict"] == DIFFERS]
    assert differing.to_dict("records") == []
