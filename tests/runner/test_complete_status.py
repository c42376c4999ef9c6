"""The counts of a complete run, without loading its experiment."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from greedyexp import config, runner
from greedyexp.core.errors import StorageError
from greedyexp.runner import digests, folder_status
from greedyexp.runner.digests import sources_digest

EXPERIMENT = {
    "name": "short",
    "seed": 3,
    "trials": 2,
    "data": {"generator": "gaussian", "n_samples": 12, "p": 8, "sparsity": 2},
    "algorithms": ["omp"],
    "metrics": ["support_size"],
}


OPTIONS = runner.RunOptions(engine="serial", progress=False)


@pytest.fixture
def folder(tmp_path):
    runner.run(config.load(EXPERIMENT), tmp_path / "short" / "quick", OPTIONS)
    return tmp_path / "short" / "quick"


def from_journal(folder, monkeypatch):
    """Return the status as it is without the digests of the manifest."""
    with monkeypatch.context() as patch:
        patch.setattr(folder_status, "_known_complete", lambda *_: False)
        return runner.status(folder)


def loads(folder, monkeypatch) -> bool:
    """Return True if the status is read from the journal."""
    asked = []
    original = folder_status._from_journal
    with monkeypatch.context() as patch:
        patch.setattr(folder_status, "_from_journal", lambda *a: asked.append(None) or original(*a))
        runner.status(folder)
    return bool(asked)


def test_the_status_of_a_complete_run_is_that_of_its_journal(folder, monkeypatch):
    assert not loads(folder, monkeypatch)
    # Reading a journal leaves files beside it.
    read, known = from_journal(folder, monkeypatch), runner.status(folder)
    assert not loads(folder, monkeypatch)
    assert known.done == 2
    assert known.seconds_spent == pytest.approx(read.seconds_spent, abs=1e-3)
    assert vars(known) | {"seconds_spent": read.seconds_spent} == vars(read)


@pytest.mark.parametrize("key", ["config", "installation", "journal"])
def test_without_its_digest_the_journal_is_read(folder, monkeypatch, key):
    """Manifests of version 0.2 have none."""
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest[key]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert loads(folder, monkeypatch)


def test_edited_settings_are_read_from_the_journal(folder, monkeypatch):
    config = folder / "config.yaml"
    config.write_text(config.read_text() + "description: edited\n")
    assert loads(folder, monkeypatch)


def test_a_row_that_was_changed_is_read(folder, monkeypatch):
    with closing(sqlite3.connect(folder / "journal.sqlite")) as journal:
        journal.execute("UPDATE outcomes SET checksum = checksum + 1")
        journal.commit()
    assert loads(folder, monkeypatch)


def test_rows_that_are_gone_are_missed(folder):
    with closing(sqlite3.connect(folder / "journal.sqlite")) as journal:
        journal.execute("DELETE FROM outcomes WHERE key = (SELECT min(key) FROM outcomes)")
        journal.commit()
    assert not (folder / "journal.sqlite-wal").exists()
    assert (runner.status(folder).done, runner.status(folder).missing) == (1, 1)


def test_edited_code_and_other_libraries_are_read_from_the_journal(folder, monkeypatch):
    assert not loads(folder, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(digests, "package_digest", lambda: "edited")
        assert loads(folder, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(digests, "version_of", lambda _: "0.0")
        assert loads(folder, monkeypatch)


def test_a_damaged_journal_is_refused(folder):
    (folder / "journal.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(StorageError, match="journal"):
        runner.status(folder)


def test_a_run_that_was_killed_is_read_from_the_journal(folder, monkeypatch):
    (folder / ".next").mkdir()
    assert loads(folder, monkeypatch)


def test_a_log_beside_the_journal_may_have_more_rows(folder, monkeypatch):
    (folder / "journal.sqlite-wal").write_bytes(b"rows")
    assert loads(folder, monkeypatch)


def test_every_source_file_counts(tmp_path):
    (tmp_path / "kernels").mkdir()
    digests = [sources_digest(tmp_path)]
    for name in ("a.py", "kernels/b.cpp", "kernels/c.hpp"):
        (tmp_path / name).write_text("1")
        digests.append(sources_digest(tmp_path))
        (tmp_path / name).write_text("2")
        digests.append(sources_digest(tmp_path))
    (tmp_path / "a.py").rename(tmp_path / "d.py")
    digests.append(sources_digest(tmp_path))
    assert len(set(digests)) == len(digests)
