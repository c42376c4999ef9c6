"""Published rows are computed again, with equal decisions and other values up to rounding.

Published verdicts follow from the committed files.
"""

from __future__ import annotations

import shutil
import subprocess

import pandas as pd
import pytest
from cli_process import REPOSITORY

import greedyexp
from greedyexp import report
from greedyexp.datasets import catalogue, places
from greedyexp.report.rows_again import DIFFERS
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


@pytest.mark.deep
@pytest.mark.parametrize(
    "run",
    [path.parent for path in sorted((REPOSITORY / "results").glob("*/paper/claims.json"))],
    ids=lambda run: run.parent.name,
)
def test_the_verdicts_of_a_run_follow_from_its_committed_files(run, tmp_path):
    listed = subprocess.run(
        ["git", "ls-files", "--", run], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    copy = tmp_path / run.relative_to(REPOSITORY)
    for name in listed.stdout.splitlines():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, tmp_path / name)
    committed = (copy / "claims.json").read_bytes()
    report.verify(copy)
    assert (copy / "claims.json").read_bytes() == committed
