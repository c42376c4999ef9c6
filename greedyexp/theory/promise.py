"""What a theorem promises of a sparse predictor against a reference predictor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Reference:
    """A predictor wbar that estimates are compared with.

    Parameters
    ----------
    name : {"l1_ball", "truth", "support"}
        The minimiser of the risk over an l1 ball, the coefficients that the data were made from, or
        the minimiser on their support.
    params : array (d,)
    value : float
        R(wbar).
    gap : float
        How far R(wbar) may be above the minimum that defines it; 0 where nothing defines it.
    original : float
        The risk at wbar with the loss before it was smoothed; ``value`` of a smooth loss.
    """

    name: str
    params: np.ndarray
    value: float
    gap: float
    original: float

    @property
    def l1_norm(self) -> float:
        """||wbar||_1."""
        return float(np.abs(self.params).sum())

    @property
    def n_features(self) -> int:
        """||wbar||_0."""
        return int(np.count_nonzero(self.params))


@dataclass(frozen=True)
class Promise:
    """An upper bound on the excess risk R(w_k) - R(wbar) after k steps, and on the steps it takes.

    Parameters
    ----------
    theorem : str
        A short name, such as ``T2``; a second reading of the same theorem has a name of its own.
    constants : mapping of str to float
        What the bound was computed from: beta, lam, l1_norm, n_features, ...
    excess : callable
        From k, an array of int >= 0, to the bound; infinite where nothing is promised.
    steps : callable
        From epsilon, an array of float > 0, to the least number of steps (whole, as a float) after
        which the excess is at most epsilon; infinite where none is promised.
    holds : {"always", "in_expectation"}
        Of every run; or the excess in the mean over runs and the steps with probability 1/2.
    original : bool
        Whether the excess is that of the loss before it was smoothed.
    """

    theorem: str
    constants: Mapping[str, float]
    excess: Callable[[np.ndarray], np.ndarray]
    steps: Callable[[np.ndarray], np.ndarray]
    holds: str = "always"
    original: bool = False
