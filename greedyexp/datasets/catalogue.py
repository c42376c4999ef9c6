"""The data sets there are, found by their modules."""

from __future__ import annotations

import importlib
import pkgutil

from greedyexp import datasets
from greedyexp.core.errors import DataError, did_you_mean
from greedyexp.datasets.record import Dataset


def known() -> dict[str, Dataset]:
    """Every data set by name, sorted."""
    found = {}
    for module in pkgutil.iter_modules(datasets.__path__):
        record = getattr(
            importlib.import_module(f"{datasets.__name__}.{module.name}"), "DATASET", None
        )
        if record is not None:
            found[record.name] = record
    return dict(sorted(found.items()))


def find(name: str) -> Dataset:
    """The data set of that name.

    Raises
    ------
    DataError
        When there is none; the message names the nearest.
    """
    records = known()
    if name not in records:
        raise DataError(f"there is no data set named '{name}'.", remedy=did_you_mean(name, records))
    return records[name]
