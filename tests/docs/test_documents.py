"""The documents: their links work, and their examples run."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import yaml
from cli_process import REPOSITORY, answer, environment
from kept_registry import kept_registry
from sklearn.linear_model import GammaRegressor

import greedyexp
from greedyexp.config import load
from greedyexp.core import registry, shipped
from greedyexp.core.plugins import load_plugins
from greedyexp.figures._plot import style
from greedyexp.losses.binding import bind
from greedyexp.problems.problem import as_problem
from greedyexp.testing import check_algorithm, check_loss
from greedyexp.testing.checks import CHECKS

DOCUMENTS = [
    *(REPOSITORY / name for name in ("README.md", "DESIGN.md", "CONTRIBUTING.md")),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
]
GUIDE = sorted((REPOSITORY / "docs" / "guide").glob("*.md"))
# A verdict in the README names its experiment and claim in the title of the link.
VERDICT = re.compile(r'\[(\w+)\]\((results/\S+/claims\.json) "(\w+): ([\w-]+)"\)')
FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")
LINKED = re.compile(r"\[([^\]]*)\]\([^()\s]+\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
# A name that MyST gives to the heading below it.
EXPLICIT = re.compile(r"^\(([\w-]+)\)=$", re.MULTILINE)
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


def whole_of(name: str) -> list[str]:
    return [block for block in yaml_blocks(name) if re.search(r"^name:", block, re.MULTILINE)]


def whole_experiments() -> list[str]:
    """Return the experiments of the guide that need no plugin."""
    return [block for page in GUIDE if page.stem != "plugins" for block in whole_of(named(page))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_relative_links_lead_to_files(document):
    text = FENCED.sub("", document.read_text(encoding="utf-8"))
    targets = [link.partition("#")[0] for link in LINK.findall(text) if "://" not in link]
    # `make docs` writes the generated pages, and Sphinx checks the links to them.
    lost = [one for one in targets if one and not (document.parent / one).exists()]
    assert [one for one in lost if "reference/generated/" not in one] == []


def anchors(document) -> set[str]:
    """Return the explicit anchors of a document and those that GitHub and MyST make of headings."""
    text = FENCED.sub("", document.read_text(encoding="utf-8"))
    plain = [LINKED.sub(r"\1", heading) for heading in HEADING.findall(text)]
    made = {re.sub(r"[^\w\- ]", "", one.strip().lower()).replace(" ", "-") for one in plain}
    return made | set(EXPLICIT.findall(text))


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_relative_links_lead_to_headings(document):
    text = FENCED.sub("", document.read_text(encoding="utf-8"))
    lost = []
    for link in LINK.findall(text):
        name, _, anchor = link.partition("#")
        target = document.parent / name if name else document
        if anchor and "://" not in link and target.suffix == ".md" and target.exists():
            lost += [link] if anchor not in anchors(target) else []
    assert lost == []


def test_links_are_found():
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert {"DESIGN.md", "CONTRIBUTING.md", "docs/guide/claims.md"} <= set(LINK.findall(text))


@pytest.mark.parametrize("name", shipped.configs())
def test_the_list_of_experiments_names_every_shipped_config(name):
    text = (REPOSITORY / "docs" / "experiments.md").read_text(encoding="utf-8")
    assert f"configs/{name}.yaml" in text


def test_the_readme_is_short_and_names_every_page_of_the_guide():
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 130
    assert {named(page) for page in GUIDE} <= set(LINK.findall(text))


def test_verdicts_in_the_readme_are_those_of_the_results():
    found = VERDICT.findall((REPOSITORY / "README.md").read_text(encoding="utf-8"))
    assert len(found) == 5
    for said, path, experiment, name in found:
        record = json.loads((REPOSITORY / path).read_text(encoding="utf-8"))
        verdicts = {claim["id"]: claim["verdict"] for claim in record["claims"]}
        assert (record["experiment"], verdicts.get(name)) == (experiment, said)


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
    files = write_plugins(tmp_path, "docs/guide/plugins.md")
    files.remove("test_screening.py")
    blocks = map(yaml.safe_load, whole_of("docs/guide/plugins.md"))
    experiments = {block["name"]: yaml.safe_dump(block) for block in blocks}
    named = [file for b in experiments.values() for file in yaml.safe_load(b)["plugins"]]
    assert set(files) == set(named)
    assert len(files) == 9
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
    assert pd.read_csv(results / "my_loss/quick/my_loss.csv")["sign_support"].tolist() == [1, 1, 1]
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 6)), rng.exponential(size=40)
    check_loss("gamma", as_problem(X, y))
    found = bind("gamma", as_problem(X, y), ridge=0.1, intercept=True).minimise(range(6))
    peer = GammaRegressor(alpha=0.1, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(found.params, [*peer.coef_, peer.intercept_], atol=1e-6)


@pytest.mark.parametrize(
    ("name", "number"), [("docs/guide/plugins.md", 3), ("docs/guide/iterative_methods.md", 1)]
)
def test_algorithms_in_the_documents_keep_the_contract(tmp_path, name, number):
    with kept_registry():
        # Other tests of this process may have registered algorithms.
        before = set(registry.parts("algorithm"))
        files = write_plugins(tmp_path, name)
        load_plugins(tmp_path / file for file in files if not file.startswith("test_"))
        own = set(registry.parts("algorithm")) - before
        assert len(own) == number
        for algorithm in own:
            check_algorithm(algorithm)


def test_the_test_of_an_algorithm_in_the_documents_passes(tmp_path):
    write_plugins(tmp_path, "docs/guide/plugins.md")
    command = [sys.executable, "-m", "pytest", "-q", "test_screening.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert f"{len(CHECKS)} passed" in done.stdout


def test_the_checks_of_algorithms_are_listed():
    text = (REPOSITORY / "docs" / "guide" / "plugins.md").read_text(encoding="utf-8")
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


def test_claims_in_the_documents_are_valid_for_the_main_experiment():
    main = yaml.safe_load(shipped.configs()["phase_transition"].read_text(encoding="utf-8"))
    main.pop("profiles")
    whole = whole_experiments()
    claimed = [
        block
        for block in yaml_blocks("docs/guide/claims.md")
        if "claims:" in block and block not in whole
    ]
    assert claimed
    for block in map(yaml.safe_load, claimed):
        experiment = load({**main, **block})
        assert [claim.id for claim in experiment.claims] == [one["id"] for one in block["claims"]]


# Pages whose commands and code run in a folder of their own. The pages on clusters and editors need
# machines or programs; they are tested with their engines and commands.
RUN = [
    "README.md",
    *(f"docs/guide/{name}.md" for name in ("first_experiment", "own_data", "iterative_methods")),
    *(f"docs/guide/{name}.md" for name in ("feature_selection", "accuracy_for_sparsity")),
    *(f"docs/guide/{name}.md" for name in ("replay", "results", "plugins")),
    "docs/misprints.md",
]
# What these pages run before: the README, and a run that its reader has made.
BEFORE = {
    "docs/guide/replay.md": [
        "greedyexp run phase_transition --trials 2",
        "greedyexp run phase_transition --trials 2 --set data.noise_std=0.316",
        "greedyexp run phase_transition --profile smoke",
    ],
    "docs/guide/results.md": ["greedyexp run phase_transition --profile smoke"],
}
# Exit codes that report a difference or a refuted claim.
REPORTS = {"compare": {0, 1}, "verify": {0, 4}}


def commands_of(name: str) -> list[str]:
    """Return the commands of a document, each on one line and without its comment."""
    text = (REPOSITORY / name).read_text(encoding="utf-8")
    lines = [
        line
        for language, block in FENCED.findall(text)
        if not language
        for line in block.replace("\\\n", "").splitlines()
    ]
    return [
        shlex.join(shlex.split(line, comments=True))
        for line in lines
        if line.startswith("greedyexp ")
    ]


@pytest.mark.deep
@pytest.mark.parametrize("name", RUN)
def test_commands_and_code_of_a_page_run(tmp_path, monkeypatch, name):
    monkeypatch.setitem(style.SETTINGS, "savefig.dpi", 20)
    lay_out(tmp_path)
    (tmp_path / "results" / "phase_transition").mkdir(parents=True)
    paper = REPOSITORY / "results" / "phase_transition" / "paper"
    shutil.copytree(paper, tmp_path / "results" / "phase_transition" / "paper")
    files = write_plugins(tmp_path, name)
    text = (REPOSITORY / name).read_text(encoding="utf-8")
    wholes = whole_of(name)
    for block in wholes:
        (tmp_path / f"{yaml.safe_load(block)['name']}.yaml").write_text(block, encoding="utf-8")
    own = [] if name == "docs/guide/first_experiment.md" else wholes
    lines = [
        *BEFORE.get(name, []),
        *commands_of(name),
        *(f"greedyexp run {yaml.safe_load(block)['name']}.yaml" for block in own),
    ]
    for line in lines:
        _, command, *options = shlex.split(line)
        if command == "run" and "--engine" not in options:
            # The starts of workers and further replicates cost time and show nothing new.
            options += ["--engine", "serial"]
            options = ["smoke" if one == "quick" else one for one in options]
        done = answer(command, *options, cwd=tmp_path)
        assert done.returncode in REPORTS.get(command, {0}), (line, done.stdout, done.stderr)
    code = [
        block
        for language, block in FENCED.findall(text)
        if language == "python" and block.partition("\n")[0].removeprefix("# ") not in files
    ]
    # A fragment, such as a docstring alone, is indented.
    whole = [block for block in code if not block.startswith(" ")]
    for block in whole:
        command = [sys.executable, "-c", block]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment(), capture_output=True, text=True
        )
        assert done.returncode == 0, (block, done.stderr)
    assert lines or whole
