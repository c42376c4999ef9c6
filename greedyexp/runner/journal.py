"""The journal: finished replicates in an SQLite file, with their fingerprints as keys.

`kill -9` is safe. In WAL mode, SQLite appends each transaction to a log with checksums and ignores
transactions that are incomplete. The operating system writes committed data to disk even if the
process is killed. `synchronous=NORMAL` saves one flush per commit: a power failure may lose the
last transactions, which are then computed again, but cannot corrupt the file.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from greedyexp.core.errors import StorageError
from greedyexp.protocols.base import Outcome, Status
from greedyexp.runner.seeds import canonical_json
from greedyexp.runner.shards import WHOLE, Shard
from greedyexp.runner.state import JOURNAL

NAME = JOURNAL
SCHEMA = "2"
# This format lacks the column fit_seconds, which is added when the journal is opened for writing.
_SCHEMA_WITHOUT_FITS = "1"

# Variables of one SQL statement; old versions of SQLite allow 999.
_MOST_VARIABLES = 500


@dataclass(frozen=True)
class JournalEntry:
    """One finished replicate.

    Parameters
    ----------
    key : bytes
        Fingerprint of the replicate.
    outcome : Outcome
    facts : dict
        Facts of the problem; empty if the data could not be made.
    seconds : float
        Time of the algorithm, with its tuning and metrics.
    """

    key: bytes
    outcome: Outcome
    facts: dict[str, Any]
    seconds: float


class Timing(NamedTuple):
    """Status and seconds of a finished replicate, and the seconds of the fit if it was timed."""

    status: Status
    seconds: float
    fit_seconds: float | None


class Journal:
    """The journal of a results folder, created if it does not exist. Use it as a context manager.

    Raises
    ------
    StorageError
        If the file is not a journal, is damaged or was written by another version, or if the folder
        cannot be written. The file is never deleted.
    """

    def __init__(self, folder: Path, *, read_only: bool = False):
        self.path = folder / NAME
        self._fits = "fit_seconds"
        with _storage_errors(self.path):
            if read_only:
                address = f"{self.path.resolve().as_uri()}?mode=ro{_unwritable(self.path)}"
                self._db = sqlite3.connect(address, uri=True, isolation_level=None)
            else:
                self._db = sqlite3.connect(self.path, isolation_level=None)
        try:
            with _storage_errors(self.path):
                self._open(read_only)
        except BaseException:
            self._db.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def add(self, entries: Iterable[JournalEntry]) -> None:
        """Write entries in one transaction; an entry replaces an older one of the same key."""
        rows = [
            (entry.key, *_packed(entry), entry.seconds, entry.outcome.fit_seconds)
            for entry in entries
        ]
        with self.transaction():
            self._db.executemany(
                "INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows
            )

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all that is added inside a ``with`` block, or nothing after an exception."""
        with _storage_errors(self.path):
            if self._db.in_transaction:
                yield
                return
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                # If the disk is full, SQLite may have rolled back already.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def remember_components(self, contents: Mapping[bytes, Any]) -> None:
        """Store what keys consist of, by the hashes of the components; the last are the latest."""
        rows = [(component, canonical_json(content)) for component, content in contents.items()]
        with self.transaction():
            # A replaced row becomes the last.
            self._db.executemany("INSERT OR REPLACE INTO components VALUES (?, ?)", rows)

    def components(self) -> dict[bytes, dict[str, Any]]:
        """Return the components of keys with their contents, the latest last."""
        if not self._has_components:
            return {}
        with _storage_errors(self.path):
            found = self._db.execute("SELECT digest, content FROM components ORDER BY rowid")
            return {component: json.loads(content) for component, content in found}

    @property
    def fully_recorded(self) -> bool:
        """False if the journal has replicates of unknown components, of an earlier version."""
        return self._has_components and self._meta("unrecorded") is None

    @property
    def empty(self) -> bool:
        """True if no replicate is finished."""
        with _storage_errors(self.path):
            return self._db.execute("SELECT 1 FROM outcomes LIMIT 1").fetchone() is None

    def everything(self) -> Iterator[list[JournalEntry]]:
        """Yield all entries, of any experiment, in lists of moderate length."""
        with _storage_errors(self.path):
            found = self._db.execute(f"SELECT {self._columns} FROM outcomes")
            while rows := found.fetchmany(_MOST_VARIABLES):
                yield [self._unpacked(row) for row in rows]

    def timings(self, keys: Sequence[bytes]) -> dict[bytes, Timing]:
        """Return status and seconds of each finished replicate among these keys."""
        found = self._select(f"key, status, seconds, {self._fits}", keys)
        return {key: Timing(self._status(name), *seconds) for key, name, *seconds in found}

    def entries(self, keys: Sequence[bytes]) -> dict[bytes, JournalEntry]:
        """Return the entry of each finished replicate among these keys."""
        return {row[0]: self._unpacked(row) for row in self._select(self._columns, keys)}

    @property
    def _columns(self) -> str:
        return f"key, status, message, facts, rows, checksum, seconds, {self._fits}"

    @property
    def origin(self) -> Path | None:
        """The base folder of relative paths in the last run, if known."""
        found = self._meta("origin")
        return Path(found) if found else None

    @property
    def profile(self) -> str | None:
        """The profile of the last run, if known."""
        return self._meta("profile")

    @property
    def shard(self) -> Shard:
        """The shard of the last run."""
        found = self._meta("shard")
        return Shard.parse(found) if found else WHOLE

    def remember(self, origin: Path, profile: str, shard: Shard) -> None:
        """Store what the settings of a run do not say, for ``status`` and ``merge``."""
        facts = {"origin": str(origin), "profile": profile, "shard": str(shard)}
        with _storage_errors(self.path):
            self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())

    def _meta(self, name: str) -> str | None:
        with _storage_errors(self.path):
            found = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return str(found[0]) if found else None

    def _open(self, read_only: bool) -> None:
        tables = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master")}
        if tables or read_only:
            self._check(tables)
        # After the check: setting the mode writes to the file, which may belong to another program.
        if not read_only:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
        if not tables and not read_only:
            self._create()
        elif self._fits == "NULL" and not read_only:
            self._add_fits()
        self._has_components = not read_only or "components" in tables
        if not read_only and "components" not in tables:
            self._add_components()

    def _check(self, tables: set[str]) -> None:
        """Reject files that are not a readable journal of this version."""
        if not {"meta", "outcomes"} <= tables:
            raise StorageError(
                "this SQLite file is not a journal of greedyexp.",
                place=str(self.path),
                remedy="Move it to another folder and run again.",
            )
        found = self._db.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
        if found is None or found[0] not in (SCHEMA, _SCHEMA_WITHOUT_FITS):
            raise StorageError(
                f"the journal has format {found[0] if found else 'unknown'}; this version of"
                f" greedyexp writes format {SCHEMA}.",
                place=str(self.path),
                remedy="Use the version that wrote it, or move the file to another folder and run"
                " again.",
            )
        (verdict,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise sqlite3.DatabaseError(verdict)
        if found[0] == _SCHEMA_WITHOUT_FITS:
            self._fits = "NULL"

    def _add_fits(self) -> None:
        """Convert a journal of the previous format; its replicates have no seconds of fits."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("ALTER TABLE outcomes ADD COLUMN fit_seconds REAL")
        self._db.execute("UPDATE meta SET value = ? WHERE name = 'schema'", (SCHEMA,))
        self._db.execute("COMMIT")
        self._fits = "fit_seconds"

    def _add_components(self) -> None:
        """Add the table that earlier versions lack, which read a journal with it, too."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("CREATE TABLE components (digest BLOB PRIMARY KEY, content TEXT NOT NULL)")
        if self._db.execute("SELECT 1 FROM outcomes LIMIT 1").fetchone():
            self.mark_unrecorded()
        self._db.execute("COMMIT")

    def mark_unrecorded(self) -> None:
        """Store that the journal has replicates of unknown components."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('unrecorded', '1')")

    def _create(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        self._db.execute(
            "CREATE TABLE outcomes (key BLOB PRIMARY KEY, status TEXT NOT NULL,"
            " message TEXT NOT NULL, facts TEXT NOT NULL, rows TEXT NOT NULL,"
            " checksum INTEGER NOT NULL, seconds REAL NOT NULL, fit_seconds REAL) WITHOUT ROWID"
        )
        self._db.execute("INSERT INTO meta VALUES ('schema', ?)", (SCHEMA,))
        self._db.execute("COMMIT")

    def _select(self, columns: str, keys: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(keys), _MOST_VARIABLES):
            some = keys[start : start + _MOST_VARIABLES]
            marks = ",".join("?" * len(some))
            with _storage_errors(self.path):
                found = self._db.execute(
                    f"SELECT {columns} FROM outcomes WHERE key IN ({marks})", some
                ).fetchall()
            yield from found

    def _status(self, name: str) -> Status:
        try:
            return Status(name)
        except ValueError:
            raise _damaged(self.path, f"there is no status '{name}'") from None

    def _unpacked(self, row: tuple[Any, ...]) -> JournalEntry:
        key, status, message, facts, rows, checksum, seconds, fit_seconds = row
        if checksum != _checksum(status, message, facts, rows):
            raise _damaged(self.path, "a row does not match its checksum")
        outcome = Outcome(self._status(status), message, json.loads(rows), fit_seconds)
        return JournalEntry(key, outcome, json.loads(facts), seconds)


def _unwritable(path: Path) -> str:
    """Return the option with which SQLite reads a file in a folder that cannot be written.

    Otherwise SQLite creates an index of the log there, unless a run that uses the journal has one.
    With this option, SQLite ignores the log, so a log with rows must not exist.
    """
    log, index = (path.with_name(f"{path.name}-{end}") for end in ("wal", "shm"))
    used = index.exists() or (log.exists() and log.stat().st_size > 0)
    return "" if used or os.access(path.parent, os.W_OK) else "&immutable=1"


def _packed(entry: JournalEntry) -> tuple[str, str, str, str, int]:
    outcome = entry.outcome
    # json writes floats by repr, which is read back as the same number.
    texts = (
        outcome.status.value,
        outcome.message,
        json.dumps(entry.facts, separators=(",", ":")),
        json.dumps(outcome.rows, separators=(",", ":")),
    )
    return (*texts, _checksum(*texts))


def _checksum(*texts: str) -> int:
    # SQLite detects damage to its own structure but not to the text of a cell.
    return zlib.crc32("\0".join(texts).encode("utf-8", "surrogatepass"))


def _damaged(path: Path, reason: str) -> StorageError:
    return StorageError(
        f"the journal cannot be read: {reason}.",
        place=str(path),
        remedy="Nothing was changed. Restore it, or move it to another folder and run again: its"
        " replicates are then computed again.",
    )


@contextmanager
def _storage_errors(path: Path) -> Iterator[None]:
    """Replace errors of SQLite by ``StorageError`` with a remedy."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise StorageError(
            f"the journal cannot be used: {error}.",
            place=str(path),
            remedy="Check free space and permissions. Replicates in the journal are kept, and the"
            " same command continues the run.",
        ) from error
    except sqlite3.DatabaseError as error:
        raise _damaged(path, str(error)) from error
