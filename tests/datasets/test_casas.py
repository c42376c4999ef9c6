"""A user's recording in the event format of CASAS: what lines mean, what is said of bad ones."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from greedyexp.core.errors import DataError
from greedyexp.core.registry import find
from greedyexp.generators.casas import read

SAMPLE = Path(__file__).parents[2] / "docs" / "casas_sample.txt"

GOOD = """\
2020-01-01 07:00:00.5 M1 ON Sleeping begin
2020-01-01 07:00:03.25 M1 OFF
2020-01-01 07:01:00 D1 OPEN

2020-01-01 07:02:10.000001 D1 CLOSE Sleeping end
2020-01-01 07:03:00 T1 21.5
2020-01-01 07:04:30\tM2\tPRESENT\tMeal Preparation begin
2020-01-02 07:00:00 M2 ABSENT Meal Preparation end
"""


def written(folder, text) -> str:
    path = folder / "home.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def draw(path, seed=0, **given):
    part = find("generator", "casas")
    params = part.parameters(path=str(path), **given).model_dump()
    return part.function(np.random.default_rng(seed), **params)


def whole(problem):
    """Both parts in order of time, the earlier day being the shorter here."""
    parts = [
        (problem.chains, problem.X[0], np.stack(problem.y).argmax(axis=0)),
        (problem.chains_test, problem.X_test[0], np.stack(problem.y_test).argmax(axis=0)),
    ]
    return sorted(parts, key=lambda part: -part[0][0])


# --- what lines mean --------------------------------------------------------------------------


def test_events_become_spans_of_sensors_and_activities(tmp_path):
    recording = read(Path(written(tmp_path, GOOD)), skip_bad_lines=False)
    sensors, activities = recording.sensors, recording.activities
    hour = 3600.0
    assert sensors.names == ("D1", "M1", "M2")
    spans = sorted(zip(sensors.begin, sensors.end, sensors.kind, strict=True))
    assert spans == [
        (7 * hour + 0.5, 7 * hour + 3.25, 1),
        (7 * hour + 60, 7 * hour + 130.000001, 0),
        (7 * hour + 270, 31 * hour, 2),
    ]
    assert activities.names == ("Meal Preparation", "Sleeping")
    assert activities.begin.tolist() == [7 * hour + 0.5, 7 * hour + 270]
    assert activities.end.tolist() == [7 * hour + 130.000001, 31 * hour]
    assert (recording.bad_lines, recording.measurements) == (0, 1)


@pytest.mark.parametrize("change", ["\r\n", "bom", "shuffled"])
def test_line_ends_and_order_do_not_matter(tmp_path, change):
    text = GOOD
    if change == "\r\n":
        text = GOOD.replace("\n", "\r\n")
    if change == "bom":
        text = "\ufeff" + GOOD
    if change == "shuffled":
        lines = GOOD.splitlines()
        # The door opens after the line that says it closes.
        text = "\n".join([*lines[:2], *lines[3:5], lines[2], *lines[5:]])
    one = draw(written(tmp_path, GOOD), representation="raw")
    other = draw(written(tmp_path, text), representation="raw")
    assert np.array_equal(one.X[0], other.X[0])
    assert np.array_equal(np.stack(one.y), np.stack(other.y))
    assert one.facts == other.facts


def test_a_sensor_is_on_until_it_says_off(tmp_path):
    text = (
        "2020-01-01 00:00:00 M2 OFF a begin\n"
        "2020-01-01 00:01:00 M1 ON\n"
        "2020-01-01 00:02:00 M1 ON\n"
        "2020-01-01 00:03:00 M1 OFF\n"
        "2020-01-01 00:04:00 M1 OFF a end\n"
        "2020-01-01 00:05:00 M2 ON b begin\n"
        "2020-01-01 00:09:00 M3 OFF b end\n"
    )
    sensors = read(Path(written(tmp_path, text)), skip_bad_lines=False).sensors
    # M3 never turns on and is not a feature; M2 stays on to the last event.
    assert sensors.names == ("M1", "M2")
    spans = list(zip(sensors.begin, sensors.end, strict=True))
    assert spans == [(60, 180), (300, 540)]


def test_the_label_is_what_began_last(tmp_path):
    text = (
        "2020-01-01 23:50:00 M1 ON Sleeping begin\n"
        "2020-01-01 23:54:00 M2 ON Toilet begin\n"
        "2020-01-01 23:55:30 M2 OFF Toilet end\n"
        "2020-01-02 00:05:00 M1 OFF Sleeping end\n"
    )
    problem = draw(written(tmp_path, text), representation="raw")
    assert problem.class_names == ("Sleeping", "Toilet")
    (first, X, y), (second, X2, y2) = whole(problem)
    assert (first.tolist(), second.tolist()) == ([10], [5])
    assert y.tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    assert X[:, 1].tolist() == [0, 0, 0, 0, 1, 1, 0, 0, 0, 0]
    assert X[:, 0].all()
    assert X2[:, 0].all()
    assert not y2.any()


@pytest.mark.parametrize(("interval", "samples"), [(60.0, 5), (30.0, 10), (90.0, 4)])
def test_samples_are_as_long_as_asked(tmp_path, interval, samples):
    text = (
        "2020-01-01 23:58:00 M1 ON a begin\n2020-01-01 23:59:59 M1 OFF a end\n"
        "2020-01-02 00:00:00 M2 ON b begin\n2020-01-02 00:03:00 M2 OFF b end\n"
    )
    problem = draw(written(tmp_path, text), interval=interval)
    assert problem.facts["n_samples"] + problem.facts["n_test"] == samples


# --- lines that make no sense -----------------------------------------------------------------

BAD = {
    "2020-01-01 07:02:30 M1": "must have a date, a time, a sensor and a value; this one has 3",
    "nonsense": "this one has 1 word.",
    "2020-13-01 07:02:30 M1 ON": "'2020-13-01 07:02:30' is not a date and a time",
    "2020-1-1 07:02:30 M1 ON": "'2020-1-1 07:02:30' is not a date",
    "2020-01-01 07:02 M1 ON": "'2020-01-01 07:02' is not a date",
    "2020-01-01 07:02+01 M1 ON": "'2020-01-01 07:02\\+01' is not a date",
    "2020-01-01 24:02:30 M1 ON": "'2020-01-01 24:02:30' is not a date",
    "2020-01-01 07:02:30 M1 ON`": "'ON`' is not a value of a sensor; valid are numbers, ON, OFF",
    "2020-01-01 07:02:30 M1 on": "'on' is not a value",
    "2020-01-01 07:02:30 M1 " + "x" * 500: f"'{'x' * 37}\\.\\.\\.' is not a value",
    "2020-01-01 07:02:30 M1 ON Eating": "'begin' or 'end' are expected, not 'Eating'",
    "2020-01-01 07:02:30 M1 ON begin": "'begin' or 'end' are expected, not 'begin'",
    "2020-01-01 07:02:30 M1 ON Eating start": "not 'Eating start'",
    "2020-01-01 07:02:30 M1 ON Eating end": "activity 'Eating' ends but has not begun",
    "2020-01-01 07:02:30 M1 ON Eating begin": "activity 'Eating' begins and never ends",
    "\x00\xff\x01 \xfe M1 ON": "is not a date and a time",
}


@pytest.mark.parametrize("line", BAD)
def test_a_bad_line_is_named_or_skipped_and_counted(tmp_path, line):
    lines = GOOD.splitlines()
    lines.insert(5, line)
    path = written(tmp_path, "\n".join(lines).encode("latin-1"))
    with pytest.raises(DataError, match=BAD[line]) as caught:
        draw(path)
    assert str(caught.value).startswith(f"{path}:6: ")
    assert str(caught.value).endswith("or set skip_bad_lines: true to leave such lines out.")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400 + len(path)
    problem = draw(path, skip_bad_lines=True)
    assert problem.facts["bad_lines"] == 1
    without = draw(written(tmp_path, GOOD))
    assert np.array_equal(np.stack(problem.y), np.stack(without.y))


@pytest.mark.parametrize(
    ("text", "number", "words"),
    [
        ("2020-01-01 08:00:00 M1 ON a begin\n2020-01-01 09:00:00 M1 OFF a begin\n", 2, "on line 1"),
        ("2020-01-01 08:00:00 M1 ON a begin\n2020-01-01 07:00:00 M1 OFF a end\n", 2, "ends before"),
        ("2020-01-01 08:00:00 M1 ON a begin\n", 1, "never ends"),
    ],
)
def test_activities_have_one_begin_and_one_end(tmp_path, text, number, words):
    path = written(tmp_path, text)
    with pytest.raises(DataError, match=words) as caught:
        draw(path)
    assert str(caught.value).startswith(f"{path}:{number}: activity 'a' ")


# --- files that make no problem ---------------------------------------------------------------

EMPTY = {
    "": "this file is empty",
    "\n \n": "this file is empty",
    "2020-01-01 07:00:00 T1 20\n": "no sensor turns on in this file",
    "2020-01-01 07:00:00 M1 ON\n2020-01-02 07:00:00 M1 OFF\n": "no activity is marked in this file",
    "2020-01-01 07:00:00 M1 ON a begin\n2020-01-02 07:00:00 M1 OFF a end\n": (
        "only one activity, 'a', is marked in this file; at least two are needed"
    ),
}


@pytest.mark.parametrize("text", EMPTY)
def test_a_file_without_a_problem_is_refused_in_a_sentence(tmp_path, text):
    path = written(tmp_path, text)
    with pytest.raises(DataError, match=EMPTY[text]) as caught:
        draw(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_missing_file_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.txt: there is no such data file\."):
        draw(tmp_path / "nowhere.txt")
    with pytest.raises(DataError, match="this is a folder"):
        draw(tmp_path)


def test_a_day_alone_is_refused_before_any_work(tmp_path):
    text = "".join(line + "\n" for line in GOOD.splitlines()[:-1])
    path = written(tmp_path, text + "2020-01-01 08:00:00 M2 ABSENT Meal Preparation end\n")
    part = find("generator", "casas")
    params = part.parameters(path=path).model_dump()
    with pytest.raises(DataError, match="spans one day; at least two are needed") as caught:
        part.check(**params)
    assert caught.value.place == path


def test_a_wrong_year_is_refused_in_a_sentence(tmp_path):
    text = GOOD.replace("2020-01-02", "9020-01-02")
    path = written(tmp_path, text)
    with pytest.raises(
        DataError, match=r"too many .*\. Raise the interval, or look for a wrong date"
    ):
        draw(path)


# --- the sample -------------------------------------------------------------------------------


def test_the_sample_is_a_chain_problem():
    part = find("generator", "casas")
    params = part.parameters(path=str(SAMPLE)).model_dump()
    part.check(**params)
    assert part.reads(**params) == [str(SAMPLE)]
    problem = draw(SAMPLE)
    assert part.shape(**params).items() <= problem.shape.items()
    assert set(problem.facts) == set(part.facts)
    assert (problem.facts["bad_lines"], problem.facts["measurements"]) == (0, 4)
    assert problem.feature_names == ("D001", "M001", "M002", "M003", "M004")
    assert problem.class_names == (
        "Cooking",
        "Eating",
        "Out",
        "Reading",
        "Sleeping",
        "Washing",
        "No activity",
    )
    # Chains are the days, the first from the first activity on and the last to the last one.
    first, last = _marked(SAMPLE)
    midnight = datetime(first.year, first.month, first.day)
    lengths = sorted([*problem.chains, *problem.chains_test])
    before = int((first - midnight).total_seconds() // 60)
    after = int(-(-(last - midnight - timedelta(days=4)).total_seconds() // 60))
    assert lengths == sorted([1440 - before, 1440, 1440, 1440, after])
    assert (problem.X[0].sum(axis=1) == 1).all()


def _marked(path):
    """The first and the last moment at which the mark of an activity stands."""
    moments = [
        datetime.fromisoformat(" ".join(line.split()[:2]))
        for line in path.read_text().splitlines()
        if line.endswith(("begin", "end"))
    ]
    return min(moments), max(moments)


def test_another_replicate_draws_other_days():
    drawn = {tuple(draw(SAMPLE, seed, train_share=0.4).chains) for seed in range(12)}
    assert len(drawn) > 1
    assert all(len(chains) == 2 for chains in drawn)


def test_a_changed_file_is_read_anew(tmp_path):
    path = written(tmp_path, GOOD)
    one = draw(path)
    written(tmp_path, GOOD.replace("M1", "M9"))
    os.utime(path, (1, 1))
    assert "M9" in draw(path).feature_names
    assert "M9" not in one.feature_names


# --- files with nothing in them, and names without end ----------------------------------------


@pytest.mark.parametrize("text", ["", "\n\n  \n", "\ufeff"])
def test_an_empty_file_is_called_so(tmp_path, text):
    for skip in (False, True):
        with pytest.raises(DataError, match=r"home.txt: this file is empty"):
            read(Path(written(tmp_path, text)), skip_bad_lines=skip)


def test_a_file_of_another_format_is_refused_at_its_first_line(tmp_path):
    path = Path(written(tmp_path, "\nname,age\nAda,36\nBob,41\n"))
    with pytest.raises(DataError, match=r"no line .*; 3 were left out, line 2 because a line"):
        read(path, skip_bad_lines=True)
    # Measurements are lines that make sense.
    path = Path(written(tmp_path, "2020-01-01 07:00:00 T1 21.5\n"))
    with pytest.raises(DataError, match="no sensor turns on"):
        read(path, skip_bad_lines=True)


@pytest.mark.parametrize(
    "line",
    [
        "2020-01-01 07:00:00 {name} ON",
        "2020-01-01 07:00:00 M1 ON {name} begin",
        "2020-01-01 07:00:00 M1 ON {name} {name} begin",
    ],
)
def test_a_name_without_end_is_a_bad_line(tmp_path, line):
    for length in (201, 10**7 if "M1" not in line else 300):
        text = GOOD + line.format(name="x" * length) + "\n"
        path = Path(written(tmp_path, text))
        with pytest.raises(
            DataError, match=r":9: the name 'xxx.*\.\.\.' has .*at most 200"
        ) as caught:
            read(path, skip_bad_lines=False)
        assert len(str(caught.value)) < 1000
        recording = read(path, skip_bad_lines=True)
        assert recording.bad_lines == 1
        assert max(map(len, recording.sensors.names)) < 200
    text = GOOD + "2020-01-01 07:00:00 {0} ON\n2020-01-01 07:00:01 {0} OFF\n".format("x" * 200)
    sensors = read(Path(written(tmp_path, text)), skip_bad_lines=False).sensors
    assert "x" * 200 in sensors.names
