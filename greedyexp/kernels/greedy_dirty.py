"""One path of the greedy dirty model, Algorithm 1 of Jalali & Sanghavi (2012), in Gram form.

The model adds and removes objects of two classes: single entries and whole rows. The stopping
threshold enters only as the test that ends the run, so one run with a small threshold passes
through the output of every larger threshold: the output for epsilon is the state before the first
forward step whose reward is at most epsilon. These are the states at strict running minima of the
rewards, and only they are recorded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greedyexp.kernels import gram_fit
from greedyexp.kernels._compile import kernel
from greedyexp.kernels.gram_fit import TIE

# Status of a run.
DONE = 0
TOO_LARGE = 1
CYCLE = 2
# Forward steps allowed for each entry that could enter a support.
PATIENCE = 100
# Classes of objects.
SINGLETON = 0
ROW = 1


@kernel
def _returned(objects, snapshot):
    """True if the run is back in the state of the snapshot, up to rounding of the rewards."""
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
    """The recorded states, in arrays that may be longer than needed."""

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
    """The record itself if it has room for so many states and entries, else a larger copy."""
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
    """Append the nonzero entries as feature * r + task; return the new end."""
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
        Smallest threshold; the run ends there.
    relative_floor : float
        Threshold as a part of the first reward; zero for none.
    max_support : int
        The run ends before the first state with more nonzero entries.

    Returns
    -------
    epsilon : array (m,)
        Smallest threshold whose output is the recorded state, decreasing.
    loss : array (m,)
    ends : int array (m,)
        State k holds the entries ``ends[k - 1]:ends[k]`` of the next two arrays.
    entries : int array
        feature * r + task.
    values : array
        Coefficients.
    status : int
        DONE; TOO_LARGE if ``max_support`` ended the run; CYCLE if the run returned to an earlier
        state or took PATIENCE steps for each possible entry. After CYCLE the last state is not the
        output of any threshold.
    skipped : int
        Number of best entries that were rejected because they lie in the span of their support.
    smallest : float
        Smallest squared sine of the angle between an added column and the span of the others.
    """
    r, p = correlation.shape
    fits = gram_fit.start(gram, correlation, capacity)
    objects = new_objects(r, p, 2 * capacity.sum() + 2)
    snapshot = new_objects(r, p, 2 * capacity.sum() + 2)
    snapshot.depth[:] = -1
    floors = gram_fit.GAIN_FLOOR * power
    record = _new_record(p * r + 2, 64 * r)
    recorded, used, skipped, steps, next_keep = 0, 0, 0, 0, 1
    lowest = np.inf
    status = DONE
    while True:
        reward, kind, i, task, barred = forward_choice(fits, objects, floors, weight, stop)
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
        push(fits, objects, kind, i, task, reward, per_class)
        backward(fits, objects, weight, nu, per_class)
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


class Objects(NamedTuple):
    """The two object sets of Algorithm 1 and the recorded rewards."""

    single: np.ndarray  # (r, p) bool: Omega_s
    row: np.ndarray  # (p,) bool: Omega_b
    rewards: np.ndarray  # (2, capacity): one stack in line 0, or one per class
    depth: np.ndarray  # (2,): heights of the stacks
    gains: np.ndarray  # (r, p): loss decrease along every entry
    together: np.ndarray  # (p,): loss decrease along every row
    changed: np.ndarray  # (r,) bool: tasks whose residual is out of date


@kernel
def new_objects(r, p, capacity):
    return Objects(
        np.zeros((r, p), np.bool_),
        np.zeros(p, np.bool_),
        np.empty((2, capacity)),
        np.zeros(2, np.int64),
        np.empty((r, p)),
        np.empty(p),
        np.ones(r, np.bool_),
    )


@kernel
def _best_object(fits, objects, floors, weight):
    """The best object of a forward step: reward, class, feature, task (-1 for a row).

    Ties go to the row, then to the lowest index (feature first, then task).
    """
    r, p = objects.gains.shape
    top_single = 0.0
    for j in range(r):
        if objects.changed[j]:
            gram_fit.single_gains(fits, j, floors[j], objects.gains[j])
            objects.changed[j] = False
    objects.together[:] = 0.0
    for j in range(r):
        own = objects.gains[j]
        top_single = max(top_single, gram_fit.largest(own))
        for i in range(p):
            objects.together[i] += own[i]
    # Entries of a selected row have no gain, so such a row never wins.
    top_row = gram_fit.largest(objects.together)
    if top_row <= 0.0 and top_single <= 0.0:
        return 0.0, SINGLETON, -1, -1
    if top_row / weight >= top_single * (1.0 - TIE):
        for i in range(p):
            if objects.together[i] >= top_row * (1.0 - TIE):
                return objects.together[i] / weight, ROW, i, -1
    for i in range(p):
        for j in range(r):
            if objects.gains[j, i] >= top_single * (1.0 - TIE):
                return objects.gains[j, i], SINGLETON, i, j
    return 0.0, SINGLETON, -1, -1


@kernel
def _tasks_of(fits, kind, task):
    """The first task that an object belongs to, and the one after its last."""
    return (task, task + 1) if kind == SINGLETON else (0, len(fits.size))


@kernel
def _stage_object(fits, objects, kind, i, task):
    """Prepare all entries of an object; return the number barred for lying in the span."""
    barred = 0
    first, last = _tasks_of(fits, kind, task)
    for j in range(first, last):
        open_entry = fits.position[j, i] < 0 and not fits.barred[j, i]
        if open_entry and not gram_fit.stage(fits, j, i):
            fits.barred[j, i] = True
            if objects.gains[j, i] > 0.0:
                barred += 1
            objects.changed[j] = True
    return barred


@kernel
def forward_choice(fits, objects, floors, weight, stop):
    """The best object, and the number of entries barred; staged unless its reward ends the run.

    An object with an entry in the span of the support competes again without that entry.
    """
    barred = 0
    while True:
        reward, kind, i, task = _best_object(fits, objects, floors, weight)
        if reward <= stop:
            return reward, kind, i, task, barred
        more = _stage_object(fits, objects, kind, i, task)
        if more == 0:
            return reward, kind, i, task, barred
        barred += more


@kernel
def push(fits, objects, kind, i, task, reward, per_class):
    """Add a staged object, refit the tasks it touches, record its reward."""
    if kind == SINGLETON:
        objects.single[task, i] = True
    else:
        objects.row[i] = True
    first, last = _tasks_of(fits, kind, task)
    for j in range(first, last):
        if fits.position[j, i] < 0 and not fits.barred[j, i]:
            gram_fit.commit(fits, j, i)
            gram_fit.refit(fits, j)
            objects.changed[j] = True
    line = kind if per_class else 0
    objects.rewards[line, objects.depth[line]] = reward
    objects.depth[line] += 1


@kernel
def _cheapest_singleton(fits, objects):
    """Cost, feature and task of the singleton that is cheapest to remove; infinite if none."""
    r = len(fits.size)
    least = np.inf
    feature, task = -1, -1
    for check_ties in (False, True):
        for j in range(r):
            for t in range(fits.size[j]):
                i = fits.support[j, t]
                if not objects.single[j, i]:
                    continue
                cost = 0.0
                if not objects.row[i]:
                    cost = 0.5 * fits.coef[j, t] ** 2 * fits.curvature[j, i]
                if not check_ties:
                    least = min(least, cost)
                elif cost <= least * (1.0 + TIE) and (
                    feature < 0 or i < feature or (i == feature and j < task)
                ):
                    feature, task = i, j
    return least, feature, task


@kernel
def _cheapest_row(fits, objects, weight):
    """Weighted cost and feature of the row that is cheapest to remove; infinite if none."""
    r = len(fits.size)
    least = np.inf
    feature = -1
    for i in range(len(objects.row)):
        if not objects.row[i]:
            continue
        cost = 0.0
        for j in range(r):
            t = fits.position[j, i]
            if t >= 0:
                cost += 0.5 * fits.coef[j, t] ** 2 * fits.curvature[j, i]
        cost /= weight
        if cost < least * (1.0 - TIE):
            least, feature = cost, i
    return least, feature


@kernel
def _pop(fits, objects, kind, i, task, per_class):
    """Remove an object, refit its tasks and remove the reward on top of its stack."""
    if kind == SINGLETON:
        objects.single[task, i] = False
    else:
        objects.row[i] = False
    first, last = _tasks_of(fits, kind, task)
    for j in range(first, last):
        held = objects.row[i] or objects.single[j, i]
        if held or fits.position[j, i] < 0:
            continue
        gram_fit.drop(fits, j, i)
        _readmit(fits, objects, j)
        gram_fit.refit(fits, j)
        objects.changed[j] = True
    objects.depth[kind if per_class else 0] -= 1


@kernel
def _readmit(fits, objects, j):
    """Try again the entries of selected rows that were left out for lying in the span."""
    for i in range(len(objects.row)):
        if objects.row[i] and fits.position[j, i] < 0:
            if gram_fit.stage(fits, j, i):
                gram_fit.commit(fits, j, i)
            else:
                fits.barred[j, i] = True


@kernel
def backward(fits, objects, weight, nu, per_class):
    """Remove objects until the cheapest costs more than nu times its recorded reward."""
    while objects.depth.sum() > 0:
        single_cost, i, task = _cheapest_singleton(fits, objects)
        row_cost, row = _cheapest_row(fits, objects, weight)
        kind = SINGLETON
        cost = single_cost
        if row >= 0 and row_cost <= single_cost * (1.0 + TIE):
            kind, cost, i, task = ROW, row_cost, row, -1
        line = kind if per_class else 0
        if cost > nu * objects.rewards[line, objects.depth[line] - 1]:
            return
        _pop(fits, objects, kind, i, task, per_class)
