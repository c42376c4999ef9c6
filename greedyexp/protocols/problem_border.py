"""What a generator returns, checked once for each data set; see ``border``."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import PurePath

import numpy as np
from scipy import sparse

from greedyexp.core.errors import DataError
from greedyexp.core.parts import Generator
from greedyexp.problems.chains import check_lengths
from greedyexp.problems.moments import Moments
from greedyexp.problems.problem import Problem
from greedyexp.protocols.border import broken, is_real, kind_of


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
        When a type, shape or dtype is wrong, a trait or the shape is not what was promised, or a
        fact is not a number, a string or None, or has the name of another column.
    DataError
        When a value is not finite.
    """
    if not isinstance(made, Problem):
        raise broken(
            part,
            f"returned {kind_of(made)}, not a Problem",
            "Return greedyexp.Problem((X,), (y,), ...).",
        )
    traits = part.traits(params)
    _check_rows(part, "X", "y", made.X, made.y, least=0 if "population" in traits else 1)
    if isinstance(made.X_test, tuple) and isinstance(made.y_test, tuple) and not made.X_test:
        if made.y_test:
            raise broken(part, "returned y_test without X_test")
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


def _check_rows(
    part: Generator, x: str, y: str, designs: object, responses: object, least: int
) -> None:
    """Designs and responses: one of each for every task, and every design of equal width."""
    for name, value in ((x, designs), (y, responses)):
        if not isinstance(value, tuple) or not value:
            raise broken(
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
            raise broken(
                part, f"returned {x}[{j}] without rows, but provides no trait 'population'"
            )
    if designs[0].shape[1] < 1:
        raise broken(part, f"returned {x} without columns")


def _check_design(part: Generator, name: str, X: object) -> None:
    if not sparse.issparse(X):
        _check_array(part, name, X, ("n", "p"))
        return
    if X.format != "csr":
        raise broken(
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
    """Refuse all but a finite float64 array with these axes, or of just this shape."""
    if not isinstance(value, np.ndarray) or isinstance(value, (np.ma.MaskedArray, np.matrix)):
        raise broken(part, f"returned {name} as {kind_of(value)}, not as a NumPy array")
    expected = f"({', '.join(axes)}{',' * (len(axes) == 1)})" if shape is None else str(shape)
    if value.ndim != len(axes) or (shape is not None and value.shape != shape):
        raise broken(part, f"returned {name} of shape {value.shape}, not of shape {expected}")
    if value.dtype != np.float64:
        remedy = f"Write {name}.astype(float)." if value.dtype.kind in "biuf" else None
        raise broken(part, f"returned {name} of dtype {value.dtype}, not float64", remedy)
    if not np.isfinite(value).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(value))[0])
        # A row of the table holds the message: a path would differ from machine to machine.
        where = None if part.shipped or part.place is None else PurePath(part.place).name
        at = index[0] if len(index) == 1 else index
        raise DataError(f"{name} holds {value[index]} at index {at}.", place=where)


def _expect(part: Generator, name: str, what: str, found: int, expected: int) -> None:
    if found != expected:
        raise broken(part, f"returned {name} with {found} {what}, but {expected} are needed")


def _check_known(part: Generator, made: Problem) -> None:
    """Check the other fields: coefficients, noise, names, moments."""
    shape = (made.n_features, made.n_tasks)
    for name in ("truth", "start"):
        if getattr(made, name) is not None:
            _check_array(part, name, getattr(made, name), ("p", "r"), shape)
    noise, count = made.noise_std, made.sparsity
    if noise is not None and not (is_real(noise) and 0 <= noise < math.inf):
        raise broken(part, f"returned noise_std = {noise!r}, not a number of at least 0")
    whole = isinstance(count, (int, np.integer)) and not isinstance(count, bool)
    if count is not None and not (whole and 0 <= count <= made.n_features):
        raise broken(
            part, f"returned sparsity = {count!r}, not a whole number from 0 to {made.n_features}"
        )
    for name, size in (("feature_names", shape[0]), ("class_names", shape[1])):
        names = getattr(made, name)
        if not isinstance(names, tuple) or not all(isinstance(one, str) for one in names):
            raise broken(part, f"returned {name} that are not a tuple of strings")
        if names:
            _expect(part, name, "entries", len(names), size)
            if len(set(names)) < size:
                raise broken(part, f"returned {name} that are not all different")
    if made.moments is not None:
        if not isinstance(made.moments, Moments):
            raise broken(part, f"returned moments as {kind_of(made.moments)}, not as Moments")
        _expect(part, "moments", "features", made.moments.size, made.n_features)


def _check_chains(part: Generator, made: Problem) -> None:
    for name, lengths, designs, responses in (
        ("chains", made.chains, made.X, made.y),
        ("chains_test", made.chains_test, made.X_test, made.y_test),
    ):
        if lengths is None:
            continue
        if not isinstance(lengths, np.ndarray):
            raise broken(part, f"returned {name} as {kind_of(lengths)}, not as a NumPy array")
        if not designs or not all(X is designs[0] for X in designs) or len(designs) < 2:
            raise broken(part, f"returned {name} without one design that two classes or more share")
        try:
            check_lengths(lengths, designs[0].shape[0])
        except DataError as error:
            raise broken(part, f"returned wrong {name}: {error.message.rstrip('.')}") from None
        indicators = np.stack(responses)
        if not (np.isin(indicators, (0, 1)).all() and (indicators.sum(axis=0) == 1).all()):
            raise broken(part, f"returned {name} and y that do not give each word one class")


def _check_facts(part: Generator, params: dict, made: Problem, reserved: Collection[str]) -> None:
    if not isinstance(made.facts, Mapping):
        raise broken(part, f"returned facts as {kind_of(made.facts)}, not as a dict")
    for name, value in made.facts.items():
        plain = isinstance(value, (str, bool, np.bool_)) or value is None or is_real(value)
        if not isinstance(name, str) or not plain:
            raise broken(
                part,
                f"returned a fact {name!r} that is {kind_of(value)}; a cell of the CSV holds a"
                " number or a string",
            )
        if name in reserved or (name in params and params[name] != value):
            raise broken(
                part, f"returned a fact '{name}', which names another column", "Rename the fact."
            )


def _check_traits(part: Generator, made: Problem, traits: frozenset[str]) -> None:
    """Refuse promised traits that are missing, and some traits that were not promised."""
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
        raise broken(part, f"provides a trait '{trait}', which does not exist")
    for trait in sorted(traits & present.keys()):
        if not present[trait]:
            raise broken(
                part,
                f"provides the trait '{trait}', but returned a problem without it",
                f"Return it, or leave '{trait}' out of provides.",
            )
    for trait in ("multi_task", "chains", "sparse", "population"):
        if present[trait] and trait not in traits:
            raise broken(
                part,
                f"returned a problem with the trait '{trait}', but does not provide it",
                f"Add '{trait}' to provides.",
            )
    for j, y in enumerate(made.y if "labels" in traits else ()):
        # A class may be absent from the rows fitted to.
        both = (y, made.y_test[j]) if made.y_test else (y,)
        low = min(one.min(initial=math.inf) for one in both)
        high = max(one.max(initial=-math.inf) for one in both)
        if not all(((one == low) | (one == high)).all() for one in both):
            raise broken(
                part, f"provides the trait 'labels', but y[{j}] has more than two different values"
            )


def _check_shape(part: Generator, params: dict, made: Problem) -> None:
    shape_of = part.shape
    promised = shape_of(**params) if shape_of is not None else {}
    for name, value in promised.items():
        if made.shape[name] != value:
            raise broken(
                part,
                f"returned a problem with {name} = {made.shape[name]}, but its shape= promises"
                f" {value}",
            )


def same_problem(one: Problem, other: Problem) -> bool:
    """Whether two problems hold the same data."""
    # Texts, in which a number that is not one equals itself.
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


def _same_array(one, other) -> bool:
    if sparse.issparse(one) and sparse.issparse(other):
        return one.shape == other.shape and (one != other).nnz == 0
    return type(one) is type(other) and np.array_equal(one, other)
