"""One step of the ultimate method: an active-set method on its dual, n + 1 numbers.

With atoms A (p, r), rows of length at most 1, x the point and c the gradient, both in the same r
coordinates, the dual of the step is over v in R^r and t >= 0

    minimise t^2 / (2 L) - <v, x>  subject to  |<A_i, c + v>| <= t  and  |<A_i, v>| <= lam,

the first the ``move`` constraints (kind 0), the second the ``price`` constraints (kind 1). Their
multipliers are the step b and the next estimate. The v of the previous step with the smallest t
satisfies all constraints, and few of the constraints held change from step to step. From there the
method goes downhill along the constraints that it holds, adds the first one that blocks the way and
releases the one with the most negative multiplier. The number of constraints held at the end is
arbitrary, so early steps, whose estimates have few atoms, need no special treatment.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.linear_algebra_numba import axpy, dot
from greedyexp.kernels.orthogonal_factor_numba import append, remove, solve, solve_transposed

MOVE, PRICE = 0, 1
SOLVED, UNBOUNDED, DEPENDENT, TOO_LONG = 0, 1, 2, 3

# Relative sizes below which a direction, a change or a multiplier counts as a rounding error.
NO_SLOPE = 1e-13
NO_CHANGE = 1e-13
NO_WEIGHT = 1e-13
# A level at its price to this relative accuracy counts as equal to it, and is moved there.
AT_PRICE = 1e-14
# A t below this part of the correlations whose difference it is counts as zero.
NO_MOVE = 1e-15
# A constraint whose slope along a direction is below this part of its length is parallel to it.
PARALLEL = 1e-13


class Face(NamedTuple):
    """Constraints held with equality, with the QR factors of their normals; changed in place."""

    basis: np.ndarray  # (r + 1, r + 1), see ``orthogonal_factor``
    triangle: np.ndarray  # (r + 1, r + 1)
    atom: np.ndarray  # (r + 1,) of each constraint held
    kind: np.ndarray  # (r + 1,) MOVE or PRICE
    sign: np.ndarray  # (r + 1,) which side of the absolute value
    held: np.ndarray  # (2, p) by kind and atom
    size: np.ndarray  # (1,) number held
    normal: np.ndarray  # (r + 1,) scratch


@kernel
def _empty_face(p, r):
    k = r + 1
    return Face(
        np.eye(k),
        np.zeros((k, k)),
        np.zeros(k, np.int64),
        np.zeros(k, np.int64),
        np.zeros(k),
        np.zeros((2, p), np.bool_),
        np.zeros(1, np.int64),
        np.zeros(k),
    )


@kernel
def _hold(face, atoms, kind, i, sign):
    """Hold one more constraint; return False if its normal depends on those of the others."""
    size, r = face.size[0], atoms.shape[1]
    for j in range(r):
        face.normal[j] = sign * atoms[i, j]
    face.normal[r] = -1.0 if kind == MOVE else 0.0
    append(face.basis, face.triangle, size, face.normal)
    length = np.sqrt(dot(face.normal, face.normal))
    if not abs(face.triangle[size, size]) > PARALLEL * length:
        return False
    face.atom[size], face.kind[size], face.sign[size] = i, kind, sign
    face.held[kind, i] = True
    face.size[0] = size + 1
    return True


@kernel
def _release(face, index):
    size = face.size[0]
    face.held[face.kind[index], face.atom[index]] = False
    remove(face.basis, face.triangle, size, index)
    for j in range(index, size - 1):
        face.atom[j] = face.atom[j + 1]
        face.kind[j] = face.kind[j + 1]
        face.sign[j] = face.sign[j + 1]
    face.size[0] = size - 1


@kernel
def _along(face, parts, scale, direction):
    """direction <- scale * sum of the rows of the complement weighted by ``parts``."""
    direction[:] = 0.0
    size = face.size[0]
    for j in range(len(parts)):
        row, weight = face.basis[size + j], scale * parts[j]
        for i in range(len(direction)):
            direction[i] += weight * row[i]


@kernel
def _downhill(face, slope, t, smoothness, unit, least, direction):
    """Write a direction that keeps the constraints held; return its largest useful length, or 0.

    Directions that do not change t come first; the objective is linear along them. The last one is
    curved, and its minimum is at length 1.
    """
    size, k = face.size[0], len(direction)
    if size == k:
        return 0.0
    falls = np.empty(k - size)
    lifts = np.empty(k - size)
    for j in range(k - size):
        falls[j] = dot(face.basis[size + j], slope)
        lifts[j] = face.basis[size + j, k - 1]
    curvature = dot(lifts, lifts)
    common = dot(lifts, falls)
    free = curvature > PARALLEL * PARALLEL
    if free:
        # Twice: the remaining error in t is then of the order of the rounding of the direction.
        for _ in range(2):
            along = dot(lifts, falls)
            for j in range(k - size):
                falls[j] -= lifts[j] * (along / curvature)
    if np.sqrt(dot(falls, falls)) > NO_SLOPE * np.sqrt(k) * unit:
        _along(face, falls, -1.0, direction)
        if free:
            direction[k - 1] = 0.0
        return np.inf
    if free:
        length = common * smoothness / (curvature * curvature)
        if abs(length * curvature) > NO_CHANGE * t + least:
            _along(face, lifts, -length, direction)
            return 1.0
    return 0.0


@kernel
def _first_wall(face, offset, level, t, lam, rate, climb, longest, tiny):
    """The first constraint within ``longest``: length, kind, atom and sign; atom -1 if none."""
    kind, atom, side = 0, -1, 0.0
    for i in range(len(level)):
        pace = rate[i]
        if not face.held[PRICE, i] and abs(pace) > tiny:
            sign = 1.0 if pace > 0.0 else -1.0
            length = (lam - sign * level[i]) / abs(pace)
            if length < longest:
                longest, kind, atom, side = length, PRICE, i, sign
        if not face.held[MOVE, i]:
            value = offset[i] + level[i]
            if pace - climb > tiny:
                length = (t - value) / (pace - climb)
                if length < longest:
                    longest, kind, atom, side = length, MOVE, i, 1.0
            if -pace - climb > tiny:
                length = (t + value) / (-pace - climb)
                if length < longest:
                    longest, kind, atom, side = length, MOVE, i, -1.0
    return max(longest, 0.0), kind, atom, side


@kernel
def _multipliers(face, atoms, slope, weight):
    """Solve N weight = -slope, with one round of refinement from the atoms themselves."""
    size, r = face.size[0], atoms.shape[1]
    rest = -slope
    weight[:size] = 0.0
    change = np.empty(size)
    for _ in range(2):
        for j in range(size):
            change[j] = dot(face.basis[j], rest)
        solve(face.triangle, size, change)
        for j in range(size):
            weight[j] += change[j]
            scale = change[j] * face.sign[j]
            row = atoms[face.atom[j]]
            for i in range(r):
                rest[i] -= scale * row[i]
            if face.kind[j] == MOVE:
                rest[r] += change[j]


@kernel
def _worst(face, weight):
    """Index of the most negative multiplier that is not a rounding error, or -1."""
    size = face.size[0]
    largest = 0.0
    for j in range(size):
        largest = max(largest, abs(weight[j]))
    lowest, index = -NO_WEIGHT * largest, -1
    for j in range(size):
        if weight[j] < lowest:
            lowest, index = weight[j], j
    for j in range(size):
        if weight[j] < NO_WEIGHT * largest and index < 0:
            weight[j] = 0.0
    return index


@kernel
def _settle(face, atoms, c, lam, point):
    """Move (v, t) to the nearest point where all constraints held are equalities to rounding."""
    size, r = face.size[0], atoms.shape[1]
    miss = np.empty(size)
    for j in range(size):
        row, sign = atoms[face.atom[j]], face.sign[j]
        reached = sign * dot(row, point[:r])
        if face.kind[j] == MOVE:
            miss[j] = point[r] - sign * dot(row, c) - reached
        else:
            miss[j] = lam - reached
    solve_transposed(face.triangle, size, miss)
    for j in range(size):
        row = face.basis[j]
        for i in range(r + 1):
            point[i] += miss[j] * row[i]


@kernel
def _begin(atoms, offset, level, lam, support):
    """The price constraints of the present atoms and the move constraint that sets t."""
    face = _empty_face(*atoms.shape)
    for i in support:
        if abs(abs(level[i]) - lam) <= AT_PRICE * lam and face.size[0] < atoms.shape[1]:
            _hold(face, atoms, PRICE, i, 1.0 if level[i] > 0.0 else -1.0)
    first, t = 0, 0.0
    for i in range(len(level)):
        if abs(offset[i] + level[i]) > t:
            first, t = i, abs(offset[i] + level[i])
    _hold(face, atoms, MOVE, first, 1.0 if offset[first] + level[first] > 0.0 else -1.0)
    return face, t


@kernel
def _descend(face, atoms, offset, level, x, lam, smoothness, point, weight, most):
    """Move from a feasible point to the solution; return the number of changes and the status."""
    r = len(x)
    length_of_x = np.sqrt(dot(x, x))
    least = 1e-17 * np.max(np.abs(offset))
    rounding = NO_MOVE * (np.max(np.abs(offset)) + lam)
    direction, slope = np.empty(r + 1), np.empty(r + 1)
    for changes in range(most):
        # At x = 0 without a move, the whole slope would be a rounding error in t.
        t = point[r] if point[r] > rounding else 0.0
        slope[:r], slope[r] = -x, t / smoothness
        unit = length_of_x + slope[r]
        change = least if t > 0.0 else rounding
        longest = _downhill(face, slope, t, smoothness, unit, change, direction)
        if longest == 0.0:
            _multipliers(face, atoms, slope, weight)
            index = _worst(face, weight)
            if index < 0:
                return changes, SOLVED
            _release(face, index)
            continue
        rate = np.dot(atoms, direction[:r])
        tiny = PARALLEL * np.sqrt(dot(direction, direction))
        length, kind, atom, sign = _first_wall(
            face, offset, level, point[r], lam, rate, direction[r], longest, tiny
        )
        if length == np.inf:
            return changes, UNBOUNDED
        axpy(length, direction, point)
        axpy(length, rate, level)
        if atom >= 0 and not _hold(face, atoms, kind, atom, sign):
            return changes, DEPENDENT
    return most, TOO_LONG


@kernel
def gauge_step(atoms, x, c, lam, smoothness, v, support, most):
    """Solve the dual and return the next estimate, which its multipliers determine.

    Parameters
    ----------
    atoms : array (p, r)
        Rows of length at most 1 that span R^r.
    x, c : arrays (r,)
        Point and gradient.
    lam : float > 0
    smoothness : float > 0
        L.
    v : array (r,)
        With |<A_i, v>| <= lam for all i.
    support : int array
        Atoms of the current estimate. Price constraints that are equalities at v are held from the
        start if they are linearly independent.
    most : int
        Largest number of changes of the constraints held.

    Returns
    -------
    estimate : array (p,)
        nu with <A^T, nu> = x + <A^T, b>; zero where the price constraint is not held.
    move : array (p,)
        b.
    v : array (r,)
        Solution of the dual, in which the constraints held are equalities to rounding.
    changes : int
    status : int
        SOLVED, UNBOUNDED or DEPENDENT (both caused by rounding errors), or TOO_LONG.
    """
    p, r = atoms.shape
    offset, level = np.dot(atoms, c), np.dot(atoms, v)
    face, t = _begin(atoms, offset, level, lam, support)
    point, weight = np.append(v, t), np.zeros(r + 1)
    changes, status = _descend(face, atoms, offset, level, x, lam, smoothness, point, weight, most)
    estimate, move = np.zeros(p), np.zeros(p)
    if status == SOLVED:
        _settle(face, atoms, c, lam, point)
        for j in range(face.size[0]):
            if face.kind[j] == PRICE:
                estimate[face.atom[j]] += face.sign[j] * weight[j]
            else:
                move[face.atom[j]] -= face.sign[j] * weight[j]
    return estimate, move, point[:r].copy(), changes, status
