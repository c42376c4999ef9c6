"""``greedyexp verify`` and the claims of ``greedyexp run``."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml
from cli_process import answer, environment, refused, write_toy

CLAIMS = {
    "good": "proportion(toy_exact) > 0.5",
    "open": "proportion(toy_exact) > 0.99",
    "bad": "proportion(toy_exact) < 0.5",
}
FAILING = {"failing": "proportion(toy_broken) < 0.5"}


def add_claims(config: Path, *names: str) -> None:
    lines = ["claims:"]
    for name in names:
        lines += [
            f"  - id: {name}",
            f'    quote: "The paper says {name}."',
            '    place: "Section 3"',
            f"    test: {(CLAIMS | FAILING)[name]}",
        ]
    config.write_text(config.read_text().replace("trials: 3", "trials: 40") + "\n".join(lines))


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """Three experiments that ran: one claim each that holds, is open, is refuted."""
    folder = tmp_path_factory.mktemp("verify")
    configs = [write_toy(folder, name, "[toy_exact, toy_broken]") for name in CLAIMS]
    for config in configs:
        add_claims(config, config.stem)
    options = ("--engine", "serial", "--keep-going", "--set", "time_limit=null")
    run = answer("run", *configs, *options, cwd=folder)
    # Replicates of the broken algorithm failed; that a claim is refuted is a result.
    assert run.returncode == 1, run.stderr
    for name, word in (("good", "supported"), ("open", "inconclusive"), ("bad", "refuted")):
        assert f"{name}  {word}" in run.stdout
    return folder


@pytest.fixture
def results(runs, tmp_path) -> Path:
    shutil.copytree(runs / "results", tmp_path / "results")
    shutil.copy(runs / "toy_plugin.py", tmp_path)
    return tmp_path / "results"


def test_run_and_verify_write_the_same_bytes(call, results):
    before = {path: path.read_bytes() for path in results.rglob("claims.json")}
    assert len(before) == 3
    done = call("verify", cwd=results.parent)
    assert done.returncode == 4
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize(
    ("name", "options", "code"),
    [
        ("good", ("--strict",), 0),
        ("open", (), 0),
        ("open", ("--strict",), 5),
        ("", ("--strict",), 4),
    ],
)
def test_exit_codes(call, results, name, options, code):
    done = call("verify", results / name, *options, cwd=results)
    assert (done.returncode, done.stderr) == (code, "")


def test_what_is_said_of_a_claim(call, results):
    said = call("verify", results / "open", cwd=results).stdout
    assert "open (quick): 1 claim, 1 inconclusive" in said
    assert "open: inconclusive (2 of 2 tests)" in said
    for words in (
        "proportion(toy_exact) > 0.99",
        "n_samples = 6",
        "1 against 0.99",
        "40 per point",
        "trials per point would decide it.",
        '"The paper says open."',
        "Section 3",
    ):
        assert words in said


def test_quiet_tells_what_is_not_supported_and_nothing_else(call, results):
    said = call("verify", results, "-q", cwd=results).stdout
    assert "bad: refuted" in said
    assert "open: inconclusive" in said
    assert "good" not in said
    assert call("verify", results / "good", "-q", cwd=results).stdout == ""


def test_json_is_what_the_files_hold(call, results):
    done = call("verify", results, "--json", cwd=results)
    contents = json.loads(done.stdout)
    files = sorted(results.rglob("claims.json"))
    assert contents == [json.loads(file.read_text(encoding="utf-8")) for file in files]
    assert [one["claims"][0]["verdict"] for one in contents] == [
        "refuted", "supported", "inconclusive",
    ]  # fmt: skip
    assert done.returncode == 4


def test_a_challenge_lists_what_cannot_fail(call, results):
    files = {path: path.read_bytes() for path in results.rglob("claims.json")}
    done = call("verify", results, "--challenge", cwd=results)
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        "good (quick): 1 claim, 1 supported\n1 of 1 test of supported claims can fail"
        in done.stdout
    )
    assert call("verify", results, "--challenge", "-q", cwd=results).stdout == ""
    for name in ("bad", "open"):
        # No claim is supported, so none can be at fault.
        assert call("verify", results / name, "--challenge", cwd=results).returncode == 0
    config = results / "good" / "quick" / "config.yaml"
    known = CLAIMS["good"]
    config.write_text(config.read_text().replace(known, "always(support(toy_exact) >= 0)"))
    done = call("verify", results, "--challenge", "-q", cwd=results)
    assert done.returncode == 6
    assert done.stdout.splitlines()[:5] == [
        "good (quick): 1 claim, 1 supported",
        "0 of 1 test of supported claims can fail",
        "",
        "good: always(support(toy_exact) >= 0)",
        "  It holds whatever is altered.",
    ]
    assert {path: path.read_bytes() for path in files} == files
    for option in ("--strict", "--json"):
        done = call("verify", results, "--challenge", option, cwd=results)
        refused(done, f"--challenge and {option} cannot be used together.")


def test_one_damaged_folder_does_not_hide_the_others(call, results):
    (results / "good" / "quick" / "config.yaml").write_text("name: [")
    done = call("verify", results, cwd=results)
    assert "bad: refuted" in done.stdout
    assert "open: inconclusive" in done.stdout
    refused(done, "config.yaml", "not a readable configuration")


def _of_an_older_version(run: Path) -> None:
    """Leave out the digests of the manifest, so files that were edited are read."""
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["digests"]
    (run / "manifest.json").write_text(json.dumps(manifest))


def _cut(run: Path) -> None:
    """The first half of a compressed table."""
    whole = gzip.compress((run / "good.csv").read_bytes())
    (run / "good.csv").unlink()
    (run / "good.csv.gz").write_bytes(whole[: len(whole) // 2])


def _table(column: str, value: str | None):
    """Every cell of a column replaced; without a value, the column taken out."""

    def damage(run: Path) -> None:
        frame = pd.read_csv(run / "good.csv", dtype=str, keep_default_na=False)
        frame = frame.drop(columns=column) if value is None else frame.assign(**{column: value})
        frame.to_csv(run / "good.csv", index=False)

    return damage


def _config(key: str, value=None):
    """A key of the configuration replaced; without a value, taken out."""

    def damage(run: Path) -> None:
        config = yaml.safe_load((run / "config.yaml").read_text())
        config.pop(key, None)
        config |= {} if value is None else {key: value}
        (run / "config.yaml").write_text(yaml.safe_dump(config))

    return damage


DAMAGES = [
    (_cut, "good.csv.gz: the table cannot be read"),
    (_table("algorithm", None), "good.csv: the table has no column 'algorithm'."),
    (_table("status", None), "good.csv: the table has no column 'status'."),
    (_table("replicate", None), "good.csv: the table has no column 'replicate'."),
    (_table("algorithm", ""), "good.csv: column 'algorithm' of the table has empty cells."),
    (_config("trials", {}), "config.yaml: trials"),
    (_config("trials"), "config.yaml: 'trials' is missing."),
    (_config("metrics"), "config.yaml: 'metrics' is missing."),
    (_config("data"), "config.yaml: 'data' is missing."),
    (_config("paper", 5), "config.yaml: paper: paper must be a mapping, but is 5."),
    (_config("algorithms", [5]), "config.yaml: algorithms[0]"),
    (_config("algorithms", [{}]), "config.yaml: algorithms[0]"),
    (_config("data", {"sweep": 5}), "config.yaml: data.sweep: "),
]


@pytest.mark.parametrize(("damage", "words"), DAMAGES)
@pytest.mark.parametrize("command", ["verify", "plot"])
def test_a_damaged_run_is_a_sentence_and_hides_no_other(call, results, command, damage, words):
    _of_an_older_version(results / "good" / "quick")
    damage(results / "good" / "quick")
    done = call(command, results, cwd=results)
    refused(done, words)
    assert command == "plot" or "bad: refuted" in done.stdout


def test_a_reader_that_leaves_early_costs_no_verdict(results):
    files = sorted(results.rglob("claims.json"))
    for file in files:
        file.unlink()
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run(
        [sys.executable, "-u", "-m", "greedyexp", "verify"],
        cwd=results.parent,
        env=environment(),
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(writer)
    assert process.stderr == ""
    assert all(file.is_file() for file in files)


def test_a_later_run_that_did_not_finish_is_noted(call, results):
    folder = results / "good" / "quick"
    assert "did not finish" not in call("verify", folder, cwd=results).stderr
    (folder / ".next").mkdir()
    shutil.copy(folder / "config.yaml", folder / ".next")
    said = call("verify", folder, cwd=results).stderr
    assert f"Note: {folder}: a run is in progress or did not finish" in said


def test_a_claim_that_cannot_be_read_is_one_sentence(call, results):
    config = results / "good" / "quick" / "config.yaml"
    config.write_text(config.read_text().replace("proportion(toy_exact)", "proportion(toy_exct)"))
    refused(call("verify", config.parent, cwd=results), str(config), "'toy_exct'")
    _of_an_older_version(config.parent)
    config.write_text(config.read_text().partition("claims:")[0] + "claims: [1]\n")
    refused(call("verify", config.parent, cwd=results), str(config), "a claim must be a mapping")


def test_a_folder_without_claims_says_so(call, results):
    config = results / "good" / "quick" / "config.yaml"
    config.write_text(config.read_text().partition("claims:")[0])
    done = call("verify", config.parent, "--strict", cwd=results)
    assert done.returncode == 0
    assert "good (quick): the experiment makes no claims" in done.stdout
    # Verdicts of an earlier configuration must not outlive it.
    assert not (config.parent / "claims.json").exists()


def test_a_folder_in_the_place_of_the_verdicts_is_left_alone(call, results):
    target = results / "good" / "quick" / "claims.json"
    target.unlink()
    target.mkdir()
    done = call("verify", results / "good", cwd=results)
    assert done.returncode == 0
    assert "good: supported" in done.stdout
    assert "are left alone" in done.stderr
    assert str(target) in done.stderr
    assert target.is_dir()


def test_nothing_to_verify_is_refused(call, tmp_path):
    refused(call("verify", cwd=tmp_path), "no finished run", "results")


def test_a_claim_about_an_algorithm_that_always_fails_is_open(call, tmp_path):
    config = write_toy(tmp_path, "toy", "[toy_exact, toy_broken]")
    add_claims(config, "failing")
    run = call("run", config, "--engine", "serial", "--keep-going", cwd=tmp_path)
    assert "failing  inconclusive" in run.stdout
    said = call("verify", tmp_path / "results/toy", cwd=tmp_path).stdout
    assert "40 per point (40 of 40 failed)" in said
    assert "The failed runs decide it" in said


def test_a_narrowed_run_leaves_its_claims_open(call, tmp_path):
    config = write_toy(tmp_path, "toy", "[toy_exact, toy_broken]")
    add_claims(config, "good", "failing")
    run = call(
        *("run", config, "--only", "algorithm=toy_exact", "--engine", "serial"), cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr
    assert "failing  inconclusive" in run.stdout
    found = json.loads((tmp_path / "results/toy/quick/claims.json").read_text(encoding="utf-8"))
    assert [one["verdict"] for one in found["claims"]] == ["supported", "inconclusive"]
    assert "no rows of toy_broken" in found["claims"][1]["reason"]


def test_a_test_with_a_comma_in_braces_needs_quotes(call, tmp_path):
    config = write_toy(tmp_path)
    cut = "claims: [{id: cut, quote: q, test: mean(toy_exact, support) > 0}]\n"
    config.write_text(config.read_text() + cut)
    words = ("unknown key 'support) > 0'", "Put a text with a comma in quotes.")
    refused(call("check", config, cwd=tmp_path), *words)


def test_check_refuses_what_a_claim_cannot_mean(call, tmp_path):
    config = write_toy(tmp_path)
    add_claims(config, "good")
    config.write_text(config.read_text().replace("> 0.5", "> 0.5 * n_sampels"))
    line = len(config.read_text().splitlines())
    refused(
        call("check", config, cwd=tmp_path),
        f"toy.yaml:{line}",
        "no column 'n_sampels'",
        "Did you mean 'n_samples'?",
    )
    allowed = call("check", config, "--set", "claims=[]", cwd=tmp_path)
    assert allowed.returncode == 0
