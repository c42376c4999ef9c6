"""Files of the user in the folders that greedyexp writes: they stay, and links lead nowhere."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from pathlib import Path

import pytest
import yaml
from cli_process import answer, refused

from greedyexp.core import files
from greedyexp.core.errors import StorageError
from greedyexp.core.run_files import OUTPUTS, TAKEN_NAMES
from greedyexp.runner import next_state
from greedyexp.runner.digests import content_digest
from greedyexp.runner.journal import Journal

# The next state of a folder, and those of version 0.2.
NEXT = (".next", ".unfinished", ".finished")
COMPARISON = {"comparison": {"row": "p", "metrics": ["support_size"]}}
SETTINGS = {
    "name": "small",
    "plugins": ["mine.py"],
    "data": {"generator": "gaussian", "n_samples": 30, "p": 20, "sparsity": 2},
    "trials": 3,
    "algorithms": ["omp"],
    "metrics": ["support_size"],
    "figures": [COMPARISON],
    "tables": [COMPARISON],
    "claims": [{"id": "small", "quote": "q", "test": "mean(omp, support_size) < 100"}],
}


def write(folder: Path, **changes) -> Path:
    config = folder / "small.yaml"
    config.write_text(yaml.safe_dump({**SETTINGS, **changes}, sort_keys=False))
    return config


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a finished run, which tests copy and do not change."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "mine.py").write_text("import helper\n")
    (folder / "helper.py").write_text("")
    done = answer("run", write(folder), "--engine", "serial", "--out", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def run(call, folder):
    """``run(trials=4)``: run the experiment with changes of its settings."""

    def again(**changes):
        config = write(folder, **changes)
        return call("run", config, "--engine", "serial", "--out", "out", cwd=folder)

    return again


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder, without following links."""
    found = {}
    for place, _, names in os.walk(folder):
        for path in (Path(place, name) for name in names):
            found[str(path)] = path.read_bytes() if path.is_file() else b""
    return found


MINE = (
    "notes.txt",
    "analysis.csv",
    "a.csv.gz",
    ".claims.json.tmp",
    ".hidden/file",
    "figures/mine.svg",
    "figures/comparison_of_mine.png",
    "figures/deep/mine.png",
    "tables/by_hand.tex",
    "plugins/notes.py",
    "plugins/sub/data.csv",
)


def add_files_of_the_user(results: Path) -> dict[str, bytes]:
    for name in MINE:
        (results / name).parent.mkdir(exist_ok=True)
        (results / name).write_text(f"mine: {name}\n")
    for name in ("figures/comparison.pdf", "tables/comparison.md"):
        (results / name).write_text("edited\n")
    own = (*MINE, "figures/comparison.pdf", "tables/comparison.md")
    return {name: (results / name).read_bytes() for name in own}


@pytest.mark.parametrize(
    "changes",
    [{"trials": 4}, {"figures": [], "tables": []}, {"seed": 5, "plugins": []}, {"claims": []}],
    ids=lambda changes: "+".join(changes),
)
def test_files_of_the_user_stay_whatever_a_run_replaces(call, run, folder, changes):
    results = folder / "out" / "small" / "quick"
    mine = add_files_of_the_user(results)
    assert run(**changes).returncode == 0
    for command in ("verify", "plot"):
        done = call(command, results, cwd=folder)
        assert done.returncode == 0, done.stderr
    assert {name: (results / name).read_bytes() for name in mine} == mine


def test_a_run_says_what_it_left_alone_and_removes_its_own(run, folder):
    results = folder / "out" / "small" / "quick"
    (results / "figures" / "comparison.pdf").write_text("edited")
    (results / "figures" / "mine.svg").write_text("mine")
    done = run(figures=[], tables=[])
    (note,) = [line for line in done.stderr.splitlines() if line.startswith("Note: ")]
    assert str(Path("out/small/quick/figures/comparison.pdf")) in note
    assert "mine.svg" not in note
    assert sorted(path.name for path in (results / "figures").iterdir()) == [
        "comparison.pdf",
        "mine.svg",
    ]
    assert not (results / "tables").exists()
    # From now on it is a file of the user like any other.
    assert "Note: " not in run(figures=[], tables=[], trials=4).stderr


@pytest.mark.parametrize(
    "name",
    ["config.yaml", "manifest.json", "claims.json", "outputs.json", "timings.csv", "small.csv.gz"],
)
def test_a_first_run_refuses_files_of_the_user_in_its_places(call, tmp_path, name):
    results = tmp_path / "out" / "small" / "quick"
    (results / name).parent.mkdir(parents=True)
    for mine in (name, "notes.txt", "other.csv"):
        (results / mine).write_text('{"name": "mine"}')
    command = ("run", write(tmp_path, plugins=[]), "--engine", "serial", "--out", "out")
    refused(call(*command, cwd=tmp_path), f"small/quick/{name}", "Move it away.")
    assert {path.read_text() for path in results.glob("[!.]*")} == {'{"name": "mine"}'}
    assert len([*results.glob("[!.]*")]) == 3
    (results / name).unlink()
    assert call(*command, cwd=tmp_path).returncode == 0


def test_a_first_run_leaves_the_figures_of_the_user(call, tmp_path):
    mine = tmp_path / "out" / "small" / "quick" / "figures" / "comparison.png"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    config = write(tmp_path, plugins=[])
    done = call("run", config, "--engine", "serial", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0
    assert "comparison.png" in done.stderr
    assert mine.read_text() == "mine"


@pytest.mark.parametrize("command", [("report", "--out"), ("merge", "--into")])
def test_a_link_to_itself_as_target_is_refused_in_a_sentence(folder, command):
    (folder / "loop").symlink_to("loop")
    said = answer(command[0], "out/small/quick", command[1], "loop", cwd=folder)
    refused(said, "loop")


@pytest.mark.parametrize("name", ["small.csv", "config.yaml", "manifest.json", "journal.sqlite"])
def test_a_record_that_names_other_files_of_a_run_removes_none(folder, name):
    results = folder / "out" / "small" / "quick"
    record = json.loads((results / OUTPUTS).read_text())
    digest = content_digest((results / name).read_bytes())
    for group in ("figures/comparison", "figures/old"):
        record[group] = {"inputs": "", "files": {name: digest}}
    (results / OUTPUTS).write_text(json.dumps(record))
    assert answer("plot", "out", cwd=folder).returncode == 0
    assert (results / name).exists()
    command = ("run", write(folder, trials=4), "--engine", "serial", "--out", "out", "--quiet")
    assert answer(*command, cwd=folder).returncode == 0


@pytest.mark.parametrize("out", ["figures", "out"])
def test_figures_of_another_run_are_not_replaced(folder, out):
    shutil.copytree(folder / "out", folder / "other")
    assert answer("plot", "out", "--out", out, cwd=folder).returncode == 0
    before = contents(folder / out)
    said = answer("plot", "other", "--out", out, cwd=folder)
    refused(said, f"of another run, {folder}/out/small/quick", "another folder with --out")
    assert contents(folder / out) == before


def test_a_run_of_another_name_refuses_a_table_of_the_user(folder):
    results = folder / "out" / "small" / "quick"
    (results / "other.csv").write_text("mine")
    next_state.refuse_other_files(results, "small")
    with pytest.raises(StorageError, match=r"other\.csv.*Move it away"):
        next_state.refuse_other_files(results, "other")


@pytest.mark.parametrize("record", ["[damaged", "[]"])
def test_a_file_that_is_no_record_is_not_overwritten(call, run, folder, record):
    results = folder / "out" / "small" / "quick"
    (results / "outputs.json").write_text(record)
    for done in (run(trials=4), call("plot", results, cwd=folder)):
        refused(done, "outputs.json", "Move it away.")
    assert (results / "outputs.json").read_text() == record


@pytest.mark.parametrize("record", [None, '{"figures/comparison": 5}', "{}"])
def test_without_a_record_the_outputs_are_known_by_their_names(run, folder, record):
    results = folder / "out" / "small" / "quick"
    mine = add_files_of_the_user(results)
    for name in ("figures/comparison.pdf", "tables/comparison.md"):
        del mine[name]
    if record is None:
        (results / "outputs.json").unlink()
    else:
        (results / "outputs.json").write_text(record)
    assert run(trials=4).returncode == 0
    assert {name: (results / name).read_bytes() for name in mine} == mine
    edited = (results / "tables" / "comparison.md").read_text() == "edited\n"
    assert edited == (record in ('{"figures/comparison": 5}', "{}"))


def test_a_record_of_a_stranger_removes_nothing_elsewhere(run, folder):
    results = folder / "out" / "small" / "quick"
    victim = folder / "victim.txt"
    victim.write_text("mine")
    digest = content_digest(b"mine")
    record = json.loads((results / "outputs.json").read_text())
    names = ("../../../victim.txt", str(victim), "figures/../../../../victim.txt", "..\\victim.txt")
    record["figures/gone"] = {"inputs": "", "files": dict.fromkeys(names, digest)}
    record["plugins"]["before"] = dict.fromkeys(names, digest)
    (results / "outputs.json").write_text(json.dumps(record))
    assert run(trials=4).returncode == 0
    assert victim.read_text() == "mine"


def test_a_plugin_that_the_user_has_edited_in_place_is_not_lost(run, folder):
    copy = folder / "out" / "small" / "quick" / "plugins" / "helper.py"
    copy.write_text("# my edit\n")
    (folder / "helper.py").write_text("# another version\n")
    refused(run(trials=4), "plugins/helper.py", "changed since", "Move it away.")
    assert copy.read_text() == "# my edit\n"
    copy.rename(folder / "saved.py")
    assert run(trials=4).returncode == 0
    assert copy.read_text() == "# another version\n"


def test_copies_of_plugins_go_with_them(run, folder):
    plugins = folder / "out" / "small" / "quick" / "plugins"
    (folder / "mine.py").write_text("")
    assert run(trials=4).returncode == 0
    assert [path.name for path in plugins.iterdir()] == ["mine.py"]
    assert run(plugins=[]).returncode == 0
    assert not plugins.exists()


def test_copies_of_a_renamed_plugin_go_without_a_record(call, run, folder):
    results = folder / "out" / "small" / "quick"
    (results / "outputs.json").unlink()
    (folder / "helper.py").rename(folder / "helper2.py")
    (folder / "mine2.py").write_text("import helper2\n")
    assert run(plugins=["mine2.py"]).returncode == 0
    names = sorted(path.name for path in (results / "plugins").iterdir())
    assert names == ["helper2.py", "mine2.py"]
    assert call("explain", results, cwd=folder).returncode == 0


def test_the_table_is_the_one_that_is_named_after_the_experiment(call, run, folder):
    """``a.csv`` comes first, and a packed copy is not the table."""
    results = folder / "out" / "small" / "quick"
    (results / "a.csv").write_text("mine\n")
    packed = gzip.compress((results / "small.csv").read_bytes())
    (results / "small.csv.gz").write_bytes(packed)
    for command in ("verify", "status", "plot"):
        assert call(command, results, cwd=folder).returncode == 0
    assert run(trials=4).returncode == 0
    assert (results / "a.csv").read_text() == "mine\n"
    assert (results / "small.csv.gz").read_bytes() == packed
    assert (results / "small.csv").read_text().count("omp") == 4


def test_other_files_in_an_unfinished_state_are_not_removed(run, folder):
    results = folder / "out" / "small" / "quick"
    for name in NEXT:
        (results / name).mkdir()
        (results / name / "notes.txt").write_text("mine")
        refused(run(trials=4), name, "notes.txt", "Move them elsewhere.")
        assert (results / name / "notes.txt").read_text() == "mine"
        shutil.rmtree(results / name)
        (results / name).write_text("mine")
        refused(run(trials=4), "this cannot be written: Not a directory")
        assert (results / name).read_text() == "mine"
        (results / name).unlink()


def test_a_folder_in_which_version_0_2_was_killed_is_read_and_completed(call, run, folder):
    """It has written the next state to one folder, renamed it and then moved its files."""
    results, out = folder / "out" / "small" / "quick", folder / "out"
    shutil.copytree(out, folder / "before")
    assert run(trials=4).returncode == 0
    names = ("config.yaml", "small.csv", "timings.csv", "manifest.json")
    after = {name: (results / name).read_bytes() for name in names}

    def fits(home: str, moved: int) -> tuple[int, str]:
        """The fits in the table of the folder, and what is said of it, before it is completed."""
        shutil.rmtree(out)
        shutil.copytree(folder / "before", out)
        (results / home).mkdir()
        for number, (name, content) in enumerate(after.items()):
            (results if number < moved else results / home).joinpath(name).write_bytes(content)
        shutil.copytree(results / "plugins", results / home / "plugins")
        done = call("verify", "out", cwd=folder)
        assert done.returncode == 0, done.stderr
        verdict = json.loads((results / "claims.json").read_text())["claims"][0]
        assert run(trials=5).returncode == 0
        assert {path.name for path in results.glob(".*")} <= {".lock", ".switch", ".complete"}
        assert (results / "small.csv").read_text().count("omp") == 5
        return verdict["trials"], done.stderr

    read, said = fits(".unfinished", 0)
    assert read == 3
    assert "a run is in progress or did not finish" in said
    assert [fits(".finished", moved) for moved in range(5)] == [(4, "")] * 5


def test_names_of_files_of_a_run_folder_name_no_experiment(call, folder):
    """A table of the name would take the place of another file."""
    for name in ("timings", "Timings", "config"):
        refused(call("check", write(folder, name=name), cwd=folder), "small.yaml", f"'{name}' is")
    entries = {path.name for path in (folder / "out" / "small" / "quick").iterdir()}
    stems = {name.partition(".")[0] for name in entries if not name.startswith(".")}
    assert stems == TAKEN_NAMES | {"small"}


LINKS = {
    "verify": (".switch", "claims.json", "outputs.json", "config.yaml", "plugins/mine.py"),
    "plot": (".switch", "figures", "figures/comparison.png", "tables", "outputs.json", "small.csv"),
    "run": (
        ".lock",
        *NEXT,
        "figures",
        "journal.sqlite",
        "plugins",
        "claims.json",
    ),
    "status": ("manifest.json", "journal.sqlite", "timings.csv"),
    "report": ("claims.json", "small.csv", "plugins"),
}


@pytest.mark.parametrize(
    ("command", "name"), [(command, name) for command, names in LINKS.items() for name in names]
)
@pytest.mark.usefixtures("impatient")
def test_a_link_in_a_run_folder_is_refused(call, run, folder, command, name):
    results = folder / "out" / "small" / "quick"
    link, elsewhere = results / name, folder / "elsewhere"
    if link.is_dir():
        shutil.move(link, elsewhere)
    elif link.exists():
        link.rename(elsewhere)
    elif name in NEXT:
        shutil.copytree(results, elsewhere)
    else:
        elsewhere.write_text("")
    link.symlink_to(elsewhere)
    before = contents(elsewhere) or elsewhere.read_bytes()
    done = run(trials=4) if command == "run" else call(command, results, cwd=folder)
    refused(done, str(Path("small/quick") / name), "symbolic link")
    assert link.is_symlink()
    assert (contents(elsewhere) or elsewhere.read_bytes()) == before


@pytest.mark.parametrize("command", ["verify", "plot", "status", "report"])
def test_a_pipe_in_a_run_folder_is_refused_and_not_waited_for(call, folder, command):
    results = folder / "out" / "small" / "quick"
    (results / "config.yaml").unlink()
    os.mkfifo(results / "config.yaml")
    refused(call(command, results, cwd=folder), "config.yaml", "no file")


def test_a_run_folder_may_be_reached_through_a_link(call, folder):
    (folder / "link").symlink_to(folder / "out")
    results = folder / "link" / "small" / "quick"
    for command in ("verify", "plot", "status"):
        assert call(command, results, cwd=folder).returncode == 0
    done = call("run", write(folder, trials=4), "--engine", "serial", "--out", "link", cwd=folder)
    assert done.returncode == 0
    assert (results / "small.csv").read_text().count("omp") == 4


@pytest.mark.parametrize("name", ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"])
def test_a_second_name_of_a_journal_is_not_written(run, folder, name):
    results, elsewhere = folder / "out" / "small" / "quick", folder / "elsewhere"
    shutil.copyfile(results / "journal.sqlite", elsewhere)
    (results / name).unlink(missing_ok=True)
    os.link(elsewhere, results / name)
    before = elsewhere.read_bytes()
    refused(run(trials=4), name, "has a second name elsewhere", "Replace it by a copy.")
    assert elsewhere.read_bytes() == before


@pytest.mark.parametrize("name", [".lock", ".switch"])
def test_a_file_with_the_name_of_a_lock_is_not_overwritten(run, folder, name):
    results = folder / "out" / "small" / "quick"
    (results / name).write_text("mine\n")
    refused(run(trials=4), name, "Move it away.")
    assert (results / name).read_text() == "mine\n"
    # A second name of a file elsewhere.
    (folder / "elsewhere").write_text("")
    (results / name).unlink()
    os.link(folder / "elsewhere", results / name)
    refused(run(trials=4), name, "Move it away.")
    assert (folder / "elsewhere").read_text() == ""


def test_what_a_killed_process_has_left_is_removed_by_the_next(tmp_path):
    target = tmp_path / "claims.json"
    mine = tmp_path / ".claims.json.0123456789abcdef.01234567.tmp"
    mine.write_text("mine")
    child = os.fork()
    if child == 0:
        with files.replacing(target) as stream:
            stream.write(b"part")
            stream.flush()
            os._exit(0)
    os.waitpid(child, 0)
    assert len(list(tmp_path.iterdir())) == 2
    with files.replacing(target):
        # Another process that writes the same file has its own.
        files.write_text(target, "whole")
        assert len(list(tmp_path.iterdir())) == 3
    assert sorted(tmp_path.iterdir()) == [mine, target]


@pytest.mark.parametrize("removed", ["journal", "folder", "replaced"])
def test_a_journal_that_vanishes_is_said_at_once_and_loses_no_row(
    call, run, folder, monkeypatch, removed
):
    results = folder / "out" / "small" / "quick"
    add = Journal.add

    def vanishing(self, entries):
        add(self, entries)
        if removed == "folder":
            shutil.rmtree(results, ignore_errors=True)
            return
        for path in results.glob("journal.sqlite*"):
            path.unlink()
        if removed == "replaced":
            (results / "journal.sqlite").write_text("another")

    monkeypatch.setattr(Journal, "add", vanishing)
    monkeypatch.setattr("greedyexp.runner.session._MOST_WAITING", 1)
    done = run(trials=6)
    refused(done, "journal.sqlite", "removed, moved or replaced", "continues the run.")
    monkeypatch.undo()
    saved = Path(done.stderr.partition("replicates are in ")[2].partition(". ")[0])
    assert saved.parent != results or removed == "journal"
    if removed != "journal":
        results.mkdir(exist_ok=True)
        shutil.move(saved, results / "journal.sqlite")
    again = run(trials=6)
    assert again.returncode == 0
    (computed,) = re.findall(r"6 of 6 done, 0 failed; (\d) computed", again.stdout)
    assert 1 <= int(computed) < 3


def report_of(call, folder, *arguments):
    return call("report", *(arguments or ["out"]), "--out", "site", cwd=folder)


def test_a_report_replaces_its_own_files_only(call, run, folder):
    assert report_of(call, folder).returncode == 0
    site = folder / "site"
    mine = {".git/config": "a", "CNAME": "b", "docs/index.html": "c", "assets/mine.css": "d"}
    mine["small/quick/notes.md"] = "e"
    for name, text in mine.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    # Pages that are edited stay, and a page that is no longer made goes.
    (site / "small" / "quick" / "index.html").write_text("edited")
    (folder / "out" / "small").rename(folder / "out" / "other")
    done = report_of(call, folder)
    assert done.returncode == 0
    assert str(Path("site/small/quick/index.html")) in done.stderr
    assert "left alone" in done.stderr
    assert (site / "other" / "quick" / "index.html").is_file()
    assert "other" in (site / "index.html").read_text()
    left = {path.name for path in (site / "small" / "quick").rglob("*") if path.is_file()}
    assert left == {"index.html", "notes.md"}
    assert (site / "small" / "quick" / "index.html").read_text() == "edited"
    assert {name: (site / name).read_text() for name in mine} == mine


def test_files_of_a_report_are_known_whatever_a_run_is_called(call, folder):
    shutil.copytree(folder / "out" / "small", folder / "kept")
    (folder / "out" / "small").rename(folder / "out" / "a:b\\c \udcff")
    assert report_of(call, folder).returncode == 0
    shutil.rmtree(folder / "out")
    shutil.copytree(folder / "kept", folder / "out" / "small")
    done = report_of(call, folder)
    assert done.returncode == 0, done.stderr
    assert "left alone" not in done.stderr
    assert sorted(path.name for path in (folder / "site").iterdir() if path.is_dir()) == [
        "assets",
        "small",
    ]


def test_a_report_of_an_earlier_version_is_replaced(call, folder):
    assert report_of(call, folder).returncode == 0
    site = folder / "site"
    (site / ".greedyexp-report").write_text("0.2.0\n")
    (site / "index.html").write_text("old")
    (site / "CNAME").write_text("mine")
    assert report_of(call, folder).returncode == 0
    assert "small" in (site / "index.html").read_text()
    assert (site / "CNAME").read_text() == "mine"


def test_a_report_follows_no_link_below_its_folder(call, folder):
    (folder / "elsewhere").mkdir()
    (folder / "site").mkdir()
    (folder / "site" / ".greedyexp-report").touch()
    (folder / "site" / "assets").symlink_to(folder / "elsewhere")
    refused(report_of(call, folder), "site/assets", "symbolic link")
    assert not list((folder / "elsewhere").iterdir())


def test_a_killed_report_is_completed_by_the_next(call, folder, monkeypatch):
    replace = os.replace
    left = [5]

    def killed(*names, **handles):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        replace(*names, **handles)

    monkeypatch.setattr(os, "replace", killed)
    assert report_of(call, folder).returncode == 130
    assert not (folder / "site" / "index.html").exists()
    monkeypatch.undo()
    done = report_of(call, folder)
    assert done.returncode == 0
    assert "left alone" not in done.stderr
    assert (folder / "site" / "index.html").is_file()


def test_a_folder_of_the_user_in_the_place_of_a_page_stays(call, folder):
    assert report_of(call, folder).returncode == 0
    site = folder / "site"
    (site / "small" / "quick" / "index.html").unlink()
    (site / "small" / "quick" / "index.html").mkdir()
    (site / "small" / "quick" / "index.html" / "mine.txt").write_text("mine")
    (site / "index.html").unlink()
    shutil.rmtree(site / "assets")
    (site / "assets").write_text("mine")
    done = report_of(call, folder)
    assert done.returncode == 0, done.stderr
    assert str(Path("small/quick/index.html")) in done.stderr
    assert "assets" in done.stderr
    assert (site / "small" / "quick" / "index.html" / "mine.txt").read_text() == "mine"
    assert (site / "assets").read_text() == "mine"
    assert (site / "index.html").is_file()


def test_figures_of_two_runs_of_one_name_are_not_mixed(call, folder):
    for name in ("a", "b"):
        shutil.copytree(folder / "out" / "small", folder / "both" / name / "small")
    assert call("plot", "both", "--out", "drawn", cwd=folder).returncode == 0
    places = [path.relative_to(folder / "drawn") for path in folder.glob("drawn/**/outputs.json")]
    assert sorted(path.parent.as_posix() for path in places) == ["small/quick", "small/quick_2"]


def test_figures_elsewhere_replace_only_what_was_drawn_there(call, folder):
    place = folder / "drawn" / "small" / "quick" / "figures"
    command = ("plot", "out/small/quick", "--out", "drawn")
    assert call(*command, cwd=folder).returncode == 0
    (place / "comparison.pdf").write_text("edited")
    (place / "mine.svg").write_text("mine")
    done = call(*command, cwd=folder)
    assert done.returncode == 0
    assert str(Path("figures/comparison.pdf")) in done.stderr
    assert (place / "comparison.pdf").read_text() == "edited"
    assert (place / "mine.svg").read_text() == "mine"
    assert (place / "comparison.png").is_file()


def test_names_in_the_code_are_those_of_the_design(folder):
    """What a state may have while it is written is what it has in the end."""
    results = folder / "out" / "small" / "quick"
    written = {path.name for path in results.iterdir() if next_state._WRITTEN.fullmatch(path.name)}
    assert written == {"config.yaml", "manifest.json", "plugins", "small.csv", "timings.csv"}
    assert OUTPUTS in {path.name for path in results.iterdir()}
