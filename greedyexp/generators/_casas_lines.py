"""Reading recordings in the event format of the CASAS smart homes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.generators._timeline import Spans

# What sensors of motion, doors and things in place report; on and off for short.
STATES = {
    "ON": True,
    "OFF": False,
    "OPEN": True,
    "CLOSE": False,
    "CLOSED": False,
    "PRESENT": True,
    "ABSENT": False,
}

_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?")

# Characters of a line's text in a message.
_MOST_SHOWN = 40

# Characters of the name of a sensor or an activity, which become columns, labels and cells.
_LONGEST_NAME = 200


@dataclass(frozen=True, eq=False)
class Recording:
    """When sensors were on, what was done, and how many lines were of no use.

    Parameters
    ----------
    sensors, activities : Spans
        Seconds since the midnight before the first event.
    bad_lines : int
        Lines left out since they could not be understood.
    measurements : int
        Lines passed over since their value is a number: of temperature, power and the like.
    """

    sensors: Spans
    activities: Spans
    bad_lines: int
    measurements: int


class _Bad(Exception):
    """What is wrong with a line, in words."""


@dataclass
class _Reader:
    """What the lines so far have told."""

    events: list[tuple[datetime, str, bool]] = field(default_factory=list)
    done: list[tuple[datetime, datetime, str]] = field(default_factory=list)
    going_on: dict[str, tuple[datetime, int]] = field(default_factory=dict)
    measurements: int = 0

    def take(self, number: int, line: str) -> None:
        """Note what a line says; a bad one leaves no trace."""
        words = line.split()
        if len(words) < 4:
            raise _Bad(
                f"a line has a date, a time, a sensor and a value; this one has {len(words)}"
                f" word{'s' * (len(words) > 1)}"
            )
        when, sensor, state = _time(*words[:2]), _name(words[2]), _state(words[3])
        if len(words) > 4:
            self._mark(number, when, words[4:])
        if state is None:
            self.measurements += 1
        else:
            self.events.append((when, sensor, state))

    def _mark(self, number: int, when: datetime, words: list[str]) -> None:
        *name, mark = words
        activity = _name(" ".join(name))
        if not activity or mark not in ("begin", "end"):
            raise _Bad(
                "after the value comes an activity and 'begin' or 'end', not"
                f" {_shown(' '.join(words))}"
            )
        if mark == "begin":
            if activity in self.going_on:
                raise _Bad(
                    f"activity {_shown(activity)} begins again: it began on line"
                    f" {self.going_on[activity][1]} and has not ended"
                )
            self.going_on[activity] = (when, number)
            return
        if activity not in self.going_on:
            raise _Bad(f"activity {_shown(activity)} ends without having begun")
        begin, line = self.going_on[activity]
        if when < begin:
            raise _Bad(f"activity {_shown(activity)} ends before it began on line {line}")
        del self.going_on[activity]
        self.done.append((begin, when, activity))


def _time(date: str, time: str) -> datetime:
    written = f"{date} {time}"
    try:
        whole, fraction = _TIME.fullmatch(written).groups()
        return datetime.fromisoformat(whole).replace(microsecond=int(f"{fraction or 0:0<6}"[:6]))
    except (AttributeError, ValueError):
        raise _Bad(
            f"{_shown(written)} is not a date and a time such as 2009-10-16 00:01:04.5"
        ) from None


def _name(text: str) -> str:
    if len(text) > _LONGEST_NAME:
        raise _Bad(
            f"the name {_shown(text)} has {len(text)} characters; at most {_LONGEST_NAME} are read"
        )
    return text


def _shown(text: str) -> str:
    """Some text of a file on one line."""
    return repr(text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}...")


def _state(value: str) -> bool | None:
    """Whether the sensor is on; None for a measurement."""
    if value in STATES:
        return STATES[value]
    try:
        float(value)
    except ValueError:
        raise _Bad(
            f"{_shown(value)} is no value of a sensor; known are numbers, {', '.join(STATES)}"
        ) from None
    return None


def read(path: Path, *, skip_bad_lines: bool) -> Recording:
    """A recording: lines of date, time, sensor, value and, at times, an activity's begin or end.

    Lines need not be in order of time, empty ones do not count. A sensor is on from the event that
    says so to its next one that says that it is off, or to the last event of the file; an event
    that says again what is known changes nothing.

    Raises
    ------
    DataError
        When there is no such file; at the first line that makes no sense, or whose activity never
        ends, unless these are to be skipped; when no line is left, no sensor turns on, or fewer
        than two activities are marked.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig", errors="replace").split("\n")
    except FileNotFoundError:
        raise DataError("there is no such data file.", place=str(path)) from None
    except OSError as error:
        raise DataError(f"this cannot be read: {error.strerror}.", place=str(path)) from None
    reader = _Reader()
    bad = []
    for number, line in enumerate(lines, 1):
        try:
            if line.strip():
                reader.take(number, line)
        except _Bad as error:
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
            remedy="Mend the line, or set skip_bad_lines: true to leave such lines out.",
        )
    _refuse_empty(reader, path, bad)
    sensors, activities = _spans(reader)
    return Recording(sensors, activities, len(bad), reader.measurements)


def _refuse_empty(reader: _Reader, path: Path, bad: list[tuple[int, str]]) -> None:
    if not (reader.events or reader.measurements):
        if not bad:
            raise DataError("this file is empty.", place=str(path))
        number, what = bad[0]
        raise DataError(
            f"no line of this file makes sense; {len(bad)} were left out, line {number} since"
            f" {what}.",
            place=str(path),
            remedy="Give a file of lines of date, time, sensor and value.",
        )
    names = {activity for *_, activity in reader.done}
    if not any(on for *_, on in reader.events):
        raise DataError("no sensor turns on in this file.", place=str(path))
    if not names:
        raise DataError(
            "no activity is marked in this file.",
            place=str(path),
            remedy="Mark each by its name and 'begin' or 'end' after the value of an event.",
        )
    if len(names) == 1:
        raise DataError(
            f"only one activity, {_shown(min(names))}, is marked in this file: there is nothing to"
            " tell apart.",
            place=str(path),
        )


def _spans(reader: _Reader) -> tuple[Spans, Spans]:
    """Of sensors and activities, in seconds since the midnight before the first event."""
    events = sorted(reader.events, key=lambda event: event[0])
    times = [events[0][0], events[-1][0]]
    times += [time for begin, end, _ in reader.done for time in (begin, end)]
    midnight = min(times).replace(hour=0, minute=0, second=0, microsecond=0)
    on: dict[str, datetime] = {}
    spans = []
    for when, sensor, state in events:
        if state:
            on.setdefault(sensor, when)
        elif sensor in on:
            spans.append((on.pop(sensor), when, sensor))
    spans += [(begin, max(times), sensor) for sensor, begin in on.items()]
    return _seconds(spans, midnight), _seconds(reader.done, midnight)


def _seconds(spans: list[tuple[datetime, datetime, str]], midnight: datetime) -> Spans:
    times = np.array([[begin, end] for begin, end, _ in spans], dtype="datetime64[us]")
    seconds = (times - np.datetime64(midnight)) / np.timedelta64(1, "s")
    return Spans.named(seconds[:, 0], seconds[:, 1], [name for *_, name in spans])
