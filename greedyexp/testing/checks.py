"""The checks, in the order in which they are made: the plainest mistake is found first.

A check is a function of a ``Trial`` that raises ``BrokenContract``. Its docstring says what it asks
of an algorithm.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy

from greedyexp.core.errors import PluginError, UserError
from greedyexp.core.parts import Algorithm
from greedyexp.estimates.iteration import Iteration, objective
from greedyexp.experiment.parameters import Parameters
from greedyexp.protocols.contracts import own_randomness_only
from greedyexp.runner import code_version
from greedyexp.testing.data import Given, arrays, edited, frozen, given
from greedyexp.testing.trial import STEPS, Answer, Refused, Trial

# Largest difference, relative to the largest coefficient, that rounding may cause.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Check:
    """A check.

    Parameters
    ----------
    function : callable of a Trial
    may_refuse : bool
        Whether an algorithm may raise a ``DataError`` or a ``ConfigError`` instead, because the
        data are degenerate.
    concerns : callable of an Algorithm
        Whether the check is one of an algorithm.
    """

    function: Callable[[Trial], None]
    may_refuse: bool
    concerns: Callable[[Algorithm], Any]

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def help(self) -> str:
        """What the check asks of an algorithm."""
        return (self.function.__doc__ or "").partition("\n")[0]


# All checks by name.
CHECKS: dict[str, Check] = {}


def _check(
    *, may_refuse: bool, of: Callable[[Algorithm], Any] = lambda part: True
) -> Callable[[Callable[[Trial], None]], Callable[[Trial], None]]:
    def add(function: Callable[[Trial], None]) -> Callable[[Trial], None]:
        CHECKS[function.__name__] = Check(function, may_refuse, of)
        return function

    return add


@_check(may_refuse=False)
def declaration(trial: Trial) -> None:
    """It has a docstring, source code, and parameters that YAML can hold."""
    part = trial.part
    if not part.summary:
        raise trial.broken(None, "has no docstring, which is its help")
    try:
        part.check_parameters()
        Parameters(part).read_all(trial.params)
        code_version.of_function(part.function)
    except UserError as error:
        raise trial.broken(None, f"is not declared well: {error}".rstrip(".")) from error


@_check(may_refuse=False)
def result(trial: Trial) -> None:
    """It returns finite numbers of the right type and shape."""
    trial.answer(given(trial.needs))


@_check(may_refuse=False)
def data_unchanged(trial: Trial) -> None:
    """It changes no array of the problem."""
    one = given(trial.needs)
    before = [array.copy() for array in arrays(one.problem)]
    made = trial.call(one)
    if isinstance(made, Iteration):
        trial.iterates(one, made)
    names = [name for name in ("X", "X_test") for _ in getattr(one.problem, name)]
    names += [name for name in ("y", "y_test") for _ in getattr(one.problem, name)] + ["truth"]
    for name, array, old in zip(names, arrays(one.problem), before, strict=True):
        trial.require(np.array_equal(array, old), one, f"changed the array problem.{name}")


@_check(may_refuse=False)
def read_only(trial: Trial) -> None:
    """It accepts read-only arrays, which a run gives to all algorithms."""
    one = given(trial.needs, about=" in read-only arrays")
    frozen(one.problem)
    trial.answer(one)


@_check(may_refuse=False)
def same_again(trial: Trial) -> None:
    """It returns the same numbers for the same data and seed, whatever it computed before."""
    one = given(trial.needs, about=", twice, and other data in between")
    try:
        with own_randomness_only(trial.part):
            first = trial.answer(one)
    except PluginError as error:
        raise trial.said(one, str(error)) from error
    kept = first.values.copy()
    trial.answer(given(trial.needs, seed=1))
    trial.require(np.array_equal(first.values, kept), one, "changed the array it returned before")
    second = trial.answer(one)
    what = "returned different numbers the second time"
    trial.require(np.array_equal(kept, second.values), one, what)


@_check(may_refuse=True)
def one_feature(trial: Trial) -> None:
    """It works with a single feature, or refuses it in a sentence."""
    trial.answer(given(trial.needs, p=1))


@_check(may_refuse=True)
def more_features_than_rows(trial: Trial) -> None:
    """It works with more features than rows, or refuses them in a sentence."""
    trial.answer(given(trial.needs, n=10, p=25))


@_check(may_refuse=True)
def two_rows(trial: Trial) -> None:
    """It works with two rows, or refuses them in a sentence."""
    trial.answer(given(trial.needs, n=2, p=3))


@_check(may_refuse=True)
def zero_column(trial: Trial) -> None:
    """A feature that is zero in all rows has coefficient zero."""

    def emptied(X: np.ndarray) -> np.ndarray:
        X[:, 1] = 0.0
        return X

    one = given(trial.needs, design=emptied, about=", feature 1 zero in all rows")
    found = trial.answer(one)
    if trial.part.yields != "constant":
        largest = np.abs(found.values[:, 1]).max()
        what = f"returned the coefficient {largest:g} for the feature that is zero"
        trial.require(largest == 0, one, what)


@_check(may_refuse=True)
def zero_design(trial: Trial) -> None:
    """It works with features that are all zero, or refuses them in a sentence."""
    trial.answer(given(trial.needs, design=np.zeros_like, about=", all features zero"))


@_check(may_refuse=True)
def equal_columns(trial: Trial) -> None:
    """It works with features that are equal or opposite, or refuses them in a sentence."""

    def repeated(X: np.ndarray) -> np.ndarray:
        X[:, 5], X[:, 6] = X[:, 0], -X[:, 1]
        return X

    about = ", features 0 and 5 equal, features 1 and 6 opposite"
    trial.answer(given(trial.needs, design=repeated, about=about))


@_check(may_refuse=True)
def zero_response(trial: Trial) -> None:
    """It works with a response that is zero, or refuses it in a sentence."""
    one = given(trial.needs)
    if not trial.needs & {"labels", "two_values", "chains"}:
        zero = tuple(np.zeros_like(y) for y in one.problem.y)
        trial.answer(edited(one, ", all responses zero", y=zero))


@_check(may_refuse=True)
def more_than_there_are(trial: Trial) -> None:
    """Whole numbers among its parameters may exceed the numbers of features and rows."""
    parameters = Parameters(trial.part)
    for n, p in ((30, 5), (5, 8)):
        value = max(n, p) + 3
        for name, field in parameters.fields.items():
            if _takes_int(field.annotation) and parameters.accepts(name, value):
                one = given(trial.needs, n=n, p=p, about=f", {name} = {value}")
                _unless_refused(partial(trial.answer, one, **{name: value}))


@_check(may_refuse=True)
def several_tasks(trial: Trial) -> None:
    """It fits several tasks, with one design or several, or refuses them in a sentence."""
    single = trial.needs & {"one_response", "chains", "moments"}
    if trial.part.yields != "estimates" or single:
        return
    try:
        trial.answer(given(trial.needs, tasks=3, about=" with one design"))
        trial.answer(given(trial.needs, tasks=3, shared=False, about=" with a design each"))
    except AssertionError as error:
        hint = 'Loop over problem.X and problem.y, or declare requires=("one_response",).'
        raise type(error)(f"{error} {hint}") from error


@_check(may_refuse=False)
def memory_order(trial: Trial) -> None:
    """It returns the same, up to rounding, for arrays in C order, Fortran order and for views."""
    one = given(trial.needs)
    expected = trial.answer(one)
    _compare(trial, _stored(one, np.asfortranarray, " in Fortran order"), expected)

    def strided(X: np.ndarray) -> np.ndarray:
        wide = np.full((len(X), 2 * X.shape[1]), np.nan)
        wide[:, ::2] = X
        return wide[:, ::2]

    _compare(trial, _stored(one, strided, " in every other column of a wider array"), expected)


@_check(may_refuse=False, of=lambda part: part.takes_sparse)
def sparse_design(trial: Trial) -> None:
    """With ``takes_sparse`` it returns the same, up to rounding, for a sparse design."""

    def thinned(X: np.ndarray) -> np.ndarray:
        return np.where(np.abs(X) > 0.5, X, 0.0)

    one = given(trial.needs, design=thinned)
    expected = trial.answer(one)
    _compare(trial, _stored(one, scipy.sparse.csr_array, " in a CSR array"), expected)


@_check(may_refuse=False, of=lambda part: part.takes_grid)
def own_grid(trial: Trial) -> None:
    """With the argument ``grid`` it returns a path that has exactly the points of another path."""
    one = given(trial.needs)
    path = trial.answer(one).path
    what = "has the argument `grid` but returned no Path with tuning values"
    trial.require(path is not None and path.grid, one, what)
    assert path is not None
    again = Given(one.problem, one.words + " and the grid of its own path")
    found = trial.answer(again, grid=path.grid)
    trial.require(len(found.values) == len(path), again, f"returned {len(found.values)} points")
    if "chains" not in trial.needs:
        kept = [np.arange(n) >= n // 4 for n in one.problem.n_samples]
        left = one.problem.rows([np.flatnonzero(rows) for rows in kept])
        fold = Given(left, one.words + ", a quarter of the rows left out, and the grid of all rows")
        trial.answer(fold, grid=path.grid)


@_check(may_refuse=False, of=lambda part: part.takes_grid)
def sparse_first(trial: Trial) -> None:
    """A path begins at its sparse end: of equally good points, tuning takes the first."""
    one = given(trial.needs)
    path = trial.answer(one).path
    assert path is not None
    first, last = (int(path.sparse.sizes[k]) for k in (0, -1))
    what = f"returned a path that begins with {first} selected coefficients and ends with {last}"
    trial.require(first <= last, one, what)


@_check(may_refuse=True, of=lambda part: part.theory)
def theory(trial: Trial) -> None:
    """The tuning that its theory prescribes is one point of its path."""
    one = given({*trial.needs, *trial.part.theory_requires})
    assert trial.part.theory is not None
    try:
        grid = trial.part.theory(one.problem, **trial.params)
    except UserError:
        return
    sizes = {len(np.atleast_1d(values)) for values in grid.values()}
    trial.require(sizes == {1}, one, f"prescribes a grid of other sizes than 1: {sorted(sizes)}")
    trial.answer(Given(one.problem, one.words + " and the tuning of its theory"), grid=grid)


@_check(may_refuse=True, of=lambda part: part.yields == "iterates")
def pauses(trial: Trial) -> None:
    """An iteration ends where it is asked to, and a pause changes none of its results."""
    one = given(trial.needs)
    stopped = trial.answer(one).values[-1, :, 0]
    last = STEPS[-1]
    through = trial.call(one)
    through.advance(last)
    what = f"gave another estimate after {last} steps when it was stopped in between"
    trial.require(np.array_equal(through.coef, stopped), one, what)
    through.advance(last - 1)
    trial.require(through.iteration == last, one, f"went back when asked for step {last - 1}")
    early = trial.call(one)
    early.advance(1000, target=through.objective)
    reached = early.objective <= through.objective and early.iteration <= last
    what = f"passed the objective of step {last}, its target: it stopped at {early.iteration}"
    trial.require(reached, one, what)


@_check(may_refuse=True, of=lambda part: part.yields == "iterates")
def objective_and_watch(trial: Trial) -> None:
    """An iteration reports its objective, and notes nonzero coefficients outside a set."""
    one = given(trial.needs)
    X, y = one.problem.X[0], one.problem.y[0]
    made: Any = trial.call(one)
    made.watch(np.zeros(X.shape[1], dtype=bool))
    last = 0 if made.coef.any() else -1
    for step in range(1, STEPS[-1] + 1):
        made.advance(step)
        last = step if made.coef.any() else last
    true = objective(X, y, made.coef, made.lam)
    what = f"reported the objective {made.objective:g}, but ||X b - y||^2 / (2 n) + lam ||b||_1 is"
    close = abs(made.objective - true) <= 1e-9 * max(1.0, abs(true))
    trial.require(close, one, f"{what} {true:g}")
    what = f"noted step {made.last_outside} as the last with nonzero coefficients, not {last}"
    trial.require(made.last_outside == last, one, what)


def _takes_int(annotation: Any) -> bool:
    """Return True if a parameter may be a whole number."""
    return annotation is int or any(map(_takes_int, typing.get_args(annotation)))


def _unless_refused(call: Callable[[], Answer]) -> None:
    try:
        call()
    except Refused:
        return


def _stored(one: Given, store: Callable[[Any], Any], about: str) -> Given:
    """Return the same numbers, stored in another way."""
    problem = one.problem
    same = {id(X): store(X) for X in problem.X}
    X = tuple(same[id(X)] for X in problem.X)
    return Given(replace(problem, X=X, X_test=(), y_test=()), one.words + about)


def _compare(trial: Trial, one: Given, expected: Answer) -> None:
    """Require the same answer up to rounding."""
    found, known = trial.answer(one).values, expected.values
    what = f"returned {len(found)} estimates instead of {len(known)}"
    trial.require(found.shape == known.shape, one, what)
    with np.errstate(invalid="ignore"):
        off = float(np.nan_to_num(np.abs(found - known)).max())
    scale = max(1.0, float(np.abs(known[np.isfinite(known)]).max(initial=0.0)))
    what = f"returned coefficients that differ by {off:g}"
    trial.require(off <= _ROUNDING * scale, one, what)
