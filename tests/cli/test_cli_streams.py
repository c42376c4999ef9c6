"""Output that is closed, full, narrow or cannot show a character; arguments that are not text."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from cli_process import REPOSITORY, environment, refused, write_toy

from greedyexp.cli import process, text

FIGURE = "figures: [{phase_transition: {x: n_samples, success: {default: support}}}]"
CLAIM = "claims: [{id: one, quote: so, test: proportion(toy_exact) > 0.5}]"


def write_whole(folder: Path) -> None:
    """A toy with a figure and a claim."""
    config = write_toy(folder)
    config.write_text(config.read_text().replace("figures: []", f"{FIGURE}\n{CLAIM}"))


def shell(line: str, cwd: Path, **more: str) -> subprocess.CompletedProcess:
    """A line for the shell, in which ``greedyexp`` is the command."""
    line = f'greedyexp() {{ "{sys.executable}" -m greedyexp "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-c", line],
        cwd=cwd,
        env={**environment(), **more},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_character_that_the_font_lacks_is_one_warning_without_code(tmp_path):
    config = write_toy(tmp_path, algorithms="[toy_exact: {label: 日}]")
    config.write_text(config.read_text().replace("figures: []", FIGURE), encoding="utf-8")
    result = shell("greedyexp run -q toy.yaml --engine serial", tmp_path)
    assert result.returncode == 0
    lines = result.stderr.splitlines()
    assert lines
    assert all(line.startswith("Warning: Glyph 26085 ") for line in lines), result.stderr


def test_control_characters_are_shown_and_not_obeyed(call, tmp_path):
    said = call("check", "a\x1b]0;x\x07\x9b\u202e.yaml", cwd=tmp_path).stderr
    assert said.startswith(r"Error: a\x1b]0;x\x07\x9b\u202e.yaml: ")


def test_colours_of_verdicts_and_progress_bars_pass(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    coloured = click.style("refuted", fg="red", bold=True)
    with process.safe_output():
        sys.stdout.write(f"{coloured} \x1b[31mred\n")
        sys.stdout.write("\r 50%\x07")
    assert stream.getvalue() == f"{coloured} \\x1b[31mred\n\r 50%\\x07"
    assert sys.stdout is stream


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        pytest.param(
            "greedyexp run -v toy.yaml --engine serial | true; exit $PIPESTATUS",
            141,
            "",
            marks=pytest.mark.deep,
        ),
        pytest.param(
            "greedyexp run -v toy.yaml --engine serial > /dev/full",
            2,
            "Error: the output cannot be written: No space left on device.",
            marks=pytest.mark.deep,
        ),
        ("greedyexp run toy.yaml --jobs 1 <&- >&- 2>&- && greedyexp report >&- 2>&-", 0, ""),
    ],
    ids=["closed early", "full", "closed before"],
)
def test_output_that_cannot_be_written_costs_no_file(tmp_path, line, code, said):
    write_whole(tmp_path)
    result = shell(line, tmp_path)
    assert result.returncode == code, result.stderr
    # Progress lines come every few seconds, so a slow machine has several.
    progress = re.compile(r"toy: [1-6]/6 \(\d+%\)")
    words = [text for text in result.stderr.splitlines() if not progress.match(text)]
    assert words == ([said] * bool(said))
    run = tmp_path / "results/toy/quick"
    assert (run / "claims.json").is_file()
    assert len(list((run / "figures").iterdir())) == 2
    assert (run / "toy.csv").read_text().count(",ok,") == 6


def test_any_command_says_that_its_output_cannot_be_written(tmp_path):
    said = "Error: the output cannot be written: No space left on device.\n"
    result = shell("greedyexp --version > /dev/full", tmp_path)
    assert (result.returncode, result.stderr) == (2, said)
    # Nothing can be said of a standard error that is full.
    assert shell("greedyexp check absent.yaml 2> /dev/full", tmp_path).returncode == 2


def test_titles_and_paths_are_shown_in_any_encoding(tmp_path):
    folder = tmp_path / "épreuve"
    folder.mkdir()
    config = write_toy(folder)
    config.rename(folder / "tôy.yaml")
    line = (
        "greedyexp run épreuve/tôy.yaml --engine serial --out épreuve && greedyexp status épreuve"
    )
    result = shell(line, tmp_path, LC_ALL="C", PYTHONIOENCODING="ascii")
    assert result.returncode == 0, result.stderr
    assert "toy/quick/toy.csv" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "toy.yaml", "--set", "name=\udcff"],
        ["check", "toy.yaml", "--only", "n_samples=\udcff"],
        ["run", "b\udcff/toy.yaml", "--engine", "serial"],
    ],
    ids=["set", "only", "file"],
)
def test_an_argument_that_is_not_text_is_refused(call, tmp_path, arguments):
    write_toy(tmp_path)
    folder = os.fsencode(tmp_path) + b"/b\xff"
    os.mkdir(folder)
    write_toy(Path(os.fsdecode(folder)))
    refused(call(*arguments, cwd=tmp_path), "is not valid text", "LC_ALL=C.UTF-8")


def test_a_current_folder_that_is_gone_is_told(call, tmp_path, monkeypatch):
    from greedyexp.core import plugins

    def deleted(_):
        tmp_path.rmdir()
        os.getcwd()

    monkeypatch.setattr(plugins, "load_plugins", deleted)
    result = call("list", cwd=tmp_path)
    monkeypatch.chdir(REPOSITORY)
    refused(result, "the current folder no longer exists")


@pytest.mark.parametrize("arguments", [["list", "metrics"], ["list"], ["show", "foba_gdt"]])
def test_lines_fit_the_terminal_and_lose_nothing(call, tmp_path, monkeypatch, arguments):
    monkeypatch.delenv("COLUMNS", raising=False)
    whole = call(*arguments, cwd=tmp_path).stdout
    for width in (60, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        narrow = call(*arguments, cwd=tmp_path).stdout
        assert narrow.split() == whole.split()
        # Other columns than the last and words too long for a line stay as they are.
        long = [line for line in narrow.splitlines() if len(line) > width]
        assert all("  " in line or " " not in line.strip() for line in long)
        assert len(long) < sum(len(line) > width for line in whole.splitlines())
    monkeypatch.setenv("COLUMNS", "1")
    assert call(*arguments, cwd=tmp_path).stdout.split() == whole.split()


def test_the_last_column_is_wrapped_or_goes_below():
    rows = [("name", "three words here and then many more"), ("other", "short")]
    assert text.table(rows, width=34).splitlines() == [
        "name   three words here and then",
        "       many more",
        "other  short",
    ]
    assert text.table(rows, width=30).splitlines() == [
        "name",
        "    three words here and then",
        "    many more",
        "other  short",
    ]


def test_headings_and_lists_keep_their_lines_when_prose_is_wrapped():
    prose = "Notes\n-----\nSome words that\nfollow each other for long\n\n- one item of a\n- list"
    assert text.fitted(prose, 25).splitlines() == [
        *("Notes", "-----", "Some words that follow", "each other for long", ""),
        *("- one item of a", "- list"),
    ]
    assert text.fitted(prose, None) == prose
