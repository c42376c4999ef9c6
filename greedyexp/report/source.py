"""Run folders at or below a path, or named by a user."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path
from unicodedata import normalize

from greedyexp.core.errors import StorageError
from greedyexp.core.run_files import CONFIG
from greedyexp.runner.run_contents import Run, read_run
from greedyexp.runner.run_folder import RERUN_REMEDY, RunFolder, folders, retried
from greedyexp.runner.shards import SHARD_FOLDER

# Run folders that an error names.
_MOST_NAMED = 4
# Names at the top of a report that no run has.
_RESERVED = re.compile(r"\..*|assets|index\.html|comparison_\d+\.(html|csv)")


def run_folders(path: Path) -> list[Path]:
    """Return the run folders at or below a path, at any depth; shards only at the path itself.

    Raises
    ------
    StorageError
        If there is no run folder.
    """
    homes = map(RunFolder, folders(path))
    finished = [home.path for home in homes if home.table or home.has_manifest]
    found = [one for one in finished if one == path or not SHARD_FOLDER.search(one.name)]
    if not found:
        raise StorageError(
            f"there is no finished run here{', only shards' if finished else ''}.",
            place=str(path),
            remedy=f"Create one with `greedyexp {'merge' if finished else 'run'}`.",
        )
    return found


def places_of(folders: Sequence[Path]) -> list[str]:
    """Return a folder for the output of each run, by the last two names of the run folder.

    No two are the same, also where letters differ by their case alone, and none is that of another
    file of a report.
    """
    places: list[str] = []
    taken: set[str] = set()
    for whole in (folder.resolve() for folder in folders):
        parent, name = whole.parent.name or "run", whole.name or "run"
        if _RESERVED.fullmatch(parent.casefold()):
            parent = f"run_{parent}"
        numbered = (f"{name}_{number}" for number in count(2))
        place = next(
            place
            for place in (f"{parent}/{one}" for one in chain([name], numbered))
            if normalize("NFC", place).casefold() not in taken
        )
        taken.add(normalize("NFC", place).casefold())
        places.append(place)
    return places


@retried
def open_run(folder: Path) -> Run:
    """Return the run of a folder that a user has named, with its table parsed.

    Raises
    ------
    StorageError
        Also if the path is not a run folder; the error names those that may be meant.
    """
    home = RunFolder(folder)
    if not home.has_settings and not home.has_manifest:
        raise _no_run(folder)
    return read_run(folder).loaded()


def require_rows(run: Run) -> None:
    """Raise ``StorageError`` if no replicate of a run is finished."""
    if run.frame.empty:
        raise StorageError(
            "the table of this run has no rows.",
            place=str(run.folder),
            remedy="Run the experiment, or merge its shards.",
        )


def _no_run(path: Path) -> StorageError:
    """Return the error for a path that is not a run folder, with those that may be meant."""
    if RunFolder(path).has_journal or RunFolder(path).unfinished:
        return StorageError(
            "the run of this folder has no table yet.", place=str(path), remedy=RERUN_REMEDY
        )
    if path.is_file():
        runs = [path.parent] if RunFolder(path.parent).has_settings else []
        message = "this is a file, not the folder of a run."
    elif path.is_dir():
        # Deeper levels are not searched: they may be a whole disk.
        below = [*path.glob(f"*/{CONFIG}"), *path.glob(f"*/*/{CONFIG}")]
        found = {one.parent for one in below if not one.parent.name.startswith(".")}
        runs, message = sorted(found), "this is not the folder of a run."
    else:
        siblings = path.parent.iterdir() if path.parent.is_dir() else ()
        near = difflib.get_close_matches(path.name, [one.name for one in siblings], n=1)
        runs, message = [path.with_name(name) for name in near], "there is no such folder."
    names = list(map(str, runs[:_MOST_NAMED]))
    if len(runs) > _MOST_NAMED:
        names.append(f"one of {len(runs) - _MOST_NAMED} others below it")
    named = " or ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
    remedy = f"Open {named}." if named else "Name a folder that `greedyexp run` has made."
    return StorageError(message, place=str(path), remedy=remedy)
