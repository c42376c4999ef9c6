"""A simulated smart home of the size of the paper's private recordings."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.core.registry import generator
from greedyexp.generators._home_life import ACTIVITIES, bouts, shares
from greedyexp.generators._home_sensors import Layout, fired, last_fired, layout
from greedyexp.generators._labelled_chains import (
    TRAITS,
    LabelledChains,
    Representation,
    pose,
)
from greedyexp.generators._timeline import DAY
from greedyexp.problems.problem import Problem


def _shape(*, n_sensors, n_train, **_) -> dict:
    return {
        "n_tasks": len(ACTIVITIES),
        "n_samples": n_train,
        "n_features": n_sensors,
        "shared_design": True,
    }


@generator(
    "simulated_home",
    title="Simulated smart home",
    paper="after Liu, Fujimaki & Ye 2014, section 5",
    provides=TRAITS,
    shape=_shape,
    facts=("n_samples", "n_test"),
)
def simulated_home(
    rng: np.random.Generator,
    *,
    n_sensors: Annotated[int, Field(ge=2, description="motion sensors, p")] = 40,
    n_train: Annotated[int, Field(ge=1, description="samples to fit to")] = 270_000,
    n_test: Annotated[int, Field(ge=1, description="samples held out")] = 270_000,
    interval: Annotated[float, Field(ge=1, le=600, description="seconds of a sample")] = 10.0,
    representation: Representation = "last_fired",
) -> Problem:
    """What the one resident of a home does, from motion sensors, at the paper's size.

    Everything is made up but the 14 activities and their shares of time, which are those of
    Table 1, one column for the samples to fit to and one for those held out (of showering, 4.5
    thousand are held out, where 45.0 is printed and would not fit the total).

    The resident is a semi-Markov process. Bouts last 1 + Poisson samples about a gamma variable of
    shape 4, with a mean from 2 minutes (preparing a beverage) to 150 (sleeping). The next activity
    is another one; some successions are likelier (eating after cooking), and the probabilities are
    such that the shares of time are those of the table. Both parts start anew, by these shares.

    Each activity has a spot in a home of 10 by 8 metres and a rate of motion, high for cooking, low
    for sleeping, none when out; "No Event" and "Others" are somewhere else in each bout. A sensor
    fires in a sample with probability 1 - exp(-interval rate), where the rate is the motion times
    exp(-d^2 / (2 1.2^2)) at a distance of d metres, plus rare false alarms. In the first sample of
    a bout there is much motion at its spot, as the resident arrives: the sensor at the door is the
    last one to see somebody leave.

    The layout is drawn for each data set. Of 40 sensors, 27 watch the spots in turn, half a metre
    off in each direction; 8 repeat one of these, 4 exactly and 4 but for a tenth of its firings;
    5 are useless and fire by themselves. Their order tells nothing.

    Raw, a feature is 1 where the sensor fires; last fired, it is 1 for the one sensor that fired
    last, also on the day before, and of several in one sample for one at random. A chain is a day,
    8640 samples of 10 seconds. The paper does not state its interval; its 270 thousand samples are
    a tenth of a month, which makes it one second, and `interval: 1` gives such data: three days,
    in which rare activities may be missing. The default gives a month.
    """
    home = layout(rng, n_sensors)
    parts = [
        _part(rng, home, shares(part), n, interval, representation)
        for part, n in (("train", n_train), ("test", n_test))
    ]
    return pose(*parts)


def _part(
    rng: np.random.Generator,
    home: Layout,
    share: np.ndarray,
    n: int,
    interval: float,
    representation: str,
) -> LabelledChains:
    """So many samples of the resident's days."""
    activities, lengths = bouts(rng, share, interval, n)
    fires = fired(home, rng, activities, lengths, interval)
    if representation == "raw":
        X = fires.astype(float)
    else:
        last = last_fired(rng, fires)
        X = (last[:, None] == np.arange(fires.shape[1])).astype(float)
    days = np.floor(np.arange(n) * interval / DAY)
    digits = len(str(fires.shape[1]))
    return LabelledChains(
        X,
        np.repeat(activities, lengths),
        np.unique(days, return_counts=True)[1],
        tuple(f"sensor {i:0{digits}d}" for i in range(1, fires.shape[1] + 1)),
        tuple(activity.name for activity in ACTIVITIES),
    )
