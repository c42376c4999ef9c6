"""Contracts of parts: checks of the results of algorithms, metrics and protocols.

A wrong type, shape, dtype or trait is a mistake in the code of a part, which other replicates would
repeat. It raises ``PluginError``, which ends the run at once and keeps the finished replicates.
Further rows would be useless, as the corrected code has a new fingerprint. An exception or a value
that is not finite depends on the data and becomes a row.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any

import numpy as np

from greedyexp.core.errors import PluginError
from greedyexp.core.part import Part
from greedyexp.core.parts import Metric, Protocol
from greedyexp.estimates.iteration import Iteration
from greedyexp.estimates.path import Path
from greedyexp.estimates.sparse import SparseEstimates
from greedyexp.protocols.base import Measured, Outcome
from greedyexp.theory.constants import Constant

# How each kind of part draws random numbers that the seed determines.
_STREAMS = {
    "generator": "Draw from the `rng` argument",
    "algorithm": "Declare a keyword argument rng=None and draw from it",
    "metric": "Draw from np.random.default_rng(0)",
    "protocol": "Draw from setup.rng",
}


def undetermined(parts: Sequence[Part], what: str) -> PluginError:
    """Return the error that one of these parts gave two results for one seed."""
    names = " or ".join(f"{part.kind} '{part.name}'" for part in parts)
    remedies = dict.fromkeys(_STREAMS[part.kind] for part in parts)
    return PluginError(
        f"{names} gave {what} for the same seed.",
        place=parts[0].place,
        remedy=f"{'. '.join(remedies)}, and read no clock.",
    )


def require_same(parts: Sequence[Part], one: Outcome, other: Outcome) -> None:
    """Require that the parts of plugins have given the same rows twice.

    Parameters
    ----------
    parts : sequence of Part
        The protocol, the algorithm and the metrics, if they come from plugins.

    Raises
    ------
    PluginError
        If they have not. Metrics are named only if all other columns are equal.
    """
    pairs = zip_longest(one.rows, other.rows, fillvalue=dict[str, Any]())
    # As texts, since nan does not equal itself.
    differing = ["status"] if one.status != other.status else []
    differing += [
        column
        for row, again in pairs
        for column in {**row, **again}
        if repr(row.get(column)) != repr(again.get(column))
    ]
    metrics = [part for part in parts if part.kind == "metric" and part.name in differing]
    others = [part for part in parts if part.kind != "metric"]
    if differing:
        own = {metric.name for metric in metrics}.issuperset(differing)
        raise undetermined(
            [*metrics, *others] if own else others or parts, f"two values of '{differing[0]}'"
        )


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


def require(part: Part, holds: bool, what: str, remedy: str | None = None) -> None:
    """Raise the error of ``breach`` unless a condition holds."""
    if not holds:
        raise breach(part, what, remedy)


def check_type(
    part: Part, name: str, value: object, types: type, wanted: str, remedy: str | None = None
) -> None:
    """Reject a result, or its field ``name``, that is not an instance of a type."""
    # Messages are made only when needed, because these checks run at every fit. A masked array is
    # an array, but libraries ignore its mask.
    if not isinstance(value, types) or isinstance(value, np.ma.MaskedArray):
        found = f"{name} as {kind_of(value)}, not as" if name else f"{kind_of(value)}, not"
        raise breach(part, f"returned {found} {wanted}", remedy)


def check_array(
    part: Part, name: str, value: Any, shape: tuple[int | str, ...] | None, kinds: str = ""
) -> None:
    """Reject anything but an array of a shape and, with ``kinds``, of these kinds of dtype.

    Parameters
    ----------
    name : str
        Name of the array in messages; empty for the whole result.
    shape : tuple of int or str, optional
        Lengths of the axes. A letter means any length.
    """
    check_type(part, name, value, np.ndarray, "a NumPy array")
    name = name or "an array"
    if shape is not None:
        pairs = zip(shape, value.shape, strict=False)
        fits = all(isinstance(wanted, str) or wanted == size for wanted, size in pairs)
        if value.ndim != len(shape) or not fits:
            wanted = str(shape).replace("'", "")
            what = f"returned {name} of shape {value.shape}, not of shape {wanted}"
            raise breach(part, what)
    if kinds and value.dtype.kind not in kinds:
        raise breach(part, f"returned {name} of dtype {value.dtype}, not of real numbers")


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
        If the result is neither a path nor an array of real numbers, or has the wrong shape or
        points.
    """
    if isinstance(made, Path):
        _check_path(part, made, expected, grid or {})
        return made
    what = f"was asked for a path and returned {kind_of(made)}"
    require(part, not grid, what, "Return a Path.")
    check_array(part, "", made, None, "iuf")
    coef = np.asarray(made, dtype=float)
    if coef.ndim == 1:
        coef = coef[:, None]
    what = f"returned an estimate of shape {np.shape(made)}; the problem needs {expected}"
    require(part, coef.shape == expected, what)
    return Path(coef[None], {}, np.array([np.nan]), np.array([True]))


def _check_path(
    part: Part, path: Path, expected: tuple[int, int], grid: Mapping[str, np.ndarray]
) -> None:
    """Check the types and shapes of a path, and that it has the points of the grid."""
    estimates = path.estimates
    if isinstance(estimates, SparseEstimates):
        shape = estimates.shape
        require(part, shape == expected, f"returned estimates of shape {shape}, not {expected}")
        if not part.shipped:
            what = "returned estimates whose entries are not increasing numbers below p r"
            require(part, estimates.in_order(), what, "Use SparseEstimates.of.")
    else:
        check_array(part, "path.estimates", estimates, ("m", *expected), "f")
    check_type(part, "path.grid", path.grid, Mapping, "a dict")
    check_type(part, "path.facts", path.facts, Mapping, "a dict")
    check_type(part, "path.message", path.message, str, "a text")
    columns = {**path.grid, **path.facts, "objective": path.objective, "converged": path.converged}
    for name, values in columns.items():
        check_array(part, f"path.{name}", values, (len(path),), "biuf")
    require(
        part,
        path.converged.dtype == bool,
        f"returned path.converged of dtype {path.converged.dtype}, not bool",
        "Write converged.astype(bool).",
    )
    if path.dense is not None:
        check_array(part, "path.dense", path.dense, (len(path), "d"), "iuf")
    for name, values in grid.items():
        require(
            part,
            name in path.grid and np.array_equal(path.grid[name], values),
            f"was asked for {len(values)} points of '{name}' and returned other points",
            "Return a path with exactly the points of the argument `grid`.",
        )


def check_iteration(part: Part, made: Any, n_features: int) -> Iteration:
    """Check that an algorithm returned an iteration at its start.

    Raises
    ------
    PluginError
        If the result is not an iteration, has already begun, or has an estimate that is not of
        shape (p,).
    """
    remedy = "Return a greedyexp.SteppedIteration."
    check_type(part, "", made, Iteration, "an Iteration", remedy)
    iteration: Iteration = made
    check_array(part, "an iteration with coef", iteration.coef, (n_features,), "iuf")
    step, lam = iteration.iteration, iteration.lam
    require(part, step == 0, f"returned an iteration at step {step}, not at step 0")
    valid = is_real(lam) and 0 <= lam < math.inf
    require(part, valid, f"returned an iteration with lam = {lam!r}, not a number >= 0")
    return iteration


def check_constant(part: Part, made: Any) -> Constant:
    """Check that an algorithm returned a constant.

    Raises
    ------
    PluginError
        If the result is not a ``Constant``, or an entry of it is not a number.
    """
    remedy = "Return greedyexp.Constant(value, lower, upper)."
    check_type(part, "", made, Constant, "a Constant", remedy)
    constant: Constant = made
    for name, value in vars(constant).items():
        what = f"returned a constant whose {name} is {kind_of(value)}, not a number"
        require(part, is_real(value), what, remedy)
    return constant


def check_metric(part: Metric, made: Any, size: int) -> np.ndarray:
    """Check that a metric returned one real number for each estimate.

    Raises
    ------
    PluginError
        If the result is not an array (m,) of real numbers, or a success is neither 0 nor 1.
    """
    needed = f"one number for each of the {size} estimates, an array of shape ({size},)"
    check_type(part, "", made, np.ndarray, needed)
    values: np.ndarray = made
    what = f"returned an array of shape {values.shape}, not {needed}"
    remedy = "Sum over the last two axes of coef: axis=(-2, -1)."
    require(part, values.shape == (size,), what, remedy)
    if part.text:
        texts = all(isinstance(text, str) for text in values.tolist())
        require(part, texts, "is declared text=True but returned values that are not texts")
        return values
    check_array(part, "", values, None, "biuf")
    wrong = values[~np.isnan(values) & (values != 0) & (values != 1)] if part.binary else ()
    for value in wrong[:1]:
        what = f"is declared binary=True but returned {value}; a success is 0 or 1"
        raise breach(part, what, "Return 0 and 1, or declare binary=False.")
    return values


def check_records(part: Protocol, columns: Iterable[Measured]) -> None:
    """Check that the columns of a protocol agree with the kinds of records that it declares.

    Raises
    ------
    PluginError
        If rows have an undeclared kind, or a declared key or column is missing.
    """
    by_name = {column.name: column for column in columns}
    written = (by_name["record"].values or ()) if "record" in by_name else ()
    declared = {kind.name: kind for kind in part.records}
    for name in written:
        remedy = f'Add RecordKind("{name}", ...) to `records`.'
        require(part, name in declared, f"writes rows of the undeclared kind '{name}'", remedy)
    for name in written:
        kind = declared[name]
        for column in (*kind.keys, *kind.columns):
            found = by_name.get(column)
            if found is None or name not in found.only.get("record", written):
                what = f"declares '{column}' for records '{name}', which have no such column"
                raise breach(part, what, "Correct the declaration or the columns.")
            measured = column in kind.keys and found.kind != "key"
            remedy = f'Write Measured("{column}", "key", ...).'
            require(part, not measured, f"declares '{column}' as a key, but it is measured", remedy)


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
