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
from dataclasses import replace
from numbers import Integral
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import TypeAdapter
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from greedyexp.core import registry
from greedyexp.core.errors import UserError
from greedyexp.core.parts import Algorithm, LossKind
from greedyexp.estimates.solution import Solution
from greedyexp.experiment.wording import parameter_rows, range_words, type_words
from greedyexp.losses.binding import is_smooth, loss_of, minimises_squares, names
from greedyexp.problems.checks import is_sparse
from greedyexp.problems.frames import from_designs, from_responses
from greedyexp.problems.problem import Problem, as_matrix, check_sizes
from greedyexp.protocols.fitting import Split
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
    "n_jobs": "n_jobs",
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
    Selected features, of any response.
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
    several : dict of str to str
        For losses of two classes, those for more classes.
    """

    algorithms: ClassVar[Mapping[str, str]] = MappingProxyType({})
    choice: ClassVar[str] = ""
    fixed: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    initial: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    tuning: ClassVar[str] = "end"
    multi_output: ClassVar[bool] = False
    several: ClassVar[Mapping[str, str]] = MappingProxyType({})

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

    @property
    def _kind(self) -> LossKind | None:
        """The loss that is minimised, None for an algorithm that names none."""
        return loss_of({**self.get_params(), **self.fixed})

    def _request(self, classes: int = 0) -> Request:
        """Return the validated parameters as a request to the core of ``solve``.

        Parameters
        ----------
        classes : int
            Number of classes if there are several responses, one for each class. A feature then
            has a coefficient for each of them.
        """
        name = self._algorithm
        chosen = getattr(self, self.choice) if self.choice else None
        part = registry.find("algorithm", name)
        given = {name: value for name, value in self.get_params().items() if name != self.choice}
        losses = losses_of(type(self))
        if "loss" in given and given["loss"] not in losses:
            quoted = ", ".join(map(repr, losses))
            raise ValueError(f"loss must be one of {quoted}; it is {given['loss']!r}.")
        settings = {
            setting: given.pop(spelled)
            for setting, spelled in _SPELLED.items()
            if spelled in given and (setting != "tol" or part.yields == "iterates")
        }
        # A splitter has its own way; ``_splits`` reads it.
        if not isinstance(settings.get("folds", 0), Integral):
            del settings["folds"]
        if not isinstance(settings.get("seed", 0), Integral):
            settings["seed"] = check_random_state(settings["seed"]).randint(2**31)
        known = part.parameters.model_fields
        initial = inspect.signature(type(self)).parameters
        for foreign in [name for name in given if name not in known]:
            if not np.array_equal(given.pop(foreign), initial[foreign].default):
                raise ValueError(f"{foreign} is no parameter for {self.choice}={chosen!r}.")
        fixed = {name: value for name, value in self.fixed.items() if name in known}
        if classes:
            fixed |= {"loss": self.several[given["loss"]], "max_groups": given.pop("max_features")}
            fixed |= {"unit": "group"} if "unit" in known else {}
        return Request.of(name, {**given, **fixed}, tuning=self.tuning, **settings)

    def _learn(
        self,
        X: Any,
        y: np.ndarray,
        *,
        classes: np.ndarray | None = None,
        weights: Any = None,
    ) -> None:
        """Fit arrays that scikit-learn has checked, and set the attributes of the fit.

        Parameters
        ----------
        X : array or sparse array (n, p)
        y : array (n,) or (n, r)
        classes : array (n,), optional
            Labels for splitters that keep the share of each class.
        weights : array (n,), optional
            Weights of the rows.
        """
        with value_errors():
            request = self._request(classes=y.shape[1] if classes is not None and y.ndim > 1 else 0)
            weights = None if weights is None else _relative(weights, X.shape[0])
            splits = self._splits(request, X, y if classes is None else classes, weights)
            if weights is None:
                problem = self._problem(X, y)
            else:
                rows = np.flatnonzero(weights)
                problem = replace(self._problem(X[rows], y[rows]), weights=weights[rows])
                request = request.with_weights()
            self.solution_ = found = request.fit(problem, splits)
        self.support_ = found.estimate.rows()[1]
        steps = found.columns.get("iteration")
        self.n_iter_ = int(steps[-1]) if steps is not None else len(found.columns["objective"])
        if not found.converged:
            why = found.message or "the estimate lacks its certificate."
            warnings.warn(f"{type(self).__name__}: {why}", ConvergenceWarning, stacklevel=3)

    def _splits(
        self, request: Request, X: Any, y: np.ndarray, weights: np.ndarray | None
    ) -> list[Split] | None:
        """Return the rows of each fold that ``cv`` asks for, None for folds of equal size.

        Rows are numbered among those of positive weight, which alone are fitted.

        Raises
        ------
        ValueError
            If ``cv`` is no number, splitter or list of splits, or a split does not fit the rows.
        """
        cv = getattr(self, "cv", None)
        if cv is None or isinstance(cv, Integral):
            if self.tuning != "cv" or not is_classifier(self):
                return None
            # Seeds of scikit-learn are smaller.
            seed = request.settings["seed"] % 2**32
            cv = StratifiedKFold(request.settings["folds"], shuffle=True, random_state=seed)
        given = cv if isinstance(cv, (list, tuple)) else check_cv(cv).split(X, y)
        counts = np.ones(X.shape[0], dtype=bool) if weights is None else weights > 0
        rows, splits = np.where(counts, np.cumsum(counts) - 1, -1), []
        for number, split in enumerate(given, start=1):
            try:
                train, held = (rows[np.asarray(part)] for part in split)
            except (IndexError, TypeError, ValueError):
                train = held = np.zeros((1, 1))
            if train.ndim != 1 or held.ndim != 1:
                raise ValueError(
                    f"cv: split {number} must be training rows and held-out rows of the {len(rows)}"
                    " rows of X."
                )
            train, held = train[train >= 0], held[held >= 0]
            if len(train) < 2 or not len(held):
                raise ValueError(
                    f"cv: split {number} has {len(train)} training rows and {len(held)} held-out"
                    f" rows{'' if counts.all() else ' of positive weight'}; at least 2 and 1 are"
                    " needed."
                )
            splits.append((train, held))
        if not splits:
            raise ValueError("cv has no splits.")
        return splits

    def _problem(self, X: Any, y: np.ndarray) -> Problem:
        """Return a Problem; the shapes of the arrays match, and all arrays except X are finite."""
        design = as_matrix(X, "X") if is_sparse(X) else X
        columns = y[None] if y.ndim == 1 else y.T
        responses = np.ascontiguousarray(columns, dtype=np.float64)
        names = tuple(map(str, getattr(self, "feature_names_in_", ())))
        problem = Problem.of_shared(design, responses, feature_names=names)
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

    def _checked(self, X: Any, y: Any, **of_response: Any) -> Any:
        """Return the arrays of a fit, as scikit-learn checks them; a dense X may have any floats.

        ``of_response`` are further arguments of ``validate_data``.
        """
        return validate_data(
            self,
            X,
            y,
            accept_sparse="csr" if self._takes_sparse else False,
            dtype=np.float64,
            order="C",
            ensure_all_finite=is_sparse(X),
            ensure_min_samples=2,
            **of_response,
        )

    def _linear(self, X: Any) -> np.ndarray:
        """Return X coef^T + intercept, (n,) or (n, r)."""
        check_is_fitted(self)
        takes = "csr" if self._takes_sparse else False
        with table_errors(X):
            X = validate_data(self, X, accept_sparse=takes, reset=False)
        return safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_


def losses_of(cls: type[Estimator]) -> list[str]:
    """Return the losses of two classes for a classifier, those of numbers for a regressor."""

    def suits(kind: LossKind) -> bool:
        labels = set(kind.requires) & {"two_values", "classes", "chains"}
        return is_smooth(kind) and labels == ({"two_values"} if cls.several else set())

    return names(suits)


def _relative(weights: Any, n: int) -> np.ndarray | None:
    """Return weights (n,) as fractions of the largest; None if they are equal.

    Raises
    ------
    ValueError
        If they are not n numbers >= 0, at least two of them positive.
    """
    given = check_array(weights, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if given.shape == (n,) and given.min() >= 0 and given.max() > 0:
        fractions = given / given.max()
        if np.count_nonzero(fractions) > 1:
            return None if (fractions == 1.0).all() else fractions
    raise ValueError(
        f"sample_weight must be {n} numbers >= 0, one for each row of X, and at least 2 of them not"
        " zero."
    )


@contextmanager
def value_errors(spelled: Mapping[str, str] = MappingProxyType(_SPELLED)) -> Iterator[None]:
    """Raise errors of greedyexp as ValueError, as scikit-learn's callers expect.

    Settings have the names that scikit-learn has for them.
    """
    try:
        yield
    except UserError as error:
        name, _, rest = error.message.partition(" ")
        error.message = f"{spelled.get(name, name)} {rest}"
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
            kind = " | ".join(losses_of(cls)) if name == "loss" else kind
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
    if own or minimises_squares(cls.fixed):
        yield "intercept"
    if cls.tuning == "cv":
        yield from ("folds", "seed")
    if any(part.yields == "iterates" for part in parts):
        yield from ("iterations", "tol")
    if any("n_jobs" in part.takes for part in parts):
        yield "n_jobs"


def _documented(cls: type[Estimator], entries: list[str]) -> str:
    """Return the docstring of a class with its parameters, attributes and sources."""
    parts = (registry.find("algorithm", name) for name in cls.algorithms.values())
    return _DOCUMENTATION.format(
        summary=inspect.cleandoc(cls.__doc__ or ""),
        parameters="\n".join(entries),
        sources="\n".join(dict.fromkeys(f"{part.paper}." for part in parts)),
    )
