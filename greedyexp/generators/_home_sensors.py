"""Where the sensors of a made-up home are, and when they fire."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from greedyexp.generators._home_life import ACTIVITIES, SIZE

# A sensor at this distance in metres fires exp(-1/2) as often as one right at the spot.
_REACH = 1.2

# Metres, in each direction, between a sensor and the spot it watches.
_JITTER = 0.5

# Firings per second of a sensor right where an activity begins, of one by mistake, and the range
# for useless ones.
_ARRIVING = 0.3
_FALSE_ALARMS = 2e-6
_IDLE = (2e-5, 2e-4)

# Share of firings that a repetition that is not exact does not see.
_MISSES = 0.1


@dataclass(frozen=True)
class Layout:
    """Where sensors are, and what is wrong with some.

    Parameters
    ----------
    place : array (p, 2)
        Metres.
    original : int array (p,)
        The sensor that this one repeats; itself for most.
    misses : array (p,)
        Share of the original's firings that a repetition does not see.
    idle : array (p,)
        Firings per second that have nothing to do with the resident.
    useless : bool array (p,)
        Sensors that the resident never makes fire.
    """

    place: np.ndarray
    original: np.ndarray
    misses: np.ndarray
    idle: np.ndarray
    useless: np.ndarray


def layout(rng: np.random.Generator, n_sensors: int) -> Layout:
    """Sensors in an order that tells nothing.

    Of n sensors n // 8 are useless and n // 5 repeat others, half of these exactly. The others
    watch the spots of activities in turn, beginning anywhere, half a metre off in each direction.
    """
    spots = np.array([a.spot for a in ACTIVITIES if a.spot is not None])
    order = rng.permutation(n_sensors)
    n_useless, n_copies = n_sensors // 8, n_sensors // 5
    copies, useless, watching = np.split(order, [n_copies, n_copies + n_useless])
    place = np.empty((n_sensors, 2))
    turn = rng.permutation(len(spots))
    place[watching] = spots[turn[np.arange(len(watching)) % len(spots)]]
    place[watching] += _JITTER * rng.standard_normal((len(watching), 2))
    place[useless] = rng.uniform(0, SIZE, (n_useless, 2))
    original = np.arange(n_sensors)
    original[copies] = rng.choice(watching, n_copies, replace=n_copies > len(watching))
    place[copies] = place[original[copies]]
    misses = np.zeros(n_sensors)
    misses[copies[n_copies // 2 :]] = _MISSES
    idle = np.full(n_sensors, _FALSE_ALARMS)
    idle[copies] = 0.0
    idle[useless] = rng.uniform(*_IDLE, n_useless)
    return Layout(place, original, misses, idle, np.isin(np.arange(n_sensors), useless))


def firing_rates(
    home: Layout, rng: np.random.Generator, activities: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Firings per second in each bout, and while its activity begins, both (m, p)."""
    spots = rng.uniform(0, SIZE, (len(activities), 2))
    for kind, activity in enumerate(ACTIVITIES):
        if activity.spot is not None:
            spots[activities == kind] = activity.spot
    distance = np.linalg.norm(spots[:, None] - home.place, axis=2)
    seen = np.where(home.useless, 0.0, np.exp(-0.5 * (distance / _REACH) ** 2))
    motion = np.array([activity.motion for activity in ACTIVITIES])[activities]
    return motion[:, None] * seen + home.idle, _ARRIVING * seen + home.idle


def fired(
    home: Layout,
    rng: np.random.Generator,
    activities: np.ndarray,
    lengths: np.ndarray,
    interval: float,
) -> np.ndarray:
    """Whether each sensor fires in each sample, bool (n, p)."""
    during, beginning = (
        -np.expm1(-interval * rates).astype(np.float32)
        for rates in firing_rates(home, rng, activities)
    )
    ends = np.cumsum(lengths)
    fires = np.empty((ends[-1], len(home.idle)), dtype=bool)
    for bout, (begin, end) in enumerate(pairwise([0, *ends.tolist()])):
        chance = np.broadcast_to(during[bout], (end - begin, len(home.idle))).copy()
        chance[0] = beginning[bout]
        fires[begin:end] = rng.random(chance.shape, dtype=np.float32) < chance
    for copy in np.flatnonzero(home.original != np.arange(len(home.idle))):
        sees = rng.random(len(fires), dtype=np.float32) >= home.misses[copy]
        fires[:, copy] = fires[:, home.original[copy]] & sees
    return fires


def last_fired(rng: np.random.Generator, fires: np.ndarray) -> np.ndarray:
    """The sensor that fired last up to each sample, int (n,); -1 before the first.

    Which of several in one sample was the last is drawn at random.
    """
    keys = rng.random(fires.shape, dtype=np.float32)
    latest = np.where(fires, keys, -1.0).argmax(axis=1)
    sample = np.where(fires.any(axis=1), np.arange(len(fires)), -1)
    sample = np.maximum.accumulate(sample)
    return np.where(sample >= 0, latest[sample], -1)
