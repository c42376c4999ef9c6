"""Thresholds of forward-backward selection, and bounds on its errors.

Notation: bbar minimises Q over a support Fbar, b over F; g = ||grad Q(bbar)||_inf, rho_+ is the
largest curvature along a coordinate. FoBa-obj with delta and FoBa-gdt with
epsilon = sqrt(2 rho_+ delta) have the same guarantees: for this epsilon Theorems 1 and 4 are
Theorems 2 and 5. One threshold, epsilon, is therefore enough here.

The bounds (Theorems 4 and 5) need less than the theorems require. Their proofs use only that b

1. minimises Q over F,
2. satisfies |grad_j Q(b)| <= epsilon for all j,
3. satisfies Q(b - b_i e_i) - Q(b) >= epsilon^2 / (4 rho_+) for all i of F,

which hold when the algorithm ends, and they compare Q only at b and bbar. Hence rho_- may be any
constant of strong convexity between these two points: for a quadratic the smallest eigenvalue of
its matrix on the union of F and Fbar, computed once F is known, with

4. epsilon >= 2 sqrt(2) rho_+ g / rho_-.

The proof that a run ends early (Theorems 1 and 2, equation 3) does need rho_-(s) and rho_+(s) over
all supports of s features.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Bounds:
    """Bounds on the errors of an estimate b.

    Parameters
    ----------
    error : float
        ||b - bbar||^2.
    gap : float
        Q(b) - Q(bbar).
    missed : float
        |Fbar - F|.
    wrong : float
        |F - Fbar|.
    """

    error: float
    gap: float
    missed: float
    wrong: float


def gradient_threshold(single: float, lower: float, slope: float) -> float:
    """Return epsilon = 2 sqrt(2) rho_+(1) / rho_-(s) ||grad Q(bbar)||_inf.

    Parameters
    ----------
    single, lower : float > 0
        rho_+(1) and rho_-(s), or an upper and a lower bound.
    slope : float >= 0
        ||grad Q(bbar)||_inf.

    References
    ----------
    Liu, Fujimaki & Ye (2014), Theorem 2. Larger values are allowed; the bounds hold for this one.
    """
    return 2.0 * math.sqrt(2.0) * single / lower * slope


def gain_threshold(single: float, lower: float, slope: float) -> float:
    """Return delta = 4 rho_+(1) / rho_-(s)^2 ||grad Q(bbar)||_inf^2.

    Parameters are those of ``gradient_threshold``.

    References
    ----------
    Liu, Fujimaki & Ye (2014), Theorem 1.
    """
    return 4.0 * single / lower**2 * slope**2


def bounds(epsilon: float, single: float, lower: float, weak: np.ndarray) -> Bounds:
    """Return the bounds of Theorems 4 and 5 for an estimate that meets the four conditions.

    Let Delta be the number of j in Fbar - F with |bbar_j| < gamma = 2 sqrt(2) epsilon / rho_-. Then
    ||b - bbar||^2 <= 8 (epsilon / rho_-)^2 Delta, Q(b) - Q(bbar) <= epsilon^2 Delta / rho_-,
    |Fbar - F| <= 2 Delta and |F - Fbar| <= 16 (rho_+ / rho_-)^2 Delta. Theorem 4 is printed
    with rho_+(1)^2 delta in the first line; its proof has rho_+(1) delta.

    Parameters
    ----------
    epsilon : float >= 0
        sqrt(2 rho_+ delta) for FoBa-obj.
    single : float
        rho_+(1).
    lower : float > 0
        rho_-.
    weak : array
        |bbar_j| of the missed features, Fbar - F.

    References
    ----------
    Liu, Fujimaki & Ye (2014), Theorems 4 and 5.
    """
    ratio = epsilon / lower
    count = int(np.count_nonzero(np.asarray(weak) < 2.0 * math.sqrt(2.0) * ratio))
    return Bounds(
        8.0 * ratio**2 * count,
        epsilon * ratio * count,
        2.0 * count,
        16.0 * (single / lower) ** 2 * count,
    )


def bounds_of_any(
    here: np.ndarray, there: np.ndarray, lower: float, most: tuple[float, float]
) -> Bounds:
    """Return the bounds for any b that follow from strong convexity between b and bbar alone.

    If Q(b) >= Q(bbar), then rho_- ||b - bbar|| / 2 <= ||grad Q(b)||, otherwise
    rho_- ||b - bbar|| / 2 <= ||grad Q(bbar)||, norms over the union of the supports.

    Parameters
    ----------
    here, there : arrays
        Gradients at b and bbar on the union of F and Fbar.
    lower : float > 0
        rho_- between b and bbar.
    most : pair of float
        Limits of |Fbar - F| and |F - Fbar|: |Fbar| and the number of features outside Fbar.
    """
    own, other = float(here @ here), float(there @ there)
    return Bounds(4.0 * max(own, other) / lower**2, own / (2.0 * lower), *most)
