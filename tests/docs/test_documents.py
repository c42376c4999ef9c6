"""The documents: their links work, and their examples run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pandas as pd
import pytest
import yaml
from cli_process import REPOSITORY, environment
from kept_registry import kept_registry

import greedyexp
from greedyexp.config import load
from greedyexp.core import registry, shipped
from greedyexp.core.plugins import load_plugins
from greedyexp.testing import check_algorithm
from greedyexp.testing.checks import CHECKS

DOCUMENTS = [
    *(REPOSITORY / name for name in ("README.md", "DESIGN.md", "CONTRIBUTING.md")),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")
MEASUREMENTS = "a,b,c,y\n" + "".join(f"{i},{i * i % 7},{i % 3},{i + 1}\n" for i in range(30))


def lay_out(folder) -> None:
    """Write the files that experiments in the documents read."""
    (folder / "measurements.csv").write_text(MEASUREMENTS)
    (folder / "docs").mkdir()
    shutil.copy(REPOSITORY / "docs" / "casas_sample.txt", folder / "docs")


def named(path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def write_plugins(folder, name: str) -> list[str]:
    """Write the Python files in a document, each named by its first line."""
    text = (REPOSITORY / name).read_text(encoding="utf-8")
    files = []
    for language, block in FENCED.findall(text):
        file = block.partition("\n")[0].removeprefix("# ")
        if language == "python" and file.endswith(".py"):
            (folder / file).write_text(block, encoding="utf-8")
            files.append(file)
    return files


def yaml_blocks(name: str) -> list[str]:
    text = (REPOSITORY / name).read_text(encoding="utf-8")
    return [block for language, block in FENCED.findall(text) if language == "yaml"]


def whole_experiments() -> list[str]:
    blocks = yaml_blocks("README.md") + yaml_blocks("docs/claims.md")
    return [block for block in blocks if re.search(r"^name:", block, re.MULTILINE)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_relative_links_lead_to_files(document):
    text = FENCED.sub("", document.read_text(encoding="utf-8"))
    targets = [link.partition("#")[0] for link in LINK.findall(text) if "://" not in link]
    assert [one for one in targets if one and not (document.parent / one).exists()] == []


def test_links_are_found():
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert {"DESIGN.md", "CONTRIBUTING.md", "docs/claims.md"} <= set(LINK.findall(text))


@pytest.mark.parametrize("name", shipped.configs())
def test_the_readme_names_every_shipped_config(name):
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert f"configs/{name}.yaml" in text


def test_experiments_in_the_documents_load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path)
    experiments = whole_experiments()
    assert experiments
    for block in experiments:
        path = tmp_path / "experiment.yaml"
        path.write_text(block, encoding="utf-8")
        assert load(path).name == yaml.safe_load(block)["name"]


def test_plugins_in_the_documents_run(call, tmp_path):
    files = write_plugins(tmp_path, "docs/plugins.md")
    files.remove("test_screening.py")
    experiments = {yaml.safe_load(b)["name"]: b for b in yaml_blocks("docs/plugins.md")}
    named = [file for b in experiments.values() for file in yaml.safe_load(b)["plugins"]]
    assert set(files) == set(named)
    assert len(files) == 7
    for name, block in experiments.items():
        (tmp_path / f"{name}.yaml").write_text(block, encoding="utf-8")
        for options in (("-n",), ("--engine", "serial")):
            result = call("run", f"{name}.yaml", *options, cwd=tmp_path)
            assert result.returncode == 0, result.stderr
    results = tmp_path / "results"
    study = pd.read_csv(results / "my_study/quick/my_study.csv")
    assert len(study) == 2 * 2 * 3
    assert set(study["status"]) == {"ok"}
    # Screening finds the three true features among six; the ridge shrinks what it keeps.
    mean = study.groupby("algorithm")["largest_error"].mean()
    assert mean["screening"] < 0.1 < mean["thresholds"] < 1
    assert (results / "my_study/quick/figures/mean_curve.png").is_file()
    steps = pd.read_csv(results / "my_steps/quick/my_steps.csv")
    assert set(steps["status"]) == {"ok"}
    assert steps.loc[steps["record"] == "epsilon", "iterations"].notna().all()
    curve = pd.read_csv(results / "my_curve/quick/my_curve.csv")
    errors = curve.groupby("rows")["error"].mean()
    assert list(errors.index) == [20, 40, 80]
    assert errors[80] < errors[20]


@pytest.mark.parametrize("name", ["README.md", "docs/plugins.md"])
def test_algorithms_in_the_documents_keep_the_contract(tmp_path, name):
    with kept_registry():
        # Other tests of this process may have registered algorithms.
        before = set(registry.parts("algorithm"))
        files = write_plugins(tmp_path, name)
        load_plugins(tmp_path / file for file in files if not file.startswith("test_"))
        own = set(registry.parts("algorithm")) - before
        assert len(own) >= 2
        for algorithm in own:
            check_algorithm(algorithm)


def test_the_test_of_an_algorithm_in_the_documents_passes(tmp_path):
    write_plugins(tmp_path, "docs/plugins.md")
    command = [sys.executable, "-m", "pytest", "-q", "test_screening.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert f"{len(CHECKS)} passed" in done.stdout


def test_the_checks_of_algorithms_are_listed():
    text = (REPOSITORY / "docs" / "plugins.md").read_text(encoding="utf-8")
    listed = [line for line in text.splitlines() if line.startswith("| `")]
    for check in CHECKS.values():
        assert f"| `{check.name}` | {check.help} |" in listed


@pytest.mark.deep
def test_the_shipped_recording_of_a_home_can_be_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path)
    (block,) = [one for one in whole_experiments() if "casas_sample" in one]
    frame = greedyexp.run(yaml.safe_load(block), trials=2, out=tmp_path / "out", engine="serial")
    assert (frame["status"] == "ok").all()
    assert sorted(frame.loc[frame["record"] == "size", "reached"]) == [1, 1, 2, 2, 3, 3]
    errors = frame.pivot_table("test_word_error", "replicate", "size")
    assert (errors[3] < errors[1]).all()
    assert (tmp_path / "out" / "my_home" / "quick" / "my_home.csv").exists()


@pytest.mark.parametrize("name", ["README.md", "docs/claims.md"])
def test_claims_in_the_documents_are_valid_for_the_main_experiment(name):
    main = yaml.safe_load(shipped.configs()["phase_transition"].read_text(encoding="utf-8"))
    main.pop("profiles")
    whole = whole_experiments()
    claimed = [block for block in yaml_blocks(name) if "claims:" in block and block not in whole]
    assert claimed
    for block in map(yaml.safe_load, claimed):
        experiment = load({**main, **block})
        assert [claim.id for claim in experiment.claims] == [one["id"] for one in block["claims"]]
