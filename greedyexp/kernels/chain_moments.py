"""Changes of the log partition functions of chains along single coefficients.

A coefficient multiplies a count, the sum of x_t over the words t in one state. The log partition
function log Z and its first two derivatives with respect to the coefficient, the mean and the
variance of the count, take one forward pass over the chains where x is not zero.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels import native


class Chains:
    """Chains under fixed parameters, for changes of single coefficients.

    Parameters
    ----------
    scores : array (n, R)
        Scores of each word and state, padded; see ``chain_pass``.
    start, end : arrays (r,)
    transition : array (r, r)
        From the row's state to the column's.
    offsets : int array (c + 1,)
    """

    def __init__(
        self,
        scores: np.ndarray,
        start: np.ndarray,
        end: np.ndarray,
        transition: np.ndarray,
        offsets: np.ndarray,
    ):
        self._chains = native.chain_moments.Chains(scores, start, end, transition, offsets)

    def moments(self, column: np.ndarray, state: int, step: float) -> tuple[float, float, float]:
        """Return log Z up to a constant and the mean and variance of a count.

        They are sums over the chains where the column is not zero.

        Parameters
        ----------
        column : array (n,)
        state : int
            The words counted are those in this state.
        step : float
            Added to the coefficient of the count.
        """
        return self._chains.moments(column, state, step)

    def minima_of_feature(
        self,
        column: np.ndarray,
        observed: np.ndarray,
        present: np.ndarray,
        ridge: float,
        tolerance: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Minimise -log-likelihood + ridge / 2 ||.||^2 along each coefficient of a column alone.

        Parameters
        ----------
        column : array (n,)
        observed : array (r,)
            Sums of the column over the words of each class.
        present : array (r,)
            The current coefficients.
        ridge : float
            In the scale of sums over words.
        tolerance : float
            Largest |derivative| allowed at the end.

        Returns
        -------
        steps, gains : arrays (r,)
            Changes of the coefficients, and the decreases that they cause.
        """
        steps, gains = np.empty(len(observed)), np.empty(len(observed))
        self._chains.minima_of_feature(column, observed, present, ridge, tolerance, steps, gains)
        return steps, gains

    def changes(
        self, columns: np.ndarray, features: np.ndarray, states: np.ndarray, steps: np.ndarray
    ) -> np.ndarray:
        """Return the changes of log Z, summed over chains, by changes of single coefficients.

        Parameters
        ----------
        columns : array (n, s)
            Columns of X.
        features : int array (m,) in [0, s)
        states : int array (m,) in [0, r)
        steps : array (m,)
            Change of the coefficient of each feature in its state.

        Returns
        -------
        array (m,)
        """
        out = np.zeros(len(steps))
        self._chains.changes(columns, features, states, steps, out)
        return out
