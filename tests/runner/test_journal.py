"""The journal keeps what was committed, and says clearly when it cannot."""

from __future__ import annotations

import hashlib
import math
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from contextlib import closing
from types import SimpleNamespace

import pytest

from greedyexp.core.errors import StorageError
from greedyexp.protocols.base import Outcome, Status
from greedyexp.runner.journal import NAME, Journal, JournalEntry


def key(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()


def entry(number: int, **measured) -> JournalEntry:
    return JournalEntry(key(number), Outcome(Status.OK, "", [measured]), {"n": number}, 0.25)


@pytest.fixture
def filled(tmp_path):
    """A folder whose journal has 200 rows."""
    with Journal(tmp_path) as journal:
        journal.add([entry(i, error=i / 7, note="x" * 50) for i in range(200)])
    return tmp_path


def test_what_goes_in_comes_out_exactly(tmp_path):
    values = [
        0.1,
        1e-300,
        -0.0,
        math.pi * 1e17,
        5e-324,
        float("inf"),
        float("nan"),
        3,
        "a,b\n",
        None,
    ]
    outcome = Outcome(Status.NOT_CONVERGED, "gap 1e-3, é", [{"v": v} for v in values])
    with Journal(tmp_path) as journal:
        journal.add([JournalEntry(key(0), outcome, {"n": 3, "s": 1.5}, 0.125)])
    with Journal(tmp_path) as journal:
        found = journal.entries([key(1), key(0)])[key(0)]
    assert repr(found.outcome) == repr(outcome)
    assert (found.facts, found.seconds) == ({"n": 3, "s": 1.5}, 0.125)


def stored(journal: Journal) -> int:
    """The number of entries."""
    with closing(sqlite3.connect(journal.path)) as db:
        return db.execute("SELECT count(*) FROM outcomes").fetchone()[0]


def test_only_the_keys_asked_for_are_found_however_many(filled):
    with Journal(filled) as journal:
        asked = [key(i) for i in range(0, 3000, 2)]
        assert set(journal.timings(asked)) == {key(i) for i in range(0, 200, 2)}
        assert stored(journal) == 200


def test_a_later_entry_replaces_an_earlier_one(filled):
    with Journal(filled) as journal:
        journal.add([entry(3, error=9.0)])
        assert journal.entries([key(3)])[key(3)].outcome.rows == [{"error": 9.0}]
        assert stored(journal) == 200


WRITER = """
import sys, hashlib
from pathlib import Path
from greedyexp.protocols.base import Outcome, Status
from greedyexp.runner.journal import JournalEntry, Journal
with Journal(Path(sys.argv[1])) as journal:
    for i in range(10**9):
        key = hashlib.sha256(str(i).encode()).digest()
        journal.add([JournalEntry(key, Outcome(Status.OK, "", [{"v": i}]), {}, 0.0)])
        print(i, flush=True)
"""


def test_kill_9_loses_no_committed_row(tmp_path):
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    for line in writer.stdout:
        if int(line) >= 300:
            break
    os.kill(writer.pid, signal.SIGKILL)
    committed = [int(line) for line in writer.stdout] or [300]
    writer.wait()
    with Journal(tmp_path) as journal:
        found = journal.entries([key(i) for i in range(committed[-1] + 1)])
        assert len(found) == committed[-1] + 1
        assert stored(journal) - len(found) in (0, 1)


def refusal(folder) -> str:
    """The sentence; checks that the refused file is byte for byte what it was."""
    path = folder / NAME
    before = path.read_bytes()
    with pytest.raises(StorageError) as caught:
        Journal(folder)
    assert path.read_bytes() == before
    assert caught.value.place == str(path)
    assert caught.value.remedy
    return str(caught.value)


def test_a_file_that_is_not_a_database_is_refused(tmp_path):
    (tmp_path / NAME).write_text("name,value\n" * 1000)
    assert "file is not a database" in refusal(tmp_path)


def test_a_database_of_another_program_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / NAME) as other:
        other.execute("CREATE TABLE songs (title)")
    assert "not a journal of greedyexp" in refusal(tmp_path)


def test_a_journal_of_another_version_is_refused(filled):
    with sqlite3.connect(filled / NAME) as other:
        other.execute("UPDATE meta SET value = '99' WHERE name = 'schema'")
    other.close()
    assert "format 99" in refusal(filled)


@pytest.mark.parametrize("how", ["overwritten", "truncated"])
def test_damage_to_the_structure_is_found_before_any_work(filled, how):
    path = filled / NAME
    content = bytearray(path.read_bytes())
    if how == "overwritten":
        content[4096 * 3 : 4096 * 3 + 64] = os.urandom(64)
    else:
        del content[len(content) // 2 // 4096 * 4096 :]
    path.write_bytes(content)
    assert "cannot be read" in refusal(filled)


def test_damage_to_a_value_is_found_when_it_is_read(filled):
    path = filled / NAME
    content = path.read_bytes()
    place = content.index(b'"error":11.0')
    path.write_bytes(content[:place] + b'"error":12.0' + content[place + 12 :])
    with Journal(filled) as journal:
        assert journal.entries([key(5)])[key(5)].outcome.rows[0]["error"] == 5 / 7
        with pytest.raises(StorageError, match="checksum"):
            journal.entries([key(77)])


@pytest.mark.parametrize("column", ["seconds", "fit_seconds", "message", "rows"])
def test_damage_to_any_cell_is_found_when_it_is_read(filled, column):
    damaged = {"message": "x'ff'", "rows": "CAST(x'ff' AS TEXT)"}.get(column, "0.5")
    with closing(sqlite3.connect(filled / NAME)) as db, db:
        db.execute(f"UPDATE outcomes SET {column} = {damaged} WHERE key = ?", [key(5)])
    with Journal(filled) as journal, pytest.raises(StorageError, match="the journal cannot be"):
        journal.entries([key(5)])


def test_a_journal_whose_checksums_leave_out_the_seconds_is_read_and_continued(filled):
    with closing(sqlite3.connect(filled / NAME)) as db, db:
        for number in range(200):
            texts = db.execute(
                "SELECT status, message, facts, rows FROM outcomes WHERE key = ?", [key(number)]
            ).fetchone()
            db.execute(
                "UPDATE outcomes SET checksum = ? WHERE key = ?",
                [zlib.crc32("\0".join(texts).encode()), key(number)],
            )
        db.execute("UPDATE meta SET value = '2' WHERE name = 'schema'")
    for read_only in (True, False):
        with Journal(filled, read_only=read_only) as journal:
            assert journal.entries([key(5)])[key(5)].seconds == 0.25
    with Journal(filled) as journal:
        journal.add([entry(300, error=1.0)])
        assert len(journal.entries([key(5), key(300)])) == 2


def test_a_status_that_does_not_exist_is_damage(tmp_path):
    with Journal(tmp_path) as journal:
        journal.add([entry(0, error=1.0)])
        odd = entry(1, error=1.0)
        object.__setattr__(odd.outcome, "status", SimpleNamespace(value="lost"))
        journal.add([odd])
    with Journal(tmp_path) as journal, pytest.raises(StorageError, match="no status 'lost'"):
        journal.entries([key(1)])


def test_a_folder_in_the_place_of_the_file_is_a_clear_error(tmp_path):
    (tmp_path / NAME).mkdir()
    with pytest.raises(StorageError, match="unable to open database file"):
        Journal(tmp_path)


def test_a_full_disk_is_a_clear_error_and_keeps_what_was_there(filled):
    """A limit on the size of files stands in for the disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Journal(filled) as journal:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
        try:
            with pytest.raises(StorageError, match="free space"):
                journal.add([entry(i, note="x" * 1000) for i in range(1000, 2000)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with Journal(filled) as journal:
        assert stored(journal) == 200
        assert journal.entries([key(7)])[key(7)].outcome.rows[0]["error"] == 1.0


def test_a_reader_sees_the_journal_while_it_is_written(filled):
    with Journal(filled) as writer:
        writer.add([entry(500, error=0.0)])
        with Journal(filled, read_only=True) as reader:
            assert stored(reader) == 201


def test_a_folder_that_cannot_be_written_is_read(filled, monkeypatch):
    monkeypatch.setattr("greedyexp.runner.journal.os.access", lambda *_: False)
    with Journal(filled, read_only=True) as reader:
        assert stored(reader) == 200
        # SQLite would make a log and its index here.
        assert [path.name for path in filled.iterdir()] == [NAME]
    with Journal(filled) as writer:
        writer.add([entry(500, error=0.0)])
        for name in ("", "-wal"):
            copied = filled / f"copy/{NAME}{name}"
            copied.parent.mkdir(exist_ok=True)
            copied.write_bytes((filled / f"{NAME}{name}").read_bytes())
    # The last row is in the log only.
    with Journal(filled / "copy", read_only=True) as reader:
        assert stored(reader) == 201


def test_a_reader_makes_no_journal(tmp_path):
    with pytest.raises(StorageError):
        Journal(tmp_path, read_only=True)
    assert not (tmp_path / NAME).exists()


def test_journaling_a_row_takes_far_less_than_the_overhead_allowed(tmp_path):
    rows = [entry(i, error=0.5, success=1) for i in range(5000)]
    with Journal(tmp_path) as journal:
        start = time.perf_counter()
        journal.add(rows)
        assert (time.perf_counter() - start) / len(rows) < 2e-4
