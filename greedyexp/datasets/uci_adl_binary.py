"""Activities of daily living in two homes with binary sensors, minute by minute for weeks.

For each home, A and B, one text file lists the intervals in which sensors were on. Another lists
the intervals of the resident's activities. Times are in whole seconds. Below two lines of headings,
fields are separated by a varying number of tabs, some with blanks. The hashes are those of the
canonical text of the files.

The files have known defects and are read without changes: three activities of home A end before
they begin; two of home A and 23 of home B begin before the previous one has ended; four lines of
home B's sensors are out of order; one event of home A begins and ends in the same second.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from greedyexp.datasets import places
from greedyexp.datasets.catalogue import Dataset, Member

if TYPE_CHECKING:
    import numpy as np

_HOMES = ("A", "B")

# Number of words of begin and end, each with a date and a time.
_TIMES = 4
_HEADINGS = 2

# Name, sha256 of the canonical text, lines and fields.
_MEMBERS = (
    ("A_Sensors", "d0e3bf2240f5d497ed9f2b98e984c915ffde6b4b647b176ff675d9846976b0a1", (409, 5)),
    ("A_ADLs", "5b336df288f51c59797c5eb9b069f2cc96943b868a4dfadd7f288925ee241a9c", (248, 3)),
    ("B_Sensors", "e1afcff94c2c3178dd2eec6f271aab6b329d53ab8d1c8d970847389694f84ff3", (2334, 5)),
    ("B_ADLs", "b8a83df95fc86f2b2d68eb1b01d913ce57456f6f0333b4d2757cb98b953d1e6c", (493, 3)),
)

DATASET = Dataset(
    name="uci_adl_binary",
    title="Daily living in two homes with binary sensors, Ordonez et al. 2013",
    page="https://archive.ics.uci.edu/dataset/271/"
    "activities+of+daily+living+adls+recognition+using+binary+sensors",
    licence="CC BY 4.0 by the page; the file README.txt inside prohibits any commercial use and"
    " asks for the citation",
    citation="F. Ordonez, P. de Toledo, A. Sanchis, Activity Recognition Using Hybrid"
    " Generative/Discriminative Models on Home Environments Using Binary Sensors, Sensors 13"
    " (2013), 5460-5477; doi:10.24432/C5J02M",
    urls=(
        "https://archive.ics.uci.edu/static/public/271/"
        "activities+of+daily+living+adls+recognition+using+binary+sensors.zip",
    ),
    folder="uci_adl_binary",
    members=tuple(Member(f"Ordonez{name}.txt", sha256, shape) for name, sha256, shape in _MEMBERS),
)


# Compare by identity, since each home is loaded only once in a process.
@dataclass(frozen=True, eq=False)
class Intervals:
    """The lines of a file, in their order.

    Parameters
    ----------
    begin, end : datetime64[s] arrays (m,), read-only
        The first and the last second.
    names : tuple of m str
        The activity, or the location and place of the sensor.
    """

    begin: np.ndarray
    end: np.ndarray
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Home:
    """The recording of a home: its sensors and its activities."""

    sensors: Intervals
    activities: Intervals


def load(home: str, dataset: Dataset = DATASET) -> Home:
    """Return the record of one home.

    Parameters
    ----------
    home : {"A", "B"}
    dataset : Dataset
        A data set with the layout of these files.

    Raises
    ------
    DataError
        If the data set is not found, or a file does not have the published values.
    """
    return _loaded(dataset, *places.stamped(dataset))[home]


@lru_cache(maxsize=1)
def _loaded(dataset: Dataset, folder: Path, _stamps) -> dict[str, Home]:
    texts = places.texts(dataset, folder)
    files = zip(texts[::2], texts[1::2], strict=True)
    return {
        home: Home(_intervals(sensors, drop=1), _intervals(activities, drop=None))
        for home, (sensors, activities) in zip(_HOMES, files, strict=True)
    }


def _intervals(text: bytes, *, drop: int | None) -> Intervals:
    """Begin, end and name of each line; the name is all words after the times except ``drop``."""
    import numpy as np

    rows = [line.split() for line in text.decode("ascii").splitlines()[_HEADINGS:]]
    times = np.array(
        [[f"{row[0]}T{row[1]}", f"{row[2]}T{row[3]}"] for row in rows], dtype="datetime64[s]"
    )
    places.freeze(times)
    names = ([word for i, word in enumerate(row[_TIMES:]) if i != drop] for row in rows)
    return Intervals(times[:, 0], times[:, 1], tuple(" ".join(words) for words in names))
