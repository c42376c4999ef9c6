"""Reading a user's own arrays from .npz and .csv files."""

from __future__ import annotations

import warnings
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from greedyexp.errors import DataError, did_you_mean
from greedyexp.problem import Problem, as_problem
from greedyexp.theory.spectrum import LARGEST, SMALLEST

if TYPE_CHECKING:
    import pandas as pd


def read_problem(
    path: Path, *, response: list[str] | None, truth: Path | None, scaled: bool
) -> tuple[Problem, list[str]]:
    """A checked problem from a file, and what to call each of its features.

    Parameters
    ----------
    path : Path
        ``.npz`` with ``X`` and ``y`` (one design: X (n, p), y (n,) or (n, r); several:
        X (r, n, p), y (r, n); of unequal length: X_0, y_0, X_1, y_1, ...) and optionally ``truth``
        (p,) or (p, r); or ``.csv`` with a header, one row per observation.
    response : list of str, optional
        Response columns of a ``.csv``; by default ``y`` and every column that starts with ``y_``.
    truth : Path, optional
        A ``.csv`` with a header, p rows and one column per task.
    scaled : bool
        Whether features will be scaled, which constant ones cannot be.

    Raises
    ------
    DataError
        With the file and, where there is one, the column.
    """
    if not path.is_file():
        raise DataError("there is no such data file.", place=str(path))
    try:
        if path.suffix == ".npz":
            problem = _from_npz(path)
            names = [f"feature {i}" for i in range(problem.n_features)]
        elif path.suffix == ".csv":
            problem, names = _from_csv(path, response, truth)
        else:
            raise DataError("a data file must end in .npz or .csv.")
        _refuse_squares_out_of_range(problem, names)
        if scaled:
            _refuse_constant_columns(problem, names)
        _refuse_constant_responses(problem)
    except DataError as error:
        raise DataError(
            error.message, place=error.place or str(path), remedy=error.remedy
        ) from None
    return problem, names


def _from_npz(path: Path) -> Problem:
    try:
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise ValueError("it holds a single array")
        with loaded as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(
            f"not a readable .npz archive of plain arrays ({error}).",
            remedy="Write it with numpy.savez(path, X=X, y=y).",
        ) from None
    truth = arrays.get("truth")
    if "X_0" in arrays:
        r = sum(name.startswith("X_") for name in arrays)
        wanted = [f"{kind}_{j}" for j in range(r) for kind in "Xy"]
        _require(arrays, wanted)
        X, y = ([arrays[f"{kind}_{j}"] for j in range(r)] for kind in "Xy")
        return as_problem(X, y, truth=truth)
    _require(arrays, ["X", "y"])
    X, y = arrays["X"], arrays["y"]
    if X.ndim == 3:
        return as_problem(list(X), list(y), truth=truth)
    return as_problem(X, y, truth=truth)


def _require(arrays: dict, names: list[str]) -> None:
    for name in names:
        if name not in arrays:
            raise DataError(
                f"there is no array '{name}' (found: {', '.join(sorted(arrays)) or 'none'}).",
                remedy="Name the arrays X and y, or X_0, y_0, X_1, y_1, ... for several designs.",
            )


def _from_csv(
    path: Path, response: list[str] | None, truth: Path | None
) -> tuple[Problem, list[str]]:
    table = _read_csv(path)
    names = response or [c for c in table.columns if c == "y" or c.startswith("y_")]
    if not names:
        raise DataError(
            "no response column: none is named 'y' or starts with 'y_'.",
            remedy="Name the response columns with `response: [...]`.",
        )
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"the response column '{name}' is named twice.")
        if name not in table.columns:
            raise DataError(
                f"there is no column '{name}'.", remedy=did_you_mean(name, table.columns)
            )
    features = [column for column in table.columns if column not in names]
    if not features:
        raise DataError("every column is a response; there is no feature left.")
    values = None if truth is None else _read_csv(truth).to_numpy()
    y = table[names].to_numpy()
    X, y = table[features].to_numpy(), y[:, 0] if len(names) == 1 else y
    return as_problem(X, y, truth=values), [f"column '{feature}'" for feature in features]


def _read_csv(path: Path) -> pd.DataFrame:
    # Every worker imports this module; only those that read a table should pay for pandas.
    import pandas as pd

    if not path.is_file():
        raise DataError("there is no such data file.", place=str(path))
    try:
        with warnings.catch_warnings():
            # pandas only warns when rows have more fields than the header.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(path, index_col=False)
    except pd.errors.ParserWarning:
        raise DataError("the rows have more fields than the header.", place=str(path)) from None
    except (ValueError, OSError) as error:
        reason = str(error).strip().rstrip(".").lower()
        raise DataError(f"not a readable table ({reason}).", place=str(path)) from None
    if table.empty:
        raise DataError("the table has no rows.", place=str(path))
    for column in table.columns:
        numbers = pd.to_numeric(table[column], errors="coerce")
        bad = ~np.isfinite(numbers)
        if bad.any():
            row = int(np.argmax(bad))
            held = table[column].iloc[row]
            what = "nothing" if pd.isna(held) else f"'{held}'"
            raise DataError(
                f"column '{column}' holds {what}, which is not a finite number.",
                place=f"{path}:{row + 2}",
                remedy="Remove or impute it.",
            )
        table[column] = numbers.astype(float)
    return table


def _refuse_squares_out_of_range(problem: Problem, names: list[str]) -> None:
    """Refuse features and responses on which least squares would overflow or see nothing."""
    for X, y in zip(problem.X, problem.y, strict=True):
        for name, largest in zip(
            [*names, "the response"], [*np.abs(X).max(axis=0), np.abs(y).max()], strict=True
        ):
            if largest and not SMALLEST < largest < LARGEST:
                raise DataError(
                    f"the largest value of {name} is {largest:.1e}, whose square is out of range.",
                    remedy="Give it in another unit.",
                )


def _refuse_constant_columns(problem: Problem, names: list[str]) -> None:
    for j, X in enumerate(problem.X[:1] if problem.shared_design else problem.X):
        constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
        if constant.size:
            where = "" if problem.shared_design else f" of task {j}"
            raise DataError(
                f"{names[constant[0]]}{where} is constant ({constant.size} such in all), so it"
                " cannot be centred and scaled.",
                remedy="Remove constant columns, or give `standardize: false`.",
            )


def _refuse_constant_responses(problem: Problem) -> None:
    for j, y in enumerate(problem.y):
        if np.ptp(y) == 0:
            raise DataError(f"the response of task {j} is constant: there is nothing to fit.")
