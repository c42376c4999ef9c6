"""``new``: what it writes runs as it is."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import jsonschema
import pytest
import yaml
from cli_process import environment, refused

from greedyexp.core import shipped
from greedyexp.testing.checks import CHECKS


def test_a_new_config_runs_and_draws(call, tmp_path):
    written = call("new", "config", "study", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    command = written.stdout.splitlines()[-1].removeprefix("Next: ").split()
    assert command == ["greedyexp", "run", "study.yaml", "--profile", "smoke"]
    result = call(*command[1:], "--engine", "serial", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    folder = tmp_path / "results/study/smoke"
    assert (folder / "study.csv").is_file()
    assert list((folder / "figures").glob("*.png"))


def test_new_algorithm_and_generator_run_in_a_new_config(call, tmp_path):
    for kind, name in (("config", "study"), ("algorithm", "mine"), ("generator", "mine_too")):
        result = call("new", kind, name, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
    assert len((tmp_path / "mine.py").read_text().splitlines()) <= 20
    assert 'yields="iterates"' in (tmp_path / "mine.py").read_text()
    command = result.stdout.splitlines()[-1].removeprefix("Next: greedyexp ").split()
    shown = call(*command, cwd=tmp_path)
    assert shown.stdout.startswith("generator mine_too: ")
    result = call(
        *("run", "study.yaml", "--profile", "smoke", "--engine", "serial"),
        *("--set", "plugins=[mine.py, mine_too.py]", "--set", "algorithms=[mine]"),
        *("--set", "data.generator=mine_too", "--tag", "own"),
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stderr
    assert ".png" in result.stdout
    with (tmp_path / "results/study/smoke+own/study.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {(row["algorithm"], row["status"]) for row in rows} == {("mine", "ok")}
    # Sixty uniform samples without much noise: screening by correlation finds the support.
    assert [row["support"] for row in rows if row["n_samples"] == "60"].count("1") >= 1


def test_a_new_algorithm_comes_with_a_test_that_passes(call, tmp_path):
    written = call("new", "algorithm", "mine", cwd=tmp_path)
    assert written.stdout.startswith("Wrote mine.py.\nWrote test_mine.py.\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert f"{len(CHECKS) + 1} passed" in done.stdout
    # What the test protects: an algorithm that changes the data of the others.
    spoilt = (tmp_path / "mine.py").read_text().replace("kept = np.", "X *= 2\n        kept = np.")
    (tmp_path / "mine.py").write_text(spoilt)
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert "check 'data_unchanged'" in done.stdout
    assert "changed the array problem.X" in done.stdout


@pytest.mark.parametrize("taken", ["mine.py", "test_mine.py"])
def test_neither_file_is_written_if_one_exists(call, tmp_path, taken):
    (tmp_path / taken).write_text("precious")
    refused(call("new", "algorithm", "mine", cwd=tmp_path), taken, "already exists", "--force")
    assert [path.name for path in tmp_path.iterdir()] == [taken]
    assert (tmp_path / taken).read_text() == "precious"
    assert call("new", "algorithm", "mine", "--force", cwd=tmp_path).returncode == 0
    assert (
        (tmp_path / "mine.py").read_text() != "precious" != (tmp_path / "test_mine.py").read_text()
    )


def test_a_file_is_overwritten_only_by_force(call, tmp_path):
    (tmp_path / "study.yaml").write_text("precious")
    refused(call("new", "config", "study", cwd=tmp_path), "study.yaml", "--force")
    assert (tmp_path / "study.yaml").read_text() == "precious"
    assert call("new", "config", "study", "--force", cwd=tmp_path).returncode == 0
    assert (tmp_path / "study.yaml").read_text() != "precious"


def test_a_new_config_comes_with_its_schema(call, tmp_path):
    written = call("new", "config", "study", cwd=tmp_path)
    assert "Wrote greedyexp.schema.json" in written.stdout
    first = (tmp_path / "study.yaml").read_text().partition("\n")[0]
    schema = tmp_path / first.removeprefix("# yaml-language-server: $schema=")
    assert schema.read_bytes() == shipped.schema().read_bytes()
    settings = yaml.safe_load((tmp_path / "study.yaml").read_text())
    jsonschema.validate(settings, json.loads(schema.read_bytes()))
    # The next config leaves a schema, which may have the parts of plugins, as it is.
    schema.write_text("precious")
    again = call("new", "config", "other", cwd=tmp_path)
    assert again.returncode == 0
    assert "schema" not in again.stdout
    assert schema.read_text() == "precious"


def test_impossible_names_are_refused(call, tmp_path):
    refused(call("new", "config", "../study", cwd=tmp_path), "'../study'")
    refused(call("new", "algorithm", "lambda", cwd=tmp_path), "'lambda'")
    refused(call("new", "algorithm", "2fast", cwd=tmp_path), "'2fast'")
    refused(call("new", "generator", "gaussian", cwd=tmp_path), "'gaussian' already exists")
    # A file of such a name would hide a module, or a name that Python, the template or pytest uses.
    for name in ("numpy", "json", "zip", "np", "algorithm", "test_mine", "conftest", "greedyexp"):
        refused(call("new", "algorithm", name, cwd=tmp_path), f"'{name}'", "another meaning")
    refused(call("new", "algorithm", "Mine", cwd=tmp_path), "'Mine'", "lower-case")
    assert list(tmp_path.iterdir()) == []


def test_new_metric_and_figure_run_in_a_new_config(call, tmp_path):
    for kind, name in (("config", "study"), ("metric", "worst"), ("figure", "means")):
        result = call("new", kind, name, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
    assert "`- means: {x: COLUMN, y: COLUMN}` under `figures:`" in result.stdout
    shown = call("show", "means", "--plugin", "means.py", cwd=tmp_path)
    assert shown.stdout.startswith("figure means: ")
    result = call(
        *("run", "study.yaml", "--profile", "smoke", "--engine", "serial"),
        *("--set", "plugins=[worst.py, means.py]", "--set", "algorithms=[omp]"),
        *("--set", "metrics=[worst]", "--set", "claims=[]", "--tag", "own"),
        *("--set", "figures=[{means: {x: n_samples, y: worst}}]"),
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "results/study/smoke+own/figures/means.png").is_file()
    with (tmp_path / "results/study/smoke+own/study.csv").open(newline="") as stream:
        errors = [float(row["worst"]) for row in csv.DictReader(stream)]
    assert len(errors) == 6
    # Few samples fail by about a whole coefficient, many by no more than noise does.
    assert min(errors) < 0.1 < max(errors)
    result = call(
        *("check", "study.yaml", "--set", "plugins=[means.py]", "--set", "claims=[]"),
        *("--set", "figures=[{means: {x: n_samples, y: support}}]"),
        *("--set", "data.noise_std=[0.1, 0.2]"),
        cwd=tmp_path,
    )
    refused(result, "figure 'means' would average over the 2 values of 'noise_std'")
