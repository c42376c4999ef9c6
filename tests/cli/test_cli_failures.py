"""Every exception becomes one sentence and the exit code it deserves."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import click
import pytest
from cli_process import environment

from greedyexp.cli import failures, main
from greedyexp.core import plugins
from greedyexp.core.errors import StorageError

RAISED = [
    (ValueError("two\nlines."), 70, "Internal error: ValueError: two lines; run again with"),
    (KeyError(), 70, "Internal error: KeyError; run again with"),
    (StorageError("it is full.", place="here"), 2, "Error: here: it is full."),
    (PermissionError(13, "Permission denied", "mine.yaml"), 2, "Error: mine.yaml: Permission den"),
    (MemoryError(), 2, "Error: there is not enough memory."),
    (
        ImportError("x.so: failed to map segment from shared object"),
        2,
        "Error: there is not enough",
    ),
    (OSError(12, "Cannot allocate memory"), 2, "Error: there is not enough memory."),
    (StorageError("\x1b]0;owned\x07\u202e."), 2, "Error: \\x1b]0;owned\\x07\\u202e."),
    (KeyboardInterrupt(), 130, "Interrupted."),
]


@pytest.mark.parametrize(("error", "code", "sentence"), RAISED)
def test_an_exception_is_one_sentence_and_an_exit_code(monkeypatch, capsys, error, code, sentence):
    def fail(paths):
        raise error

    monkeypatch.setattr(plugins, "load_plugins", fail)
    assert main(["list"]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(sentence)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits addresses")
def test_a_limit_in_which_libraries_hang_is_refused():
    limited = "ulimit -v 900000; exec " + shlex.join([sys.executable, "-m", "greedyexp", "list"])
    done = subprocess.run(
        ["sh", "-c", limited], env=environment(), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr.startswith("Error: memory is limited to 878 MB")
    assert len(done.stderr.splitlines()) == 1


def test_whatever_one_item_raises_the_others_are_gone_through(capsys):
    seen = []

    def act(item):
        seen.append(item)
        if item:
            raise item

    context = click.Context(click.Command("any"))
    errors = [KeyError("odd"), StorageError("it is full."), None]
    assert failures.each(context, errors, act) == 70
    assert seen == errors
    assert len(capsys.readouterr().err.splitlines()) == 2


@pytest.mark.parametrize("arguments", [["--traceback", "list"], ["list", "--traceback"]])
def test_traceback_is_shown_when_asked_for(monkeypatch, capsys, arguments):
    def fail(paths):
        raise ValueError("boom")

    monkeypatch.setattr(plugins, "load_plugins", fail)
    assert main(arguments) == 70
    lines = capsys.readouterr().err.strip().splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "Internal error: ValueError: boom; please report it."


@pytest.mark.parametrize(
    "arguments", [["list", "configs"], ["--help"], ["check", "absent.yaml"], ["--nothing"]]
)
@pytest.mark.parametrize("closed", ["stdout", "both"])
def test_a_reader_that_has_left_is_no_failure(tmp_path, arguments, closed):
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run(
        [sys.executable, "-m", "greedyexp", *arguments],
        cwd=tmp_path,
        env=environment(),
        stdout=writer,
        stderr=writer if closed == "both" else subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    refused = arguments[0] in ("check", "--nothing")
    if closed == "both" or not refused:
        assert process.returncode == 141
        assert not process.stderr
    else:
        assert process.returncode == 2
        assert process.stderr.count("Error: ") == 1
