"""Estimators from the import path of their class and their parameters."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.packages import distribution_of

# What an estimator needs from the interface of scikit-learn.
_METHODS = ("fit", "get_params", "set_params")


def _construct(path: str, params: Mapping[str, Any]) -> Any:
    """Return a new object of a class.

    Parameters
    ----------
    path : str
        Import path of the class, such as ``sklearn.linear_model.Lasso``.
    params : mapping
        Arguments of the class. A mapping with the key ``class``, and possibly ``params``, stands
        for an object of that class.

    Raises
    ------
    ConfigError
        If a class cannot be imported, or does not accept its parameters.
    """
    made = {name: _built(value) for name, value in params.items()}
    cls = _class_at(path)
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
    estimator = _construct(path, params)
    lacking = [name for name in _METHODS if not callable(getattr(estimator, name, None))]
    if lacking:
        raise ConfigError(
            f"class '{path}' has no method '{lacking[0]}', so it is not an estimator.",
            remedy="Give a class with the interface of scikit-learn's estimators.",
        )
    known = estimator.get_params(deep=True)
    given = set(_names_given(params)) | point.keys()
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
    """Return all combinations of the values of several parameters; the last varies fastest."""
    return [dict(zip(tune, values, strict=True)) for values in itertools.product(*tune.values())]


def distributions(path: str, params: Any) -> list[str]:
    """Return the distributions of a class and of the classes in its parameters, sorted.

    Raises
    ------
    ConfigError
        If a class belongs to no distribution, or to greedyexp.
    """
    found = set()
    for one in (path, *_paths(params)):
        # A checkout of greedyexp is not among the distributions.
        if one.partition(".")[0] == "greedyexp":
            raise ConfigError(
                f"class '{one}' is part of greedyexp.", remedy="Use its algorithm by name."
            )
        name = distribution_of(one)
        if name is None:
            raise ConfigError(
                f"class '{one}' belongs to no installed package, so its version is unknown.",
                remedy="Install it as a package, or write the algorithm as a plugin.",
            )
        found.add(name)
    return sorted(found)


def _built(value: Any) -> Any:
    if isinstance(value, Mapping):
        if "class" in value and value.keys() <= {"class", "params"}:
            return _construct(str(value["class"]), value.get("params") or {})
        return {name: _built(item) for name, item in value.items()}
    return [_built(item) for item in value] if isinstance(value, list) else value


def _class_at(path: str) -> type:
    module, _, name = path.rpartition(".")
    if not module:
        raise ConfigError(
            f"class '{path}' has no module.",
            remedy="Give its import path, such as sklearn.linear_model.Lasso.",
        )
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
