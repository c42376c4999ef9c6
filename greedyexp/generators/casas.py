"""A user's own recording of a smart home in the event format of CASAS."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.core.errors import DataError
from greedyexp.core.registry import generator
from greedyexp.datasets.own import locate
from greedyexp.generators._casas_lines import read
from greedyexp.generators._labelled_chains import (
    TRAITS,
    LabelledChains,
    Representation,
    TrainShare,
    require_two_days,
    split_days,
)
from greedyexp.generators._timeline import sampled
from greedyexp.problems.problem import Problem


@lru_cache(maxsize=1)
def _cached(
    path: str, interval: float, representation: str, skip_bad_lines: bool, _stamp
) -> tuple[LabelledChains, dict]:
    recording = read(Path(path), skip_bad_lines=skip_bad_lines)
    try:
        record = sampled(recording.sensors, recording.activities, interval, representation)
    except DataError as error:
        raise DataError(error.message, place=path, remedy=error.remedy) from None
    return record, {"bad_lines": recording.bad_lines, "measurements": recording.measurements}


def _read(path, interval, representation, skip_bad_lines) -> tuple[LabelledChains, dict]:
    found = locate(path)
    stamp = found.stat().st_mtime_ns
    return _cached(str(found), interval, representation, skip_bad_lines, stamp)


def _check(*, path, interval, representation, skip_bad_lines, **_):
    record, _ = _read(path, interval, representation, skip_bad_lines)
    require_two_days(record, path)


def _shape(*, path, interval, representation, skip_bad_lines, **_):
    record, _ = _read(path, interval, representation, skip_bad_lines)
    return {
        "n_tasks": len(record.class_names),
        "n_features": len(record.feature_names),
        "shared_design": True,
    }


@generator(
    "casas",
    title="Your own recording of a smart home",
    paper="Cook, Crandall, Thomas & Krishnan 2013",
    provides=TRAITS,
    check=_check,
    shape=_shape,
    reads=lambda path, **_: [path],
    facts=("n_samples", "n_test", "bad_lines", "measurements"),
)
def casas(
    rng: np.random.Generator,
    *,
    path: Annotated[
        str, Field(description="file of events; a relative path starts from the experiment file")
    ],
    interval: Annotated[float, Field(ge=0.1, le=3600, description="seconds of a sample")] = 60.0,
    representation: Representation = "last_fired",
    train_share: TrainShare = 0.5,
    skip_bad_lines: Annotated[
        bool, Field(description="leave out lines that make no sense, and count them")
    ] = False,
) -> Problem:
    """What is done in each minute, from a recording in the event format of CASAS.

    A line is an event: date, time, sensor, value, and at times the name of an activity that begins
    or ends with it, blanks or tabs between them:

        2009-10-16 00:01:04.000059 M017 ON Sleeping begin

    Values are ON, OFF, OPEN, CLOSE or CLOSED, PRESENT, ABSENT; numbers are measurements (of
    temperature, power), which are passed over and counted in ``measurements``. Anything else is an
    error that names the line, or is left out and counted in ``bad_lines``. So are activities that
    begin twice, or end without having begun, or never end. A sensor is on until it says that it is
    off. Lines need not be in order of time.

    Features are the sensors that turn on at least once. Raw, they are 1 in the samples in any part
    of which the sensor was on; last fired, the one that turned on last is 1, also on the day
    before. The label is the activity that holds most of the sample; where activities overlap, the
    one that began last holds the time. A sample that no activity touches is of a class of its own,
    "No activity".

    A chain is a calendar day, from the first activity to the last of the recording; days with
    neither an activity nor an event are left out. Each replicate draws which share of the days is
    fitted to, the others are for testing.
    """
    record, counts = _read(path, interval, representation, skip_bad_lines)
    return split_days(rng, record, train_share, **counts)
