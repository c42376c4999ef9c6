"""Completion: what is offered, how fast, and that bash and zsh insert it."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time

import pytest
import yaml
from cli_process import environment, refused, write_toy

from greedyexp import cli
from greedyexp.core import registry, shipped
from greedyexp.core.parts import KINDS
from greedyexp.datasets import catalogue
from greedyexp.protocols.fitting import TUNINGS

STUDY = {
    "name": "study",
    "data": {
        "generator": "gaussian",
        "p": 64,
        "sweep": {"noise_std": [0.1, 0.5], "zip": {"n_samples": [20, 30], "sparsity": [2, 3]}},
    },
    "algorithms": ["omp", {"lasso": {"tuning": "cv"}}, {"lasso": {"label": "tuned"}}],
    "metrics": ["support"],
}


@pytest.fixture
def offered(monkeypatch, capsys, tmp_path):
    """``offered(line)``: what replaces the last word of the line, in a folder with a config."""
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(STUDY))
    (tmp_path / "studies").mkdir()
    monkeypatch.chdir(tmp_path)

    def ask(line: str, word: str | None = None, shell: str = "zsh") -> list[str]:
        monkeypatch.setenv("_GREEDYEXP_COMPLETE", f"{shell}_complete")
        monkeypatch.setenv("GREEDYEXP_LINE", line)
        monkeypatch.setenv("GREEDYEXP_WORD", line.rpartition(" ")[2] if word is None else word)
        with pytest.raises(SystemExit, match="0"):
            cli.main([])
        lines = [one for one in capsys.readouterr().out.splitlines() if one]
        assert all(len(one.split("\t")) == 3 for one in lines)
        return [one.split("\t")[1] if one.startswith("plain") else one for one in lines]

    return ask


def test_commands_and_their_choices_are_offered(offered):
    assert offered("greedyexp s") == ["status", "show", "schema"]
    assert offered("greedyexp data ") == ["list", "where", "fetch"]
    assert offered("greedyexp run --profile ") == ["smoke", "quick", "paper", "deep"]
    assert offered("greedyexp run --profile=s") == ["--profile=smoke"]
    assert "--dry-run" in offered("greedyexp run --dr")
    assert offered("greedyexp new al") == ["algorithm"]


def test_configs_and_yaml_files_are_offered(offered, tmp_path):
    (tmp_path / "notes.txt").touch()
    (tmp_path / ".hidden.yaml").touch()
    (tmp_path / "studies" / "deep.yaml").touch()
    everything = offered("greedyexp run ")
    assert everything == [*shipped.configs(), "studies/", "study.yaml"]
    assert offered("greedyexp check phase_t") == ["phase_transition"]
    assert offered("greedyexp run omp.yaml st") == ["studies/", "study.yaml"]
    assert offered("greedyexp run studies/") == ["studies/deep.yaml"]
    assert offered("greedyexp run missing/") == []
    assert offered("greedyexp run .h") == [".hidden.yaml"]


def test_every_part_data_set_and_config_can_be_shown(offered, tmp_path):
    kinds = map(registry.parts, KINDS)
    known = {name for kind in kinds for name, part in kind.items() if part.shipped}
    assert set(offered("greedyexp show ")) == {*known, *catalogue.known(), *shipped.configs()}
    write_toy(tmp_path)
    assert offered("greedyexp show --plugin toy_plugin.py toy_e") == ["toy_exact"]
    assert offered("greedyexp data fetch leu") == ["leukemia"]


def test_run_folders_are_offered(offered, tmp_path):
    for name in ("one/smoke", "two/paper"):
        (tmp_path / "results" / name).mkdir(parents=True)
    (tmp_path / "results" / "two" / "paper" / "manifest.json").touch()
    for command in ("plot", "verify", "status"):
        assert offered(f"greedyexp {command} r") == ["results/two/paper", "results/"]
    assert offered("greedyexp plot results/o") == ["results/one/"]


def test_settings_are_offered_level_by_level(offered):
    line = "greedyexp run study.yaml --set "
    first = offered(line)
    assert {"seed=", "trials=", "data.", "algorithms."} <= set(first)
    assert "name=" not in first
    names = {
        f"data.{name}=" for name in registry.parts("generator")["gaussian"].parameters.model_fields
    }
    assert set(offered(line + "data.")) == {*names, "data.generator="}
    assert offered(line + "algorithms.") == [f"algorithms.{x}." for x in ("omp", "lasso", "tuned")]
    assert offered(line + "algorithms.tuned.n_l") == ["algorithms.tuned.n_lams="]
    tunings = [f"algorithms.lasso.tuning={word}" for word in TUNINGS]
    assert offered(line + "algorithms.lasso.tuning=") == tunings
    assert offered(line + "algorithms.omp.normalize=f") == ["algorithms.omp.normalize=false"]
    assert "protocol=recovery" in offered(line + "protocol=")
    assert offered(line + "seed=") == []
    assert offered("greedyexp run --set se") == ["seed="]


def test_columns_and_their_values_are_offered(offered):
    line = "greedyexp run study.yaml --only "
    names = ["algorithm", "p", "noise_std", "n_samples", "sparsity"]
    assert sorted(offered(line)) == sorted(f"{name}=" for name in names)
    assert offered(line + "algorithm=") == [f"algorithm={x}" for x in ("omp", "lasso", "tuned")]
    assert offered(line + "algorithm=lasso,t") == ["algorithm=lasso,tuned"]
    assert offered(line + "noise_std=") == ["noise_std=0.1", "noise_std=0.5"]
    assert offered(line + "n_samples=20,") == ["n_samples=20,30"]
    assert offered(line + "nothing=") == []
    assert "kappa=0.8" in offered("greedyexp check phase_transition --only kappa=")


def test_what_is_offered_can_be_used(call, offered, tmp_path):
    monkey = pytest.MonkeyPatch()
    for option in ("--only algorithm=", "--only noise_std=", "--set algorithms.omp.judge="):
        for word in offered(f"greedyexp check study.yaml {option}"):
            with monkey.context() as patch:
                patch.delenv("_GREEDYEXP_COMPLETE")
                result = call("check", "study.yaml", option.split()[0], word, cwd=tmp_path)
            assert result.returncode == 0, result.stderr


def test_bash_gets_the_end_of_what_it_split(offered):
    line = "greedyexp run study.yaml --only algorithm=la"
    assert offered(line, "la", "bash") == ["lasso"]
    assert offered("greedyexp run --profile=s", "s", "bash") == ["smoke"]
    assert offered("greedyexp run --set se", "se", "bash") == ["seed="]


@pytest.mark.parametrize(
    "text", ["", "[1, 2]", "data: 3", "a: [", "data: [1]\nalgorithms: {a: b}", "\xff"]
)
def test_configs_that_cannot_be_read_offer_nothing_and_say_nothing(offered, tmp_path, text):
    (tmp_path / "bad.yaml").write_text(text, encoding="latin-1")
    assert offered("greedyexp run bad.yaml missing.yaml --only ") == ["algorithm="]
    assert "seed=" in offered("greedyexp run bad.yaml --set ")


def test_only_known_shells_have_a_script(call, tmp_path):
    assert call("completion", "bash", cwd=tmp_path).stdout.startswith("# Completion of greedyexp")
    assert call("completion", "zsh", cwd=tmp_path).stdout.startswith("#compdef greedyexp")
    refused(call("completion", "cmd", cwd=tmp_path), "there is no 'cmd'")


def test_an_answer_needs_no_heavy_library(tmp_path):
    """Numpy, pandas or pydantic would take longer than all else."""
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(STUDY))
    code = (
        "import sys\nfrom greedyexp import cli\n"
        "try:\n    cli.main([])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'numpy', 'pandas', 'pydantic', 'scipy'} & set(sys.modules)))"
    )
    for line in (
        "run ",
        "show ",
        "run study.yaml --set data.",
        "run study.yaml --only ",
        "",
        "plot ",
    ):
        asked = {"_GREEDYEXP_COMPLETE": "bash_complete", "GREEDYEXP_LINE": f"greedyexp {line}"}
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env={**environment(), **asked},
            capture_output=True,
            text=True,
            check=True,
        )
        *answers, loaded = done.stdout.splitlines()
        assert answers, line
        assert loaded == "[]", line


SETUPS = {
    "bash": ("--norc", "-i", "bind 'set bell-style none'"),
    "zsh": ("-f", "-i", "bindkey -e; autoload -U compinit; compinit -u -D"),
}


class Terminal:
    """An interactive shell in which ``greedyexp`` is this interpreter's."""

    def __init__(self, shell: str, folder):
        *options, setup = SETUPS[shell]
        wrapper = folder / "bin" / "greedyexp"
        wrapper.parent.mkdir()
        wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -m greedyexp "$@"\n')
        wrapper.chmod(0o755)
        changed = {"PATH": f"{wrapper.parent}:{os.environ['PATH']}", "TERM": "dumb", "PS1": "> "}
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            os.execvpe(shell, [shell, *options], {**environment(), **changed, "HOME": str(folder)})
        self.seen = ""
        self.say(f'{setup}; eval "$(greedyexp completion {shell})"; echo rea""dy\r')
        self.wait_for("ready")

    def say(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def wait_for(self, text: str, seconds: float = 30) -> None:
        """Read until a text appears; what follows it is left for the next call."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < end, self.seen
            if select.select([self.terminal], [], [], 0.1)[0]:
                self.seen += os.read(self.terminal, 4096).decode(errors="replace")
        self.seen = self.seen.partition(text)[2]

    def completed(self, typed: str, *words: str) -> None:
        """Type text and a tab, and wait for the words of the whole line."""
        # Afterwards go to the start of the line and print its words instead of running it.
        self.say(typed + "\t\x01printf '<%s>' \r")
        self.wait_for("".join(f"<{word}>" for word in words))

    def close(self) -> None:
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        os.close(self.terminal)


@pytest.fixture(params=list(SETUPS))
def terminal(request, tmp_path):
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(STUDY))
    opened = Terminal(request.param, tmp_path)
    yield opened
    opened.close()


def test_the_shell_inserts_what_is_offered(terminal):
    terminal.completed("greedyexp che", "greedyexp", "check")
    terminal.completed("greedyexp run phase_t", "greedyexp", "run", "phase_transition")
    terminal.completed("greedyexp show greedy_d", "greedyexp", "show", "greedy_dirty")
    # A value is still to come after the key, so no space follows it.
    run = ("greedyexp", "run", "study.yaml")
    terminal.completed("greedyexp run study.yaml --only algo\tom", *run, "--only", "algorithm=omp")
    terminal.completed(
        "greedyexp run study.yaml --set data.noi\t0.2", *run, "--set", "data.noise_std=0.2"
    )
    terminal.completed("greedyexp run --profile=sm", "greedyexp", "run", "--profile=smoke")
    terminal.completed(
        "greedyexp show --plugin stud", "greedyexp", "show", "--plugin", "study.yaml"
    )


def test_the_shell_lists_several_candidates(terminal):
    terminal.say("greedyexp run study.yaml --only algorithm=\t\t")
    for label in ("omp", "lasso", "tuned"):
        terminal.wait_for(label)
