"""Any estimator with the interface of scikit-learn, named by its import path."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from greedyexp.algorithms import _parameters as param
from greedyexp.algorithms.peers import _construction as construction
from greedyexp.algorithms.peers._linear_model import linear_model
from greedyexp.core.errors import ConfigError, DataError, UserError
from greedyexp.core.registry import algorithm
from greedyexp.estimates.path import Path
from greedyexp.losses.binding import bind
from greedyexp.losses.signed_columns import two_values
from greedyexp.problems.problem import Problem

_reading: ContextVar[bool] = ContextVar("_reading", default=False)

ImportPath = Annotated[
    str, Field(description="import path of a class, such as sklearn.linear_model.Lasso")
]
Params = Annotated[
    dict[str, Any], Field(description="its parameters; {class: ..., params: ...} is an object")
]
Tune = Annotated[
    dict[str, Annotated[list[Any], Field(min_length=1)]],
    Field(description="lists of values of parameters; all combinations make the path"),
]
Tasks = Annotated[
    Literal["separate", "together"],
    Field(description="one fit for each response, or one fit for all of them"),
]
Zero = Annotated[float, Field(ge=0, description="coefficients of at most this size count as zero")]


@contextmanager
def only_reading() -> Iterator[None]:
    """Let estimators be read but not constructed inside a ``with`` block."""
    token = _reading.set(True)
    try:
        yield
    finally:
        _reading.reset(token)


def check(shape: dict, *, tasks: str, **_) -> None:
    """Raise ValueError if tasks with different designs are to be fitted together."""
    if tasks == "together" and not shape["shared_design"]:
        raise ValueError("tasks: together needs the same design for all tasks.")


def packages(*, params: dict, tune: dict, **given) -> list[str]:
    """Return the distributions of the classes; raise ConfigError if a class cannot be used.

    Nothing is constructed, and nothing imported, if a stored experiment is only read.
    """
    found = construction.distributions(given["class"], [params, tune])
    for point in () if _reading.get() else construction.points_of(tune):
        construction.estimator_of(given["class"], params, point)
    return found


def prepare(*, params: dict, tune: dict, tasks: str, **given) -> None:
    """Import and compile by a fit of a small problem; raise PluginError without coefficients."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 4))
    y = X[:, 0] + 0.1 * rng.standard_normal(20)
    point = construction.points_of(tune)[0]
    made = construction.estimator_of(given["class"], params, point)
    construction.seed(made, 0)
    response = np.sign(y) if _classifies(made) else y
    response = response[:, None] if tasks == "together" else response
    with _global_stream(0), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made.fit(X, response)
        except Exception:
            # A setting may need larger data.
            return
    linear_model(made, X, response, given["class"])


@algorithm("estimator", title="Estimator", check=check, packages=packages, prepare=prepare)
def estimator(
    problem: Problem,
    *,
    class_: ImportPath,
    params: Params = {},  # noqa: B006 - pydantic copies it
    tune: Tune = {},  # noqa: B006 - pydantic copies it
    tasks: Tasks = "separate",
    zero: Zero = 0.0,
    grid: dict[str, np.ndarray] | None = None,
    rng: np.random.Generator | None = None,
) -> Path:
    """An estimator of scikit-learn or of a package with the same interface.

    Each point of the path is a new fit to a copy of the data. Write for example

        - estimator:
            label: elastic net
            class: sklearn.linear_model.ElasticNet
            params: {l1_ratio: 0.9}
            tune: {alpha: [1.0, 0.3, 0.1, 0.03, 0.01]}

    A class inside ``params``, such as a step of a pipeline or the estimator of a search, is written
    as a mapping with ``class`` and ``params``, too. Several entries need labels, which figures
    show.

    Parameters
    ----------
    problem : Problem
        A problem with r tasks over p features. Responses of a classifier are one task with two
        values: the higher counts as 1, the lower as -1.
    class_ : str
        Import path of the class, in an experiment ``class``. The class belongs to scikit-learn or
        to an installed package that requires it, whose version is part of the identity of a result.
        Other classes are not called.
    params : dict
        Arguments of the class: data, estimators, and kernels and splitters of scikit-learn. Every
        ``fit_intercept`` is false unless it is given, because data have no intercept. Every
        ``random_state`` without a value is drawn from the random stream.
    tune : dict of lists
        The path has one point for each combination of the values, and the last parameter varies
        fastest. Write values in the order from the sparsest estimate to the densest, because ties
        of cross-validation go to the first and ``tuning: end`` takes the last.
    tasks : {"separate", "together"}
        With together, the estimator gets all responses as an array (n, r).
    zero : float >= 0
        Coefficients b with |b| <= zero become 0. With the default, only exact zeros are zeros.
    grid : dict with array ``point``, optional
        Return these points of the path, by number.
    rng : Generator, optional
        Random stream. It also seeds the global state of numpy.random during the fits, for
        estimators that draw from it.

    Returns
    -------
    Path
        ``grid`` is the number of the point; the numbers among the values of ``tune`` are in
        ``facts``. ``objective`` is sum_j ||y_j - X_j b_j - b_0j||^2 / (2 n_j) for a regression, and
        the mean logistic loss for a classifier. Intercepts are dense coefficients, and part of
        predictions.
        A point whose fit issues a ``ConvergenceWarning`` is not converged.

    Raises
    ------
    ConfigError
        If a class cannot be imported, a parameter does not exist, tasks with different designs are
        to be fitted together, or several tasks have classes.
    DataError
        If a fit raises an exception, or responses of a classifier do not have two values.
    PluginError
        If there is no ``coef_``, or predictions are not linear with these coefficients.

    Notes
    -----
    Before a pipeline's coefficients are used, they are transformed to units of the data. The time
    of a fit includes the copy of the data and one prediction, which verifies the coefficients.
    """
    param.enforce(check, problem, tasks=tasks)
    every = construction.points_of(tune)
    asked = np.arange(len(every)) if grid is None else param.grid_values(grid, "point", whole=True)
    number = int((np.random.default_rng(0) if rng is None else rng).integers(2**31 - 1))
    points = [every[index] for index in asked.astype(int)]
    fits = []
    for point in points:
        made = construction.estimator_of(class_, params, point)
        construction.seed(made, number)
        with _global_stream(number):
            fits.append(_fit(problem, class_, made, together=tasks == "together"))
    coef, intercept = (
        np.array([fit.coef for fit in fits]),
        np.array([fit.intercept for fit in fits]),
    )
    coef[np.abs(coef) <= zero] = 0.0
    path = Path(
        coef,
        {"point": asked},
        np.zeros(len(fits)),
        np.array([fit.converged for fit in fits]),
        " ".join(dict.fromkeys(text for fit in fits for text in fit.remarks)),
        facts=_numbers(points),
    )
    return _judged(problem, path, intercept, classifies=_classifies(made))


@dataclass(frozen=True)
class _Fit:
    """One fit: coefficients (p, r), intercepts (r,), and the warnings that it issued."""

    coef: np.ndarray
    intercept: np.ndarray
    converged: bool
    remarks: list[str]


def _fit(problem: Problem, name: str, estimator: Any, *, together: bool) -> _Fit:
    """Fit all tasks, one by one or together."""
    if _classifies(estimator) and problem.n_tasks > 1:
        raise ConfigError(
            f"class '{name}' is a classifier, and the data have {problem.n_tasks} tasks.",
            remedy="Use data with one response.",
        )
    pairs = [*zip(problem.X, problem.y, strict=True)]
    if together:
        pairs = [(problem.X[0], np.column_stack(problem.y))]
    models = []
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        for X, y in pairs:
            # Columns in a row are what most solvers would copy to, and some write into the data.
            own = np.array(X, order="F")
            try:
                estimator.fit(own, _labels(y) if _classifies(estimator) else y.copy())
            except UserError:
                raise
            except Exception as error:
                raise DataError(
                    f"the fit of estimator '{name}' fails: {construction.said(error)}."
                ) from error
            models.append(linear_model(estimator, X, y, name))
    doubts = [one for one in issued if _is_convergence_warning(one.category)]
    return _Fit(
        np.hstack([coef for coef, _ in models]),
        np.concatenate([intercept for _, intercept in models]),
        not doubts,
        [f"{name.rpartition('.')[2]}: {' '.join(str(one.message).split())}" for one in issued],
    )


def _judged(problem: Problem, path: Path, intercept: np.ndarray, *, classifies: bool) -> Path:
    """Return a path with its objective and intercepts, and with its loss if one response has one.

    Parameters
    ----------
    intercept : array (m, r)
    """
    if intercept.any():
        path = replace(path, dense=intercept)
    if not classifies and (problem.n_tasks > 1 or path.dense is None):
        residuals = [
            ((y - path.predictions(X, j)) ** 2).mean(axis=1) / 2
            for j, (X, y) in enumerate(zip(problem.X, problem.y, strict=True))
        ]
        return replace(path, objective=np.sum(residuals, axis=0))
    loss = bind("logistic" if classifies else "squared", problem, intercept=True)
    path = replace(path, loss=loss, dense=intercept)
    return replace(path, objective=np.array([loss.value(one) for one in path.params]))


def _numbers(points: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Return the parameters of the points whose values are all numbers."""
    numbers = {}
    for name in points[0] if points else ():
        values = [point[name] for point in points]
        if all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in values):
            numbers[name] = np.array(values, dtype=float)
    return numbers


def _labels(y: np.ndarray) -> np.ndarray:
    """Return labels 1 for the higher and -1 for the lower of the two values of a response."""
    return np.where(y == two_values(y, "logistic")[1], 1.0, -1.0)


def _classifies(estimator: Any) -> bool:
    return any(hasattr(estimator, name) for name in ("decision_function", "predict_proba"))


def _is_convergence_warning(category: type[Warning]) -> bool:
    # Packages have classes of this name of their own.
    return any(one.__name__ == "ConvergenceWarning" for one in category.__mro__)


@contextmanager
def _global_stream(number: int) -> Iterator[None]:
    """Seed the global state of numpy.random, and restore it at the end."""
    state = np.random.get_state(legacy=False)  # noqa: NPY002
    np.random.seed(number)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
