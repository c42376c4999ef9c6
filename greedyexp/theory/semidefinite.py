"""The conic solver Clarabel: settings and linear matrix inequalities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy

if TYPE_CHECKING:
    import clarabel


class Triangle:
    """Symmetric matrices of one order, packed by columns of the upper triangle as in Clarabel.

    Off-diagonal entries are multiplied by sqrt 2, which preserves inner products.

    Parameters
    ----------
    order : int
        n of n x n.
    """

    def __init__(self, order: int):
        self.order = order
        columns, rows = np.tril_indices(order)
        self.rows, self.columns = rows, columns
        self.on_diagonal = rows == columns
        self._weight = np.where(self.on_diagonal, 1.0, np.sqrt(2.0))

    @property
    def size(self) -> int:
        return len(self.rows)

    def pack(self, matrix: np.ndarray) -> np.ndarray:
        """Return the vector of a symmetric matrix."""
        return matrix[self.rows, self.columns] * self._weight

    def pack_squares(self, B: np.ndarray) -> np.ndarray:
        """Return the vectors of b_i b_i^T as columns, for the columns b_i of B (n, p)."""
        return B[self.rows] * B[self.columns] * self._weight[:, None]

    def unpack(self, vector: np.ndarray) -> np.ndarray:
        """Return the matrix of a vector."""
        matrix = np.zeros((self.order, self.order))
        matrix[self.rows, self.columns] = matrix[self.columns, self.rows] = vector / self._weight
        return matrix


def settings(relative: float, absolute: float) -> clarabel.DefaultSettings:
    """Return quiet settings with one thread; more threads change the order of sums.

    Parameters
    ----------
    relative : float > 0
        Target for the relative gap and for feasibility.
    absolute : float > 0
        Target for the gap if the optimum is near zero.
    """
    import clarabel

    chosen = clarabel.DefaultSettings()
    chosen.verbose = False
    chosen.max_threads = 1
    chosen.tol_gap_rel = chosen.tol_feas = relative
    chosen.tol_gap_abs = absolute
    return chosen


def solve_conic(cost, weights, constant, triangle: Triangle, tol: float):
    """Minimise cost^T x over x >= 0 with sum_j x_j W_j + W_0 positive semidefinite.

    Parameters
    ----------
    cost : array (m,)
    weights : sparse or dense array (size, m)
        The packed W_j as columns.
    constant : array (size,)
        The packed W_0.
    triangle : Triangle
    tol : float
        Target for the relative gap; callers certify the result.

    Returns
    -------
    x : array (m,), not negative
    multiplier : array (n, n)
        Symmetric multiplier of the matrix inequality.
    """
    import clarabel

    m = len(cost)
    A = scipy.sparse.vstack([-scipy.sparse.eye(m), -scipy.sparse.csc_matrix(weights)], format="csc")
    bound = np.concatenate([np.zeros(m), constant])
    cones = [clarabel.NonnegativeConeT(m), clarabel.PSDTriangleConeT(triangle.order)]
    solution = _solve(np.asarray(cost, dtype=float), A, bound, cones, tol)
    return np.maximum(solution.x, 0.0), triangle.unpack(np.asarray(solution.z[m:]))


def best_mixture(weights, target, triangle: Triangle, tol: float):
    """Maximise t with sum_j x_j W_j - t T positive semidefinite over x in the simplex.

    Parameters
    ----------
    weights : array (size, m)
        The packed W_j as columns.
    target : array (size,)
        The packed T.
    triangle, tol : see ``solve_conic``

    Returns
    -------
    x : array (m,), not negative
    multiplier : array (n, n)
        M, for which <T, M> is about one and max_j <W_j, M> is about the maximum.
    """
    import clarabel

    m = weights.shape[1]
    # The last variable is t. Fixing t and minimising the sum of x would take three times as long.
    simplex = np.concatenate([np.ones(m), [0.0]])[None]
    positive = scipy.sparse.hstack([-scipy.sparse.eye(m), scipy.sparse.csc_matrix((m, 1))])
    above = scipy.sparse.csc_matrix(np.column_stack([-weights, target]))
    A = scipy.sparse.vstack([scipy.sparse.csc_matrix(simplex), positive, above], format="csc")
    bound = np.zeros(A.shape[0])
    bound[0] = 1.0
    cost = np.zeros(m + 1)
    cost[m] = -1.0
    cones = [
        clarabel.ZeroConeT(1),
        clarabel.NonnegativeConeT(m),
        clarabel.PSDTriangleConeT(triangle.order),
    ]
    solution = _solve(cost, A, bound, cones, tol)
    x = np.maximum(solution.x[:m], 0.0)
    return x, triangle.unpack(np.asarray(solution.z[m + 1 :]))


def _solve(cost, A, bound, cones, tol):
    import clarabel

    none = scipy.sparse.csc_matrix((len(cost), len(cost)))
    exact = settings(1e-2 * tol, 1e-14)
    return clarabel.DefaultSolver(none, cost, A, bound, cones, exact).solve()
