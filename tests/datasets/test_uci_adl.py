"""Daily living in two homes: the files are read as published, and minutes are what they say."""

from __future__ import annotations

import csv
import datetime
import gzip
import hashlib
from collections import Counter
from dataclasses import replace

import data_sets
import numpy as np
import pytest

from greedyexp.core.errors import DataError
from greedyexp.core.registry import find
from greedyexp.datasets import places
from greedyexp.datasets.catalogue import Member
from greedyexp.datasets.uci_adl_binary import DATASET, load
from greedyexp.generators import uci_adl as module

HEADS = (
    "Start time          \tEnd time            \tLocation\tType\t\tPlace\r\n",
    "Start time          \tEnd time            \tActivity\t\r\n",
)
RULE = "--------------------\t--------------------\t--------\r\n"

real = pytest.mark.skipif(
    places.find(DATASET) is None, reason="uci_adl_binary is neither in GREEDYEXP_DATA nor fetched"
)

SENSORS = [
    ("2020-01-01 07:00:10", "2020-01-01 07:02:00", "Bed\t\tPressure", "Bedroom"),
    ("2020-01-01 07:03:05", "2020-01-01 07:03:05", "Door\tPIR\t\t", "Hall"),
    ("2020-01-01 07:01:30", "2020-01-01 07:01:31", "Door\tPIR\t\t", "Kitchen"),
]
ACTIVITIES = [
    ("2020-01-01 07:00:00", "2020-01-01 07:02:29", "Sleeping\t\t"),
    ("2020-01-01 07:02:10", "2020-01-01 07:02:49", "Snack"),
    ("2020-01-01 07:02:20", "2020-01-01 06:02:20", "Lunch"),
    ("2020-01-01 07:05:00 ", "2020-01-01 07:05:00", "Spare_Time/TV\t"),
]


def text(rows, head: str, gap: str = "\t\t", end: str = "\r\n") -> bytes:
    """A file with the layout of the published ones; no line end after the last."""
    return (head + RULE + end.join(gap.join(row) for row in rows)).encode()


def contents(**how) -> dict[str, bytes]:
    """The four files; home B has what A has, but for one minute more."""
    more = [*ACTIVITIES, ("2020-01-02 07:00:00", "2020-01-02 07:00:59", "Snack")]
    texts = (
        text(SENSORS, HEADS[0], **how),
        text(ACTIVITIES, HEADS[1], **how),
        text(SENSORS, HEADS[0], **how),
        text(more, HEADS[1], **how),
    )
    return {member.name: t for member, t in zip(DATASET.members, texts, strict=True)}


def record(files):
    members = tuple(
        Member(name, hashlib.sha256(places.canonical(content)).hexdigest(), (3, 5))
        for name, content in files.items()
    )
    return replace(DATASET, members=members)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A machine with these files in its cache and no folder of data sets."""
    monkeypatch.delenv(places.VARIABLE, raising=False)
    monkeypatch.setattr(places, "cache", lambda: tmp_path / "cache")
    data_sets.write(tmp_path / "cache" / "uci_adl_binary", contents())
    return tmp_path


@pytest.fixture
def made_up(home, monkeypatch):
    """The generator reading these files."""
    known = record(contents())
    monkeypatch.setattr(module, "load", lambda name: load(name, known))
    return find("generator", "uci_adl").function


# --- reading ----------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("how", [{}, {"gap": "\t"}, {"gap": " \t \t "}, {"end": "\n"}])
def test_lines_are_read_whatever_their_padding(home, monkeypatch, how, packed):
    files = contents(**how)
    stored = {f"{n}.gz": gzip.compress(c) for n, c in files.items()} if packed else files
    data_sets.write(home / "other" / "uci_adl_binary", stored)
    monkeypatch.setenv(places.VARIABLE, str(home / "other"))
    data = load("A", record(contents()))
    assert data.sensors.names == ("Bed Bedroom", "Door Hall", "Door Kitchen")
    assert data.activities.names == ("Sleeping", "Snack", "Lunch", "Spare_Time/TV")
    assert data.sensors.begin[1] == data.sensors.end[1] == np.datetime64("2020-01-01T07:03:05")
    assert data.activities.end[2] == np.datetime64("2020-01-01T06:02:20")
    assert not data.sensors.begin.flags.writeable
    assert len(load("B", record(contents())).activities.names) == 5


def test_a_changed_second_is_refused(home):
    files = contents()
    name = "OrdonezB_ADLs.txt"
    data_sets_folder = home / "cache" / "uci_adl_binary"
    (data_sets_folder / name).write_bytes(files[name].replace(b"07:02:49", b"07:02:48"))
    with pytest.raises(DataError, match=r"OrdonezB_ADLs\.txt: the values in this file") as caught:
        load("A", record(files))
    remedy = "Run `greedyexp data fetch uci_adl_binary` to download it again."
    assert str(caught.value).endswith(remedy)


# --- minutes ----------------------------------------------------------------------------------


def minutes(generate, **given):
    """Home B's first day and its one minute of the second, whichever is fitted to."""
    params = {"home": "B", "representation": "raw", "train_share": 0.5, **given}
    problem = generate(np.random.default_rng(0), **params)
    parts = [
        (problem.chains, problem.X[0], np.stack(problem.y)),
        (problem.chains_test, problem.X_test[0], np.stack(problem.y_test)),
    ]
    (chains, X, y), (rest, *_) = sorted(parts, key=lambda part: -part[0][0])
    # To the end of the first day, and the second to its last activity.
    assert chains.tolist() == [17 * 60]
    assert rest.tolist() == [7 * 60 + 1]
    return problem, X, np.array(problem.class_names)[y.argmax(axis=0)]


def test_a_minute_is_labelled_by_what_holds_most_of_it(made_up):
    problem, _, labels = minutes(made_up)
    # In the third minute Sleeping holds 10 seconds, as Snack, which begins later, holds the rest
    # up to its end; Lunch ends before it begins. One second is enough in an empty minute.
    assert labels[:3].tolist() == ["Sleeping", "Sleeping", "Snack"]
    assert labels[3:6].tolist() == ["No activity", "No activity", "Spare_Time/TV"]
    assert set(labels[6:]) == {"No activity"}
    assert problem.class_names == ("Sleeping", "Snack", "Spare_Time/TV", "No activity")


def test_raw_says_which_sensors_were_on_in_the_minute(made_up):
    problem, X, _ = minutes(made_up)
    assert problem.feature_names == ("Bed Bedroom", "Door Hall", "Door Kitchen")
    assert X[:5].tolist() == [[1, 0, 0], [1, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert not X[5:].any()


def test_last_fired_says_which_sensor_turned_on_last(made_up):
    _, X, _ = minutes(made_up, representation="last_fired")
    assert X[:5].tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 1, 0], [0, 1, 0]]
    assert (X[5:] == [0, 1, 0]).all()


def test_a_record_of_one_day_is_refused_in_a_sentence(made_up):
    with pytest.raises(
        DataError, match="spans one day; at least two are needed, for training and for testing"
    ):
        made_up(np.random.default_rng(0), home="A", representation="raw", train_share=0.5)


# --- the real data ----------------------------------------------------------------------------

PUBLISHED = {
    "A": {
        "Spare_Time/TV": 77,
        "Grooming": 51,
        "Toileting": 44,
        "Sleeping": 14,
        "Showering": 14,
        "Breakfast": 14,
        "Leaving": 14,
        "Snack": 11,
        "Lunch": 9,
    },
    "B": {
        "Spare_Time/TV": 116,
        "Grooming": 113,
        "Toileting": 93,
        "Snack": 47,
        "Leaving": 38,
        "Sleeping": 29,
        "Breakfast": 22,
        "Lunch": 13,
        "Showering": 11,
        "Dinner": 11,
    },
}


@real
@pytest.mark.parametrize(("home", "events", "sensors"), [("A", 409, 12), ("B", 2334, 12)])
def test_the_data_have_the_published_counts(home, events, sensors):
    data = load(home)
    assert (len(data.sensors.names), len(set(data.sensors.names))) == (events, sensors)
    assert Counter(data.activities.names) == PUBLISHED[home]
    shapes = {member.name: member.shape for member in DATASET.members}
    assert shapes[f"Ordonez{home}_Sensors.txt"] == (events, 5)
    assert shapes[f"Ordonez{home}_ADLs.txt"] == (sum(PUBLISHED[home].values()), 3)


@real
def test_the_data_have_the_quirks_that_are_stated():
    a, b = load("A").activities, load("B").activities
    assert [name for name, bad in zip(a.names, a.end < a.begin, strict=True) if bad] == [
        "Toileting",
        "Grooming",
        "Breakfast",
    ]
    assert (b.end >= b.begin).all()
    assert (a.begin[1:] < a.end[:-1]).sum() == 2
    assert (b.begin[1:] < b.end[:-1]).sum() == 23
    assert (np.diff(load("A").sensors.begin) < np.timedelta64(0)).sum() == 0
    assert (np.diff(load("B").sensors.begin) < np.timedelta64(0)).sum() == 4
    assert (load("A").sensors.begin == load("A").sensors.end).sum() == 1


def walked(home: str):
    """Labels and raw features of each minute, from the files by a walk through their seconds."""

    def rows(name, width):
        folder = places.located(DATASET)
        with (folder / name).open(newline="") as opened:
            lines = [[w for w in row if w.strip()] for row in csv.reader(opened, delimiter="\t")]
        for row in lines[2:]:
            begin, end = (
                int(
                    (
                        datetime.datetime.fromisoformat(moment.strip())
                        - datetime.datetime(2011, 1, 1)
                    ).total_seconds()
                )
                for moment in row[:2]
            )
            if end >= begin:
                assert len(row) == width
                yield begin, end, row[2:]

    activities = sorted(rows(f"Ordonez{home}_ADLs.txt", 3), key=lambda row: row[0])
    first = activities[0][0] // 60
    n = max(end for _, end, _ in activities) // 60 + 1 - first
    names = sorted({row[2][0] for row in activities})
    second = np.full(60 * n, len(names))
    for begin, end, (name,) in activities:
        second[begin - 60 * first : end - 60 * first + 1] = names.index(name)
    counts = np.stack([(second.reshape(n, 60) == k).sum(axis=1) for k in range(len(names))])
    labels = np.where(counts.max(axis=0) > 0, counts.argmax(axis=0), len(names))
    sensors = list(rows(f"Ordonez{home}_Sensors.txt", 5))
    places_of = sorted({f"{row[0]} {row[2]}" for *_, row in sensors})
    X = np.zeros((n, len(places_of)))
    for begin, end, row in sensors:
        X[max(begin // 60 - first, 0) : end // 60 - first + 1][
            :, places_of.index(f"{row[0]} {row[2]}")
        ] = 1
    return X, labels, [*names, "No activity"], first


@real
@pytest.mark.parametrize(("home", "n_minutes", "days"), [("A", 19_875, 14), ("B", 30_470, 23)])
def test_minutes_are_those_of_a_walk_through_the_files(home, n_minutes, days):
    part = find("generator", "uci_adl")
    params = part.parameters(home=home, representation="raw").model_dump()
    X, labels, names, first = walked(home)
    assert len(labels) == n_minutes
    day = (first + np.arange(n_minutes)) // 1440
    lengths = np.unique(day, return_counts=True)[1]
    assert len(lengths) == days
    drawn = set()
    for seed in range(6):
        problem = part.function(np.random.default_rng(seed), **params)
        assert problem.class_names == tuple(names)
        assert part.shape(**params).items() <= problem.shape.items()
        assert len(problem.chains) == round(days / 2)
        assert sorted([*problem.chains, *problem.chains_test]) == sorted(lengths)
        # The columns of both parts, days apart, are what the walk gives.
        train = _days(problem.X[0], problem.y, problem.chains)
        test = _days(problem.X_test[0], problem.y_test, problem.chains_test)
        cuts = np.cumsum(lengths)[:-1]
        walked_days = zip(np.split(X, cuts), np.split(labels, cuts), strict=True)
        assert sorted(train + test) == sorted((x.tobytes(), y.tobytes()) for x, y in walked_days)
        drawn.add(tuple(train))
    assert len(drawn) > 1


def _days(X, y, chains):
    cuts = np.cumsum(chains)[:-1]
    labels = np.stack(y).argmax(axis=0)
    return [
        (np.ascontiguousarray(x).tobytes(), z.tobytes())
        for x, z in zip(np.split(X, cuts), np.split(labels, cuts), strict=True)
    ]


@real
def test_the_files_are_declared_as_read():
    files = find("generator", "uci_adl").reads(home="A")
    assert [name.rsplit("/", 1)[-1] for name in files] == [
        member.name for member in DATASET.members
    ]
