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
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from greedyexp.core.errors import StorageError
from greedyexp.core.files import refuse_link, unwritable
from greedyexp.core.run_files import JOURNAL
from greedyexp.protocols.base import Outcome, Status
from greedyexp.runner.digests import rows_digest
from greedyexp.runner.seeds import canonical_json
from greedyexp.runner.shards import WHOLE, Shard

NAME = JOURNAL
SCHEMA = "3"
# Journals of these formats are read, and converted when they are opened for writing. The first
# lacks the column fit_seconds. In both, the checksum of a row leaves out its seconds.
_EARLIER = ("1", "2")

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
        for end in ("", "-wal", "-shm"):
            file = self.path.with_name(f"{NAME}{end}")
            refuse_link(file, folder)
            with suppress(FileNotFoundError):
                # A folder has several names, and SQLite refuses it.
                linked = file.is_file() and file.stat().st_nlink > 1
                if linked and (end or not read_only):
                    raise StorageError(
                        "this file has a second name elsewhere, and both would be changed.",
                        place=str(file),
                        remedy="Replace it by a copy.",
                    )
        # The journal of a run never has such a file, which can name a file that SQLite deletes.
        if os.path.lexists(self.path.with_name(f"{NAME}-journal")):
            raise StorageError(
                f"the file {NAME}-journal does not belong to a run.",
                place=str(folder),
                remedy="Remove it.",
            )
        with _storage_errors(self.path):
            if read_only:
                address = f"{self.path.resolve().as_uri()}?mode=ro{_unwritable(self.path)}"
                self._db = sqlite3.connect(address, uri=True, isolation_level=None)
            else:
                self._db = sqlite3.connect(self.path, isolation_level=None)
        try:
            with _storage_errors(self.path):
                self._open(read_only)
            # A reader does not mind if the file is moved.
            self._file = None if read_only else self.path.stat()
        except BaseException:
            self._db.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._require_in_place()
        finally:
            self._db.close()

    def _require_in_place(self) -> None:
        """Raise ``StorageError`` if the file was removed, moved or replaced since it was opened.

        SQLite goes on with a file that has no name and is lost in the end. Its replicates are
        therefore written to a new file.
        """
        with suppress(OSError):
            if self._file is None or os.path.samestat(self.path.stat(), self._file):
                return
        self._file, copy = None, self.path
        try:
            if copy.exists() or not copy.parent.is_dir():
                copy = Path(tempfile.mkdtemp(prefix="greedyexp-")) / NAME
        except OSError as error:
            raise unwritable(Path(tempfile.gettempdir()), error) from error
        with _storage_errors(copy), closing(sqlite3.connect(copy)) as saved:
            self._db.backup(saved)
        remedy = "The same command continues the run."
        if copy != self.path:
            remedy = (
                f"Move {copy} to the folder of the run; the same command then continues the run."
            )
        raise StorageError(
            "somebody has removed, moved or replaced the journal during the run; its replicates are"
            f" in {copy}.",
            place=str(self.path),
            remedy=remedy,
        )

    def add(self, entries: Iterable[JournalEntry]) -> None:
        """Write entries in one transaction; an entry replaces an older one of the same key."""
        rows = [
            (entry.key, *texts, _checksum(texts, times), *times)
            for entry in entries
            for texts, times in [(_texts(entry), _times(entry))]
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
        self._require_in_place()

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
            return {component: self._data(content) for component, content in found}

    @property
    def fully_recorded(self) -> bool:
        """False if the journal has replicates of unknown components, of an earlier version."""
        return self._has_components and self._meta("unrecorded") is None

    @property
    def empty(self) -> bool:
        """True if no replicate is finished."""
        with _storage_errors(self.path):
            return self._db.execute("SELECT 1 FROM outcomes LIMIT 1").fetchone() is None

    @property
    def digest(self) -> str:
        """A digest of all rows."""
        with _storage_errors(self.path):
            return rows_digest(self._db)

    def everything(self) -> Iterator[list[JournalEntry]]:
        """Yield all entries, of any experiment, in lists of moderate length."""
        with _storage_errors(self.path):
            found = self._db.execute(f"SELECT {self._columns} FROM outcomes")  # noqa: S608 - constant names
            while rows := found.fetchmany(_MOST_VARIABLES):
                yield [self._unpacked(row) for row in rows]

    def timings(self, keys: Sequence[bytes]) -> dict[bytes, Timing]:
        """Return status and seconds of each finished replicate among these keys."""
        found = self._select(f"key, status, seconds, {self._fits}", keys)
        return {
            key: Timing(self._status(name), *self._seconds(seconds))
            for key, name, *seconds in found
        }

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
        # A file of somebody else may have views and triggers, which run code of SQL.
        self._db.execute("PRAGMA trusted_schema=OFF")
        found = dict(self._db.execute("SELECT name, type FROM sqlite_master WHERE type != 'index'"))
        tables = set(found) if set(found.values()) <= {"table"} else {"a view or a trigger"}
        if tables or read_only:
            self._check(tables)
        # After the check: setting the mode writes to the file, which may belong to another program.
        if not read_only:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
        if not tables and not read_only:
            self._create()
        elif not read_only:
            self._convert()
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
        if found is None or found[0] not in (SCHEMA, *_EARLIER):
            raise StorageError(
                f"the journal has format {found[0] if found else 'unknown'}; this version of"
                f" greedyexp writes format {SCHEMA}.",
                place=str(self.path),
                remedy="Use the version that wrote it, or move the file to another folder and run"
                " again.",
            )
        (verdict,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
        computed = [
            table
            for table in tables
            for column in self._db.execute("SELECT hidden FROM pragma_table_xinfo(?)", (table,))
            if column != (0,)
        ]
        if computed:
            verdict = f"table '{computed[0]}' has computed columns"
        if verdict != "ok":
            raise sqlite3.DatabaseError(verdict)
        self._schema = found[0]
        if self._schema == "1":
            self._fits = "NULL"

    def _convert(self) -> None:
        """Convert a journal of an earlier format; its rows keep their checksums."""
        if self._schema == SCHEMA:
            return
        self._db.execute("BEGIN IMMEDIATE")
        if self._fits == "NULL":
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
                    f"SELECT {columns} FROM outcomes WHERE key IN ({marks})",  # noqa: S608
                    some,
                ).fetchall()
            yield from found

    def _status(self, name: str) -> Status:
        try:
            return Status(name)
        except ValueError:
            raise _damaged(self.path, f"there is no status '{name}'") from None

    def _unpacked(self, row: tuple[Any, ...]) -> JournalEntry:
        key, status, message, facts, rows, checksum, *times = row
        texts = status, message, facts, rows
        whole = all(isinstance(text, str) for text in texts)
        if not whole or checksum not in (_checksum(texts, times), _checksum(texts)):
            raise _damaged(self.path, "a row does not match its checksum")
        cells, known = self._data(rows), self._data(facts)
        if not isinstance(cells, list) or not all(map(_are_cells, [known, *cells])):
            raise _damaged(self.path, "a row is not that of a replicate")
        seconds, fit_seconds = self._seconds(times)
        outcome = Outcome(self._status(status), message, cells, fit_seconds)
        return JournalEntry(key, outcome, known, seconds)

    def _data(self, text: str) -> Any:
        try:
            return json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise _damaged(self.path, f"a text is not JSON ({error})") from None

    def _seconds(self, times: Sequence[Any]) -> Sequence[Any]:
        if all(isinstance(time, float) for time in times if time is not None):
            return times
        raise _damaged(self.path, "the time of a row is not a number")


def _are_cells(row: Any) -> bool:
    """Return True for a mapping of names to numbers and texts."""
    return isinstance(row, dict) and all(
        value is None or isinstance(value, (str, int, float)) for value in row.values()
    )


def _unwritable(path: Path) -> str:
    """Return the option with which SQLite reads a file in a folder that cannot be written.

    Otherwise SQLite creates an index of the log there, unless a run that uses the journal has one.
    With this option, SQLite ignores the log, so a log with rows must not exist.
    """
    log, index = (path.with_name(f"{path.name}-{end}") for end in ("wal", "shm"))
    used = index.exists() or (log.exists() and log.stat().st_size > 0)
    return "" if used or os.access(path.parent, os.W_OK) else "&immutable=1"


def _texts(entry: JournalEntry) -> tuple[str, str, str, str]:
    outcome = entry.outcome
    # json writes floats by repr, which is read back as the same number.
    return (
        outcome.status.value,
        outcome.message,
        json.dumps(entry.facts, separators=(",", ":")),
        json.dumps(outcome.rows, separators=(",", ":")),
    )


def _times(entry: JournalEntry) -> list[float | None]:
    """Return the seconds of an entry as SQLite returns them."""
    times = (entry.seconds, entry.outcome.fit_seconds)
    return [None if time is None else float(time) for time in times]


def _checksum(texts: Iterable[str], times: Iterable[float | None] = ()) -> int:
    """Return the checksum of a row; rows of earlier formats have one without their times."""
    # SQLite detects damage to its own structure but not to the content of a cell.
    content = "\0".join([*texts, *map(repr, times)])
    return zlib.crc32(content.encode("utf-8", "surrogatepass"))


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
        # SQLite calls some damages an operational error, too: texts of other bytes, and names.
        if "UTF-8" in str(error):
            raise _damaged(path, "a text is not UTF-8") from error
        if "no such" in str(error):
            raise _damaged(path, str(error)) from error
        raise StorageError(
            f"the journal cannot be used: {error}.",
            place=str(path),
            remedy="Check free space and permissions. Replicates in the journal are kept, and the"
            " same command continues the run.",
        ) from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise _damaged(path, str(error)) from error
