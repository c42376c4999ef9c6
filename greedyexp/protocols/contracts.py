"""Contracts of parts: checks of the results of generators, algorithms and metrics.

A wrong type, shape, dtype or trait is a mistake in the code of a part, which other replicates would
repeat. It raises ``PluginError``, which ends the run at once and keeps the finished replicates.
Further rows would be useless, as the corrected code has a new fingerprint. An exception or a value
that is not finite depends on the data and becomes a row.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

import numpy as np
from scipy import sparse

from greedyexp.core.errors import DataError, PluginError
from greedyexp.core.parts import Generator, Metric, Part, Protocol
from greedyexp.estimates.iteration import Iteration
from greedyexp.estimates.path import Path
from greedyexp.problems.chains import check_lengths
from greedyexp.problems.moments import Moments
from greedyexp.problems.problem import Problem
from greedyexp.protocols.base import Measured
from greedyexp.theory.constants import Constant

# How each kind of part draws random numbers that the seed determines.
_STREAMS = {
    "generator": "Draw from the `rng` argument",
    "algorithm": "Declare a keyword argument rng=None and draw from it",
    "metric": "Draw from np.random.default_rng(0)",
    "protocol": "Draw from setup.rng",
}


def breach(part: Part, what: str, remedy: str | None = None) -> PluginError:
    """Return the error of a part that broke its contract, such as ``returned None``."""
    return PluginError(f"{part.kind} '{part.name}' {what}.", place=part.place, remedy=remedy)


@contextmanager
def own_randomness_only(part: Part) -> Iterator[None]:
    """Reject a plugin that draws from global random states, which no seed determines.

    Raises
    ------
    PluginError
        If the state of ``numpy.random`` or ``random`` has changed.
    """
    if part.shipped:
        yield
        return
    before, folder = _global_states(), os.getcwd()
    try:
        yield
    finally:
        # A plugin may have changed the folder, and paths of the run may be relative.
        os.chdir(folder)
    if _global_states() != before:
        raise breach(
            part,
            "uses the global state of numpy.random or random, which the seed does not determine",
            f"{_STREAMS[part.kind]}, and pass random_state to libraries that draw.",
        )


def _global_states() -> tuple:
    # The legacy state is compared; nothing is drawn from it.
    state = np.random.get_state(legacy=False)  # noqa: NPY002
    values = [value for one in (state, state["state"]) for value in one.values()]
    known = [one.tobytes() if isinstance(one, np.ndarray) else one for one in values]
    return random.getstate(), [one for one in known if not isinstance(one, dict)]


def check_estimates(
    part: Part,
    made: Any,
    expected: tuple[int, int],
    grid: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """Check the result of an algorithm, and convert it to a path of estimates.

    Parameters
    ----------
    expected : (p, r)
        Shape of an estimate; for r = 1 also (p,).
    grid : dict of str to array, optional
        The requested points.

    Raises
    ------
    PluginError
        If it is neither a path nor an array of real numbers, or has the wrong shape or points.
    """
    if isinstance(made, Path):
        _check_path(part, made, expected)
        if grid is not None:
            _check_grid(part, made, grid)
        return made
    if grid:
        raise breach(part, f"was asked for a path and returned {kind_of(made)}", "Return a Path.")
    _check_numbers(part, "", made)
    coef = np.asarray(made, dtype=float)
    if coef.ndim == 1:
        coef = coef[:, None]
    if coef.shape != expected:
        raise breach(
            part,
            f"returned an estimate of shape {np.shape(made)}; the problem needs {expected}",
        )
    return Path(coef[None], {}, np.array([np.nan]), np.array([True]))


def _check_path(part: Part, path: Path, expected: tuple[int, int]) -> None:
    _check_numbers(part, "path.coef", path.coef, kinds="f")
    if path.coef.shape[1:] != expected or path.coef.ndim != 3:
        raise breach(
            part,
            f"returned a path with coef of shape {path.coef.shape}; the problem needs"
            f" (m, {expected[0]}, {expected[1]})",
        )
    if not isinstance(path.grid, Mapping) or not isinstance(path.facts, Mapping):
        raise breach(part, "returned a path whose grid or facts are not a dict")
    columns = {**path.grid, **path.facts, "objective": path.objective, "converged": path.converged}
    for name, values in columns.items():
        _check_numbers(part, f"path.{name}", values, kinds="biuf")
        if values.shape != (len(path),):
            raise breach(
                part,
                f"returned a path of {len(path)} estimates whose '{name}' has shape"
                f" {values.shape}; ({len(path)},) is needed",
            )
    if path.converged.dtype != bool:
        raise breach(
            part,
            f"returned a path whose 'converged' has dtype {path.converged.dtype}, not bool",
            "Write converged.astype(bool).",
        )
    if path.dense is not None:
        _check_numbers(part, "path.dense", path.dense)
        if path.dense.ndim != 2 or len(path.dense) != len(path):
            raise breach(part, f"returned a path with dense of shape {path.dense.shape}")
    if not isinstance(path.message, str):
        raise breach(part, f"returned a path whose message is {kind_of(path.message)}")


def _check_grid(part: Part, path: Path, grid: Mapping[str, np.ndarray]) -> None:
    """Reject a path whose points are not those of the grid."""
    for name, values in grid.items():
        if name not in path.grid or not np.array_equal(path.grid[name], values):
            raise breach(
                part,
                f"was asked for {len(values)} points of '{name}' and returned other points",
                "Return a path with exactly the points of the argument `grid`.",
            )


def _check_numbers(part: Part, name: str, value: object, kinds: str = "iuf") -> None:
    """Reject anything but an array of real numbers."""
    what = f"{name} as " if name else ""
    if not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray):
        raise breach(part, f"returned {what}{kind_of(value)}, not a NumPy array")
    if value.dtype.kind not in kinds:
        raise breach(part, f"returned {what}an array of dtype {value.dtype}, not of real numbers")


def check_iteration(part: Part, made: object, n_features: int) -> Iteration:
    """Check that an algorithm returned an iteration at its start.

    Raises
    ------
    PluginError
        If it is not an iteration, has already begun, or its estimate does not have shape (p,).
    """
    if not isinstance(made, Iteration):
        raise breach(
            part,
            f"returned {kind_of(made)}, not an Iteration",
            "Return a greedyexp.SteppedIteration.",
        )
    coef = made.coef
    _check_numbers(part, "an iteration with coef", coef)
    if coef.shape != (n_features,):
        raise breach(
            part,
            f"returned an iteration with coef of shape {coef.shape}; the problem needs"
            f" ({n_features},)",
        )
    if made.iteration != 0:
        raise breach(part, f"returned an iteration at step {made.iteration}, not at step 0")
    if not (is_real(made.lam) and 0 <= made.lam < math.inf):
        raise breach(part, f"returned an iteration with lam = {made.lam!r}, not a number >= 0")
    return made


def check_constant(part: Part, made: object) -> Constant:
    """Check that an algorithm returned a constant.

    Raises
    ------
    PluginError
        If it is anything else, or an entry is not a number.
    """
    remedy = "Return greedyexp.Constant(value, lower, upper)."
    if not isinstance(made, Constant):
        raise breach(part, f"returned {kind_of(made)}, not a Constant", remedy)
    for name in ("value", "lower", "upper"):
        if not is_real(getattr(made, name)):
            raise breach(
                part,
                f"returned a constant whose {name} is {kind_of(getattr(made, name))}, not a number",
                remedy,
            )
    return made


def check_metric(part: Metric, made: object, size: int) -> np.ndarray:
    """Check that a metric returned one real number for each estimate.

    Raises
    ------
    PluginError
        If it is not an array (m,) of real numbers, or a success is neither 0 nor 1.
    """
    needed = f"one number for each of the {size} estimates, an array of shape ({size},)"
    if not isinstance(made, np.ndarray) or isinstance(made, np.ma.MaskedArray):
        raise breach(part, f"returned {kind_of(made)}, not {needed}")
    if made.shape != (size,):
        raise breach(
            part,
            f"returned an array of shape {made.shape}, not {needed}",
            "Sum over the last two axes of coef: axis=(-2, -1).",
        )
    if part.text:
        if not all(isinstance(text, str) for text in made.tolist()):
            raise breach(part, "is declared text=True but returned values that are not texts")
        return made
    if made.dtype.kind not in "biuf":
        raise breach(part, f"returned an array of dtype {made.dtype}, not of real numbers")
    if part.binary:
        wrong = made[~np.isnan(made) & (made != 0) & (made != 1)]
        if len(wrong):
            raise breach(
                part,
                f"is declared binary=True but returned {wrong[0]}; a success is 0 or 1",
                "Return 0 and 1, or declare binary=False.",
            )
    return made


def check_records(part: Protocol, columns: Iterable[Measured]) -> None:
    """Check that the columns of a protocol agree with the kinds of records that it declares.

    Raises
    ------
    PluginError
        If rows have an undeclared kind, or a declared key or column is missing.
    """
    by_name = {column.name: column for column in columns}
    if "record" not in by_name:
        return
    written = by_name["record"].values or ()
    declared = {kind.name: kind for kind in part.records}
    for name in written:
        if name not in declared:
            remedy = f'Add RecordKind("{name}", ...) to `records`.'
            raise breach(part, f"writes rows of the undeclared kind '{name}'", remedy)
    for name in written:
        kind = declared[name]
        for column in (*kind.keys, *kind.columns):
            found = by_name.get(column)
            if found is None or name not in found.only.get("record", written):
                what = f"declares '{column}' for records '{name}', which have no such column"
                raise breach(part, what, "Correct the declaration or the columns.")
            if column in kind.keys and found.kind != "key":
                remedy = f'Write Measured("{column}", "key", ...).'
                raise breach(part, f"declares '{column}' as a key, but it is measured", remedy)


def is_real(value: object) -> bool:
    """Return True for a real number; booleans do not count."""
    real = (int, float, np.integer, np.floating)
    return isinstance(value, real) and not isinstance(value, (bool, np.bool_))


def kind_of(value: object) -> str:
    """Return the type of a value with its article, such as ``a list``."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def check_problem(
    part: Generator, params: dict, made: object, reserved: Collection[str] = ()
) -> Problem:
    """Check that a generator returned a valid ``Problem``.

    Parameters
    ----------
    part : Generator
        The generator.
    params : dict
        Its parameters.
    reserved : collection of str
        Columns of the CSV that facts must not name.

    Raises
    ------
    PluginError
        If a type, shape or dtype is wrong, a trait or the shape is not as declared, or a fact is
        not a number, a string or None, or has the name of another column.
    DataError
        If a value is not finite.
    """
    if not isinstance(made, Problem):
        raise breach(
            part,
            f"returned {kind_of(made)}, not a Problem",
            "Return greedyexp.Problem((X,), (y,), ...).",
        )
    traits = part.traits(params)
    _check_rows(part, "X", "y", made.X, made.y, least=0 if "population" in traits else 1)
    if isinstance(made.X_test, tuple) and isinstance(made.y_test, tuple) and not made.X_test:
        if made.y_test:
            raise breach(part, "returned y_test without X_test")
    else:
        _check_rows(part, "X_test", "y_test", made.X_test, made.y_test, least=0)
        _expect(part, "X_test", "tasks", len(made.X_test), made.n_tasks)
        _expect(part, "X_test[0]", "columns", made.X_test[0].shape[1], made.n_features)
    _check_known(part, made)
    _check_chains(part, made)
    _check_facts(part, params, made, reserved)
    _check_traits(part, made, traits)
    if not part.shipped:
        _check_shape(part, params, made)
    return made


def _check_rows(part: Generator, x: str, y: str, designs: Any, responses: Any, least: int) -> None:
    """Check designs and responses: one of each per task, all designs of equal width."""
    for name, value in ((x, designs), (y, responses)):
        if not isinstance(value, tuple) or not value:
            raise breach(
                part,
                f"returned {name} as {kind_of(value)}, not as a tuple with one array for each task",
                "Write Problem((X,), (y,), ...).",
            )
    _expect(part, y, "arrays", len(responses), len(designs))
    seen: set[int] = set()
    for j, (X, values) in enumerate(zip(designs, responses, strict=True)):
        if id(X) not in seen:
            seen.add(id(X))
            _check_design(part, f"{x}[{j}]", X)
        _check_array(part, f"{y}[{j}]", values, ("n",))
        _expect(part, f"{y}[{j}]", "entries", len(values), X.shape[0])
        _expect(part, f"{x}[{j}]", "columns", X.shape[1], designs[0].shape[1])
        if X.shape[0] < least:
            raise breach(
                part, f"returned {x}[{j}] without rows, but provides no trait 'population'"
            )
    if designs[0].shape[1] < 1:
        raise breach(part, f"returned {x} without columns")


def _check_design(part: Generator, name: str, X: Any) -> None:
    is_sparse = bool(sparse.issparse(X))
    if not is_sparse:
        _check_array(part, name, X, ("n", "p"))
        return
    if X.format != "csr":
        raise breach(
            part,
            f"returned {name} as a sparse {X.format.upper()} array, not as a CSR array",
            "Write scipy.sparse.csr_array(X).",
        )
    _check_array(part, f"{name}.data", X.data, ("k",))


def _check_array(
    part: Generator,
    name: str,
    value: object,
    axes: tuple[str, ...],
    shape: tuple[int, ...] | None = None,
) -> None:
    """Reject anything but a finite float64 array with these axes, or of this exact shape."""
    if not isinstance(value, np.ndarray) or isinstance(value, (np.ma.MaskedArray, np.matrix)):
        raise breach(part, f"returned {name} as {kind_of(value)}, not as a NumPy array")
    expected = f"({', '.join(axes)}{',' * (len(axes) == 1)})" if shape is None else str(shape)
    if value.ndim != len(axes) or (shape is not None and value.shape != shape):
        raise breach(part, f"returned {name} of shape {value.shape}, not of shape {expected}")
    if value.dtype != np.float64:
        remedy = f"Write {name}.astype(float)." if value.dtype.kind in "biuf" else None
        raise breach(part, f"returned {name} of dtype {value.dtype}, not float64", remedy)
    if not np.isfinite(value).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(value))[0])
        # The message goes into a row of the table; a full path would depend on the machine.
        where = None if part.shipped or part.place is None else PurePath(part.place).name
        at = index[0] if len(index) == 1 else index
        raise DataError(f"{name} holds {value[index]} at index {at}.", place=where)


def _expect(part: Generator, name: str, what: str, found: int, expected: int) -> None:
    if found != expected:
        raise breach(part, f"returned {name} with {found} {what}, but {expected} are needed")


def _check_known(part: Generator, made: Problem) -> None:
    """Check the other fields: coefficients, noise, names, moments."""
    shape = (made.n_features, made.n_tasks)
    for name in ("truth", "start"):
        if getattr(made, name) is not None:
            _check_array(part, name, getattr(made, name), ("p", "r"), shape)
    noise, count = made.noise_std, made.sparsity
    if noise is not None and not (is_real(noise) and 0 <= noise < math.inf):
        raise breach(part, f"returned noise_std = {noise!r}, not a number of at least 0")
    whole = isinstance(count, (int, np.integer)) and not isinstance(count, bool)
    if count is not None and not (whole and 0 <= count <= made.n_features):
        raise breach(
            part, f"returned sparsity = {count!r}, not a whole number from 0 to {made.n_features}"
        )
    for name, size in (("feature_names", shape[0]), ("class_names", shape[1])):
        names = getattr(made, name)
        if not isinstance(names, tuple) or not all(isinstance(one, str) for one in names):
            raise breach(part, f"returned {name} that are not a tuple of strings")
        if names:
            _expect(part, name, "entries", len(names), size)
            if len(set(names)) < size:
                raise breach(part, f"returned {name} that are not all different")
    if made.moments is not None:
        if not isinstance(made.moments, Moments):
            raise breach(part, f"returned moments as {kind_of(made.moments)}, not as Moments")
        _expect(part, "moments", "features", made.moments.size, made.n_features)


def _check_chains(part: Generator, made: Problem) -> None:
    for name, lengths, designs, responses in (
        ("chains", made.chains, made.X, made.y),
        ("chains_test", made.chains_test, made.X_test, made.y_test),
    ):
        if lengths is None:
            continue
        if not isinstance(lengths, np.ndarray):
            raise breach(part, f"returned {name} as {kind_of(lengths)}, not as a NumPy array")
        if not designs or not all(X is designs[0] for X in designs) or len(designs) < 2:
            raise breach(part, f"returned {name} without one design that two classes or more share")
        try:
            check_lengths(lengths, designs[0].shape[0])
        except DataError as error:
            raise breach(part, f"returned wrong {name}: {error.message.rstrip('.')}") from None
        indicators = np.stack(responses)
        if not (np.isin(indicators, (0, 1)).all() and (indicators.sum(axis=0) == 1).all()):
            raise breach(part, f"returned {name} and y that do not give each word one class")


def _check_facts(part: Generator, params: dict, made: Problem, reserved: Collection[str]) -> None:
    if not isinstance(made.facts, Mapping):
        raise breach(part, f"returned facts as {kind_of(made.facts)}, not as a dict")
    for name, value in made.facts.items():
        plain = isinstance(value, (str, bool, np.bool_)) or value is None or is_real(value)
        if not isinstance(name, str) or not plain:
            raise breach(
                part,
                f"returned a fact {name!r} that is {kind_of(value)}; a cell of the CSV holds a"
                " number or a string",
            )
        if name in reserved or (name in params and params[name] != value):
            raise breach(
                part, f"returned a fact '{name}', which names another column", "Rename the fact."
            )


def _check_traits(part: Generator, made: Problem, traits: frozenset[str]) -> None:
    """Reject declared traits that are missing, and some traits that were not declared."""
    present = {
        "truth": made.truth is not None,
        "noise_std": made.noise_std is not None,
        "test_rows": any(X.shape[0] for X in made.X_test),
        "moments": made.moments is not None,
        "spread_label": made.moments is not None and "truth_l1_norm" in made.facts,
        "multi_task": made.n_tasks > 1,
        "chains": made.chains is not None,
        "sparse": made.sparse_design,
        "population": not made.n_samples.all(),
    }
    for trait in sorted(traits - present.keys() - {"labels"}):
        raise breach(part, f"provides a trait '{trait}', which does not exist")
    for trait in sorted(traits & present.keys()):
        if not present[trait]:
            raise breach(
                part,
                f"provides the trait '{trait}', but returned a problem without it",
                f"Return it, or leave '{trait}' out of provides.",
            )
    for trait in ("multi_task", "chains", "sparse", "population"):
        if present[trait] and trait not in traits:
            raise breach(
                part,
                f"returned a problem with the trait '{trait}', but does not provide it",
                f"Add '{trait}' to provides.",
            )
    for j, y in enumerate(made.y if "labels" in traits else ()):
        # A class may be absent from the training rows.
        both = (y, made.y_test[j]) if made.y_test else (y,)
        low = min(one.min(initial=math.inf) for one in both)
        high = max(one.max(initial=-math.inf) for one in both)
        if not all(((one == low) | (one == high)).all() for one in both):
            raise breach(
                part, f"provides the trait 'labels', but y[{j}] has more than two different values"
            )


def _check_shape(part: Generator, params: dict, made: Problem) -> None:
    shape_of = part.shape
    declared = shape_of(**params) if shape_of is not None else {}
    for name, value in declared.items():
        if made.shape[name] != value:
            raise breach(
                part,
                f"returned a problem with {name} = {made.shape[name]}, but its shape= declares"
                f" {value}",
            )


def same_problem(one: Problem, other: Problem) -> bool:
    """Return True if two problems have the same data."""
    # Compare as strings, since nan does not equal itself.
    known = [
        (sorted(map(repr, made.facts.items())), repr(made.noise_std), repr(made.sparsity))
        for made in (one, other)
    ]
    return known[0] == known[1] and all(
        len(first) == len(second) and all(map(_same_array, first, second))
        for first, second in zip(_arrays(one), _arrays(other), strict=True)
    )


def _arrays(problem: Problem) -> tuple[tuple, ...]:
    known = (problem.truth, problem.start, problem.chains, problem.chains_test)
    return problem.X, problem.y, problem.X_test, problem.y_test, known


def _same_array(one: Any, other: Any) -> bool:
    both_sparse = bool(sparse.issparse(one) and sparse.issparse(other))
    if both_sparse:
        return one.shape == other.shape and (one != other).nnz == 0
    return type(one) is type(other) and np.array_equal(one, other)
