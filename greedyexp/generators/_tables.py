"""Read a user's own arrays from .npz and .csv files."""

from __future__ import annotations

import csv
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from greedyexp.core.errors import DataError, did_you_mean
from greedyexp.problems.problem import Problem, as_problem

if TYPE_CHECKING:
    import pandas as pd

_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}


@dataclass(frozen=True)
class Columns:
    """Roles of the columns of a ``.csv`` file.

    Parameters
    ----------
    response : tuple of str, optional
        By default ``y``, or all columns whose names start with ``y_``.
    ignore : tuple of str
        Columns that are left out.
    delimiter : str, optional
        One character between cells, a comma by default.
    """

    response: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    delimiter: str | None = None


def read_problem(path: Path, *, columns: Columns, truth: Path | None, scaled: bool) -> Problem:
    """Read a problem from a file; from a ``.csv``, with the names of its features and responses.

    Parameters
    ----------
    path : Path
        ``.npz`` with ``X`` and ``y`` (one design: X (n, p), y (n,) or (n, r); several:
        X (r, n, p), y (r, n); of unequal length: X_0, y_0, X_1, y_1, ...) and optionally ``truth``
        (p,) or (p, r); or ``.csv`` with a header, one row per observation.
    columns : Columns
        Roles of the columns of a ``.csv``.
    truth : Path, optional
        A ``.csv`` with a header, p rows and one column per task. Only if ``path`` is a ``.csv``.
    scaled : bool
        Raise an error for constant features, which cannot be scaled.

    Raises
    ------
    DataError
        If the data are invalid; the message names the file and, if possible, the column.
    """
    if not path.is_file():
        raise DataError("there is no such data file.", place=str(path))
    try:
        if path.suffix == ".npz":
            _refuse_csv_settings(columns, truth)
            problem = _from_npz(path)
        elif path.suffix == ".csv":
            problem = _from_csv(path, columns, truth)
        else:
            raise DataError("a data file must end in .npz or .csv.")
        if scaled:
            _refuse_constant_columns(problem)
        _refuse_constant_responses(problem)
    except DataError as error:
        raise DataError(
            error.message, place=error.place or str(path), remedy=error.remedy
        ) from None
    return problem


def feature_name(problem: Problem, feature: int) -> str:
    """Return the name of a feature for messages."""
    names = problem.feature_names
    return f"column '{names[feature]}'" if names else f"feature {feature}"


def _refuse_csv_settings(columns: Columns, truth: Path | None) -> None:
    """Raise DataError if settings for .csv files are given, since they would be ignored."""
    given = {
        "response": columns.response,
        "ignore": columns.ignore,
        "delimiter": columns.delimiter,
        "truth": truth,
    }
    for name in [name for name, value in given.items() if value]:
        own = ", which holds its own as an array 'truth'" if name == "truth" else ""
        raise DataError(
            f"`{name}` is for .csv files, but this is a .npz file{own}.", remedy=f"Remove `{name}`."
        )


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


def _from_csv(path: Path, columns: Columns, truth: Path | None) -> Problem:
    table = _read_csv(path, columns.delimiter, columns.ignore)
    names = _responses(list(table.columns), columns)
    features = [column for column in table.columns if column not in names]
    if not features:
        raise DataError("every column is a response; there is no feature left.")
    values = None if truth is None else _read_csv(truth, columns.delimiter).to_numpy()
    y = table[names].to_numpy()
    X, y = table[features].to_numpy(), y[:, 0] if len(names) == 1 else y
    problem = as_problem(X, y, truth=values, feature_names=features)
    return replace(problem, class_names=tuple(names))


def _responses(header: list[str], columns: Columns) -> list[str]:
    """The response columns: those given by the user, or y or y_* by default."""
    both = set(columns.response or ()) & set(columns.ignore)
    if both:
        raise DataError(f"`response` and `ignore` both name '{min(both)}'.")
    names = list(columns.response or ())
    if not names:
        plain, marked = "y" in header, [c for c in header if c.startswith("y_")]
        if plain and marked:
            raise DataError(
                f"'y' is a response, but it is not clear what '{marked[0]}' is.",
                remedy="Name the responses with `response: [y]` or"
                f" `response: [y, {marked[0]}]`, or leave columns out with"
                f" `ignore: [{marked[0]}]`.",
            )
        names = ["y"] if plain else marked
    if not names:
        raise DataError(
            "no response column: none is named 'y' or starts with 'y_'.",
            remedy="Name the response columns with `response: [...]`.",
        )
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"the response column '{name}' is named twice.")
        if name not in header:
            raise DataError(f"there is no column '{name}'.", remedy=did_you_mean(name, header))
    return names


def _read_csv(path: Path, delimiter: str | None, ignore: Sequence[str] = ()) -> pd.DataFrame:
    """Read the columns that are not ignored, as numbers."""
    # Imported here: every worker imports this module, but few read a table.
    import pandas as pd

    if not path.is_file():
        raise DataError("there is no such data file.", place=str(path))
    try:
        header = _header(path, delimiter)
        with warnings.catch_warnings():
            # pandas only warns when rows have more fields than the header.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(path, index_col=False, sep=delimiter or ",", low_memory=False)
    except pd.errors.ParserWarning:
        raise DataError(
            "the rows have more fields than the header.",
            place=str(path),
            remedy="The first line must name the columns, and a row must not end with a comma.",
        ) from None
    except UnicodeDecodeError:
        raise DataError(
            "the text is not UTF-8.", place=str(path), remedy="Save it as UTF-8."
        ) from None
    except (ValueError, OSError, csv.Error) as error:
        reason = str(error).strip().rstrip(".").lower()
        raise DataError(f"not a readable table ({reason}).", place=str(path)) from None
    if table.empty:
        raise DataError("the table has no rows.", place=str(path))
    # pandas renames columns with equal names and columns without a name.
    kept = _kept(header, ignore, f"{path}:1")
    table = table.iloc[:, kept]
    table.columns = [header[i] for i in kept]
    return _numbers(table, path)


def _header(path: Path, delimiter: str | None) -> list[str]:
    """The names of the columns as written; for columns without a name, that given by pandas."""
    with path.open(newline="", encoding="utf-8-sig") as lines:
        header = next((row for row in csv.reader(lines, delimiter=delimiter or ",") if row), [])
    if delimiter is None and len(header) == 1:
        for other, name in _DELIMITERS.items():
            if other in header[0]:
                shown = '"\\t"' if other == "\t" else f"'{other}'"
                raise DataError(
                    f"the columns are separated by {name}, not by commas.",
                    place=f"{path}:1",
                    remedy=f"Give `delimiter: {shown}`.",
                )
    return [name if name.strip() else f"Unnamed: {i}" for i, name in enumerate(header)]


def _kept(header: list[str], ignore: Sequence[str], place: str) -> list[int]:
    """Indices of the columns that are not ignored."""
    for name in ignore:
        if name not in header:
            raise DataError(
                f"`ignore` names a column '{name}', which does not exist.",
                place=place,
                remedy=did_you_mean(name, header),
            )
    kept = [i for i, name in enumerate(header) if name not in ignore]
    for i in kept:
        name = header[i]
        if name.startswith("Unnamed: "):
            why = (
                "pandas writes its index like this"
                if i == 0
                else "the lines may end with a delimiter"
            )
            raise DataError(
                f"column {i + 1} has no name; {why}.",
                place=place,
                remedy=f"Leave it out with `ignore: ['{name}']`, or give it a name.",
            )
        if header.count(name) > 1:
            raise DataError(
                f"{header.count(name)} columns are named '{name}'.",
                place=place,
                remedy=f"Rename them, or leave them out with `ignore: [{name}]`.",
            )
    return kept


def _numbers(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    import pandas as pd

    columns = {}
    for name in table.columns:
        numbers = pd.to_numeric(table[name], errors="coerce")
        bad = ~np.isfinite(numbers)
        if bad.any():
            row = int(np.argmax(bad))
            held = table[name].iloc[row]
            what = "nothing" if pd.isna(held) else f"'{held}'"
            raise DataError(
                f"column '{name}' holds {what}, which is not a finite number.",
                place=f"{path}:{row + 2}",
                remedy=f"Remove or impute it, or leave the column out with `ignore: [{name}]`.",
            )
        columns[name] = numbers.astype(float)
    return pd.DataFrame(columns)


def _refuse_constant_columns(problem: Problem) -> None:
    for j, X in enumerate(problem.X[:1] if problem.shared_design else problem.X):
        constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
        if constant.size:
            where = "" if problem.shared_design else f" of task {j}"
            name = feature_name(problem, int(constant[0]))
            raise DataError(
                f"{name}{where} is constant, so it cannot be centred and scaled"
                f" (constant in all: {constant.size}).",
                remedy="Remove constant columns, or give `standardize: false`.",
            )


def _refuse_constant_responses(problem: Problem) -> None:
    for j, y in enumerate(problem.y):
        if np.ptp(y) == 0:
            raise DataError(f"the response of task {j} is constant: there is nothing to fit.")
