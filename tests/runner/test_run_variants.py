"""Overrides that change rows get a results folder of their own."""

from __future__ import annotations

import pytest
from cli_process import refused, write_toy

from greedyexp import run
from greedyexp.config.patches import options, parse_override
from greedyexp.config.run_names import variant_name


def named(*overrides: str, seed: int | None = None) -> str:
    return variant_name([*map(parse_override, overrides), *options(seed=seed)])


@pytest.mark.parametrize(
    ("overrides", "name"),
    [
        ((), ""),
        (("data.noise_std=0.5",), "+noise_std=0.5"),
        (("noise_std=0.5",), "+noise_std=0.5"),
        (("data.kappa=[0.1, 0.9]",), "+kappa=0.1,0.9"),
        (("data.p=64", "algorithms.lasso.tuning=cv"), "+lasso.tuning=cv+p=64"),
        (("algorithms.lasso.tuning=cv", "data.p=64"), "+lasso.tuning=cv+p=64"),
        (("data.p=32", "data.p=64"), "+p=64"),
        (("seed=3",), "+seed=3"),
        (("plugins=[screening.py]",), "+plugins=screening.py"),
        (("plugins+=[a.py]", "plugins+=[b.py]"), "+plugins+=a.py,b.py"),
        (("trials=9", "time_limit=3", "figures=[]", "claims=[]"), ""),
        (("trials.max=9", "figures.comparison.row=p", "paper.key=x"), ""),
    ],
)
def test_the_name_says_what_was_changed(overrides, name):
    assert named(*overrides) == name


def test_the_seed_of_the_command_line_counts():
    assert named(seed=7) == "+seed=7"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("data.x='0.1,0.9'", "data.x=[0.1, 0.9]"),
        ("data.x={from: 1, to: 2, num: 3}", "data.x={from: 1, to: 2, num: 4}"),
        ("data.x=a b", "data.x=a-b"),
        ("data.x=../../etc", "data.x=..-..-etc"),
        ("data.x=[]", "data.x=['']"),
    ],
)
def test_other_values_have_another_name_that_can_be_a_folder(one, other):
    names = {named(one), named(other)}
    assert len(names) == 2
    assert all("/" not in name and " " not in name for name in names)


def test_many_changes_have_a_short_name():
    many = [f"algorithms.an_algorithm_with_a_name.parameter_{k}={k}.25" for k in range(20)]
    assert len(named(*many)) < 100
    assert named(*many) != named(*many[1:])


def test_overrides_overwrite_nothing(call, tmp_path):
    config = write_toy(tmp_path)
    plain = tmp_path / "results/toy/quick/toy.csv"
    for given in ((), ("--set", "p=5"), ("--set", "p=6"), ("--set", "p=6", "--tag", "mine")):
        done = call("run", config, "--engine", "serial", "-q", *given, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        plain_table = plain.read_bytes()
    assert plain.read_bytes() == plain_table
    folders = sorted(path.name for path in (tmp_path / "results/toy").iterdir())
    assert folders == ["quick", "quick+mine", "quick+p=5", "quick+p=6"]
    status = call("status", "results", cwd=tmp_path)
    assert "toy/quick+p=5" in status.stdout
    assert "toy (quick+p=6): " in call("verify", "results", cwd=tmp_path).stdout


def test_fewer_trials_replace_a_table_with_a_word(call, tmp_path):
    config = write_toy(tmp_path)
    command = ("run", config, "--engine", "serial")
    assert "replaced" not in call(*command, cwd=tmp_path).stdout
    assert "replaced" not in call(*command, "--trials", "4", cwd=tmp_path).stdout
    fewer = call(*command, "--trials", "2", cwd=tmp_path).stdout
    assert "replaced results with other settings (trials: 4 -> 2)." in fewer
    assert "remain in the journal" in fewer
    assert "4 of 4 done, 0 failed; 0 computed" in fewer


def test_a_changed_file_replaces_a_table_with_a_word(call, tmp_path):
    config = write_toy(tmp_path)
    command = ("run", config, "--engine", "serial")
    call(*command, cwd=tmp_path)
    config.write_text(config.read_text().replace("seed: 7", "seed: 8"))
    assert "(seed: 7 -> 8)" in call(*command, cwd=tmp_path).stdout


@pytest.mark.parametrize("tag", ["a/b", "", "a b", "x" * 101])
def test_a_tag_must_name_a_folder(call, tmp_path, tag):
    config = write_toy(tmp_path)
    refused(call("run", config, "--tag", tag, cwd=tmp_path), "--tag", "cannot name a folder")


def test_python_names_the_folder_alike(tmp_path, monkeypatch):
    write_toy(tmp_path)
    monkeypatch.chdir(tmp_path)
    run("toy.yaml", engine="serial", overrides=("p=5",))
    run("toy.yaml", engine="serial", overrides=("p=5",), tag="named")
    folders = sorted(path.name for path in (tmp_path / "results/toy").iterdir())
    assert folders == ["quick+named", "quick+p=5"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("data.x='1'",), ("data.x=1",)),
        (("data.p=64",), ("data.p=64", "algorithms.p=64")),
    ],
)
def test_names_that_would_be_alike_are_told_apart(one, other):
    assert named(*one) != named(*other)
