"""``run``, ``plot``, ``status``: what is printed, what is written, which exit code."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from cli_process import greedyexp, refused, write_toy

FIGURE = "figures=[{phase_transition: {x: n_samples, success: {default: support}}}]"


def table(folder: Path) -> list[dict]:
    with next(folder.glob("*.csv")).open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with one finished run, and what the run printed."""
    folder = tmp_path_factory.mktemp("finished")
    write_toy(folder)
    result = greedyexp("run", "toy.yaml", "--engine", "serial", "--set", FIGURE, cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder, result


def test_run_writes_the_table_and_says_where(finished):
    folder, result = finished
    rows = table(folder / "results/toy/quick")
    assert len(rows) == 6
    assert {row["support"] for row in rows} == {"1"}
    lines = result.stdout.splitlines()
    assert re.fullmatch(r"toy \(quick\): 6 of 6 done, 0 failed; 6 computed in \d+\.\d s", lines[0])
    assert lines[1] == "results/toy/quick/toy.csv"
    assert [Path(line).suffix for line in lines[2:]] == [".png", ".pdf"]
    assert all((folder / line).stat().st_size > 1000 for line in lines[2:])


def test_plot_redraws_from_the_table_alone(call, finished):
    folder, _ = finished
    run = folder / "results/toy/quick"
    alone = folder / "elsewhere/toy/quick"
    alone.mkdir(parents=True)
    for name in ("toy.csv", "config.yaml"):
        (alone / name).write_bytes((run / name).read_bytes())
    result = call("plot", "elsewhere", cwd=folder)
    assert result.returncode == 0, result.stderr
    drawn = [Path(line) for line in result.stdout.splitlines()]
    assert [path.suffix for path in drawn] == [".png", ".pdf"]
    assert all((folder / path).is_file() for path in drawn)


@pytest.mark.usefixtures("impatient")
def test_plot_of_a_damaged_table_is_refused_and_the_others_are_drawn(call, finished):
    folder, _ = finished
    run = folder / "results/toy/quick"
    for name, content in (("sound", (run / "toy.csv").read_bytes()), ("bad", b"")):
        copy = folder / "damaged" / name / "quick"
        copy.mkdir(parents=True)
        for file in ("config.yaml", "manifest.json"):
            (copy / file).write_bytes((run / file).read_bytes())
        (copy / "toy.csv").write_bytes(content)
    result = call("plot", "damaged", cwd=folder)
    refused(result, "bad/quick", "toy.csv")
    assert len(result.stdout.splitlines()) == 2


def test_status_counts_what_is_there(call, finished):
    folder, _ = finished
    result = call("status", cwd=folder)
    assert result.returncode == 0, result.stderr
    heading, row = (re.split(r"  +", line.strip()) for line in result.stdout.splitlines())
    assert heading[:4] == ["run", "done", "failed", "missing"]
    assert row[:4] == ["toy/quick", "6", "0", "0"]


def test_plot_and_status_without_runs_are_refused(call, tmp_path):
    refused(call("status", cwd=tmp_path), "results")
    refused(call("plot", "nowhere", cwd=tmp_path), "nowhere")


def test_failed_replicates_are_rows_and_exit_code_1(call, tmp_path):
    write_toy(tmp_path, algorithms="[toy_exact, toy_broken]")
    result = call("run", "toy.yaml", "--engine", "serial", "--quiet", cwd=tmp_path)
    assert result.returncode == 1
    assert result.stdout == ""
    assert "error: 6 rows, first: toy_broken: " in result.stderr
    assert "toy_broken cannot do this" in result.stderr
    assert "Traceback" not in result.stderr
    statuses = [row["status"] for row in table(tmp_path / "results/toy/quick")]
    assert sorted(statuses) == ["error"] * 6 + ["ok"] * 6
    again = call("run", "toy.yaml", "--engine", "serial", cwd=tmp_path)
    assert again.returncode == 1
    assert "; 0 computed" in again.stdout
    hint = "--retry-failed computes the failed replicates again."
    assert again.stderr.splitlines()[-1] == f"  {hint}"
    assert hint not in result.stderr
    state = call("status", "results", cwd=tmp_path).stdout.splitlines()[1]
    assert re.search(r"error 6$", state)
    retried = call("run", "toy.yaml", "--engine", "serial", "--retry-failed", cwd=tmp_path)
    assert retried.returncode == 1
    assert "; 6 computed" in retried.stdout
    assert hint not in retried.stderr


def test_a_figure_that_cannot_be_drawn_costs_no_verdict(call, tmp_path):
    config = write_toy(tmp_path)
    claim = "claims: [{id: one, quote: so, test: proportion(toy_exact) > 0.5}]"
    wrong = "figures: [{phase_transition: {x: n_samples, success: {other: support}}}]"
    config.write_text(config.read_text().replace("figures: []", f"{wrong}\n{claim}"))
    result = call("run", "toy.yaml", "--engine", "serial", cwd=tmp_path)
    refused(result, "`success` names no metric for 'toy_exact'")
    assert (tmp_path / "results/toy/quick/claims.json").is_file()
    assert "one  inconclusive\n`greedyexp verify results/toy/quick` prints" in result.stdout
    assert "results/toy/quick/toy.csv" in result.stdout


LOST = """
name: lost
seed: 1
trials: 2
plugins: [lost.py]
data: {generator: gaussian_cov, n_samples: 10, sweep: {p: [8, 9]}}
protocol: constants
algorithms: [lost]
figures: [{constants: {x: p}}]
"""

LOSES = """
from greedyexp import algorithm


@algorithm("lost", yields="constant")
def lost(problem):
    \"\"\"Fails on every problem.\"\"\"
    raise ValueError("lost")
"""


def test_a_figure_without_anything_to_draw_is_no_error_beside_failures(call, tmp_path):
    (tmp_path / "lost.yaml").write_text(LOST)
    (tmp_path / "lost.py").write_text(LOSES)
    result = call("run", "lost.yaml", "--engine", "serial", "--quiet", cwd=tmp_path)
    assert result.returncode == 1, result.stderr
    assert "error: 4 rows, first: lost: " in result.stderr
    assert "Not drawn: " in result.stderr
    assert "every replicate failed" in result.stderr
    assert "\nError" not in result.stderr
    assert len(table(tmp_path / "results/lost/quick")) == 4
    refused(call("plot", "results", cwd=tmp_path), "every replicate failed")


def test_several_configs_stop_at_the_first_failure_unless_told_to_keep_going(call, tmp_path):
    write_toy(tmp_path, "first", algorithms="[toy_broken]")
    write_toy(tmp_path, "second")
    (tmp_path / "third.yaml").write_text("name: third\n")
    both = ("run", "first.yaml", "second.yaml", "--engine", "serial")
    stopped = call(*both, cwd=tmp_path)
    assert stopped.returncode == 1
    assert "Not run: second." in stopped.stderr
    assert not (tmp_path / "results/second").exists()
    refused(call(*both, "third.yaml", "--out", "other", cwd=tmp_path), "third.yaml")
    assert not (tmp_path / "other").exists(), "a bad config must be noticed before any work"
    gone_on = call(*both, "third.yaml", "--keep-going", cwd=tmp_path)
    assert gone_on.returncode == 2
    assert "third.yaml" in gone_on.stderr
    assert len(table(tmp_path / "results/second/quick")) == 6


def test_two_configs_of_one_name_are_refused(call, tmp_path):
    write_toy(tmp_path)
    (tmp_path / "copy.yaml").write_text((tmp_path / "toy.yaml").read_text())
    refused(call("run", "toy.yaml", "copy.yaml", cwd=tmp_path), "copy.yaml", "'toy'")
    assert not (tmp_path / "results").exists()


def test_dry_run_tries_each_algorithm_and_writes_nothing(call, tmp_path):
    write_toy(tmp_path, algorithms="[toy_exact, toy_broken]")
    before = sorted(tmp_path.iterdir())
    result = call("run", "toy.yaml", "--dry-run", cwd=tmp_path)
    assert result.returncode == 1, result.stderr
    assert "2 data points x 3 trials x 2 algorithms = 12 runs" in result.stdout
    assert re.search(r"toy_broken +error .*toy_broken cannot do this", result.stdout)
    assert re.search(r"toy_exact +ok ", result.stdout)
    assert [path for path in sorted(tmp_path.iterdir()) if path.name != "__pycache__"] == before


def test_a_folder_that_cannot_be_written_is_refused(call, tmp_path):
    write_toy(tmp_path)
    (tmp_path / "blocked").write_text("a file, where a folder is needed")
    result = call("run", "toy.yaml", "--out", "blocked/results", cwd=tmp_path)
    refused(result, "blocked")
    assert (tmp_path / "blocked").read_text() == "a file, where a folder is needed"


def test_what_a_smaller_run_leaves_out_is_not_lost(call, finished):
    folder, _ = finished
    less = call(
        *("run", "toy.yaml", "--engine", "serial", "--only", "n_samples=8", "--trials", "1"),
        cwd=folder,
    )
    assert "1 of 1 done, 0 failed; 0 computed" in less.stdout
    whole = call("run", "toy.yaml", "--engine", "serial", "--set", FIGURE, cwd=folder)
    assert "6 of 6 done, 0 failed; 0 computed" in whole.stdout
    assert len(table(folder / "results/toy/quick")) == 6


def test_a_figure_that_cannot_be_drawn_is_refused_before_any_work(call, tmp_path):
    write_toy(tmp_path)
    result = call(
        *("run", "toy.yaml", "--engine", "serial"),
        *("--set", "figures=[{phase_transition: {x: n_sample, success: {default: support}}}]"),
        cwd=tmp_path,
    )
    refused(result, "'n_sample'", "n_samples")
    assert not (tmp_path / "results").exists()


def test_status_of_a_damaged_run_is_refused_and_the_others_are_shown(call, finished):
    folder, _ = finished
    for name in ("bad", "sound"):
        copy = folder / "half" / name / "quick"
        copy.mkdir(parents=True)
        for file in (folder / "results/toy/quick").glob("*.*"):
            if file.is_file():
                (copy / file.name).write_bytes(file.read_bytes())
    (folder / "half/bad/quick/config.yaml").write_text("[")
    result = call("status", "half", cwd=folder)
    refused(result, "half/bad/quick/config.yaml")
    assert re.search(r"^toy/quick +6 ", result.stdout, re.MULTILINE)
