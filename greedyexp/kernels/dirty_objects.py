"""Forward and backward steps of the greedy dirty model on its two classes of objects."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greedyexp.kernels import gram_fit
from greedyexp.kernels._compile import kernel
from greedyexp.kernels.gram_fit import TIE

SINGLETON = 0
ROW = 1


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
    """The forward step's choice: reward, class, feature, task (-1 for a row).

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
    # Entries of a row that is in have no gain, so such a row never wins.
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
def _stage_object(fits, objects, kind, i, task):
    """Prepare all entries of an object; the number that were barred for lying in the span."""
    barred = 0
    first, last = (task, task + 1) if kind == SINGLETON else (0, len(fits.size))
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
    """The best object, staged unless its reward ends the run, and how many entries were barred.

    An object with an entry in the span of the support is judged again without that entry.
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
        first, last = task, task + 1
    else:
        objects.row[i] = True
        first, last = 0, len(fits.size)
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
    """Cost, feature and task of the singleton whose removal costs least; infinite if none."""
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
    """Weighted cost and feature of the row whose removal costs least; infinite if none."""
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
    """Remove an object, refit the tasks it leaves, forget the reward on top of its stack."""
    if kind == SINGLETON:
        objects.single[task, i] = False
        first, last = task, task + 1
    else:
        objects.row[i] = False
        first, last = 0, len(fits.size)
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
    """Entries of present rows left out for lying in the span, now that the support shrank."""
    for i in range(len(objects.row)):
        if objects.row[i] and fits.position[j, i] < 0:
            if gram_fit.stage(fits, j, i):
                gram_fit.commit(fits, j, i)
            else:
                fits.barred[j, i] = True


@kernel
def backward(fits, objects, weight, nu, per_class):
    """Backward steps until the cheapest object costs more than nu times its recorded reward."""
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
