"""``greedyexp run --until-decided``: what it says of looks, open claims and its limits."""

import json

import pytest
from cli_process import refused, write_toy

CLAIMS = """
claims:
  - {id: holds, quote: "It holds.", test: proportion(toy_exact) > 0.5}
  - {id: strict, quote: "Nearly always.", test: proportion(toy_exact) > 0.92, where: {n_samples: 6}}
  - {id: tie, quote: "It is better.", test: proportion(toy_exact) > proportion(other)}
"""
RULE = ("--engine", "serial", "--until-decided")


@pytest.fixture
def toy(tmp_path):
    config = write_toy(tmp_path, "toy", "[toy_exact, {toy_exact: {label: other}}]")
    config.write_text(config.read_text() + CLAIMS)
    return tmp_path


def test_the_run_says_how_verdicts_came_about_and_what_is_open(call, toy):
    done = call("run", "toy.yaml", *RULE, "--trials", "12", "--max-trials", "200", cwd=toy)
    assert done.returncode == 0, done.stderr
    assert "holds   supported\nstrict  supported\ntie     inconclusive" in done.stdout
    said = "judged 4 times, at 12, 24, 48 and 96 trials per point"
    assert said in done.stdout
    assert "  tie is open: 2 of 2 tests are undecided; " in done.stdout
    assert "no number of trials would decide it" in done.stdout
    contents = json.loads((toy / "results/toy/quick/claims.json").read_bytes())
    assert contents["looks"]["trials"] == [12, 24, 48, 96]
    looks = {one["id"]: [test["look"] for test in one["tests"]] for one in contents["claims"]}
    assert looks == {"holds": [1, 1], "strict": [4], "tie": [4, 4]}
    verified = call("verify", cwd=toy)
    assert said in verified.stdout
    assert "decided at  look 4" in verified.stdout
    assert "last seen at  look 4" in verified.stdout
    assert json.loads((toy / "results/toy/quick/claims.json").read_bytes()) == contents


def test_the_limit_of_trials_leaves_claims_open_with_what_would_decide_them(call, toy):
    done = call("run", "toy.yaml", *RULE, "--trials", "12", "--max-trials", "24", cwd=toy)
    assert done.returncode == 0
    assert "strict is open: n_samples = 6: " in done.stdout
    assert "trials per point would decide it." in done.stdout
    assert "judged 2 times, at 12 and 24 trials per point" in done.stdout


def test_the_time_ends_a_run_with_code_0_and_the_same_command_continues(call, toy):
    often = ("run", "toy.yaml", *RULE, "--trials", "12")
    early = call(*often, "--max-time", "0.0001s", cwd=toy)
    assert early.returncode == 0
    assert "The time is over; finished replicates are kept" in early.stdout
    assert "no claim is decided" in early.stdout
    later = call(*often, "--max-time", "1h", cwd=toy)
    assert "The time is over" not in later.stdout
    assert "holds   supported" in later.stdout


def test_the_time_limits_runs_whose_file_has_the_rule(call, toy):
    rule = "trials={until: decided, min: 12, max: 24}"
    done = call("run", "toy.yaml", "--set", rule, "--max-time", "0.0001s", cwd=toy)
    assert done.returncode == 0, done.stderr
    assert "The time is over; finished replicates are kept" in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--max-time", "2h"), "--max-time 7200s: only runs until the claims are decided"),
        (("--max-trials", "9"), "--max-trials: it needs --until-decided"),
        (("--until-decided", "--max-time", "0"), "--max-time 0: '0' is not a duration"),
        (("--until-decided", "--max-trials", "2"), "--max-trials 2: the first look needs 3 trials"),
        (("--until-decided", "--shard", "1/2"), "adaptive trials depend on the results of all"),
        (
            ("--until-decided", "--set", "claims=[]"),
            "--until-decided: the experiment has no claims",
        ),
        (("--until-decided", "--only", "n_samples=6"), "need all points and algorithms"),
    ],
)
def test_options_that_do_not_fit_are_refused(call, toy, options, words):
    refused(call("run", "toy.yaml", "--engine", "serial", *options, cwd=toy), words)
    assert not (toy / "results").exists()
