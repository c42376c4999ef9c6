"""What the one resident of a made-up home does, and for how long."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Activity:
    """One thing that the resident does.

    Parameters
    ----------
    name : str
    train, test : float
        Thousands of samples in the paper's Table 1.
    minutes : float
        Mean length of a bout.
    spot : pair of float, optional
        Where, in metres; anew anywhere in the home for each bout when there is none.
    motion : float
        How often a sensor right there fires, per second.
    """

    name: str
    train: float
    test: float
    minutes: float
    spot: tuple[float, float] | None
    motion: float


# Of the home, in metres.
SIZE = (10.0, 8.0)

# The paper prints 45.0 for showering in the test samples, with which they sum to 309 thousand
# rather than 270; 4.5 gives 268.
ACTIVITIES = (
    Activity("Sleeping", 81, 87, 150, (1.5, 6.5), 0.002),
    Activity("Out of Home", 66, 42, 120, (9.5, 0.5), 0.0),
    Activity("Using Computer", 64, 46, 40, (4.0, 7.0), 0.02),
    Activity("Relaxing", 25, 65, 25, (6.0, 5.5), 0.015),
    Activity("Eating", 6.4, 6.0, 15, (7.5, 3.5), 0.04),
    Activity("Cooking", 5.2, 4.6, 12, (9.0, 6.0), 0.1),
    Activity("Showering", 3.9, 4.5, 12, (1.0, 1.0), 0.08),
    Activity("No Event", 3.4, 3.5, 2, None, 0.02),
    Activity("Using Toilet", 2.5, 2.6, 2.5, (3.5, 1.0), 0.06),
    Activity("Hygiene", 1.6, 1.6, 2.5, (2.2, 2.2), 0.1),
    Activity("Dishwashing", 1.5, 1.8, 5, (8.2, 7.3), 0.1),
    Activity("Beverage Preparation", 1.4, 1.4, 2, (9.3, 7.5), 0.1),
    Activity("Bath Cleaning", 0.5, 0.3, 4, (0.6, 1.8), 0.12),
    Activity("Others", 6.5, 2.1, 6, None, 0.05),
)

# How much likelier than others one activity follows another.
_FOLLOWS = {
    ("Sleeping", "Using Toilet"): 10,
    ("Using Toilet", "Sleeping"): 5,
    ("Using Toilet", "Hygiene"): 6,
    ("Cooking", "Eating"): 20,
    ("Eating", "Dishwashing"): 15,
    ("Bath Cleaning", "Showering"): 20,
    ("Showering", "Hygiene"): 5,
    ("Beverage Preparation", "Relaxing"): 4,
    ("Beverage Preparation", "Using Computer"): 4,
    ("Hygiene", "Out of Home"): 3,
    ("Out of Home", "No Event"): 3,
}

# Of the gamma law that spreads the lengths of bouts about their mean.
_SHAPE = 4.0

# Rounds of scaling rows and columns; the margins are met to rounding long before.
_ROUNDS = 2000


def shares(part: str) -> np.ndarray:
    """Of time, by activity; part is "train" or "test"."""
    counts = np.array([getattr(activity, part) for activity in ACTIVITIES])
    return counts / counts.sum()


def mean_lengths(interval: float) -> np.ndarray:
    """Mean bout of each activity in samples of that many seconds, at least one."""
    return np.maximum(np.array([60 * a.minutes / interval for a in ACTIVITIES]), 1.0)


def transitions(share: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Probabilities (r, r) of the next activity, by which activities hold these shares of time.

    With bouts of these mean lengths the shares of bouts are f in proportion to share / mean. The
    plausible successions are scaled by a factor for each row and column such that both margins of
    the joint law of successive bouts are f, which makes f stationary; nothing follows itself.
    """
    f = share / mean
    f = f / f.sum()
    names = [activity.name for activity in ACTIVITIES]
    joint = np.ones((len(f), len(f)))
    for (before, after), factor in _FOLLOWS.items():
        joint[names.index(before), names.index(after)] = factor
    np.fill_diagonal(joint, 0.0)
    for _ in range(_ROUNDS):
        joint *= (f / joint.sum(axis=0))[None, :]
        joint *= (f / joint.sum(axis=1))[:, None]
    return joint / f[:, None]


def bouts(
    rng: np.random.Generator, share: np.ndarray, interval: float, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Activities of successive bouts, and their lengths in samples, which sum to n.

    The first is drawn by the shares of time, and the last one is cut off.
    """
    mean = mean_lengths(interval)
    rows = np.cumsum(transitions(share, mean), axis=1)
    rows[:, -1] = 1.0
    paths = [row.tolist() for row in rows]
    now = int(rng.choice(len(share), p=share))
    activities, lengths, total = [], [], 0
    while total < n:
        length = 1 + int(rng.poisson(rng.gamma(_SHAPE, (mean[now] - 1) / _SHAPE)))
        activities.append(now)
        lengths.append(min(length, n - total))
        total += length
        now = bisect_right(paths[now], rng.random())
    return np.array(activities), np.array(lengths)
