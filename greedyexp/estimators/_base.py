"""What all estimators share: a constructor made from the algorithm, and the fit by its core.

The parameters of an estimator are those of its algorithm: their names, defaults and descriptions
are read from the registered function when the class is made. A class says only which algorithms it
fits, which of their parameters it fixes, and how scikit-learn calls what it predicts.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import TypeAdapter
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from greedyexp.core import registry
from greedyexp.core.errors import UserError
from greedyexp.core.parts import Algorithm
from greedyexp.estimates.solution import Solution
from greedyexp.experiment.wording import parameter_rows, range_words, type_words
from greedyexp.problems.checks import is_sparse
from greedyexp.problems.frames import from_designs, from_responses
from greedyexp.problems.problem import Problem, as_matrix, check_sizes
from greedyexp.solving import SETTINGS, Request

if TYPE_CHECKING:
    import pandas as pd

# Settings of ``solve`` and the names that scikit-learn has for them.
_SPELLED = {
    "intercept": "fit_intercept",
    "folds": "cv",
    "seed": "random_state",
    "iterations": "max_iter",
    "tol": "tol",
}

# Parameters of algorithms that no estimator has. They are for data or tunings that scikit-learn
# does not know.
_ABSENT = ("risk", "beta", "stop", "unit", "max_groups")

_DOCUMENTATION = """{summary}

Parameters
----------
{parameters}

Attributes
----------
coef_ : array (p,), (r, p) for a response (n, r), (1, p) for a classifier
    Coefficients, exactly zero outside the support.
intercept_ : float, array (r,) for a response (n, r), (1,) for a classifier
support_ : array (k,)
    Features with a nonzero coefficient, of any response.
path_ : DataFrame
    The path or the steps that lead to the estimate.
n_iter_ : int
    Iterations of an iterative method, otherwise points or steps of ``path_``.
solution_ : Solution
    What ``greedyexp.solve`` returns.
n_features_in_ : int
feature_names_in_ : array (p,) of str
    Only if X was a DataFrame whose columns have names.

References
----------
{sources}
"""


class Estimator(BaseEstimator):
    """Base class of the estimators.

    A subclass is declared by keywords. It inherits those that it does not give:

    algorithms : str or dict of str to str
        Name of the algorithm, or names by the value of the parameter ``choice``.
    choice : str
        The parameter that selects the algorithm.
    fixed : dict
        Parameters of the algorithms that the estimator sets itself.
    initial : dict
        Defaults of parameters that the algorithms require, or otherwise take from the truth.
    tuning : {"end", "cv"}
        How the point of the path is chosen.
    multi_output : bool
        Whether the response may have several columns.
    """

    algorithms: ClassVar[Mapping[str, str]] = MappingProxyType({})
    choice: ClassVar[str] = ""
    fixed: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    initial: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    tuning: ClassVar[str] = "end"
    multi_output: ClassVar[bool] = False

    solution_: Solution

    def __init_subclass__(cls, **declared: Any) -> None:
        super().__init_subclass__()
        if isinstance(declared.get("algorithms"), str):
            declared["algorithms"] = {"": declared["algorithms"]}
        for name, value in declared.items():
            setattr(cls, name, value)
        # A subclass with a constructor of its own keeps it.
        if cls.algorithms and "__init__" not in vars(cls):
            arguments = list(_arguments(cls))
            cls.__init__ = _constructor([one for one, _ in arguments])  # type: ignore[method-assign]
            cls.__doc__ = _documented(cls, [words for _, words in arguments])

    @property
    def path_(self) -> pd.DataFrame:
        """The path as a table; see ``greedyexp.estimates.solution.Solution.history``."""
        check_is_fitted(self)
        return self.solution_.history

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.target_tags.multi_output = self.multi_output
        return tags

    @property
    def _algorithm(self) -> str:
        """Name of the algorithm.

        Raises
        ------
        ValueError
            If the parameter that chooses among several has another value.
        """
        if not self.choice:
            return next(iter(self.algorithms.values()))
        chosen = getattr(self, self.choice)
        if not isinstance(chosen, str) or chosen not in self.algorithms:
            known = ", ".join(map(repr, self.algorithms))
            raise ValueError(f"{self.choice} must be one of {known}; it is {chosen!r}.")
        return self.algorithms[chosen]

    @property
    def _takes_sparse(self) -> bool:
        """Whether X may be sparse; a sparse design is not centred."""
        parts = [registry.find("algorithm", name) for name in self.algorithms.values()]
        own = all("intercept" in part.parameters.model_fields for part in parts)
        centred = getattr(self, "fit_intercept", False) and not own
        return all(part.takes_sparse for part in parts) and not centred

    def _request(self) -> Request:
        """Return the validated parameters as a request to the core of ``solve``."""
        name = self._algorithm
        chosen = getattr(self, self.choice) if self.choice else None
        part = registry.find("algorithm", name)
        given = {name: value for name, value in self.get_params().items() if name != self.choice}
        settings = {
            setting: given.pop(spelled)
            for setting, spelled in _SPELLED.items()
            if spelled in given and (spelled != setting or part.yields == "iterates")
        }
        known = part.parameters.model_fields
        initial = inspect.signature(type(self)).parameters
        for foreign in [name for name in given if name not in known]:
            if not np.array_equal(given.pop(foreign), initial[foreign].default):
                raise ValueError(f"{foreign} is no parameter for {self.choice}={chosen!r}.")
        fixed = {name: value for name, value in self.fixed.items() if name in known}
        return Request.of(name, {**given, **fixed}, tuning=self.tuning, **settings)

    def _learn(self, X: Any, y: np.ndarray) -> None:
        """Fit arrays that scikit-learn has checked, and set the attributes of the fit."""
        with value_errors():
            request = self._request()
            self.solution_ = found = request.fit(self._problem(X, y))
        self.support_ = np.flatnonzero(
            found.coef.any(axis=-1) if found.coef.ndim > 1 else found.coef
        )
        steps = found.columns.get("iteration")
        self.n_iter_ = int(steps[-1]) if steps is not None else len(found.columns["objective"])
        if not found.converged:
            why = found.message or "the estimate lacks its certificate."
            warnings.warn(f"{type(self).__name__}: {why}", ConvergenceWarning, stacklevel=3)

    def _problem(self, X: Any, y: np.ndarray) -> Problem:
        """Return a Problem; the shapes of the arrays match, and all arrays except X are finite."""
        design = as_matrix(X, "X") if is_sparse(X) else X
        columns = y[None] if y.ndim == 1 else y.T
        responses = tuple(np.ascontiguousarray(columns, dtype=np.float64))
        names = tuple(map(str, getattr(self, "feature_names_in_", ())))
        problem = Problem((design,) * len(responses), responses, feature_names=names)
        # The means are needed anyway; a check of their own would read large designs once more.
        if not np.isfinite(problem.columns[0].mean).all():
            for row, column in np.argwhere(~np.isfinite(design))[:1]:
                held = "NaN" if np.isnan(design[row, column]) else "infinity"
                raise ValueError(
                    f"X contains {held} in row {row}, column {column}. Remove or impute values that"
                    " are not finite."
                )
        check_sizes(problem)
        return problem

    def _linear(self, X: Any) -> np.ndarray:
        """Return X coef^T + intercept, (n,) or (n, r)."""
        check_is_fitted(self)
        takes = "csr" if self._takes_sparse else False
        with table_errors(X):
            X = validate_data(self, X, accept_sparse=takes, reset=False)
        return safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_


@contextmanager
def value_errors() -> Iterator[None]:
    """Raise errors of greedyexp as ValueError, as scikit-learn's callers expect.

    Settings have the names that scikit-learn has for them.
    """
    try:
        yield
    except UserError as error:
        name, _, rest = error.message.partition(" ")
        error.message = f"{_SPELLED.get(name, name)} {rest}"
        raise ValueError(str(error)) from error


@contextmanager
def table_errors(X: Any, y: Any = None) -> Iterator[None]:
    """Replace an error by one that names the row and the column, if a table holds no number there.

    Raises
    ------
    ValueError
        If an entry of the table X or y is a text or no finite number.
    """
    try:
        yield
    except (TypeError, ValueError):
        with value_errors():
            from_designs(X)
            from_responses(y)
        raise


def _constructor(arguments: list[inspect.Parameter]) -> Callable[..., None]:
    """Return ``__init__`` with these keyword arguments, which it stores as they are."""
    owner = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([owner, *arguments])

    def __init__(self: Estimator, *args: Any, **params: Any) -> None:
        bound = signature.bind(self, *args, **params)
        bound.apply_defaults()
        for argument in arguments:
            setattr(self, argument.name, bound.arguments[argument.name])

    __init__.__signature__ = signature  # type: ignore[attr-defined]  # read by inspect
    return __init__


def _arguments(cls: type[Estimator]) -> Iterator[tuple[inspect.Parameter, str]]:
    """Yield the arguments of the constructor and their entries in the docstring."""
    parts = [registry.find("algorithm", name) for name in cls.algorithms.values()]
    if cls.choice:
        names = ", ".join(f"``{name}`` for {key}" for key, name in cls.algorithms.items())
        kind = " | ".join(cls.algorithms)
        yield _argument(
            cls.choice, next(iter(cls.algorithms)), (kind, "", f"the algorithm: {names}")
        )
    seen = {"intercept", *cls.fixed, *_ABSENT}
    for part in parts:
        fields = part.parameters.model_fields
        for name, kind, _, limits, description in parameter_rows(part):
            if name not in seen:
                seen.add(name)
                default = cls.initial.get(name, fields[name].default)
                yield _argument(name, default, (kind, limits, description))
    for setting in _settings_of(cls, parts):
        annotation, default = SETTINGS[setting]
        schema = TypeAdapter(annotation).json_schema()
        words = (type_words(schema, {}), range_words(schema, {}), schema["description"])
        yield _argument(_SPELLED[setting], setting == "intercept" or default, words)


def _argument(
    name: str, default: Any, words: tuple[str, str, str]
) -> tuple[inspect.Parameter, str]:
    """Return an argument and its entry, from the words for its type, range and meaning."""
    kind, limits, description = words
    entry = (
        f"{name} : {kind}{', ' if limits else ''}{limits}, default {default!r}\n    {description}"
    )
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default), entry


def _settings_of(cls: type[Estimator], parts: list[Algorithm]) -> Iterator[str]:
    """Yield the settings of ``solve`` that an estimator has."""
    # Centring is an intercept for least squares only.
    own = all("intercept" in part.parameters.model_fields for part in parts)
    if own or cls.fixed.get("loss", "squared") == "squared":
        yield "intercept"
    if cls.tuning == "cv":
        yield from ("folds", "seed")
    if any(part.yields == "iterates" for part in parts):
        yield from ("iterations", "tol")


def _documented(cls: type[Estimator], entries: list[str]) -> str:
    """Return the docstring of a class with its parameters, attributes and sources."""
    parts = (registry.find("algorithm", name) for name in cls.algorithms.values())
    return _DOCUMENTATION.format(
        summary=inspect.cleandoc(cls.__doc__ or ""),
        parameters="\n".join(entries),
        sources="\n".join(dict.fromkeys(f"{part.paper}." for part in parts)),
    )
