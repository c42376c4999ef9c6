"""Orthogonal matching pursuit, over single features or over rows."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.algorithms import _parameters as param
from greedyexp.core.errors import DataError
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.estimates.sparse import SparseEstimates
from greedyexp.kernels import design_pursuit, gram_fit
from greedyexp.kernels import omp as gram_pursuit
from greedyexp.kernels.gram_rows import gram_rows
from greedyexp.problems.checks import require_memory
from greedyexp.problems.problem import LARGEST_GRAM, Problem
from greedyexp.solvers.refit import certify


def check(
    shape: dict,
    *,
    n_atoms: int | None,
    normalize: bool = True,
    judge: str = "coordinate",
    **_,
) -> None:
    """Raise ValueError if n_atoms exceeds p, or judge is refit without normalize."""
    _check_steps(shape, "n_atoms", n_atoms)
    if judge == "refit" and not normalize:
        raise ValueError("judge: refit divides by norms, so it needs normalize: true.")


def theory_grid(problem: Problem, **_) -> dict[str, np.ndarray]:
    """n_atoms at the number of nonzero coefficients (Tropp & Gilbert 2007, Theorem 2)."""
    if problem.sparsity is None:
        raise DataError(
            "tuning orthogonal matching pursuit by theory needs the number of nonzeros.",
            remedy="Give the true coefficients, or tune by cross-validation.",
        )
    return {"n_atoms": np.array([float(problem.sparsity)])}


@algorithm(
    "omp",
    title="OMP",
    paper="Pati, Rezaiifar & Krishnaprasad (1993); Tropp & Gilbert (2007), Algorithm 3",
    check=check,
    theory=theory_grid,
    takes_sparse=True,
    stops=("n_atoms", "residual_norm"),
)
def omp(
    problem: Problem,
    *,
    n_atoms: Annotated[
        int | None,
        Field(ge=1, description="maximum number of atoms per task; default min(n, p) / 2"),
    ] = None,
    normalize: Annotated[
        bool, Field(description="divide correlations by the norms of the columns")
    ] = True,
    judge: param.Judged = "coordinate",
    residual_norm: Annotated[
        float | None, Field(ge=0, description="norm of the residual at which a pursuit ends")
    ] = None,
    grid: dict[str, np.ndarray] | None = None,
    end: bool = False,
    n_jobs: int = 1,
) -> Path:
    """Orthogonal matching pursuit: add the best correlated column, refit, repeat.

    Each task has its own pursuit; the tasks share only the number of atoms, the tuning parameter.
    Many tasks with the same design share its Gram matrix, so further tasks cost little more than
    their own steps. No Gram matrix is formed for few tasks or many features.

    Parameters
    ----------
    problem : Problem
        A problem with r tasks over p features.
    n_atoms : int, optional
        Number of atoms at which the path ends; by default half of min(n, p), with n the smallest
        number of rows of a task.
    normalize : bool
        Choose max |x_i^T res| / ||x_i||, the step that lowers the loss most when one coefficient
        moves. This is the published rule, which assumes unit columns. With false, choose
        max |x_i^T res|, as scikit-learn's ``orthogonal_mp`` does.
    judge : {"coordinate", "refit"}
        With refit, choose the column that lowers the loss most after a refit of all coefficients:
        ||x_i|| becomes the distance of x_i from the span of the support. This is orthogonal least
        squares (Chen, Billings & Luo 1989).
    residual_norm : float >= 0, optional
        A task ends when ||y_j - X_j b_j|| is at most this, with at most n_atoms atoms, or else
        min(n, p). Norms below 1e-7 ||y_j|| may be lost in rounding.
    grid : dict with array ``n_atoms``, optional
        Return one estimate for each number of atoms, in this order.
    end : bool
        Keep the last estimate only. ``history`` has the objective of all numbers of atoms.
    n_jobs : int >= 1
        Number of threads; the estimates do not depend on it.

    Returns
    -------
    Path
        Estimates with 0, 1, ... atoms in every task; ``objective`` is
        sum_j ||y_j - X_j b_j||^2 / (2 n_j). A task that no further column improves keeps its
        estimate; the path ends when this is true of all tasks.

    Raises
    ------
    ConfigError
        If a number of atoms is not a whole number >= 0, n_atoms is more than p, or judge is
        refit without normalize.

    Notes
    -----
    Among scores equal to a relative precision of 1e-10 the lowest feature wins. A column in the
    span of the support (squared sine below 1e-10) is left out and reported.

    References
    ----------
    Y. C. Pati, R. Rezaiifar, P. S. Krishnaprasad, Orthogonal matching pursuit, 1993.
    J. A. Tropp, A. C. Gilbert, Signal recovery from random measurements via orthogonal matching
    pursuit, 2007.
    S. Chen, S. A. Billings, W. Luo, Orthogonal least squares methods and their application to
    non-linear system identification, 1989.
    """
    param.enforce(check, problem, n_atoms=n_atoms, normalize=normalize, judge=judge)
    return _pursuit_path(
        problem,
        "n_atoms",
        n_atoms,
        residual_norm,
        grid,
        end,
        together=False,
        normalize=normalize,
        refit=judge == "refit",
        n_jobs=n_jobs,
    )


def _check_steps(shape: dict, name: str, most: int | None) -> None:
    """Raise ValueError if a pursuit has more steps than there are features."""
    if most is not None and most > shape["n_features"]:
        raise ValueError(f"{name} = {most} is more than the {shape['n_features']} features.")


def _pursuit_path(
    problem: Problem,
    name: str,
    most: int | None,
    residual_norm: float | None,
    grid: dict[str, np.ndarray] | None,
    end: bool,
    *,
    together: bool,
    normalize: bool,
    refit: bool,
    n_jobs: int = 1,
) -> Path:
    """Return the path of a pursuit with the number of features as its grid ``name``.

    Parameters
    ----------
    most : int, optional
        Number of features at which the path ends when there is no grid.
    end : bool
        Keep the last estimate only.
    together : bool
        Whether all tasks take the same features.
    normalize, refit : bool
        How features are scored: divided by column norms, and after a refit.
    """
    rows = np.minimum(problem.n_samples, problem.n_features)
    end = end and grid is None
    if grid is not None:
        asked = param.grid_values(grid, name, whole=True).astype(np.int64)
        counts, place = np.unique(asked, return_inverse=True)
    else:
        if most is None:
            most = int(rows.max()) if residual_norm is not None else max(1, int(rows.min()) // 2)
        asked = counts = np.arange(1 + most)
    capacity = np.minimum(rows, max(1, counts[-1]))
    kept = int(capacity.max()) if end else int(np.minimum(counts, capacity.max()).sum())
    require_memory(
        32.0 * kept * problem.n_tasks,
        f"a path of {len(counts)} estimates",
        f"Give a smaller {name}.",
    )
    sparse = problem.sparse_design
    use_gram = sparse or gram_pays(problem.shape, int(capacity.max()), together)
    # The points of a grid are numbers of features.
    limit = -1.0 if residual_norm is None or grid is not None else residual_norm**2
    enough = limit / (2.0 * problem.n_samples)
    scoring = (together, normalize, refit)
    options = (problem.response_power, enough, capacity, *scoring, counts, end, n_jobs)
    if use_gram:
        blocks = [problem.correlation] if together else problem.correlation_blocks()
        if sparse:
            at_once = problem.n_tasks if together else n_jobs
            require_memory(
                8.0 * at_once * capacity.max() * problem.n_features,
                f"a pursuit of {capacity.max()} of {problem.n_features} features",
                f"Give a smaller {name}.",
            )
            # A pursuit itself keeps the rows that it uses.
            gram: np.ndarray | list = [gram_rows(X, 0) for X in problem.designs]
        else:
            gram = gram_fit.stored(problem.gram)
        found = gram_pursuit.pursuits(gram, blocks, *options)
    else:
        _require_room(problem, capacity, name, together)
        found = design_pursuit.pursuits(problem.designs, problem.y, *options)
    ends, entries, values, loss, sizes, reached, skipped, smallest = found
    fits = SparseEstimates(ends, entries, values, (problem.n_features, problem.n_tasks))
    parts = []
    if grid is None and reached < counts[-1]:
        if residual_norm is None:
            parts.append(f"nothing left to gain after {reached} step{'' if reached == 1 else 's'}.")
        loss, sizes, asked = (numbers[: reached + 1] for numbers in (loss, sizes, asked))
        fits = fits if end else fits.take(np.arange(reached + 1))
    if skipped:
        parts.append(f"{skipped} entries in the span of their support were left out.")
    if use_gram:
        # The other fits are as accurate as those of certify(), whatever the angles.
        fits, loss[-len(fits) :], redone = certify(problem, fits, loss[-len(fits) :], smallest)
        parts += [redone] if redone else []
    numbers = asked.astype(float)
    history = {name: numbers, "support_size": sizes, "objective": loss} if end else None
    if grid is not None:
        fits, loss = fits.take(place), loss[place]
    last = len(fits)
    return Path(
        fits,
        {name: numbers[-last:]},
        loss[-last:],
        np.ones(last, dtype=bool),
        " ".join(parts),
        history=history,
    )


def gram_pays(shape: dict, most: int, together: bool) -> bool:
    """Return whether a pursuit should form the Gram matrices of its designs.

    The Gram form is faster for many tasks with one design, or few features. The other form reads
    the designs at each step. Both give the same fits up to rounding errors. The choice depends on
    nothing but these arguments, so a fit has the same digits wherever it is made. In particular it
    does not depend on whether another algorithm has formed the Gram matrix of the same problem. As
    this is likely in experiments, the Gram form of pursuits for single tasks may cost up to half as
    much again.

    Parameters
    ----------
    shape : dict
        ``Problem.shape``.
    most : int
        Largest number of features of a task.
    together : bool
        Whether all tasks take the same features.

    Returns
    -------
    bool
        False if there are more than 4096 features.
    """
    n, p, r = shape["n_samples"], shape["n_features"], shape["n_tasks"]
    if p > LARGEST_GRAM:
        return False
    designs = 1 if shape["shared_design"] else r
    # Nanoseconds, measured on one thread.
    gram = 0.03 * designs * n * p**2 + 0.12 * r * most**2 * p
    bases = designs if together else r
    passes = 2.0 * designs * n * p + 0.03 * r * most * n * p + 0.25 * bases * n * most**2
    return gram < (1.0 if together else 1.5) * passes


def _require_room(problem: Problem, capacity: np.ndarray, name: str, together: bool) -> None:
    """Raise DataError if a pursuit without Gram matrices does not fit into the free memory."""
    at_once = capacity if together and not problem.shared_design else capacity[:1]
    sizes = problem.n_samples[: len(at_once)]
    bases = 8.0 * (at_once * (at_once + sizes)).sum()
    # Rounded columns take a byte for each number, and copies of columns take as much again.
    require_memory(
        bases + 2.0 * problem.n_features * sizes.sum(),
        f"a pursuit of {capacity.max()} of {problem.n_features} features",
        f"Give a smaller {name}.",
    )


def _check_rows(shape: dict, *, n_rows: int | None, **_) -> None:
    """Raise ValueError if n_rows exceeds the number of features."""
    _check_steps(shape, "n_rows", n_rows)


@algorithm(
    "group_omp",
    title="Group OMP",
    paper="Tropp, Gilbert & Strauss (2006), Algorithm 3.1",
    requires=("multi_task",),
    check=_check_rows,
    takes_sparse=True,
    stops=("n_rows", "residual_norm"),
)
def group_omp(
    problem: Problem,
    *,
    n_rows: Annotated[
        int | None, Field(ge=1, description="maximum number of rows; default min(n, p) / 2")
    ] = None,
    judge: param.Judged = "coordinate",
    residual_norm: Annotated[
        float | None, Field(ge=0, description="norm of the residual at which a pursuit ends")
    ] = None,
    grid: dict[str, np.ndarray] | None = None,
    end: bool = False,
) -> Path:
    """Group OMP: add the row that lowers the summed loss most, refit every task, repeat.

    Parameters
    ----------
    problem : Problem
        A problem with r tasks over p features.
    n_rows : int, optional
        Number of rows at which the path ends; by default half of min(n, p), with n the smallest
        number of samples of a task.
    judge : {"coordinate", "refit"}
        How rows are scored; see Notes.
    residual_norm : float >= 0, optional
        The path ends when ||y_j - X_j b_j|| is at most this for all tasks, with at most n_rows
        rows, or else min(n, p). Norms below 1e-7 ||y_j|| may be lost in rounding.
    grid : dict with array ``n_rows``, optional
        Return one estimate for each number of rows, in this order.
    end : bool
        Keep the last estimate only. ``history`` has the objective of all numbers of rows.

    Returns
    -------
    Path
        Estimates with 0, 1, ... rows; ``objective`` is sum_j ||y_j - X_j b_j||^2 / (2 n_j). The
        path ends when no further row lowers it.

    Raises
    ------
    ConfigError
        If a number of rows is not a whole number >= 0, or n_rows is more than p.

    Notes
    -----
    The score of row i is sum_j (x_ij^T res_j)^2 / (2 n_j ||x_ij||^2), the loss decrease when only
    the coefficients of that row move; with ``judge: refit`` ||x_ij|| becomes the distance of x_ij
    from the span of the support, and the score is the decrease after a refit. The published
    simultaneous OMP, for a common design with unit columns, sums absolute correlations instead of
    squares. Among scores equal to a relative precision of 1e-10 the lowest row wins. In a task
    where the column lies in the span of the support (squared sine below 1e-10) the entry stays zero
    while the other tasks take theirs; such entries are reported.

    References
    ----------
    J. A. Tropp, A. C. Gilbert, M. J. Strauss, Algorithms for simultaneous sparse approximation.
    Part I: Greedy pursuit, 2006.
    """
    param.enforce(_check_rows, problem, n_rows=n_rows)
    return _pursuit_path(
        problem,
        "n_rows",
        n_rows,
        residual_norm,
        grid,
        end,
        together=True,
        normalize=True,
        refit=judge == "refit",
    )
