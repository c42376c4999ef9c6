"""Orthogonal matching pursuit over features, for tasks one by one or all together, in Gram form."""

from __future__ import annotations

import numpy as np
from numba import njit

from greedyexp.kernels import gram_fit
from greedyexp.kernels.gram_fit import TIE


@njit(cache=True)
def _best_feature(fits, first, last, floors, normalize, gains, scores):
    """The feature with the largest score over the tasks first..last-1, or -1 when none gains."""
    for j in range(first, last):
        gram_fit.gains_of(fits, j, floors[j], gains[j - first])
    if normalize and last - first == 1:
        scores = gains[0]
    else:
        scores[:] = 0.0
        for j in range(first, last):
            own = gains[j - first]
            for i in range(len(scores)):
                if normalize:
                    scores[i] += own[i]
                elif own[i] > 0.0:
                    scores[i] += fits.residual[j, i] ** 2
    top = gram_fit.largest(scores)
    if top <= 0.0:
        return -1
    for i in range(len(scores)):
        if scores[i] >= top * (1.0 - TIE):
            return i
    return -1


@njit(cache=True)
def _add_feature(fits, first, last, i, gains):
    """Take feature i into the supports, or bar its entries in the span; the number barred.

    Nothing is taken when an entry that seemed to gain is barred: the feature must compete again.
    """
    barred = 0
    for j in range(first, last):
        if not fits.barred[j, i] and not gram_fit.stage(fits, j, i):
            fits.barred[j, i] = True
            barred += gains[j - first, i] > 0.0
    if barred == 0:
        for j in range(first, last):
            if not fits.barred[j, i]:
                gram_fit.commit(fits, j, i)
                gram_fit.refit(fits, j)
                gram_fit.correlate_residual(fits, j)
    return barred


@njit(cache=True)
def _write(fits, first, last, power, coef, loss, k):
    for j in range(first, last):
        for t in range(fits.size[j]):
            coef[k, fits.support[j, t], j] = fits.coef[j, t]
        loss[k] += max(0.5 * (power[j] - gram_fit.explained(fits, j)), 0.0)


@njit(cache=True)
def _pursue(fits, first, last, power, normalize, counts, coef, loss):
    """One pursuit over the tasks first..last-1; features taken and entries barred."""
    gains = np.empty((last - first, coef.shape[1]))
    scores = np.empty(coef.shape[1])
    floors = gram_fit.GAIN_FLOOR * power
    taken, skipped, k = 0, 0, 0
    ended = False
    while k < len(counts):
        if taken == counts[k] or ended:
            _write(fits, first, last, power, coef, loss, k)
            k += 1
            continue
        i = _best_feature(fits, first, last, floors, normalize, gains, scores)
        if i < 0:
            ended = True
            continue
        barred = _add_feature(fits, first, last, i, gains)
        skipped += barred
        taken += barred == 0
    return taken, skipped


@njit(cache=True)
def pursuits(gram, correlation, power, capacity, together, normalize, counts):
    """Pursuits of up to ``counts[-1]`` features, with the fits after each of the counts.

    Parameters
    ----------
    gram : array (r, p, p), or (1, p, p) shared by all tasks
    correlation : array (r, p)
    power : array (r,)
        ||y_j||^2 / n_j.
    capacity : int array (r,)
        Largest support of each task.
    together : bool
        One pursuit that gives all tasks the same features, instead of one for each task.
    normalize : bool
        Score by the loss decrease residual^2 / (2 G_ii), not by residual^2.
    counts : int array (m,)
        Increasing numbers of features; a pursuit with nothing left to gain keeps its last fit.

    Returns
    -------
    coef : array (m, p, r)
    loss : array (m,)
    reached : int
        Most features taken by any pursuit.
    skipped : int
        Entries found in the span of their support when they were the best.
    smallest : float
        Smallest squared sine of a column taken to the span of the others.
    """
    r, p = correlation.shape
    coef = np.zeros((len(counts), p, r))
    loss = np.zeros(len(counts))
    fits = gram_fit.start(gram, correlation, capacity)
    if together:
        reached, skipped = _pursue(fits, 0, r, power, normalize, counts, coef, loss)
    else:
        reached, skipped = 0, 0
        for j in range(r):
            taken, more = _pursue(fits, j, j + 1, power, normalize, counts, coef, loss)
            reached = max(reached, taken)
            skipped += more
    return coef, loss, reached, skipped, fits.smallest.min()
