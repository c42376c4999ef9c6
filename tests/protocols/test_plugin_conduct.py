"""Plugins that change what is not theirs, or leave: none of it falsifies a row or ends a run."""

from __future__ import annotations

import pandas as pd
import pytest
import yaml
from cli_process import refused

PLUGIN = '''
import os

import numpy as np
from matplotlib.figure import Figure

from greedyexp import Problem, algorithm, figure, generator, metric


class Odd(BaseException):
    """No Exception."""


@generator("quiet_data", provides=("truth",))
def quiet_data(rng, *, trouble: str = ""):
    """Two features, of which one counts."""
    X = rng.standard_normal((20, 2))
    if trouble == "exit":
        os._exit(0)
    if trouble == "odd":
        raise Odd("strange")
    if trouble == "chdir":
        os.chdir("/")
    truth = np.array([[1.0], [0.0]])
    return Problem((X,), (X @ truth[:, 0],), truth, 0.1, 1)


@algorithm("found")
def found(problem, *, leaves: bool = False):
    """The truth, or no answer at all."""
    if leaves:
        os._exit(0)
    return problem.truth.copy()


@metric("clearing", better=None)
def clearing(problem, coef):
    """Writes into what it is given."""
    coef[...] = 0
    return coef.sum(axis=(-2, -1))


@figure("leaving")
def leaving(frame, context):
    """Ends the process."""
    os._exit(0)


@figure("wandering")
def wandering(frame, context):
    """Goes to another folder."""
    os.chdir("/")
    return Figure(figsize=(1, 1))
'''


@pytest.fixture
def run(call, tmp_path):
    """``run(changes, *options)``: the command line on an experiment with the plugin."""
    (tmp_path / "conduct.py").write_text(PLUGIN)

    def ran(changes, *options):
        experiment = {
            "name": "own",
            "plugins": ["conduct.py"],
            "data": {"generator": "quiet_data"},
            "trials": 2,
            "algorithms": ["found"],
            "metrics": ["sign_support"],
            **changes,
        }
        (tmp_path / "own.yaml").write_text(yaml.safe_dump(experiment))
        return call("run", "own.yaml", "--out", "out", *options, cwd=tmp_path)

    return ran


def rows(tmp_path) -> pd.DataFrame:
    return pd.read_csv(tmp_path / "out" / "own" / "quick" / "own.csv")


def test_a_metric_cannot_change_what_the_next_one_sees(run, tmp_path):
    result = run({"metrics": ["clearing", "sign_support"]}, "--engine", "serial")
    assert result.returncode == 1
    assert set(rows(tmp_path)["status"]) == {"error"}
    assert "conduct.py:39: ValueError: assignment destination is read-only" in result.stderr


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"algorithms": [{"found": {"leaves": True}}]}, "found: conduct.py"),
        ({"data": {"generator": "quiet_data", "trouble": "exit"}}, "no data: conduct.py"),
    ],
)
def test_an_exit_in_the_serial_engine_is_a_failed_row(run, tmp_path, changes, words):
    result = run(changes, "--engine", "serial")
    assert result.returncode == 1
    assert words in result.stderr
    assert "called os._exit(0)" in result.stderr
    assert set(rows(tmp_path)["status"]) == {"error"}


@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_an_exception_of_any_kind_is_a_failed_row(run, tmp_path, engine):
    data = {"generator": "quiet_data", "trouble": "odd"}
    result = run({"data": data}, "--engine", engine, "-j", "1")
    assert result.returncode == 1
    assert "no data: conduct.py:21: Odd: strange" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_part_that_leaves_the_folder_is_brought_back(run, tmp_path):
    changes = {"data": {"generator": "quiet_data", "trouble": "chdir"}, "figures": ["wandering"]}
    result = run(changes, "--engine", "serial")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "out/own/quick/figures/wandering.png").is_file()
    assert len(rows(tmp_path)) == 2


def test_an_exit_in_a_figure_is_told_and_claims_are_judged(run, tmp_path):
    claim = {"id": "good", "quote": "good", "test": "proportion(found) > 0"}
    result = run({"figures": ["leaving"], "claims": [claim]}, "--engine", "serial")
    refused(result, "conduct.py:", "figure 'leaving' raised", "os._exit(0)")
    assert "good  " in result.stdout


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("class Odd(BaseException): pass\nraise Odd('strange')", "raised Odd on import: strange."),
        (
            "from greedyexp import generator\n\n"
            "@generator('g', provides='truth')\ndef g(rng): ...\n",
            'Write provides=("truth",).',
        ),
    ],
)
def test_an_import_that_fails_oddly_is_a_sentence(call, tmp_path, source, words):
    (tmp_path / "odd.py").write_text(source)
    refused(call("list", "--plugin", "odd.py", cwd=tmp_path), "odd.py:", words)
