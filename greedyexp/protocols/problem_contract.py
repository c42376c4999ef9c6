"""The contract of a generator: checks of the problem that it returns."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
import scipy

from greedyexp.core.errors import DataError
from greedyexp.core.parts import Generator
from greedyexp.problems.chains import check_lengths
from greedyexp.problems.moments import Covariance, Moments
from greedyexp.problems.problem import Problem
from greedyexp.protocols.contracts import (
    breach,
    check_array,
    check_type,
    is_real,
    kind_of,
    require,
)


def check_problem(
    part: Generator, params: dict, made: Any, reserved: Collection[str] = ()
) -> Problem:
    """Check that a generator returned a valid ``Problem``.

    Parameters
    ----------
    part : Generator
        The generator.
    params : dict
        The parameters of the generator.
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
    remedy = "Return greedyexp.Problem((X,), (y,), ...)."
    check_type(part, "", made, Problem, "a Problem", remedy)
    problem: Problem = made
    traits = part.traits(params)
    _check_rows(part, "X", "y", problem.X, problem.y, least=0 if "population" in traits else 1)
    held_out = (problem.X_test, problem.y_test)
    if all(isinstance(rows, tuple) for rows in held_out) and not problem.X_test:
        require(part, not problem.y_test, "returned y_test without X_test")
    else:
        _check_rows(part, "X_test", "y_test", problem.X_test, problem.y_test, least=0)
        _expect(part, "X_test", "tasks", len(problem.X_test), problem.n_tasks)
        width = problem.X_test[0].shape[1]
        _expect(part, "X_test[0]", "columns", width, problem.n_features)
    _check_known(part, problem)
    _check_chains(part, problem)
    _check_facts(part, params, problem, reserved)
    _check_traits(part, problem, traits)
    if not part.shipped:
        _check_shape(part, params, problem)
    return problem


def _expect(part: Generator, name: str, what: str, found: int, expected: int) -> None:
    message = f"returned {name} with {found} {what}, but {expected} are needed"
    require(part, found == expected, message)


def _check_rows(part: Generator, x: str, y: str, designs: Any, responses: Any, least: int) -> None:
    """Check designs and responses: one of each per task, all designs of equal width."""
    for name, value in ((x, designs), (y, responses)):
        filled = isinstance(value, tuple) and bool(value)
        what = f"returned {name} as {kind_of(value)}, not as a tuple with one array for each task"
        require(part, filled, what, "Write Problem((X,), (y,), ...).")
    _expect(part, y, "arrays", len(responses), len(designs))
    seen: set[int] = set()
    for j, (X, values) in enumerate(zip(designs, responses, strict=True)):
        if id(X) not in seen:
            seen.add(id(X))
            _check_design(part, f"{x}[{j}]", X)
        _check_data(part, f"{y}[{j}]", values, ("n",))
        _expect(part, f"{y}[{j}]", "entries", len(values), X.shape[0])
        _expect(part, f"{x}[{j}]", "columns", X.shape[1], designs[0].shape[1])
        what = f"returned {x}[{j}] without rows, but provides no trait 'population'"
        require(part, X.shape[0] >= least, what)
    require(part, designs[0].shape[1] > 0, f"returned {x} without columns")


def _check_design(part: Generator, name: str, X: Any) -> None:
    is_sparse = bool(scipy.sparse.issparse(X))
    if not is_sparse:
        _check_data(part, name, X, ("n", "p"))
        return
    what = f"returned {name} as a sparse {X.format.upper()} array, not as a CSR array"
    require(part, X.format == "csr", what, "Write scipy.sparse.csr_array(X).")
    _check_data(part, f"{name}.data", X.data, ("k",))


def _check_data(part: Generator, name: str, value: Any, shape: tuple[int | str, ...]) -> None:
    """Reject anything but a finite float64 array of a shape; see ``check_array``."""
    matrix = isinstance(value, np.matrix)
    require(part, not matrix, f"returned {name} as a matrix, not as a NumPy array")
    check_array(part, name, value, shape)
    remedy = f"Write {name}.astype(float)." if value.dtype.kind in "biuf" else None
    what = f"returned {name} of dtype {value.dtype}, not float64"
    require(part, value.dtype == np.float64, what, remedy)
    if not np.isfinite(value).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(value))[0])
        # The message goes into a row of the table; a full path would depend on the machine.
        where = None if part.shipped or part.place is None else PurePath(part.place).name
        at = index[0] if len(index) == 1 else index
        raise DataError(f"{name} holds {value[index]} at index {at}.", place=where)


def _check_known(part: Generator, made: Problem) -> None:
    """Check the other fields: coefficients, noise, names, moments."""
    shape = (made.n_features, made.n_tasks)
    for name in ("truth", "start"):
        if getattr(made, name) is not None:
            _check_data(part, name, getattr(made, name), shape)
    noise, count = made.noise_std, made.sparsity
    valid = noise is None or (is_real(noise) and 0 <= noise < math.inf)
    require(part, valid, f"returned noise_std = {noise!r}, not a number of at least 0")
    whole = isinstance(count, (int, np.integer)) and not isinstance(count, bool)
    valid = count is None or (whole and 0 <= count <= made.n_features)
    what = f"returned sparsity = {count!r}, not a whole number from 0 to {made.n_features}"
    require(part, valid, what)
    for name, size in (("feature_names", shape[0]), ("class_names", shape[1])):
        names = getattr(made, name)
        texts = isinstance(names, tuple) and all(isinstance(one, str) for one in names)
        require(part, texts, f"returned {name} that are not a tuple of strings")
        if names:
            _expect(part, name, "entries", len(names), size)
            distinct = len(set(names)) == size
            require(part, distinct, f"returned {name} that are not all different")
    if made.moments is not None:
        check_type(part, "moments", made.moments, Moments, "Moments")
        _expect(part, "moments", "features", made.moments.size, made.n_features)
    if made.covariance is not None:
        check_type(part, "covariance", made.covariance, Covariance, "a Covariance")
        pairs = len(made.covariance.pairs[0])
        _expect(part, "covariance", "pairs", pairs, made.n_features)


def _check_chains(part: Generator, made: Problem) -> None:
    for name, lengths, designs, responses in (
        ("chains", made.chains, made.X, made.y),
        ("chains_test", made.chains_test, made.X_test, made.y_test),
    ):
        if lengths is None:
            continue
        check_type(part, name, lengths, np.ndarray, "a NumPy array")
        shared = len(designs) > 1 and all(X is designs[0] for X in designs)
        what = f"returned {name} without one design that two classes or more share"
        require(part, shared, what)
        try:
            check_lengths(lengths, designs[0].shape[0])
        except DataError as error:
            raise breach(part, f"returned wrong {name}: {error.message.rstrip('.')}") from None
        indicators = np.stack(responses)
        one_class = np.isin(indicators, (0, 1)).all() and (indicators.sum(axis=0) == 1).all()
        what = f"returned {name} and y that do not give each word one class"
        require(part, bool(one_class), what)


def _check_facts(part: Generator, params: dict, made: Problem, reserved: Collection[str]) -> None:
    check_type(part, "facts", made.facts, Mapping, "a dict")
    for name, value in made.facts.items():
        plain = isinstance(value, (str, bool, np.bool_)) or value is None or is_real(value)
        what = (
            f"returned a fact {name!r} that is {kind_of(value)}; a cell of the CSV holds a number"
            " or a string"
        )
        require(part, isinstance(name, str) and plain, what)
        taken = name in reserved or (name in params and params[name] != value)
        what = f"returned a fact '{name}', which names another column"
        require(part, not taken, what, "Rename the fact.")


def _check_traits(part: Generator, made: Problem, traits: frozenset[str]) -> None:
    """Reject declared traits that are missing, and some traits that were not declared."""
    present = {
        "truth": made.truth is not None,
        "noise_std": made.noise_std is not None,
        "test_rows": any(X.shape[0] for X in made.X_test),
        "moments": made.moments is not None,
        "covariance": made.covariance is not None,
        "spread_label": made.moments is not None and "truth_l1_norm" in made.facts,
        "multi_task": made.n_tasks > 1,
        "chains": made.chains is not None,
        "classes": _are_classes(made.y),
        "counts": all(((y >= 0) & (y % 1 == 0)).all() for y in made.y),
        "sparse": made.sparse_design,
        "population": not made.n_samples.all(),
    }
    for trait in sorted(traits - {"labels", "two_values", "repeated_rows"}):
        require(part, trait in present, f"provides a trait '{trait}', which does not exist")
        what = f"provides the trait '{trait}', but returned a problem without it"
        remedy = f"Return it, or leave '{trait}' out of provides."
        require(part, present[trait], what, remedy)
    for trait in ("multi_task", "chains", "sparse", "population"):
        what = f"returned a problem with the trait '{trait}', but does not provide it"
        declared = trait in traits or not present[trait]
        require(part, declared, what, f"Add '{trait}' to provides.")
    promised = "labels" if "labels" in traits else "two_values"
    for j, y in enumerate(made.y if "two_values" in traits else ()):
        # A class may be absent from the training rows.
        both = np.concatenate([y, made.y_test[j]]) if made.y_test else y
        what = f"provides the trait '{promised}', but y[{j}] has more than two different values"
        require(part, len(np.unique(both)) <= 2, what)


def _are_classes(y: Sequence[np.ndarray]) -> bool:
    """Return whether responses are 1 for the class of a row and 0 for the others."""
    same = len(y) > 1 and len({len(yj) for yj in y}) == 1
    return same and bool(np.isin(y, (0.0, 1.0)).all() and (np.sum(y, axis=0) == 1.0).all())


def _check_shape(part: Generator, params: dict, made: Problem) -> None:
    declared = part.shape(**params) if part.shape is not None else {}
    for name, value in declared.items():
        found = made.shape[name]
        what = f"returned a problem with {name} = {found}, but its shape= declares {value}"
        require(part, found == value, what)


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
    covariance = None if problem.covariance is None else problem.covariance.matrix
    known = (problem.truth, problem.start, problem.chains, problem.chains_test, covariance)
    return problem.X, problem.y, problem.X_test, problem.y_test, known


def _same_array(one: Any, other: Any) -> bool:
    both_sparse = bool(scipy.sparse.issparse(one) and scipy.sparse.issparse(other))
    if both_sparse:
        return one.shape == other.shape and (one != other).nnz == 0
    return type(one) is type(other) and np.array_equal(one, other)
