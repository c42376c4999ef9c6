"""Where a data set lies: in the folder that GREEDYEXP_DATA names, else in the user's cache."""

from __future__ import annotations

import os
from pathlib import Path

from greedyexp.core.errors import DataError
from greedyexp.datasets.record import Dataset

VARIABLE = "GREEDYEXP_DATA"


def cache() -> Path:
    """The folder that fetched data sets go to; it need not exist."""
    from platformdirs import user_cache_path

    return user_cache_path("greedyexp") / "data"


def own_folder() -> Path | None:
    """The folder that the user names in GREEDYEXP_DATA; None when the variable is not set."""
    named = os.environ.get(VARIABLE, "")
    return Path(named).expanduser() if named else None


def find(dataset: Dataset) -> Path | None:
    """The folder that holds every member, the user's own before the cache; None when none does."""
    roots = [root for root in (own_folder(), cache()) if root is not None]
    folders = [root / dataset.folder for root in roots]
    return next((folder for folder in folders if holds(folder, dataset)), None)


def located(dataset: Dataset) -> Path:
    """As ``find``.

    Raises
    ------
    DataError
        When no folder holds the data set; the message names the places looked at, and what a
        folder with a part of it lacks.
    """
    folder = find(dataset)
    if folder is not None:
        return folder
    own, cached = own_folder(), cache() / dataset.folder
    looked = f"not in the cache, {cached}"
    if own is not None:
        looked = f"neither in {own / dataset.folder} ({VARIABLE}) nor in {cached} (the cache)"
    raise DataError(
        f"the data set '{dataset.name}' is {looked}{_lacking(dataset)}.",
        remedy=f"Run `greedyexp data fetch {dataset.name}`, or name in {VARIABLE} a folder that"
        f" has it as {dataset.folder}/{dataset.members[0].name}, ...",
    )


def _lacking(dataset: Dataset) -> str:
    """What is wrong with places that were looked at, when more is than that nothing is there."""
    own, said = own_folder(), ""
    if own is not None and not own.is_dir():
        said += f"; {own} is {'no folder' if own.exists() else 'not there'}"
    for root in filter(None, (own, cache())):
        folder = root / dataset.folder
        missing = [m.name for m in dataset.members if not _file(folder, m.name).is_file()]
        if len(missing) < len(dataset.members):
            said += f"; {folder} lacks {', '.join(missing)}"
    return said


def files(dataset: Dataset, folder: Path) -> list[Path]:
    """The file of each member in a folder that holds them all."""
    return [_file(folder, member.name) for member in dataset.members]


def holds(folder: Path, dataset: Dataset) -> bool:
    """Whether every member is there, compressed or not."""
    return all(path.is_file() for path in files(dataset, folder))


def _file(folder: Path, name: str) -> Path:
    plain = folder / name
    return plain if plain.is_file() else folder / f"{name}.gz"
