"""Daily living in a home with binary sensors, from UCI."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from greedyexp.core.registry import generator
from greedyexp.datasets import places
from greedyexp.datasets.uci_adl_binary import DATASET, Home, Intervals, load
from greedyexp.generators._labelled_chains import (
    TRAITS,
    LabelledChains,
    Representation,
    Spans,
    TrainShare,
    left_out,
    sampled,
    split_days,
)
from greedyexp.problems.problem import Problem, shared_design_shape

# Numbers of sensors, and of activities including "No activity".
_SIZES = {"A": (12, 10), "B": (12, 11)}

_SECONDS_PER_SAMPLE = 60


def _shape(*, home, **_) -> dict:
    n_sensors, n_classes = _SIZES[home]
    return shared_design_shape(n_sensors, n_tasks=n_classes)


@generator(
    "uci_adl",
    title="Daily living in a home with binary sensors",
    paper="Ordonez, de Toledo & Sanchis 2013",
    provides=TRAITS,
    shape=_shape,
    reads=lambda **_: places.paths(DATASET),
    facts=("n_samples", "n_test"),
    left_out=left_out,
)
def uci_adl(
    rng: np.random.Generator,
    *,
    home: Annotated[Literal["A", "B"], Field(description="one of the two homes")] = "A",
    representation: Representation = "last_fired",
    train_share: TrainShare = 0.5,
) -> Problem:
    """Activities of the resident of a home in each minute, from 12 binary sensors.

    The data are UCI's (`greedyexp data fetch uci_adl_binary`; not for commercial use). Home A: 14
    days, 9 activities, 19875 minutes. Home B: 21 days and parts of the days before and after, 10
    activities, 30470 minutes. A chain is a calendar day, from the first activity to the last of
    the record. Each replicate draws the training days; the others are test days.

    A feature is a sensor, named by location and place. With ``raw``, it is 1 in a minute if the
    sensor was on in any part of it. With ``last_fired``, it is 1 for the sensor that turned on
    last, even on the day before. The label is the activity with the most seconds in the minute.
    Minutes without any activity have a separate class, "No activity".

    An interval includes its last second. Three activities of home A end before they begin; their
    lengths are unknown, so they are left out. Where activities overlap, the time counts for the one
    that began last. Sensor lines out of order are sorted.
    """
    return split_days(rng, _sampled(load(home), representation), train_share)


@lru_cache(maxsize=2)
def _sampled(data: Home, representation: str) -> LabelledChains:
    midnight = data.activities.begin.min().astype("datetime64[D]")
    sensors, activities = _spans(data.sensors, midnight), _spans(data.activities, midnight)
    return sampled(sensors, activities, _SECONDS_PER_SAMPLE, representation)


def _spans(intervals: Intervals, midnight: np.datetime64) -> Spans:
    """The intervals that do not end before they begin, including their last second."""
    begin, end = ((times - midnight).astype(np.int64) for times in (intervals.begin, intervals.end))
    good = end >= begin
    names = np.array(intervals.names)[good]
    return Spans.named(begin[good], end[good] + 1, names)
