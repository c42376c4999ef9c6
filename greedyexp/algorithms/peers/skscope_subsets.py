"""Sparsity-constrained least squares by the solvers of skscope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.peers._tasks import (
    Fitted,
    check_sizes,
    path_of_tasks,
    sizes_of,
    small_problem,
)
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.problems.problem import Problem


def prepare(**_) -> None:
    """Import skscope."""
    skscope(small_problem())


@algorithm(
    "skscope",
    title="skscope",
    paper="Wang et al. (2024)",
    check=check_sizes,
    packages=("skscope", "jax"),
    prepare=prepare,
    stops=("n_atoms",),
)
def skscope(
    problem: Problem,
    *,
    solver: Annotated[
        Literal["scope", "foba"],
        Field(description="splicing iterations, or forward-backward greedy selection"),
    ] = "scope",
    n_atoms: param.Atoms = None,
    max_iter: param.MaxIter = 100,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Sparsity-constrained least squares for each task, by the solvers of ``skscope``.

    Minimises ||y_j - X_j b_j||^2 / (2 n_j) with at most s coefficients, one fit for each size s.
    skscope gets the loss, its gradient, and the least-squares fit on a support, so that it neither
    compiles nor iterates where the minimum is known. It gets no sample size, which is its default.
    With a sample size, scope would exchange features only if the loss falls by a fixed number,
    whatever the units of the response.

    Parameters
    ----------
    problem : Problem
        A problem with r >= 1 tasks. The columns are used as they are; the solvers assume columns of
        similar norms.
    solver : {"scope", "foba"}
        ``ScopeSolver`` or ``FobaSolver``, with the settings of skscope. foba is slow: in every step
        it goes through the features in Python, and each size begins anew.
    n_atoms : int, optional
        Largest number of features of a task; by default half of min(n, p), with n the smallest
        number of rows of a task.
    max_iter : int >= 1
        Maximum number of iterations for one size. It is the default of skscope for foba, and 20 for
        scope.
    grid : dict with array ``n_atoms``, optional
        Return one estimate for each number of features, in this order.

    Returns
    -------
    Path
        A path with grid ``n_atoms``.

    Raises
    ------
    ConfigError
        If n_atoms is more than p or the number of rows.

    References
    ----------
    Z. Wang, J. Zhu, X. Wang, J. Zhu, H. Peng, P. Chen, A. Wang, X. Zhang, skscope: fast
    sparsity-constrained optimization in Python, 2024.
    """
    from skscope import FobaSolver, ScopeSolver

    param.enforce(check_sizes, problem, n_atoms=n_atoms)
    kind = {"scope": ScopeSolver, "foba": FobaSolver}[solver]

    def fit(X: np.ndarray, y: np.ndarray, sizes: np.ndarray) -> Fitted:
        coef = np.zeros((len(sizes), X.shape[1]))
        for at, size in enumerate(np.minimum(sizes, min(X.shape))):
            if size:
                squares = _Squares(X, y)
                made = kind(X.shape[1], int(size), numeric_solver=squares.fit, max_iter=max_iter)
                coef[at] = squares.minimised_by(made)
        return Fitted(coef, np.ones(len(sizes), bool))

    return path_of_tasks(problem, "n_atoms", sizes_of(problem, "n_atoms", n_atoms, grid), fit)


class _Squares:
    """The function ||y - X b||^2 / (2 n) in the form that skscope calls.

    An exception in a function that skscope calls from C++ would end the process. So the first one
    is kept, later calls return zero, which ends the search, and then it is raised.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self._X, self._y = X, y
        self._fault: BaseException | None = None

    def minimised_by(self, solver: Any) -> np.ndarray:
        """Return the coefficients (p,) that a solver of skscope finds."""
        # Functions of two arguments, because skscope reads the number of arguments.
        try:
            return solver.solve(
                lambda coef, _: self._kept(self._value, coef, otherwise=0.0),
                gradient=lambda coef, _: self._kept(self._gradient, coef, otherwise=0.0 * coef),
            )
        finally:
            if self._fault is not None:
                raise self._fault

    def fit(
        self, _objective: Any, _gradient: Any, coef: np.ndarray, support: np.ndarray, _data: Any
    ) -> tuple[float, np.ndarray]:
        """Return the least value on a support, and its coefficients; skscope calls this."""
        return self._kept(self._fitted, coef, support, otherwise=(0.0, coef))

    def _value(self, coef: np.ndarray) -> float:
        residual = self._y - self._X @ coef
        return _finite(float(residual @ residual) / (2 * len(self._y)))

    def _gradient(self, coef: np.ndarray) -> np.ndarray:
        return _finite(self._X.T @ (self._X @ coef - self._y) / len(self._y))

    def _fitted(self, coef: np.ndarray, support: np.ndarray) -> tuple[float, np.ndarray]:
        coef[support] = np.linalg.lstsq(self._X[:, support], self._y, rcond=None)[0]
        return self._value(coef), coef

    def _kept(self, function: Callable[..., Any], *given: Any, otherwise: Any) -> Any:
        if self._fault is None:
            try:
                return function(*given)
            except BaseException as fault:
                self._fault = fault
        return otherwise


def _finite(value: Any) -> Any:
    # skscope itself raises an exception for other numbers.
    if not np.isfinite(value).all():
        raise FloatingPointError("least squares overflow.")
    return value
