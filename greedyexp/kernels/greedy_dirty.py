"""One path of the greedy dirty model, Algorithm 1 of Jalali & Sanghavi (2012), in Gram form.

The stopping threshold enters only as the test that ends the run, so one run with a small threshold
passes through the output of every larger one: the output for epsilon is the state before the first
forward step whose reward is at most epsilon. These are the states at strict running minima of the
rewards, and only they are recorded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greedyexp.kernels import dirty_objects, gram_fit
from greedyexp.kernels._compile import kernel
from greedyexp.kernels.gram_fit import TIE

# How a run ended.
DONE = 0
TOO_LARGE = 1
CYCLE = 2
# Forward steps allowed for each entry that could enter a support.
PATIENCE = 100


class Snapshot(NamedTuple):
    """An earlier state, kept to notice that the run has come back to it."""

    single: np.ndarray
    row: np.ndarray
    rewards: np.ndarray
    depth: np.ndarray


@kernel
def _snapshot_of(objects):
    depth = np.full(2, -1, np.int64)
    return Snapshot(objects.single.copy(), objects.row.copy(), objects.rewards.copy(), depth)


@kernel
def _returned(objects, snapshot):
    """Whether the run stands where the snapshot was taken, up to rounding of the rewards."""
    for line in range(2):
        depth = objects.depth[line]
        if depth != snapshot.depth[line]:
            return False
        for t in range(depth):
            now, then = objects.rewards[line, t], snapshot.rewards[line, t]
            if abs(now - then) > TIE * then:
                return False
    return np.array_equal(objects.row, snapshot.row) and np.array_equal(
        objects.single, snapshot.single
    )


@kernel
def _keep(objects, snapshot):
    snapshot.single[:] = objects.single
    snapshot.row[:] = objects.row
    snapshot.rewards[:] = objects.rewards
    snapshot.depth[:] = objects.depth


@kernel
def _loss(fits, power):
    total = 0.0
    for j in range(len(power)):
        total += 0.5 * (power[j] - gram_fit.explained(fits, j))
    return max(total, 0.0)


class Record(NamedTuple):
    """The recorded states, with room for more."""

    epsilon: np.ndarray
    loss: np.ndarray
    ends: np.ndarray
    entries: np.ndarray
    values: np.ndarray


@kernel
def _new_record(states, entries):
    return Record(
        np.empty(states),
        np.empty(states),
        np.empty(states, np.int64),
        np.empty(entries, np.int64),
        np.empty(entries),
    )


@kernel
def _with_room(record, states, entries):
    """The record itself, or a larger copy when it cannot hold so much."""
    if states <= len(record.ends) and entries <= len(record.entries):
        return record
    larger = _new_record(max(2 * states, len(record.ends)), max(2 * entries, len(record.entries)))
    held = len(record.ends)
    larger.epsilon[:held] = record.epsilon
    larger.loss[:held] = record.loss
    larger.ends[:held] = record.ends
    held = len(record.entries)
    larger.entries[:held] = record.entries
    larger.values[:held] = record.values
    return larger


@kernel
def _write_state(fits, record, used):
    """Append the nonzero entries as feature * r + task; the new end."""
    r = len(fits.size)
    for j in range(r):
        for t in range(fits.size[j]):
            record.entries[used] = fits.support[j, t] * r + j
            record.values[used] = fits.coef[j, t]
            used += 1
    return used


@kernel
def path(
    gram, correlation, power, capacity, weight, nu, per_class, stop, relative_floor, max_support
):
    """Run Algorithm 1 down to the threshold max(stop, relative_floor * first reward).

    Parameters
    ----------
    gram : array (r, p, p), or (1, p, p) shared by all tasks
    correlation : array (r, p)
    power : array (r,)
        ||y_j||^2 / n_j.
    capacity : int array (r,)
        Largest support of each task: its number of rows, at most p.
    weight, nu : float
        w and nu of the paper.
    per_class : bool
        One stack of rewards for each class of objects instead of a single one.
    stop : float
        Threshold at which the run ends.
    relative_floor : float
        Threshold as a part of the first reward; zero for none.
    max_support : int
        End before the first state with more nonzero entries.

    Returns
    -------
    epsilon : array (m,)
        Smallest threshold that gives each recorded state, decreasing.
    loss : array (m,)
    ends : int array (m,)
        State k holds the entries ``ends[k - 1]:ends[k]`` of the next two arrays.
    entries : int array
        feature * r + task.
    values : array
        Coefficients.
    status : int
        DONE; TOO_LARGE when ``max_support`` ended the run; CYCLE when the run came back to an
        earlier state or took PATIENCE steps for each possible entry, in which case the last state
        answers no threshold and is only a witness.
    skipped : int
        Entries found in the span of their support when they were the best.
    smallest : float
        Smallest squared sine of a column taken to the span of the others.
    """
    r, p = correlation.shape
    fits = gram_fit.start(gram, correlation, capacity)
    objects = dirty_objects.new_objects(r, p, 2 * capacity.sum() + 2)
    snapshot = _snapshot_of(objects)
    floors = gram_fit.GAIN_FLOOR * power
    record = _new_record(p * r + 2, 64 * r)
    recorded, used, skipped, steps, next_keep = 0, 0, 0, 0, 1
    lowest = np.inf
    status = DONE
    while True:
        reward, kind, i, task, barred = dirty_objects.forward_choice(
            fits, objects, floors, weight, stop
        )
        skipped += barred
        if steps == 0:
            stop = max(stop, relative_floor * reward)
        ended = reward <= stop
        if fits.size.sum() > max_support:
            status = TOO_LARGE
            break
        if not ended and (steps > PATIENCE * capacity.sum() or _returned(objects, snapshot)):
            status = CYCLE
            ended = True
            reward = stop
        if ended or reward < lowest * (1.0 - TIE):
            lowest = reward
            record = _with_room(record, recorded + 1, used + fits.size.sum())
            used = _write_state(fits, record, used)
            record.epsilon[recorded] = max(reward, stop)
            record.loss[recorded] = _loss(fits, power)
            record.ends[recorded] = used
            recorded += 1
        if ended:
            break
        if steps == next_keep:
            _keep(objects, snapshot)
            next_keep *= 2
        dirty_objects.push(fits, objects, kind, i, task, reward, per_class)
        dirty_objects.backward(fits, objects, weight, nu, per_class)
        for j in range(r):
            if objects.changed[j]:
                gram_fit.correlate_residual(fits, j)
        steps += 1
    return (
        record.epsilon[:recorded],
        record.loss[:recorded],
        record.ends[:recorded],
        record.entries[:used],
        record.values[:used],
        status,
        skipped,
        fits.smallest.min(),
    )


@kernel
def fill(ends, entries, values, chosen, n_features, n_tasks):
    """Dense coefficients (m, p, r) of the chosen states of a run."""
    coef = np.zeros((len(chosen), n_features, n_tasks))
    for k in range(len(chosen)):
        state = chosen[k]
        begin = ends[state - 1] if state > 0 else 0
        flat = coef[k].reshape(n_features * n_tasks)
        for t in range(begin, ends[state]):
            flat[entries[t]] = values[t]
    return coef
