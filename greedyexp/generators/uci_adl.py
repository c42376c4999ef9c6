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
    TrainShare,
    split_days,
)
from greedyexp.generators._timeline import Spans, sampled
from greedyexp.problems.problem import Problem

# Sensors, and activities with "No activity".
_SIZES = {"A": (12, 10), "B": (12, 11)}

_SECONDS_PER_SAMPLE = 60


def _reads(**_) -> list[str]:
    return [str(path) for path in places.files(DATASET, places.located(DATASET))]


def _shape(*, home, **_) -> dict:
    n_sensors, n_classes = _SIZES[home]
    return {"n_tasks": n_classes, "n_features": n_sensors, "shared_design": True}


@generator(
    "uci_adl",
    title="Daily living in a home with binary sensors",
    paper="Ordonez, de Toledo & Sanchis 2013",
    provides=TRAITS,
    shape=_shape,
    reads=_reads,
    facts=("n_samples", "n_test"),
)
def uci_adl(
    rng: np.random.Generator,
    *,
    home: Annotated[Literal["A", "B"], Field(description="the home, of two")] = "A",
    representation: Representation = "last_fired",
    train_share: TrainShare = 0.5,
) -> Problem:
    """What the resident of a home does in each minute, from 12 sensors that are on or off.

    The data are UCI's (`greedyexp data fetch uci_adl_binary`; not for commercial use). Home A: 14
    days, 9 activities, 19875 minutes. Home B: 21 days and parts of the days before and after, 10
    activities, 30470 minutes. A chain is a calendar day, from the first activity to the last of
    the record; each replicate draws which share of the days is fitted to, the others are for
    testing.

    A feature is a sensor, named by location and place. Raw, it is 1 in the minutes in any part of
    which the sensor was on; last fired, it is 1 for the one sensor that turned on last, also on
    the day before. The label is the activity that holds most seconds of the minute. Minutes that
    no activity touches are of a class of their own, "No activity".

    An interval lasts to the end of the last second it names. Three activities of home A end before
    they begin; their lengths are not known, so they are left out. Where activities overlap, the
    one that began last holds the time. Sensors' lines out of order are put in order.
    """
    return split_days(rng, _sampled(load(home), representation), train_share)


@lru_cache(maxsize=2)
def _sampled(data: Home, representation: str) -> LabelledChains:
    midnight = data.activities.begin.min().astype("datetime64[D]")
    spans = (_spans(intervals, midnight) for intervals in (data.sensors, data.activities))
    return sampled(*spans, _SECONDS_PER_SAMPLE, representation)


def _spans(intervals: Intervals, midnight: np.datetime64) -> Spans:
    """Those that do not end before they begin, to the end of their last second."""
    begin, end = ((times - midnight).astype(np.int64) for times in (intervals.begin, intervals.end))
    good = end >= begin
    names = np.array(intervals.names)[good]
    return Spans.named(begin[good], end[good] + 1, names)
