"""Losses with kinks over an l1 ball, through others that are smoothed more."""

from __future__ import annotations

import copy

import numpy as np

from greedyexp.losses.smoothed import SmoothedLoss
from greedyexp.solvers.l1_ball.face import settle_on_face
from greedyexp.solvers.l1_ball.path import start_on_path

# What beta is multiplied by from one loss to the next.
FACTOR = 3.0
# The gap at which a softer loss is left, as part of its risk at zero.
ROUGH = 1e-5


def start_by_softer(loss: SmoothedLoss, radius: float) -> np.ndarray:
    """A point of the ball close to the minimiser over it, shape (d,).

    The softest loss is a quadratic function around zero; each minimiser starts the next.

    Parameters
    ----------
    loss : SmoothedLoss
    radius : float > 0
    """
    origin = np.zeros(loss.size)
    softest = 1.0 / float(np.abs(loss.arguments(origin)).max())
    betas = [loss.beta]
    while betas[-1] > softest:
        betas.append(betas[-1] / FACTOR)
    w = start_on_path(_with(loss, betas[-1]), radius)
    for beta in betas[-2:0:-1]:
        softer = _with(loss, beta)
        w = settle_on_face(softer, w, radius, ROUGH * softer.value(origin))
    return w


def _with(loss: SmoothedLoss, beta: float) -> SmoothedLoss:
    """The same loss of the same data, smoothed to another beta."""
    other = copy.copy(loss)
    other.beta = beta
    return other
