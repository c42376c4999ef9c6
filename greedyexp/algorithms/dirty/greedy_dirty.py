"""Greedy dirty model: forward-backward selection of single entries and whole rows."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from greedyexp.algorithms import _parameters as param
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path, join
from greedyexp.estimates.sparse import SparseEstimates
from greedyexp.kernels import gram_fit
from greedyexp.kernels import greedy_dirty as kernel
from greedyexp.kernels.gram_rows import BATCH, gram_rows
from greedyexp.problems.checks import require_memory
from greedyexp.problems.problem import LARGEST_GRAM, Problem
from greedyexp.solvers.refit import certify
from greedyexp.theory import noise as theory

DEFAULT_FRACTIONS = (0.05, 0.25, 0.5, 0.75, 0.95)
Weight = Annotated[float, Field(ge=1)]
Threshold = Annotated[float, Field(ge=0)]
_UNLIMITED = np.iinfo(np.int64).max


def check(shape: dict, *, w, c, max_support: int | None, **_) -> None:
    """Raise ValueError if w is outside [1, r], c does not increase or max_support exceeds p r."""
    if not 0 <= c[0] < c[1]:
        raise ValueError(f"c = ({c[0]:g}, {c[1]:g}) is not an increasing pair of numbers >= 0.")
    if w is not None:
        r, weights = shape["n_tasks"], param.as_numbers(w)
        if not weights.size:
            raise ValueError(f"w is an empty list; give values from 1 to r = {r}.")
        outside = weights[~((weights >= 1) & (weights <= r))]
        if outside.size:
            raise ValueError(
                f"w = {outside[0]:.10g} lies outside the interval from 1 to the number of tasks,"
                f" {r}, beyond which only entries, or only rows, would ever be chosen."
            )
    param.check_max_support(shape, max_support=max_support)


def theory_grid(problem: Problem, **_) -> dict[str, np.ndarray]:
    """w in the middle of (1, r) and epsilon at the noise level; see ``theory.noise``."""
    if problem.noise_std is None:
        raise DataError(
            "the theoretical threshold of the greedy dirty model needs the noise level.",
            remedy="Give noise_std, or tune by cross-validation.",
        )
    size = (int(problem.n_samples.min()), problem.n_features, problem.n_tasks)
    return {
        "w": np.array([theory.sharing_weight(problem.n_tasks)]),
        "epsilon": np.array([theory.stopping_threshold(problem.noise_std, *size)]),
    }


@algorithm(
    "greedy_dirty",
    title="Greedy dirty model",
    paper="Jalali & Sanghavi (2012), Algorithm 1",
    requires=("multi_task",),
    check=check,
    theory=theory_grid,
    takes_sparse=True,
    stops=("epsilon", "max_support"),
)
def greedy_dirty(
    problem: Problem,
    *,
    w: Annotated[
        Weight | Annotated[list[Weight], Field(min_length=1)] | None,
        Field(description="weight of rows, one or several, each in [1, r]; default five values"),
    ] = None,
    nu: Annotated[float, Field(gt=0, lt=1, description="backward factor")] = 0.5,
    stack: Annotated[
        Literal["single", "per_class"],
        Field(description="recorded reward that the cost of a backward step is compared with"),
    ] = "single",
    c: Annotated[
        tuple[Threshold, Threshold],
        Field(description="range of epsilon / (s log(p) / n), used if the sparsity is known"),
    ] = (1e-4, 10.0),
    epsilon: Annotated[
        Threshold | Annotated[list[Threshold], Field(min_length=1)] | None,
        Field(description="explicit stopping threshold or thresholds instead of all"),
    ] = None,
    relative_floor: Annotated[
        float,
        Field(
            gt=0,
            lt=1,
            description="smallest epsilon over the first reward, if the sparsity is unknown",
        ),
    ] = 1e-4,
    max_support: Annotated[
        int | None, Field(ge=1, description="end before a step that leads to more nonzero entries")
    ] = None,
    grid: dict[str, np.ndarray] | None = None,
) -> Path:
    """Greedy dirty model for several sparse regressions, for every stopping threshold at once.

    The support is a set of single entries Omega_s and a set of rows Omega_b. The value of an entry
    or a row is the largest decrease of the squared loss when only its own coefficients move; the
    value of a row is divided by w. A forward step adds the entry or row of the largest value and
    pushes this value, its reward, on a stack. Backward steps follow. Each removes the entry or row
    whose coefficients can be set to zero at the least cost (for a row divided by w), while that
    cost is at most nu times the reward on top of the stack, and pops this reward. The run stops
    before a forward step whose reward is at most epsilon.

    Parameters
    ----------
    problem : Problem
        A problem with r tasks over p features.
    w : float or list of float in [1, r]
        Default 1 + (r - 1) * (0.05, 0.25, 0.5, 0.75, 0.95). The paper's interval is open; w = 1
        takes a row whenever it gains as much as an entry, w = r only if all entries gain equally.
    nu : float in (0, 1)
    stack : {"single", "per_class"}
        ``single`` as in the listing; ``per_class`` as in the text of section 2, where an entry is
        compared with the reward recorded for the last entry and a row with that of the last row.
    c : pair of float
        Range of epsilon n / (s log p), n the smallest number of rows (section 4.1). The range is
        used when the sparsity s and the noise level of the problem are known, as in simulations:
        the responses of other data can have any unit.
    epsilon : float or list of float, optional
        Absolute thresholds; one estimate for each, for every w.
    relative_floor : float
        Smallest epsilon over the first reward when neither ``c`` nor ``epsilon`` is used.
    max_support : int, optional
        Maximum number of nonzero entries. Thresholds that are not reached get the last estimate of
        the path, which is not converged.
    grid : dict with arrays ``w`` and ``epsilon``, optional
        Return one estimate for each pair, in this order.

    Returns
    -------
    Path
        For each w the distinct estimates from sparse to dense. Each carries the smallest epsilon of
        the range that gives it. It is the output for all thresholds from there up to, but not
        including, the epsilon of the estimate before it (for the first: for all larger ones).
        ``objective`` is the loss sum_j ||y_j - X_j b_j||^2 / (2 n_j), exact to rounding relative to
        the power of the responses.

    Raises
    ------
    ConfigError
        If w lies outside [1, r], a threshold is negative, c does not increase, or max_support is
        more than p r.

    Notes
    -----
    *The backward test* is cost <= nu * reward; nu * epsilon * reward is a misprint, as the
    text and the proof of convergence show.

    *An entry of a selected row* costs nothing to remove. When a row with an entry in Omega_s is
    added, the backward steps right after it remove that entry and pop the reward of the row; the
    earlier reward of the entry then serves as that of the row. Therefore, no entry is selected
    twice at the next forward step.

    *Ties* (equal to a relative precision of 1e-10): a row before an entry in both directions, then
    the lower feature, then the lower task.

    *Dependent columns.* An entry whose column lies in the span of its task's support (squared sine
    below 1e-10, or as many entries as rows) has no gain. If it belongs to a row, the row is scored
    and added by its other entries, and this one stays zero until a removal frees it. Rewards below
    1e-20 of the response power are rounding and count as zero.

    *Memory.* With more than 4096 features no Gram matrix is formed. Its rows are computed when they
    are needed, and take about as much memory as the designs, at most.

    *Termination.* With one stack the cost of a removed row may be compared with the reward of an
    entry, so a removal raises the loss by at most w nu times the reward it pops. If w nu < 1, the
    loss plus w nu times the sum of the stack falls with every forward step and never rises, so no
    state recurs. The same holds for any w with ``per_class``. With one stack and w nu >= 1 the
    algorithm as published may run for ever. A run that returns to an earlier state ends there; the
    thresholds without an answer get that state, with ``converged`` false.

    References
    ----------
    A. Jalali, S. Sanghavi, A new greedy algorithm for multiple sparse regression, 2012.
    """
    param.enforce(check, problem, w=w if grid is None else grid["w"], c=c, max_support=max_support)
    per_class = stack == "per_class"
    # All weights share the rows that are computed when needed.
    gram = _gram(problem, max_support)
    rest = gram, nu, per_class, max_support
    if grid is None:
        default = 1.0 + (problem.n_tasks - 1) * np.array(DEFAULT_FRACTIONS)
        weights = default if w is None else param.as_numbers(w)
        if epsilon is None:
            wanted = _default_thresholds(problem, c, relative_floor)
            return join([_path(problem, one, wanted, *rest) for one in weights])
        thresholds = param.as_numbers(epsilon)
        grid = {
            "w": np.repeat(weights, len(thresholds)),
            "epsilon": np.tile(thresholds, len(weights)),
        }
    pairs_w, pairs_epsilon = (np.asarray(grid[name], dtype=float) for name in ("w", "epsilon"))
    if len(pairs_w) == 0 or len(pairs_w) != len(pairs_epsilon):
        raise ConfigError(
            "the grid needs the same number of values of w and epsilon, at least one."
        )
    if not (np.isfinite(pairs_epsilon) & (pairs_epsilon >= 0)).all():
        raise ConfigError("a stopping threshold epsilon must be a number >= 0.")
    places = [np.flatnonzero(pairs_w == weight) for weight in dict.fromkeys(pairs_w)]
    paths = []
    for own in places:
        wanted = _Thresholds(pairs_epsilon[own].min(), asked=pairs_epsilon[own])
        paths.append(_path(problem, pairs_w[own[0]], wanted, *rest))
    return join(paths).take(np.argsort(np.concatenate(places)))


class _Thresholds(NamedTuple):
    """The stopping thresholds for which a run returns estimates.

    If ``asked`` is given, there is one estimate for each of its values. Otherwise, there is one for
    each distinct result with a threshold from ``stop`` to ``top``.
    """

    stop: float
    top: float = np.inf
    relative_floor: float = 0.0
    asked: np.ndarray | None = None


def _default_thresholds(
    problem: Problem, c: tuple[float, float], relative_floor: float
) -> _Thresholds:
    """Return the thresholds of ``c``, or all above the floor if the data are not simulated."""
    if problem.sparsity is None or problem.noise_std is None:
        return _Thresholds(0.0, relative_floor=relative_floor)
    unit = problem.sparsity * np.log(problem.n_features) / problem.n_samples.min()
    return _Thresholds(c[0] * unit, c[1] * unit)


def _gram(problem: Problem, max_support: int | None):
    """Return the Gram matrices, or their rows on demand if they are large, for the kernel.

    Raises
    ------
    DataError
        If there is not enough memory.
    """
    p = problem.n_features
    if p <= LARGEST_GRAM:
        return gram_fit.stored(problem.gram)
    # A run ends when it has more entries than max_support. A step adds at most one to each task.
    most = p if max_support is None else max_support + 2
    kept = [min(X.shape[0], p, most) + BATCH for X in problem.designs]
    require_memory(
        8.0 * p * sum(kept),
        f"the rows of the Gram matrix of {p} features for a support of {max(kept) - BATCH}",
        "Give a smaller max_support.",
    )
    return [gram_rows(X, rows) for X, rows in zip(problem.designs, kept, strict=True)]


def _path(
    problem: Problem, weight: float, wanted: _Thresholds, gram, nu, per_class, max_support
) -> Path:
    """Return the path of one weight."""
    epsilon, loss, ends, entries, values, status, skipped, smallest = kernel.path(
        gram,
        problem.correlation,
        problem.response_power,
        np.minimum(problem.n_samples, problem.n_features),
        weight,
        nu,
        per_class,
        wanted.stop,
        wanted.relative_floor,
        _UNLIMITED if max_support is None else max_support,
    )
    if wanted.asked is None:
        # Keep the last estimate even if max_support ended the run above the range.
        chosen = np.flatnonzero(
            (epsilon <= wanted.top) | (np.arange(len(epsilon)) == len(epsilon) - 1)
        )
        labels = epsilon[chosen]
    else:
        # Labels decrease; the state for a threshold is the first with a label at most that.
        chosen = np.searchsorted(-epsilon, -wanted.asked, side="left").clip(max=len(epsilon) - 1)
        labels = wanted.asked
    kept, back = np.unique(chosen, return_inverse=True)
    shape = problem.n_features, problem.n_tasks
    fits = SparseEstimates(ends, entries, values, shape).take(kept)
    fits, loss, message = certify(problem, fits, loss[kept], smallest)
    converged = np.ones(len(epsilon), dtype=bool)
    if status == kernel.CYCLE:
        converged[-1] = False
    answered = converged[chosen]
    if status == kernel.TOO_LARGE and wanted.asked is not None:
        answered = answered & (wanted.asked >= epsilon[-1])
    return Path(
        fits if np.array_equal(back, np.arange(len(fits))) else fits.take(back),
        {"w": np.full(len(chosen), weight), "epsilon": labels},
        loss[back],
        answered,
        _message(weight, status, skipped, epsilon, message),
    )


def _message(weight, status, skipped, epsilon, redone) -> str:
    parts = [redone] if redone else []
    if skipped:
        parts.append(f"{skipped} entries in the span of their support were left out.")
    if status == kernel.TOO_LARGE and len(epsilon):
        parts.append(f"max_support ended the path at epsilon = {epsilon[-1]:.3g}.")
    if status == kernel.CYCLE:
        reached = epsilon[-2] if len(epsilon) > 1 else np.inf
        parts.append(f"the run entered a cycle: no answer below epsilon = {reached:.3g}.")
    return f"w = {weight:g}: {' '.join(parts)}" if parts else ""
