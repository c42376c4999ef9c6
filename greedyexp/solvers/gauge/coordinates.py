"""Least squares as the gauge of its atoms sees it: coordinates of the range of the design."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from greedyexp.theory.spectrum import spectrum


@dataclass(frozen=True)
class GaugeCoordinates:
    """f(x) = ||x - y||^2 / (2 n) over x = P a, up to a constant, in units of the longest column.

    A design of low rank is no special case here: the atoms span the space. The rank is that of
    ``theory.spectrum``.

    Parameters
    ----------
    atoms : array (p, r)
        The columns P_i in an orthonormal basis of the range of P, the longest of length 1.
    aim : array (r,)
        y in the same coordinates.
    smoothness : float
        L1 = max_i ||P_i||^2 / n, the smoothness of f with respect to the gauge.
    thickness : array (r,)
        Bound on the gauge along each coordinate, sqrt(p) over the singular value: the gauge of m is
        at most the length of ``thickness * m``.
    """

    atoms: np.ndarray
    aim: np.ndarray
    smoothness: float
    thickness: np.ndarray

    def point(self, coef: np.ndarray) -> np.ndarray:
        """P coef."""
        return coef @ self.atoms

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """f'(x)."""
        return self.smoothness * (x - self.aim)

    def loss(self, x: np.ndarray) -> float:
        """f(x) less what no x can change."""
        return float(self.smoothness * (x - self.aim) @ (x - self.aim) / 2)


def gauge_coordinates(design: np.ndarray, response: np.ndarray) -> GaugeCoordinates:
    """The coordinates of a design that is not all zero.

    Parameters
    ----------
    design : array (n, p)
        P.
    response : array (n,)
        y.
    """
    n, p = design.shape
    scale = np.sqrt(np.einsum("ij,ij->j", design, design).max())
    known = spectrum(design)
    basis = known.left[:, : known.rank]
    return GaugeCoordinates(
        np.ascontiguousarray(design.T @ basis) / scale,
        basis.T @ response / scale,
        float(scale**2 / n),
        np.sqrt(p) * scale / known.values[: known.rank],
    )
