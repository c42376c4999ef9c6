"""``greedyexp data``: what is there, where it is, how to get it, and one sentence when it fails."""

from __future__ import annotations

import subprocess
import sys

import data_sets
import pytest
from cli_process import environment, refused

from greedyexp import cli
from greedyexp.datasets import catalogue, places


@pytest.fixture
def call(tmp_path):
    """Run the command in a process whose home is empty and whose only proxy is dead."""
    dead = "http://127.0.0.1:9"
    setting = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    setting |= {"https_proxy": dead, "http_proxy": dead}
    clean = {name: value for name, value in environment().items() if name != places.VARIABLE}

    def run(*arguments, **variables):
        return subprocess.run(
            [sys.executable, "-m", "greedyexp", "data", *arguments],
            cwd=tmp_path,
            env=clean | setting | variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def test_nothing_is_there_at_first(call):
    listed = call("list")
    assert listed.returncode == 0
    assert listed.stdout.split()[:3] == ["digits_mfeat", "Handwritten", "digits,"]
    assert "not fetched" in listed.stdout
    refused(call("where", "digits_mfeat"), "greedyexp data fetch digits_mfeat", "GREEDYEXP_DATA")
    refused(call("where", "digits"), "Did you mean 'digits_mfeat'?")
    refused(call("ftch"), "Did you mean 'fetch'?")
    refused(call("fetch"), "Missing argument")


def test_no_network_is_one_sentence_and_leaves_no_file(call, tmp_path):
    result = call("fetch", "digits_mfeat")
    refused(result, "https://archive.ics.uci.edu", "no connection", "GREEDYEXP_DATA")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    refused(call("fetch", "digits_mfeat", "leukaemia_x"), "no data set named 'leukaemia_x'")


def test_an_unwritable_cache_is_one_sentence(call, tmp_path):
    (tmp_path / "cache").write_text("in the way")
    refused(call("fetch", "digits_mfeat"), "cannot be written", "GREEDYEXP_DATA")


@pytest.fixture
def served(tmp_path, monkeypatch):
    """The digits with twenty rows, on a server of this machine."""
    files = data_sets.contents(data_sets.values())
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv(places.VARIABLE, raising=False)
    monkeypatch.setattr(places, "cache", lambda: tmp_path / "cache")
    with data_sets.serving() as server:
        url = server.offer("/mfeat.zip", data_sets.as_zip(files))
        record = data_sets.record(files, urls=(url,))
        monkeypatch.setattr(catalogue, "known", lambda: {record.name: record})
        yield server, files


def test_fetch_prints_the_folder_and_list_and_where_know_it(served, tmp_path, capsys):
    server, files = served
    folder = str(tmp_path / "cache" / "mfeat")
    assert cli.main(["data", "fetch", "digits_mfeat"]) == 0
    assert capsys.readouterr() == (folder + "\n", "")
    assert cli.main(["data", "where", "digits_mfeat"]) == 0
    assert capsys.readouterr().out == folder + "\n"
    assert cli.main(["data", "list"]) == 0
    size = sum(map(len, files.values()))
    assert capsys.readouterr().out.rstrip().endswith(f"{folder}  {size / 1000:.1f} kB")
    assert cli.main(["data", "fetch", "digits_mfeat", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert len(server.asked) == 1
    assert cli.main(["data", "fetch", "digits_mfeat", "--force"]) == 0
    assert len(server.asked) == 2


def test_a_bar_is_drawn_only_on_a_terminal_and_unless_quiet(served, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert cli.main(["data", "fetch", "digits_mfeat", "--force"]) == 0
    assert "100%" in capsys.readouterr().err
    assert cli.main(["data", "fetch", "digits_mfeat", "--force", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_forced_download_says_that_the_users_folder_goes_first(
    served, tmp_path, monkeypatch, capsys
):
    _, files = served
    own = data_sets.write(tmp_path / "own" / "mfeat", files)
    monkeypatch.setenv(places.VARIABLE, str(tmp_path / "own"))
    assert cli.main(["data", "fetch", "digits_mfeat"]) == 0
    assert capsys.readouterr() == (f"{own}\n", "")
    assert cli.main(["data", "fetch", "digits_mfeat", "--force"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{tmp_path / 'cache' / 'mfeat'}\n"
    assert err == f"GREEDYEXP_DATA takes precedence: {own} is read instead.\n"


def test_ctrl_c_during_a_download_ends_with_its_own_code(served, tmp_path, monkeypatch, capsys):
    from greedyexp.datasets import fetching as archives

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(archives, "unpack", interrupted)
    assert cli.main(["data", "fetch", "digits_mfeat"]) == 130
    assert capsys.readouterr().err.split() == ["Interrupted."]
    assert list((tmp_path / "cache").iterdir()) == []


def test_show_and_list_know_data_sets(served, capsys):
    assert cli.main(["show", "digits_mfeat"]) == 0
    shown = capsys.readouterr().out
    assert "data set digits_mfeat: Handwritten digits" in shown
    assert "CC BY 4.0" in shown
    assert cli.main(["list", "datasets"]) == 0
    assert capsys.readouterr().out.startswith("digits_mfeat  Handwritten digits")
