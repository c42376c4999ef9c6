"""Completion: what is offered, how fast, and that bash inserts it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from cli_process import environment, refused

from greedyexp import cli
from greedyexp.core import registry, shipped
from greedyexp.core.parts import KINDS
from greedyexp.datasets import catalogue


def asked(line: str) -> dict[str, str]:
    """Return the variables in which bash asks what completes the last word of a line."""
    return {
        "_GREEDYEXP_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }


@pytest.fixture
def offered(monkeypatch, capsys, tmp_path):
    """``offered(line)``: what replaces the last word of the line."""
    monkeypatch.chdir(tmp_path)

    def ask(line: str) -> list[str]:
        for name, value in asked(line).items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit, match="0"):
            cli.main([])
        return [word.removeprefix("plain,") for word in capsys.readouterr().out.splitlines()]

    return ask


def test_commands_and_their_choices_are_offered(offered):
    assert offered("greedyexp s") == ["status", "show", "schema"]
    assert offered("greedyexp data ") == ["list", "where", "fetch"]
    assert offered("greedyexp run --profile ") == ["smoke", "quick", "paper", "deep"]
    assert "--dry-run" in offered("greedyexp run --dr")


def test_shipped_configs_and_files_are_offered(offered):
    assert offered("greedyexp run ") == ["file,", *shipped.configs()]
    assert offered("greedyexp check phase_t") == ["file,phase_t", "phase_transition"]


def test_every_part_data_set_and_config_can_be_shown(offered):
    kinds = map(registry.parts, KINDS)
    parts = {name for kind in kinds for name, part in kind.items() if part.shipped}
    words = offered("greedyexp show ")
    assert set(words) == {*parts, *catalogue.known(), *shipped.configs()}
    assert len(words) == len(set(words))
    assert offered("greedyexp data fetch leu") == ["leukemia"]


def test_run_folders_are_offered(offered, tmp_path):
    for name in ("one/smoke", "two/paper"):
        (tmp_path / "results" / name).mkdir(parents=True)
    (tmp_path / "results" / "two" / "paper" / "manifest.json").touch()
    for command in ("plot", "verify", "status"):
        assert offered(f"greedyexp {command} r") == ["dir,r", "results/two/paper"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(call, tmp_path, shell):
    printed = call("completion", shell, cwd=tmp_path)
    assert printed.returncode == 0
    assert f"_GREEDYEXP_COMPLETE={shell}_complete" in printed.stdout


def test_an_unknown_shell_is_refused(call, tmp_path):
    refused(call("completion", "cmd", cwd=tmp_path), "there is no 'cmd'")


def test_bash_inserts_what_is_offered(call, tmp_path):
    wrapper = tmp_path / "greedyexp"
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -m greedyexp "$@"\n')
    wrapper.chmod(0o755)
    typed = "COMP_WORDS=(./greedyexp run phase_t); COMP_CWORD=2; _greedyexp_completion ./greedyexp"
    printed = call("completion", "bash", cwd=tmp_path).stdout
    script = f'{printed}\n{typed}; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "phase_transition"


@pytest.mark.parametrize("line", ["run ", "show ", "", "plot "])
def test_an_answer_needs_no_heavy_library(tmp_path, line):
    """Numpy, pandas or pydantic would take longer than all else."""
    code = (
        "import sys\nfrom greedyexp import cli\n"
        "try:\n    cli.main([])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'numpy', 'pandas', 'pydantic', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**environment(), **asked(f"greedyexp {line}")},
        capture_output=True,
        text=True,
        check=True,
    )
    *answers, loaded = done.stdout.splitlines()
    assert answers
    assert loaded == "[]"
