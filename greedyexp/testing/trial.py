"""One algorithm under one check: its calls, and what it did wrong in a sentence."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal, NamedTuple

import numpy as np

from greedyexp.core import registry
from greedyexp.core.errors import ConfigError, PluginError, UserError
from greedyexp.core.parts import Algorithm
from greedyexp.estimates.iteration import Iteration
from greedyexp.estimates.path import Path
from greedyexp.protocols.contracts import (
    check_constant,
    check_estimates,
    check_iteration,
)
from greedyexp.testing.data import Given

# Iterations whose estimates are compared.
STEPS = (0, 1, 2, 3, 5, 8)


class BrokenContract(AssertionError):
    """An algorithm does not do what greedyexp asks of algorithms.

    The message is one sentence: the check, what the algorithm was given, and what it did.
    """


def registered(kind: Literal["algorithm", "loss"], given: Callable[..., Any] | str) -> Any:
    """Return the algorithm or loss of a function or a name.

    Raises
    ------
    ConfigError
        If there is none.
    """
    if isinstance(given, str):
        return registry.find(kind, given)
    known = registry.parts(kind).values()
    same = [part for part in known if inspect.unwrap(part.function) is inspect.unwrap(given)]
    # The file of the function may have been loaded as a plugin in the meantime.
    same += [part for part in known if registry.same_source(part.function, given)]
    if same:
        return same[0]
    name = getattr(given, "__name__", str(given))
    raise ConfigError(
        f"'{name}' is not registered as {'an' if kind == 'algorithm' else 'a'} {kind}.",
        remedy=f'Decorate it with @greedyexp.{kind}("{name}").',
    )


class Refused(Exception):
    """The algorithm refused the data or the parameters in a sentence."""


class Answer(NamedTuple):
    """What an algorithm returned, valid and finite.

    Parameters
    ----------
    values : array (m, p, r)
        Estimates of a path or of some iterations; (3, 1, 1) for a constant with its bounds.
    path : Path, optional
    """

    values: np.ndarray
    path: Path | None = None


@dataclass(frozen=True)
class Trial:
    """Calls of an algorithm by a check.

    Parameters
    ----------
    check : str
        Name of the check.
    part : Algorithm
    params : dict
        All parameters.
    needs : set of str
        Traits of the problems.
    """

    check: str
    part: Algorithm
    params: Mapping[str, Any]
    needs: frozenset[str]

    def broken(self, one: Given | None, what: str) -> BrokenContract:
        """Return the error of an algorithm that did something, such as ``returned None``."""
        return self.said(one, f"algorithm '{self.part.name}' {what}.")

    def require(self, holds: Any, one: Given, what: str) -> None:
        """Raise the error of ``broken`` unless a condition holds."""
        if not holds:
            raise self.broken(one, what)

    def call(self, one: Given, *, seed: int = 0, **changed: Any) -> Any:
        """Return what the algorithm returns.

        Parameters
        ----------
        seed : int
            Seed of the random stream of an algorithm that has one.
        **changed
            Other values of parameters, and ``grid``.

        Raises
        ------
        Refused
            If the algorithm refuses the data by a ``UserError``, or its ``check`` refuses them.
        BrokenContract
            If it raises anything else.
        """
        params = {**self.params, **changed}
        if self.part.takes_rng:
            params["rng"] = np.random.default_rng(seed)
        try:
            self._check_shape(one, {**self.params, **changed})
            return self.part.function(one.problem, **params)
        except Exception as error:
            raise self._of_exception(one, error, "") from error

    def answer(self, one: Given, *, grid: Any = None, **changed: Any) -> Answer:
        """Return the checked answer of the algorithm; see ``call``."""
        asked = {} if grid is None else {"grid": grid}
        made = self.call(one, **asked, **changed)
        p, r = one.problem.n_features, one.problem.n_tasks
        try:
            if self.part.yields == "constant":
                constant = check_constant(self.part, made)
                values = np.array([constant.lower, constant.value, constant.upper])
                ordered = constant.lower <= constant.value <= constant.upper
                self.require(ordered, one, f"returned {constant}, not lower <= value <= upper")
                return Answer(values[:, None, None])
            if self.part.yields == "iterates":
                return Answer(self._finite(one, self.iterates(one, made)))
            path = check_estimates(self.part, made, (p, r), grid)
        except PluginError as error:
            raise self.said(one, str(error)) from error
        self.require(len(path), one, "returned a path without points")
        return Answer(self._finite(one, path.coef), path)

    def iterates(self, one: Given, made: Any) -> np.ndarray:
        """Return the estimates (m, p, 1) of an iteration at the first steps."""
        iteration: Iteration = check_iteration(self.part, made, one.problem.n_features)
        found = []
        for step in STEPS:
            try:
                iteration.advance(step)
                coef = iteration.coef
            except Exception as error:
                raise self._of_exception(one, error, f" before step {step}") from error
            stopped = iteration.iteration
            self.require(stopped == step, one, f"stopped at step {stopped}, not at step {step}")
            found.append(np.array(coef, dtype=float))
        return np.stack(found)[:, :, None]

    def _check_shape(self, one: Given, params: Mapping[str, Any]) -> None:
        if self.part.check is not None:
            try:
                self.part.check(one.problem.shape, **params)
            except ValueError as error:
                raise Refused(str(error)) from error

    def _of_exception(self, one: Given, error: Exception, when: str) -> Exception:
        """Return the error for an exception of the algorithm."""
        if isinstance(error, PluginError):
            return self.said(one, str(error))
        if isinstance(error, (Refused, UserError)):
            return Refused(str(error))
        said = " ".join(str(error).split()).rstrip(".")
        what = f"raised {type(error).__name__}{when}: {said}".removesuffix(": ")
        return self.broken(one, f"{what} ({self._line(error)})")

    def _line(self, error: Exception) -> str:
        """Return the line of the algorithm's file where an error was raised, if there is one."""
        frames = traceback.extract_tb(error.__traceback__)
        code = getattr(inspect.unwrap(self.part.function), "__code__", None)
        own = [one for one in frames if code and one.filename == code.co_filename]
        last = (own or frames)[-1]
        return f"{PurePath(last.filename).name}:{last.lineno}"

    def _finite(self, one: Given, values: np.ndarray) -> np.ndarray:
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            point, feature, task = bad[0]
            where = f"feature {feature} of task {task} in estimate {point} of {len(values)}"
            raise self.broken(one, f"returned the coefficient {values[tuple(bad[0])]} for {where}")
        return values

    def said(self, one: Given | None, sentence: str) -> BrokenContract:
        """Return the error with a whole sentence."""
        words = f", given {one.words}" if one is not None else ""
        return BrokenContract(f"check '{self.check}'{words}: {sentence}")
