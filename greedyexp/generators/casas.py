"""A user's own recording of a smart home in the event format of CASAS."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.core.errors import DataError
from greedyexp.core.registry import generator
from greedyexp.datasets.own import stamped
from greedyexp.generators._labelled_chains import (
    TRAITS,
    LabelledChains,
    Representation,
    Spans,
    TrainShare,
    left_out,
    require_two_days,
    sampled,
    split_days,
)
from greedyexp.problems.problem import Problem, shared_design_shape

# Values of motion sensors, doors and item sensors: True for on, False for off.
_STATES = {
    "ON": True,
    "OFF": False,
    "OPEN": True,
    "CLOSE": False,
    "CLOSED": False,
    "PRESENT": True,
    "ABSENT": False,
}

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?")

# Largest number of characters of a line that a message quotes.
_MOST_SHOWN = 40

# Longest name of a sensor or an activity; names become columns, labels and cells.
_LONGEST_NAME = 200


@lru_cache(maxsize=4)
def _cached(
    path: str, _stamp: tuple[int, ...], interval: float, representation: str, skip_bad_lines: bool
) -> tuple[LabelledChains, dict]:
    recording = read(Path(path), skip_bad_lines=skip_bad_lines)
    record = sampled(recording.sensors, recording.activities, interval, representation, path)
    return record, {"bad_lines": recording.bad_lines, "measurements": recording.measurements}


def _read(path, interval, representation, skip_bad_lines) -> tuple[LabelledChains, dict]:
    found, stamp = stamped(path)
    return _cached(found, stamp, interval, representation, skip_bad_lines)


def _check(*, train_share, **reading):
    require_two_days(_read(**reading)[0], reading["path"])


def _shape(*, train_share, **reading):
    record, _ = _read(**reading)
    return shared_design_shape(len(record.feature_names), n_tasks=len(record.class_names))


@generator(
    "casas",
    title="Your own recording of a smart home",
    paper="Cook, Crandall, Thomas & Krishnan 2013",
    provides=TRAITS,
    check=_check,
    shape=_shape,
    reads=lambda path, **_: [path],
    facts=("n_samples", "n_test", "bad_lines", "measurements"),
    left_out=left_out,
)
def casas(
    rng: np.random.Generator,
    *,
    path: Annotated[
        str, Field(description="file of events; a relative path starts from the experiment file")
    ],
    interval: Annotated[
        float, Field(ge=0.1, le=3600, description="length of a sample in seconds")
    ] = 60.0,
    representation: Representation = "last_fired",
    train_share: TrainShare = 0.5,
    skip_bad_lines: Annotated[
        bool, Field(description="leave out invalid lines and count them")
    ] = False,
) -> Problem:
    """Activities in each minute, from a recording in the event format of CASAS.

    A line is an event: date, time, sensor, value, and possibly the name of an activity that begins
    or ends with it, separated by blanks or tabs:

        2009-10-16 00:01:04.000059 M017 ON Sleeping begin

    The values are ON, OFF, OPEN, CLOSE or CLOSED, PRESENT and ABSENT. Numbers are measurements
    (such as a temperature), which are ignored. Anything else is an error that names the line, or is
    left out. The same holds for activities that begin twice, end without having begun, or never
    end. A sensor is on until an event turns it off. Lines need not be in order of time.

    Features are the sensors that turn on at least once. With ``raw``, a feature is 1 in a sample if
    the sensor was on in any part of it. With ``last_fired``, it is 1 for the sensor that turned on
    last, even on the day before. The label is the activity with the most time in the sample; where
    activities overlap, the time counts for the one that began last. Samples without any activity
    have a separate class, "No activity".

    A chain is a calendar day, from the first activity to the last of the recording; days with
    neither an activity nor an event are left out. Each replicate draws the training days; the
    others are test days.

    Columns
    -------
    bad_lines
        Number of invalid lines that were left out.
    measurements
        Number of lines ignored because their value is a number.
    """
    record, counts = _read(path, interval, representation, skip_bad_lines)
    return split_days(rng, record, train_share, **counts)


@dataclass(frozen=True, eq=False)
class Recording:
    """A recording: sensors, activities, and the numbers of lines left out.

    Parameters
    ----------
    sensors, activities : Spans
        Seconds since the midnight before the first event.
    bad_lines : int
        Number of invalid lines that were left out.
    measurements : int
        Number of lines ignored because their value is a number, such as a temperature.
    """

    sensors: Spans
    activities: Spans
    bad_lines: int
    measurements: int


class _InvalidLine(Exception):
    """An invalid line; the message says why."""


@dataclass
class _Reader:
    """The contents of the lines read so far; times are datetime64[us]."""

    events: list[tuple[np.datetime64, str, bool]] = field(default_factory=list)
    done: list[tuple[np.datetime64, np.datetime64, str]] = field(default_factory=list)
    going_on: dict[str, tuple[np.datetime64, int]] = field(default_factory=dict)
    measurements: int = 0

    def take(self, number: int, line: str) -> None:
        """Add the contents of a line, or raise ``_InvalidLine`` and change nothing."""
        words = line.split()
        if len(words) < 4:
            raise _InvalidLine(
                f"a line must have a date, a time, a sensor and a value; this one has {len(words)}"
                f" word{'s' * (len(words) > 1)}"
            )
        when, sensor, state = _time(f"{words[0]} {words[1]}"), _name(words[2]), _state(words[3])
        if len(words) > 4:
            self._mark(number, when, words[4:])
        if state is None:
            self.measurements += 1
        else:
            self.events.append((when, sensor, state))

    def _mark(self, number: int, when: np.datetime64, words: list[str]) -> None:
        """Begin or end an activity."""
        activity, mark = _name(" ".join(words[:-1])), words[-1]
        begun = self.going_on.get(activity)
        if not activity or mark not in ("begin", "end"):
            raise _InvalidLine(
                "after the value, an activity and 'begin' or 'end' are expected, not"
                f" {_shown(' '.join(words))}"
            )
        if mark == "begin":
            if begun:
                raise _InvalidLine(
                    f"activity {_shown(activity)} begins again: it began on line {begun[1]} and"
                    " has not ended"
                )
            self.going_on[activity] = (when, number)
            return
        if not begun:
            raise _InvalidLine(f"activity {_shown(activity)} ends but has not begun")
        if when < begun[0]:
            raise _InvalidLine(
                f"activity {_shown(activity)} ends before it began on line {begun[1]}"
            )
        del self.going_on[activity]
        self.done.append((begun[0], when, activity))


def _time(written: str) -> np.datetime64:
    try:
        # NumPy has a year 0, but the calendar does not.
        if _TIME.fullmatch(written) and not written.startswith("0000"):
            # Digits below a microsecond are left out.
            return np.datetime64(written[:26], "us")
    except ValueError:
        # The month, the day or the hour does not exist; refused below.
        pass
    raise _InvalidLine(f"{_shown(written)} is not a date and a time such as 2009-10-16 00:01:04.5")


def _name(text: str) -> str:
    if len(text) > _LONGEST_NAME:
        raise _InvalidLine(
            f"the name {_shown(text)} has {len(text)} characters; at most {_LONGEST_NAME} are read"
        )
    return text


def _shown(text: str) -> str:
    """A quotation from a file on one line."""
    return repr(text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}...")


def _state(value: str) -> bool | None:
    """True if the sensor is on, False if it is off, None for a measurement."""
    if value in _STATES:
        return _STATES[value]
    try:
        float(value)
    except ValueError:
        raise _InvalidLine(
            f"{_shown(value)} is not a value of a sensor; valid are numbers, {', '.join(_STATES)}"
        ) from None
    return None


def read(path: Path, *, skip_bad_lines: bool) -> Recording:
    """Read a recording: lines of date, time, sensor, value and possibly the mark of an activity.

    Lines need not be in order of time, and empty ones are ignored. A sensor is on from an event
    that turns it on to its next event that turns it off, or to the last event of the file. Events
    that repeat the current state change nothing.

    Raises
    ------
    DataError
        If the file cannot be read, if a line is invalid or its activity never ends (unless such
        lines are skipped), if no line is left, if no sensor turns on, or if fewer than two
        activities are marked.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig", errors="replace").split("\n")
    except OSError as error:
        raise DataError(f"the file cannot be read: {error.strerror}.", place=str(path)) from None
    reader = _Reader()
    bad = []
    for number, line in enumerate(lines, 1):
        try:
            if line.strip():
                reader.take(number, line)
        except _InvalidLine as error:
            bad.append((number, str(error)))
            if not skip_bad_lines:
                break
    else:
        bad += [
            (number, f"activity {_shown(activity)} begins and never ends")
            for activity, (_, number) in reader.going_on.items()
        ]
    if bad and not skip_bad_lines:
        number, what = min(bad)
        raise DataError(
            f"{what}.",
            place=f"{path}:{number}",
            remedy="Fix the line, or set skip_bad_lines: true to leave such lines out.",
        )
    _refuse_empty(reader, path, bad)
    return Recording(*_spans(reader), len(bad), reader.measurements)


def _refuse_empty(reader: _Reader, path: Path, bad: list[tuple[int, str]]) -> None:
    """Raise DataError if the valid lines have no sensor events or fewer than two activities."""
    message, remedy = "", None
    names = {activity for *_, activity in reader.done}
    if not (reader.events or reader.measurements or bad):
        message = "this file is empty."
    elif not (reader.events or reader.measurements):
        number, what = bad[0]
        message = (
            f"no line of this file is valid; {len(bad)} were left out, line {number} because"
            f" {what}."
        )
        remedy = "Give a file with lines of date, time, sensor and value."
    elif not any(on for *_, on in reader.events):
        message = "no sensor turns on in this file."
    elif not names:
        message = "no activity is marked in this file."
        remedy = "Mark each with its name and 'begin' or 'end' after the value of an event."
    elif len(names) == 1:
        message = (
            f"only one activity, {_shown(min(names))}, is marked in this file; at least two are"
            " needed."
        )
    if message:
        raise DataError(message, place=str(path), remedy=remedy)


def _spans(reader: _Reader) -> tuple[Spans, Spans]:
    """Spans of sensors and activities, in seconds since the midnight before the first event."""
    events = sorted(reader.events, key=lambda event: event[0])
    times = [events[0][0], events[-1][0]]
    times += [time for begin, end, _ in reader.done for time in (begin, end)]
    on: dict[str, np.datetime64] = {}
    spans = []
    for when, sensor, state in events:
        if state:
            on.setdefault(sensor, when)
        elif sensor in on:
            spans.append((on.pop(sensor), when, sensor))
    spans += [(begin, max(times), sensor) for sensor, begin in on.items()]
    midnight = min(times).astype("datetime64[D]")
    return _seconds(spans, midnight), _seconds(reader.done, midnight)


def _seconds(spans: list[tuple[np.datetime64, np.datetime64, str]], midnight) -> Spans:
    *times, names = zip(*spans, strict=True)
    begin, end = (np.array(times) - midnight) / np.timedelta64(1, "s")
    return Spans.named(begin, end, names)
