"""Inner loops of the ultimate method: block descent on its step with ||u||_1^2 made quadratic.

A step looks for eta and w in the kernel of P that minimise

    <g, eta - a> + (L / 2) ||u||_1^2 + lam ||eta||_1  with  u = eta + w - a,

where g = P^T f'(P a) and w stands for Q z, Q a basis of the kernel. Weights gamma > 0 of sum 1 make
the square quadratic, since ||u||_1^2 = min sum u_i^2 / gamma_i, and theta > 0 the norm, since
||eta||_1 = min sum (eta_i^2 / theta_i + theta_i) / 2. At u_i = 0 the best weight would be zero, and
u_i could never move again. Sums therefore use u_i^2 + e^2: gamma_i is then proportional to
(u_i^2 + e^2)^(1/2), never zero, and every block is still minimised exactly. The value increases
with e, so lowering e keeps the descent monotone. Round j uses the smaller of
e = ||u||_1 / (p (1 + j)) and the e of the previous round. The error caused by e, L ||u||_1 p e, is
then the part 1 / (1 + j) of the value of the step, and no coordinate is frozen early. A constant e
can be given instead.
"""

from __future__ import annotations

import numpy as np

from greedyexp.kernels import native


class InnerLoop:
    """The loop of one step, which begins at eta = a and w = 0.

    Parameters
    ----------
    atoms : array (p, r)
        Columns of P in coordinates of its range R^r.
    start : array (p,)
        a.
    slope : array (p,)
        g.
    lam : float >= 0
    smoothness : float > 0
        L.
    floor : float > 0, optional
        A constant e; by default e falls with the rounds.

    Attributes
    ----------
    state : native.ultimate_inner.Loop
        The present point and weights; its methods minimise over single blocks.
    """

    def __init__(
        self,
        atoms: np.ndarray,
        start: np.ndarray,
        slope: np.ndarray,
        lam: float,
        smoothness: float,
        floor: float | None = None,
    ):
        self.state = native.ultimate_inner.Loop(atoms, start, slope, lam, smoothness)
        if floor is not None:
            self.state.floor, self.state.falling = floor, False
            self.state.weigh_representation()

    def alternate(self, rounds: int) -> tuple[np.ndarray, np.ndarray]:
        """Minimise over w, gamma and eta in turn.

        Returns
        -------
        estimate : array (p,)
            The eta with the least value of the step, or ``start`` if no value is less.
        values : array (rounds,)
            The value after each round.
        """
        estimate, values = np.empty(len(self.state.start)), np.empty(rounds)
        self.state.alternate(estimate, values)
        return estimate, values

    def random_blocks(self, choices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Minimise over eta or w, by ``choices``, and then over gamma and theta together.

        Parameters
        ----------
        choices : bool array (rounds,)
            True for eta.

        Returns
        -------
        estimate, values
            As of ``alternate``.
        """
        estimate, values = np.empty(len(self.state.start)), np.empty(len(choices))
        self.state.random_blocks(choices, estimate, values)
        return estimate, values
