"""Minimisers of piecewise quadratic losses over a support."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from greedyexp.kernels.clipped_lines import line_step
from greedyexp.losses.loss import Restricted

if TYPE_CHECKING:
    from greedyexp.losses.smoothed import SmoothedLoss

MOST_STEPS = 300
SPAN = 1e-11


def minimum(loss: SmoothedLoss, support: Sequence[int], start: np.ndarray | None) -> Restricted:
    rows = loss.rows(support)
    places = np.asarray(support, dtype=np.int64)
    coef = np.zeros(len(places)) if start is None else start[places].astype(float)
    sizes = np.abs(rows).mean(axis=1)
    tolerance = loss.tolerance(sizes)
    n = loss.n_samples
    units = np.sqrt(loss.beta * np.einsum("kn,kn->k", rows, rows) / n + loss.ridge)
    units[units == 0.0] = 1.0
    converged = False
    for _ in range(MOST_STEPS):
        u = loss._offsets + coef @ rows
        psi = np.clip(loss.beta * u, loss.low, 1.0)
        g = rows @ psi / n + loss.ridge * coef
        if (np.abs(g) <= tolerance).all():
            converged = True
            break
        zone = loss.bent(u)
        Z = rows[:, zone] / units[:, None]
        H = loss.beta / n * (Z @ Z.T)
        H[np.diag_indices(len(H))] += loss.ridge / units**2
        w, V = np.linalg.eigh(H)
        gs = V.T @ (g / units)
        null = w <= SPAN * max(w.max(), 0.0)
        lost = V[:, null] @ gs[null] * units
        if null.any() and (np.abs(lost) > 0.5 * tolerance).any():
            d = -V[:, null] @ gs[null]
        else:
            d = -V[:, ~null] @ (gs[~null] / w[~null])
        d /= units
        square = d @ d
        a, _ = line_step(
            d @ rows, u, n, loss.ridge * square, coef @ d / square, loss.beta, loss.low
        )
        if a == 0.0:
            break
        coef = coef + a * d
    params = np.zeros(loss.size)
    params[places] = coef
    message = "" if converged else "no certificate"
    return Restricted(params, loss.value(params), loss.gradient(params), converged, message)
