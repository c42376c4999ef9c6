"""Estimators from the import path of their class and their parameters."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.packages import comes_from, distributions_of, requires

_SKLEARN = "scikit-learn"
# What an estimator needs from the interface of scikit-learn.
_METHODS = ("fit", "get_params", "set_params")
# The most combinations of values to tune: every replicate fits all of them.
_MOST_POINTS = 10_000
# Parts of estimators: kernels and splitters.
_PARTS = (("get_params", "set_params"), ("split", "get_n_splits"))


def _construct(path: str, params: Mapping[str, Any], *, inside: bool = True) -> Any:
    """Return a new object of a class, which is judged before anything is called.

    Parameters
    ----------
    path : str
        Import path of the class, such as ``sklearn.linear_model.Lasso``.
    params : mapping
        Arguments of the class. A mapping with the key ``class``, and possibly ``params``, stands
        for an object of that class.
    inside : bool
        The object is a parameter of an estimator, such as a kernel or a splitter.

    Raises
    ------
    ConfigError
        If a class cannot be imported, is not allowed, or does not accept its parameters.
    """
    distribution_for(path)
    cls = _class_at(path)
    _refuse_others(path, cls, inside)
    made = {name: _built(value) for name, value in params.items()}
    try:
        return cls(**made)
    except Exception as error:
        unknown = sorted(set(made) - _arguments(cls)) if isinstance(error, TypeError) else []
        if unknown:
            raise ConfigError(
                f"class '{path}' has no parameter '{unknown[0]}'.",
                remedy=did_you_mean(unknown[0], _arguments(cls)),
            ) from None
        raise ConfigError(
            f"class '{path}' does not accept its parameters: {said(error)}.",
            remedy="Correct params.",
        ) from None


def estimator_of(path: str, params: Mapping[str, Any], point: Mapping[str, Any]) -> Any:
    """Return a new estimator with parameters, and with those of a point of the grid.

    Unless they are given, all parameters ``fit_intercept`` are false, also those of the parts of a
    pipeline.

    Raises
    ------
    ConfigError
        If a class cannot be imported, is not an estimator, or has no such parameters.
    """
    given = {*_names_given(params), *_names_given(point)}
    if any(_last_name(name) == "memory" for name in given):
        raise ConfigError(
            "'memory' would read pickled objects, which may run any code.", remedy="Leave it out."
        )
    estimator = _construct(path, params, inside=False)
    known = estimator.get_params(deep=True)
    free = [name for name in known if _last_name(name) == "fit_intercept"]
    if "fit_intercept" not in given:
        estimator.set_params(**{name: False for name in free if name not in given})
    for name, value in point.items():
        if name not in known:
            raise ConfigError(
                f"class '{path}' has no parameter '{name}' to tune.",
                remedy=did_you_mean(name, known),
            )
        estimator.set_params(**{name: _built(value)})
    return estimator


def seed(estimator: Any, number: int) -> None:
    """Set all parameters ``random_state`` of an estimator that have no value."""
    unset = [
        name
        for name, value in estimator.get_params(deep=True).items()
        if _last_name(name) == "random_state" and value is None
    ]
    estimator.set_params(**dict.fromkeys(unset, number))


def points_of(tune: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Return all combinations of the values of several parameters; the last varies fastest.

    Raises
    ------
    ConfigError
        If there are more than 10,000.
    """
    count = math.prod(map(len, tune.values()))
    if count > _MOST_POINTS:
        raise ConfigError(
            f"tune has {count} combinations; at most {_MOST_POINTS} are fitted.",
            remedy="Give fewer values.",
        )
    return [dict(zip(tune, values, strict=True)) for values in itertools.product(*tune.values())]


def distributions(path: str, params: Any) -> list[str]:
    """Return the distributions of a class and of the classes in its parameters, sorted.

    Nothing is imported.

    Raises
    ------
    ConfigError
        If a class is not of scikit-learn or of an installed package that requires it.
    """
    return sorted({distribution_for(one) for one in (path, *_paths(params))})


def distribution_for(path: str) -> str:
    """Return the distribution of a class, judged by its metadata alone; see ``distributions``."""
    top = path.partition(".")[0]
    # A checkout of greedyexp is not among the distributions.
    if top == "greedyexp":
        raise ConfigError(
            f"class '{path}' is part of greedyexp.", remedy="Use its algorithm by name."
        )
    if "." not in path:
        raise ConfigError(
            f"class '{path}' has no module.",
            remedy="Give its import path, such as sklearn.linear_model.Lasso.",
        )
    # Importing a module of this name would run a program.
    for name in () if "__main__" in path else distributions_of(path):
        if requires(name, _SKLEARN) and comes_from(path, name):
            return name
    raise ConfigError(
        f"class '{path}' is neither of scikit-learn nor of an installed package that requires"
        " scikit-learn.",
        remedy="Install its package, or write the algorithm as a plugin.",
    )


def _refuse_others(path: str, cls: type, inside: bool) -> None:
    """Raise ``ConfigError`` unless a class is an estimator, or may be part of one."""
    # The module that defines the class counts, not one that imports it.
    home = distribution_for(f"{cls.__module__}.{cls.__qualname__}")
    kinds = (_METHODS, *(_PARTS if inside and home == _SKLEARN else ()))
    if not any(all(callable(getattr(cls, one, None)) for one in kind) for kind in kinds):
        lacking = next(one for one in _METHODS if not callable(getattr(cls, one, None)))
        raise ConfigError(
            f"class '{path}' has no method '{lacking}', so it is not an estimator.",
            remedy="Give a class with the interface of scikit-learn's estimators.",
        )


def _built(value: Any) -> Any:
    if isinstance(value, Mapping):
        if "class" in value and value.keys() <= {"class", "params"}:
            return _construct(str(value["class"]), value.get("params") or {})
        return {name: _built(item) for name, item in value.items()}
    return [_built(item) for item in value] if isinstance(value, list) else value


def _class_at(path: str) -> type:
    module, _, name = path.rpartition(".")
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"class '{path}' cannot be imported: there is no module '{error.name}'.",
            remedy="Correct the path, or install the package.",
        ) from None
    except Exception as error:
        raise ConfigError(
            f"class '{path}' cannot be imported: {said(error)}.", remedy="Repair the package."
        ) from None
    value = getattr(found, name, None)
    if value is None:
        classes = [one for one in dir(found) if inspect.isclass(getattr(found, one, None))]
        raise ConfigError(
            f"module '{module}' has no class '{name}'.", remedy=did_you_mean(name, classes)
        )
    if not inspect.isclass(value):
        raise ConfigError(
            f"'{path}' is not a class.", remedy="Give a class, such as sklearn.linear_model.Lasso."
        )
    return value


def _arguments(cls: type) -> set[str]:
    return set(inspect.signature(cls).parameters)


def said(error: Exception) -> str:
    """Return the type and the message of an exception in one line without a full stop."""
    return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(".: ")


def _last_name(name: str) -> str:
    return name.rpartition("__")[2]


def _names_given(value: Any) -> Iterator[str]:
    """Yield the names of all parameters in a value, at any depth."""
    if isinstance(value, Mapping):
        yield from value
    items = value.values() if isinstance(value, Mapping) else value
    for item in items if isinstance(value, (Mapping, list)) else ():
        yield from _names_given(item)


def _paths(value: Any) -> Iterator[str]:
    """Yield the import paths of the classes in a value, at any depth."""
    if isinstance(value, Mapping) and "class" in value and value.keys() <= {"class", "params"}:
        yield str(value["class"])
    items = value.values() if isinstance(value, Mapping) else value
    for item in items if isinstance(value, (Mapping, list)) else ():
        yield from _paths(item)
