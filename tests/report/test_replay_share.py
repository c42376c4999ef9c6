"""``greedyexp replay --share``: a part of all replicates computed again."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest
from cli_process import refused

import greedyexp
from greedyexp.core.errors import ConfigError
from greedyexp.report.replay_share import replay_share
from greedyexp.report.rows_again import EQUAL

SETTINGS = {
    "name": "small",
    "data": {
        "generator": "gaussian",
        "n_samples": 30,
        "p": 12,
        "noise_std": 0.5,
        "sweep": {"sparsity": [1, 3]},
    },
    "trials": 10,
    "algorithms": ["omp", {"lasso": {"tuning": "cv", "sweep": {"n_lams": [20, 30]}}}],
    "metrics": ["support", "training_error"],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("share") / "results"
    greedyexp.run(SETTINGS, out=out, engine="serial", progress=False)
    return out / "small" / "quick"


@pytest.fixture
def run(made, tmp_path):
    """A copy of the run, to change."""
    return shutil.copytree(made, tmp_path / "small/quick")


def change(run, column, function):
    table = pd.read_csv(run / "small.csv", dtype=str, keep_default_na=False)
    table[column] = [function(cell) for cell in table[column]]
    table.to_csv(run / "small.csv", index=False)
    # The table is then that of no manifest.
    (run / "manifest.json").unlink()


def test_all_replicates_come_out_again(made):
    done = replay_share(made, 1)
    assert (done.replicates, done.of) == (60, 60)
    assert set(done.values["verdict"]) == {EQUAL}
    assert done.same
    assert done.digits == float("inf")
    assert sorted(set(done.values["row"])) == list(range(60))


def test_a_share_is_drawn_from_all_algorithms_and_points(made):
    rows = replay_share(made, 0.2).values["row"].unique()
    assert len(rows) == 12
    assert (rows == replay_share(made, 0.2).values["row"].unique()).all()
    drawn = greedyexp.open(made).rows.loc[rows]
    assert drawn["algorithm"].nunique() == 3
    assert drawn["sparsity"].nunique() == 2
    assert replay_share(made, 1e-9).replicates == 1


def test_protocols_with_several_rows_are_counted_by_replicate(tmp_path):
    settings = SETTINGS | {
        "protocol": {"trajectory": {"iterations": 20}},
        "algorithms": ["gs_coordinate_descent"],
        "trials": 2,
    }
    del settings["metrics"]
    greedyexp.run(settings, out=tmp_path, engine="serial", progress=False)
    done = replay_share(tmp_path / "small/quick", 0.5)
    assert (done.replicates, done.of) == (2, 4)
    assert len(done.values["row"].unique()) > 2
    assert done.same


def test_digits_are_those_of_the_largest_rounding(run):
    change(run, "training_error", lambda cell: repr(float(cell) * (1 + 1e-9)))
    done = replay_share(run, 1)
    assert done.same
    assert done.digits == pytest.approx(9, abs=0.01)


def test_a_changed_decision_differs(call, run):
    change(run, "support", lambda cell: str(1 - int(cell)))
    done = call("replay", run.parent, "--share", "0.1", cwd=run)
    assert done.returncode == 1
    assert "6 of 60 replicates" in done.stdout
    assert "6 different" in done.stdout
    assert "support: 0 in the table, 1 now" in done.stdout


def test_equal_rows_exit_with_zero(call, made):
    done = call("replay", made.parent, "--share", "0.1", cwd=made)
    assert done.returncode == 0
    assert "0 different" in done.stdout


@pytest.mark.parametrize("share", [0, -1, 1.5, float("nan")])
def test_shares_out_of_range_are_refused(made, share):
    with pytest.raises(ConfigError, match="share must be greater than 0 and at most 1"):
        replay_share(made, share)


def test_a_share_out_of_range_is_refused_once(call, made):
    done = call("replay", made.parents[1], "--share", "2", cwd=made)
    refused(done, "--share 2: the share must be more than 0 and at most 1")


@pytest.mark.parametrize("other", [("--where", "sparsity=1"), ("--pdb",)])
def test_one_row_and_a_share_exclude_each_other(call, made, other):
    done = call("replay", made, "--share", "0.1", *other, cwd=made)
    assert done.returncode == 2
    assert f"--share and {other[0]} cannot be used together" in done.stderr
