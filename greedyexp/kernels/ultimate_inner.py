"""Inner loops of the ultimate method: block descent on its step with ||u||_1^2 made quadratic.

A step looks for eta and w in the kernel of P that minimise

    <g, eta - a> + (L / 2) ||u||_1^2 + lam ||eta||_1  with  u = eta + w - a,

where g = P^T f'(P a) and w stands for Q z, Q a basis of the kernel. Weights gamma > 0 of sum 1 make
the square quadratic, as ||u||_1^2 = min sum u_i^2 / gamma_i, and theta > 0 the norm, as ||eta||_1 =
min sum (eta_i^2 / theta_i + theta_i) / 2. At u_i = 0 the best weight is zero, after which u_i could
never move again. So sums run over u_i^2 + e^2 instead: then gamma_i is in proportion to (u_i^2 +
e^2)^(1/2), never zero, and every block is still minimised exactly. The value falls with e, so that
lowering e keeps it monotone. Round j may use e = ||u||_1 / (p (1 + j)) or the e of the round
before, whichever is less: the error that e brings, L ||u||_1 p e, is then the part 1 / (1 + j) of
what the step is worth, and no coordinate is frozen early.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from greedyexp.kernels._compile import kernel
from greedyexp.kernels.cholesky import append, solve, solve_transposed


class Inner(NamedTuple):
    """The step and where its loop stands; arrays changed in place."""

    atoms: np.ndarray  # (p, r), spanning R^r
    start: np.ndarray  # (p,) a
    slope: np.ndarray  # (p,) g
    lam: float
    smoothness: float  # L
    eta: np.ndarray  # (p,) representation of the next point
    null: np.ndarray  # (p,) w, in the kernel of P
    gamma: np.ndarray  # (p,) weights of the move
    theta: np.ndarray  # (p,) weights of the representation
    floor: np.ndarray  # (1,) e


@kernel
def begin(atoms, start, slope, lam, smoothness):
    """A loop at eta = a, w = 0, even weights, and e for a move as long as a first one may be."""
    p = len(start)
    floor = np.full(1, (np.max(np.abs(slope)) + lam) / (smoothness * p))
    state = Inner(
        atoms,
        start,
        slope,
        lam,
        smoothness,
        start.copy(),
        np.zeros(p),
        np.full(p, 1.0 / p),
        np.empty(p),
        floor,
    )
    weigh_representation(state)
    return state


@kernel
def shift_in_kernel(state):
    """Minimise over w: sum u_i^2 / gamma_i with P u = P (eta - a), a system of r equations.

    It is Q z for z = (Q^T D^-1 Q)^-1 Q^T D^-1 (a - eta), D = diag(gamma), without Q and without a
    division by gamma. When rounding makes the system singular, w stays.
    """
    atoms = state.atoms
    r = atoms.shape[1]
    weighted = atoms * state.gamma.reshape(-1, 1)
    system = np.dot(weighted.T, atoms)
    factor = np.empty((r, r))
    for i in range(r):
        if append(factor, i, system[i], system[i, i]) <= 0.0:
            return
    away = state.eta - state.start
    rest = np.dot(away, atoms)
    move = np.zeros(len(away))
    # The second round brings P u to rounding also where weights differ by many orders.
    for _ in range(2):
        part = rest.copy()
        solve(factor, r, part)
        solve_transposed(factor, r, part, part)
        change = np.dot(weighted, part)
        move += change
        rest -= np.dot(change, atoms)
    state.null[:] = move - away


@kernel
def weigh_move(state):
    """Minimise over gamma."""
    total, floor = 0.0, state.floor[0]
    for i in range(len(state.eta)):
        weight = np.hypot(state.eta[i] + state.null[i] - state.start[i], floor)
        state.gamma[i] = weight
        total += weight
    for i in range(len(state.eta)):
        state.gamma[i] /= total


@kernel
def weigh_representation(state):
    """Minimise over theta."""
    for i in range(len(state.eta)):
        state.theta[i] = np.hypot(state.eta[i], state.floor[0])


@kernel
def threshold(state):
    """Minimise over eta with its norm as it is: soft thresholding."""
    for i in range(len(state.eta)):
        reach = state.gamma[i] / state.smoothness
        centre = state.start[i] - state.null[i] - reach * state.slope[i]
        size = abs(centre) - state.lam * reach
        state.eta[i] = 0.0 if size <= 0.0 else (size if centre > 0.0 else -size)


@kernel
def shrink(state):
    """Minimise over eta with its norm made quadratic by theta."""
    for i in range(len(state.eta)):
        gamma, theta = state.gamma[i], state.theta[i]
        pull = state.smoothness * (state.start[i] - state.null[i]) - gamma * state.slope[i]
        state.eta[i] = theta * pull / (state.smoothness * theta + state.lam * gamma)


@kernel
def value(state, quadratic):
    """What the blocks descend on; with ``quadratic`` theta stands for the norm of eta."""
    total, square, norm = 0.0, 0.0, 0.0
    power = state.floor[0] ** 2
    for i in range(len(state.eta)):
        away = state.eta[i] - state.start[i]
        total += state.slope[i] * away
        square += ((away + state.null[i]) ** 2 + power) / state.gamma[i]
        if quadratic:
            norm += ((state.eta[i] ** 2 + power) / state.theta[i] + state.theta[i]) / 2.0
        else:
            norm += abs(state.eta[i])
    return total + state.smoothness / 2.0 * square + state.lam * norm


@kernel
def step_value(state):
    """The step's own value and ||u||_1."""
    total, length, norm = 0.0, 0.0, 0.0
    for i in range(len(state.eta)):
        away = state.eta[i] - state.start[i]
        total += state.slope[i] * away
        length += abs(away + state.null[i])
        norm += abs(state.eta[i])
    return total + state.smoothness / 2.0 * length * length + state.lam * norm, length


@kernel
def _lower_floor(state, length, j):
    if length > 0.0:
        state.floor[0] = min(state.floor[0], length / (len(state.eta) * (1.0 + j)))


@kernel
def alternate(state, rounds):
    """Minimise over w, gamma and eta in turn.

    Returns
    -------
    estimate : array (p,)
        eta of the least value of the step met, ``start`` when none is less than there.
    values : array (rounds,)
        What is descended on, after each round.
    """
    estimate = state.start.copy()
    least = state.lam * np.sum(np.abs(state.start))
    values = np.empty(rounds)
    for j in range(rounds):
        shift_in_kernel(state)
        weigh_move(state)
        threshold(state)
        values[j] = value(state, False)
        reached, length = step_value(state)
        if reached < least:
            least = reached
            estimate[:] = state.eta
        _lower_floor(state, length, j)
    return estimate, values


@kernel
def random_blocks(state, choices):
    """Minimise over eta or w, as ``choices`` says, and then over gamma and theta together.

    Parameters
    ----------
    choices : bool array (rounds,)
        True for eta.

    Returns
    -------
    estimate, values
        As of ``alternate``.
    """
    estimate = state.start.copy()
    least = state.lam * np.sum(np.abs(state.start))
    values = np.empty(len(choices))
    for j in range(len(choices)):
        if choices[j]:
            shrink(state)
        else:
            shift_in_kernel(state)
        reached, length = step_value(state)
        if reached < least:
            least = reached
            estimate[:] = state.eta
        _lower_floor(state, length, j)
        weigh_move(state)
        weigh_representation(state)
        values[j] = value(state, True)
    return estimate, values
