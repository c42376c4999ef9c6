"""Profiles: deep merges, and who decides when a parameter is fixed here and swept there."""

from __future__ import annotations

import pytest
from experiment_parts import BASE, base, message, registered  # noqa: F401 (an autouse fixture)

from greedyexp.config import load


def merged(changes, data=None, **settings):
    data = data or {
        "generator": "t_overlap",
        "p": 64,
        "sweep": {"theta": [1, 2], "kappa": [0.5, 1]},
    }
    return load(base(data=data, profiles={"smoke": changes}, **settings), profile="smoke")


def column(experiment, name):
    return sorted({point.params[name] for point in experiment.points})


def test_a_profile_changes_what_it_names_and_nothing_else():
    base_run, smoke = load(base()), load(base(), profile="smoke")
    assert (base_run.trials, smoke.trials) == (3, 2)
    assert column(base_run, "theta") == [0.4, 0.6, 0.8, 1.0, 1.2]
    assert column(smoke, "theta") == [0.6, 1.2]
    for name in ("p", "kappa"):
        assert column(smoke, name) == column(base_run, name)
    assert (smoke.algorithms, smoke.profile) == (base_run.algorithms, "smoke")


@pytest.mark.parametrize("profile", ["quick", "paper", "deep"])
def test_a_profile_that_changes_nothing_runs_the_settings_of_the_file(profile):
    experiment = load(base(), profile=profile)
    assert (experiment.trials, len(experiment.points)) == (3, 20)


def test_a_profile_that_fixes_ends_the_sweep():
    experiment = merged({"data": {"theta": 3}})
    assert column(experiment, "theta") == [3.0]
    assert experiment.swept == ["kappa"]


def test_a_profile_that_sweeps_unfixes():
    experiment = merged({"data": {"sweep": {"p": [8, 16]}}})
    assert experiment.swept == ["p", "kappa", "theta"]
    assert column(experiment, "p") == [8, 16]


def test_a_range_replaces_a_range_as_a_whole():
    data = {"generator": "t_overlap", "p": 8, "sweep": {"theta": {"from": 1, "to": 2, "step": 0.5}}}
    experiment = merged({"data": {"sweep": {"theta": {"from": 1, "to": 9, "num": 2}}}}, data)
    assert column(experiment, "theta") == [1.0, 9.0]


def test_zips_give_way():
    zipped = {"generator": "t_overlap", "sweep": {"zip": [{"p": [8, 16], "s": [1, 2]}]}}
    fixed = merged({"data": {"p": 32}}, zipped)
    assert [(point.params["p"], point.params["s"]) for point in fixed.points] == [(32, 1), (32, 2)]
    swept = merged({"data": {"sweep": {"s": [3], "p": [9]}}}, zipped)
    assert [(point.params["p"], point.params["s"]) for point in swept.points] == [(9, 3)]
    one = {"generator": "t_overlap", "sweep": {"zip": {"p": [8, 16], "s": [1, 2]}}}
    assert len(merged({"data": {"p": 32, "s": 3}}, one).points) == 1
    plain = {"generator": "t_overlap", "p": 8, "sweep": {"s": [1, 2]}}
    paired = merged({"data": {"sweep": {"zip": {"p": [8, 16], "s": [1, 2]}}}}, plain)
    assert [(point.params["p"], point.params["s"]) for point in paired.points] == [(8, 1), (16, 2)]


def test_lists_replace_and_mappings_merge():
    experiment = merged({"algorithms": ["t_lasso"], "paper": {"figure": "Figure 2"}})
    assert [spec.name for spec in experiment.algorithms] == ["t_lasso"]
    assert (experiment.paper.key, experiment.paper.figure) == ("jalali2012", "Figure 2")


def test_another_generator_brings_its_own_data():
    changes = {
        "data": {"generator": "t_file", "name": "a"},
        "figures": [],
        "algorithms": ["t_lasso"],
        "metrics": ["t_size"],
    }
    experiment = merged(changes)
    assert [point.params for point in experiment.points] == [{"name": "a", "exponents": None}]


def test_errors_in_a_profile_name_its_own_line(tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text(BASE.replace("[0.6, 1.2]}}}", "\n      [0.6,\n      -2]}}}"))
    assert message(file, profile="smoke").startswith(f"{file}:21: theta must be more than 0")
    assert load(file, profile="paper").trials == 3


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("smoke:", "smok:", "19: there is no profile 'smok'. Did you mean 'smoke'?"),
        ("{trials: 2,", "{trails: 2,", "19: profile 'smoke': unknown key 'trails'"),
        ("{trials: 2,", "{name: b,", "19: a profile cannot change name"),
        ("paper: {}", "paper: 3", "20: profile 'paper' must be a mapping, but is 3"),
        ("smoke: {trials: 2,", "smoke: {trials: no,", "19: trials must be a whole number"),
    ],
)
def test_bad_profiles(tmp_path, old, new, words):
    file = tmp_path / "a.yaml"
    assert old in BASE
    file.write_text(BASE.replace(old, new))
    assert f"{file}:{words}" in message(file, profile="smoke")


def test_an_unknown_profile_is_refused():
    assert "profiles must be a mapping, but is 3" in message(base(profiles=3))
    error = message(base(), profile="papre")
    assert "there is no profile 'papre'. Did you mean 'paper'?" in error
    assert "deep, paper, quick, smoke" in message(base(), profile="x")
