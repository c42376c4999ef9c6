"""A run folder works as a copy on another machine, and relative paths start from the YAML file."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sys

import numpy as np
import pandas as pd
import pytest
import yaml
from cli_process import refused

PLUGIN = '''
import numpy as np

from greedyexp import algorithm
from screening_rule import strongest


@algorithm("screening")
def screening(problem, *, keep: int = 2):
    """Keep the features most correlated with the response and refit."""
    coef = np.zeros((problem.n_features, 1))
    X, y = problem.X[0], problem.y[0]
    kept = strongest(X, y, keep)
    coef[kept, 0] = np.linalg.lstsq(X[:, kept], y, rcond=None)[0]
    return coef
'''
RULE = """
import numpy as np


def strongest(X, y, keep):
    return np.argsort(-abs(X.T @ y))[:keep]
"""
EXPERIMENT = {
    "name": "mine",
    "plugins": ["screening.py"],
    "data": {"generator": "file", "path": "tables/measured.csv", "test_fraction": 0.25},
    "trials": 3,
    "algorithms": ["screening"],
    "metrics": ["test_error", "support_size"],
    "tables": [{"comparison": {"row": "n_samples", "metrics": ["test_error"]}}],
    "claims": [{"id": "good", "quote": "good", "test": "mean(screening, test_error) < 1"}],
}


@pytest.fixture
def project(tmp_path):
    """A folder with an experiment file, a plugin of two files, and data."""
    folder = tmp_path / "project"
    (folder / "tables").mkdir(parents=True)
    (folder / "screening.py").write_text(PLUGIN)
    (folder / "screening_rule.py").write_text(RULE)
    X = np.random.default_rng(0).standard_normal((40, 5))
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=X[:, 0] - X[:, 1])
    frame.to_csv(folder / "tables" / "measured.csv", index=False)
    (folder / "mine.yaml").write_text(yaml.safe_dump(EXPERIMENT))
    return folder


@pytest.fixture
def copied(call, project, tmp_path):
    """A copy of the results; the project they were made in is gone."""
    done = call("run", project / "mine.yaml", "--engine", "serial", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = tmp_path / "elsewhere" / "copy" / "mine" / "quick"
    shutil.copytree(tmp_path / "results" / "mine" / "quick", run)
    project.rename(tmp_path / "gone")
    shutil.rmtree(tmp_path / "results")
    return run


def test_a_run_folder_has_its_plugins_and_the_checksums_of_its_data(copied, tmp_path):
    assert yaml.safe_load((copied / "config.yaml").read_text())["plugins"] == [
        "plugins/screening.py"
    ]
    assert (copied / "plugins" / "screening.py").read_text() == PLUGIN
    assert (copied / "plugins" / "screening_rule.py").read_text() == RULE
    data = (tmp_path / "gone" / "tables" / "measured.csv").read_bytes()
    assert json.loads((copied / "manifest.json").read_text())["data_files"] == {
        "tables/measured.csv": hashlib.sha256(data).hexdigest()
    }
    for name in ("config.yaml", "manifest.json", "mine.csv", "claims.json"):
        assert str(tmp_path) not in (copied / name).read_text()


def test_a_copy_is_drawn_judged_and_counted(call, copied, tmp_path):
    shutil.rmtree(copied / "tables")
    assert call("plot", "copy", cwd=tmp_path / "elsewhere").returncode == 0
    assert (copied / "tables" / "comparison.csv").is_file()
    assert call("verify", "copy", cwd=tmp_path / "elsewhere").returncode == 0
    status = call("status", "copy", cwd=tmp_path / "elsewhere")
    assert status.returncode == 0
    assert "mine/quick     3       0        0" in status.stdout


def test_a_copy_goes_on_where_its_data_are(call, copied, tmp_path):
    table = (copied / "mine.csv").read_bytes()
    command = ("run", copied / "config.yaml", "--engine", "serial", "--out", "copy")
    lost = call(*command, cwd=tmp_path / "elsewhere")
    refused(lost, "tables/measured.csv", f"in {copied} or {tmp_path / 'elsewhere'}")
    shutil.copytree(tmp_path / "gone" / "tables", tmp_path / "elsewhere" / "tables")
    done = call(*command, cwd=tmp_path / "elsewhere")
    assert done.returncode == 0, done.stderr
    assert "0 computed" in done.stdout
    assert (copied / "mine.csv").read_bytes() == table


def test_the_folder_of_the_file_comes_before_the_working_directory(call, project, tmp_path):
    """The same file gives the same table, wherever the command runs."""
    wrong = tmp_path / "tables" / "measured.csv"
    wrong.parent.mkdir()
    wrong.write_text("a,y\n1,2\n3,4\n5,7\n2,1\n")
    tables = []
    for folder in (tmp_path, project):
        done = call("run", project / "mine.yaml", "--engine", "serial", cwd=folder)
        assert done.returncode == 0, done.stderr
        tables.append((folder / "results/mine/quick/mine.csv").read_bytes())
    assert tables[0] == tables[1]


def test_workers_find_data_next_to_the_file_from_any_folder(call, project, tmp_path):
    done = call("run", project / "mine.yaml", "--jobs", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3 of 3 done, 0 failed" in done.stdout


def test_a_missing_plugin_names_the_folders_and_the_nearest_file(call, project, tmp_path):
    (project / "screening.py").rename(project / "screenings.py")
    refused(
        call("check", project / "mine.yaml", cwd=tmp_path),
        f"there is no plugin file 'screening.py' in {project} or {tmp_path}",
        "Did you mean 'screenings.py'?",
    )


@pytest.fixture
def read_only(copied, monkeypatch):
    """The folder refuses new files, as on a read-only disk."""
    opened = os.open

    def refuse(path, flags, *rest, **how):
        writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes and os.path.abspath(path).startswith(str(copied)):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return opened(path, flags, *rest, **how)

    monkeypatch.setattr(os, "open", refuse)
    return copied


def test_a_read_only_folder_is_judged_and_drawn_elsewhere(call, read_only, tmp_path, monkeypatch):
    # Bytecode of plugins would be written beside them.
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = {path: path.stat().st_mtime_ns for path in read_only.rglob("*")}
    elsewhere = tmp_path / "elsewhere"
    judged = call("verify", "copy", cwd=elsewhere)
    assert judged.returncode == 0
    assert "good: supported" in judged.stdout
    assert "claims.json was not written: Read-only file system." in judged.stderr
    assert json.loads(call("verify", "copy", "--json", cwd=elsewhere).stdout)
    refused(call("plot", "copy", cwd=elsewhere), "Read-only file system", "another folder")
    drawn = call("plot", "copy", "--out", "pictures", cwd=elsewhere)
    assert drawn.returncode == 0, drawn.stderr
    assert (elsewhere / "pictures/mine/quick/tables/comparison.md").is_file()
    assert {path: path.stat().st_mtime_ns for path in read_only.rglob("*")} == before


def test_a_folder_without_a_manifest_is_read_with_a_note(call, copied, tmp_path):
    (copied / "manifest.json").unlink()
    for command in ("verify", "plot"):
        done = call(command, "copy", cwd=tmp_path / "elsewhere")
        assert done.returncode == 0
        assert "has no manifest.json, so it cannot be checked" in done.stderr


def test_a_manifest_without_digests_is_noted(call, copied, tmp_path):
    manifest = json.loads((copied / "manifest.json").read_text())
    del manifest["digests"]
    (copied / "manifest.json").write_text(json.dumps(manifest))
    for command in (["verify", "copy"], ["plot", "copy"], ["compare", copied, copied]):
        done = call(*command, cwd=tmp_path / "elsewhere")
        words = "has no digests in its manifest.json, so it cannot be checked whether its files"
        assert words in " ".join((done.stdout + done.stderr).split())
    made = call("report", "copy", "--out", "site", cwd=tmp_path / "elsewhere")
    assert made.returncode == 0, made.stderr
    pages = [path.read_text() for path in (tmp_path / "elsewhere/site").rglob("*.html")]
    assert any(words in page for page in pages)


def test_json_writes_nothing(call, copied, tmp_path):
    (copied / "claims.json").unlink()
    done = call("verify", "copy", "--json", cwd=tmp_path / "elsewhere")
    assert json.loads(done.stdout)[0]["claims"][0]["verdict"] == "supported"
    assert not (copied / "claims.json").exists()
