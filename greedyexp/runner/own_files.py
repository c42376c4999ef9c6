"""The files in a folder that greedyexp has written; all others are the user's.

A record in the folder lists them with digests. A file is replaced or removed only if it still has
its digest. What a user has added or edited stays, and a note says so.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

from greedyexp.core.errors import StorageError
from greedyexp.core.files import (
    in_the_way,
    read_bytes,
    refuse_link,
    remove_file,
    replacing,
    write_text,
)
from greedyexp.core.listing import listed
from greedyexp.core.run_files import CLAIMS, OUTPUTS, PLUGINS, SUFFIXES
from greedyexp.core.stored import load_json
from greedyexp.runner.digests import content_digest

# Files that a note names.
_MOST_NAMED = 5
# Where the outputs of a run are; its other files are never removed as such.
_PLACES = frozenset((*SUFFIXES, PLUGINS, CLAIMS))
# The entry of a record that names the run of the files, if they are not in its folder.
_SOURCE = "source"


class OwnFiles:
    """The files of a folder that greedyexp has written, in groups that are written together.

    Parameters
    ----------
    folder : Path
    record : str
        Name of the record.
    adopted : mapping of str to iterable of str, optional
        Groups of files, as paths below the folder. In a folder without a readable record, which an
        earlier version has written, those that exist belong to greedyexp.

    Attributes
    ----------
    left_alone : set of Path
        Files of the user that were not replaced or removed.
    """

    def __init__(
        self, folder: Path, record: str, adopted: Mapping[str, Iterable[str]] | None = None
    ):
        self._folder, self._record = folder, record
        groups = self._recorded()
        if groups is None:
            groups = {
                name: {"files": self._present(paths)} for name, paths in (adopted or {}).items()
            }
        self._groups = groups
        self.left_alone: set[Path] = set()

    def _recorded(self) -> dict[str, dict[str, Any]] | None:
        """Return the record; None if there is none, or an earlier version has written another."""
        path = self._folder / self._record
        try:
            content = load_json(read_bytes(path, self._folder), any_names=True)
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            content = None
        if isinstance(content, dict):
            return {name: group for name, group in content.items() if isinstance(group, dict)}
        if self._record == OUTPUTS:
            raise in_the_way(path)
        return None

    def _present(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the digests of those files that exist."""
        digests = ((path, self._digest(path)) for path in paths if _lies_below(path))
        return {path: digest for path, digest in digests if digest}

    def _digest(self, path: str) -> str | None:
        """Return the digest of a file; empty if there is none, and None if it cannot be read.

        A folder of the user in its place, or a file in the place of its folder, cannot be read.
        """
        try:
            return content_digest(read_bytes(self._folder / path, self._folder))
        except FileNotFoundError:
            return ""
        except (OSError, ValueError, StorageError):
            return None

    @property
    def names(self) -> list[str]:
        """The names of all groups."""
        return list(self._groups)

    def require_source(self, run: Path, former: Path) -> None:
        """Record that these are the figures and tables of a run.

        Parameters
        ----------
        run : Path
            Its folder.
        former : Path
            That of the former figures and tables, if there is no record of it.

        Raises
        ------
        StorageError
            If there are those of another run folder.
        """
        recorded = self._groups.setdefault(_SOURCE, {"run": str(former.resolve())}).get("run")
        if recorded != str(run.resolve()):
            raise StorageError(
                f"this folder has the figures of another run, {recorded}.",
                place=str(self._folder),
                remedy="Name another folder with --out.",
            )

    def current(self, name: str, inputs: str) -> list[Path] | None:
        """Return the files of a group if they were made from these inputs and are unchanged."""
        group = self._groups.get(name, {})
        files = self._digests(group, "files")
        if group.get("inputs") != inputs or not files or "before" in group:
            return None
        unchanged = all(self._digest(path) == digest for path, digest in files.items())
        # The user may have moved a file away to have it written.
        unchanged &= all(self._digest(path) != "" for path in self._digests(group, "left"))
        return [self._folder / path for path in files] if unchanged else None

    def require_own(self, name: str, files: Mapping[str, str]) -> None:
        """Raise ``StorageError`` if a file of the user is in the place of a file of a group.

        Parameters
        ----------
        name : str
        files : mapping of str to str
            Digests by paths.
        """
        for path in sorted(files.keys() - self._replaceable(name, files)):
            raise in_the_way(self._folder / path)

    def _replaceable(self, name: str, files: Mapping[str, str]) -> list[str]:
        """Return those of the files that do not exist, or are not the user's."""
        for path in files:
            refuse_link(self._folder / path, self._folder)
        owned = self._owned(name)
        return [
            path
            for path, digest in files.items()
            if path in owned or self._digest(path) in ("", digest)
        ]

    def begin(self, name: str, inputs: str, files: Mapping[str, str]) -> list[str]:
        """Record the files that a group will have.

        If the process dies before ``finish``, the old files and the new ones both belong to
        greedyexp, so that the next run completes the change.

        Parameters
        ----------
        name : str
            Name of the group.
        inputs : str
            A digest of what the files are made from.
        files : mapping of str to str
            Digests by paths.

        Returns
        -------
        list of str
            Files to write. Files of the user are not among them.

        Raises
        ------
        StorageError
            If a link is in the place of a file, or the record cannot be written.
        """
        before = self._owned(name)
        own = self._replaceable(name, files)
        left = {path: digest for path, digest in files.items() if path not in own}
        self._leave(left.keys() | self._edited(name) - files.keys())
        fresh = {path: files[path] for path in own}
        group = {"inputs": inputs, "files": fresh, "before": before}
        self._groups[name] = {**group, "left": left} if left else group
        self._write()
        return own

    def finish(self, name: str) -> None:
        """Remove the former files of a group that it no longer has."""
        group = self._groups.get(name, {})
        files = self._digests(group, "files")
        for path in self._owned(name).keys() - files.keys():
            with suppress(FileNotFoundError):
                remove_file(self._folder / path, self._folder)
        if group.pop("before", None) is not None:
            if not files:
                del self._groups[name]
            self._write()

    def replace(self, name: str, inputs: str, contents: Mapping[str, bytes | Path]) -> list[Path]:
        """Write the files of a group, in this order, and remove those that it no longer has.

        Parameters
        ----------
        name : str
        inputs : str
        contents : mapping of str to bytes or Path
            Contents by paths below the folder, or files with the contents.

        Returns
        -------
        list of Path
            All files but those that are the user's.

        Raises
        ------
        StorageError
            If a file cannot be written; each file is then the old one or the new one.
        """
        if not contents:
            self.remove([name])
            return []
        digests = {path: content_digest(_bytes(content)) for path, content in contents.items()}
        written = self.begin(name, inputs, digests)
        for path in written:
            if self._digest(path) != digests[path]:
                with replacing(self._folder / path, self._folder) as stream:
                    stream.write(_bytes(contents[path]))
        self.finish(name)
        return [self._folder / path for path in written]

    def remove(self, names: Iterable[str]) -> None:
        """Remove the files of groups."""
        gone = self._groups.keys() & set(names)
        for name in gone:
            self._leave(self._edited(name))
            for path in self._owned(name):
                remove_file(self._folder / path, self._folder)
            del self._groups[name]
        if gone:
            self._write()

    def _leave(self, paths: Iterable[str]) -> None:
        self.left_alone |= {self._folder / path for path in paths}

    def _edited(self, name: str) -> set[str]:
        """Return the recorded files of a group that the user has changed."""
        files = self._digests(self._groups.get(name, {}), "files").keys() - self._owned(name).keys()
        return {path for path in files if self._digest(path) != ""}

    def _owned(self, name: str) -> dict[str, str]:
        """Return the files of a group that exist unchanged, with their digests."""
        group = self._groups.get(name, {})
        former, files = self._digests(group, "before"), self._digests(group, "files")
        owned = {}
        for path in former | files:
            digest = self._digest(path)
            if digest and digest in (former.get(path), files.get(path)):
                owned[path] = digest
        return owned

    def _digests(self, group: Mapping[str, Any], key: str) -> dict[str, str]:
        """Return paths and digests of a group; an edited record may have others."""
        files = group.get(key)
        pairs = files.items() if isinstance(files, dict) else ()
        kept = {path: digest for path, digest in pairs if _lies_below(path)}
        if self._record != OUTPUTS:
            return kept
        return {path: digest for path, digest in kept.items() if PurePath(path).parts[0] in _PLACES}

    def _write(self) -> None:
        write_text(self._folder / self._record, json.dumps(self._groups, indent=1), self._folder)


def _lies_below(path: str) -> bool:
    name = PurePath(path)
    return bool(name.parts) and not (name.anchor or ".." in name.parts)


def _bytes(content: bytes | Path) -> bytes:
    return content if isinstance(content, bytes) else content.read_bytes()


def note_left_alone(files: Iterable[Path]) -> None:
    """Print a note on stderr about files of the user that were not replaced or removed."""
    if named := sorted(map(str, files)):
        # A closed output must not end the command.
        with suppress(OSError):
            print(
                "Note: files that greedyexp did not write or that have been changed since are left"
                f" alone: {listed(named, _MOST_NAMED)}. Move them away to have them written.",
                file=sys.stderr,
            )
