"""Read a user's own arrays from .npz, .csv and .parquet files."""

from __future__ import annotations

import csv
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from greedyexp.core.errors import DataError, InstallationError, did_you_mean
from greedyexp.core.packages import exact_numbers
from greedyexp.problems.frames import from_frame
from greedyexp.problems.problem import Problem, as_problem

if TYPE_CHECKING:
    import pandas as pd

_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}


def read_problem(
    path: Path,
    *,
    response: Sequence[str],
    ignore: Sequence[str],
    delimiter: str | None,
    truth: Path | None,
) -> Problem:
    """Read a problem from a file; from a table, with the names of its features and responses.

    Parameters
    ----------
    path : Path
        ``.npz`` with ``X`` and ``y`` (one design: X (n, p), y (n,) or (n, r); several:
        X (r, n, p), y (r, n); of unequal length: X_0, y_0, X_1, y_1, ...) and optionally ``truth``
        (p,) or (p, r); or a table, one row per observation: ``.csv`` with a header or ``.parquet``,
        which needs pyarrow.
    response : sequence of str
        Response columns of a table. By default, the column ``y`` or all columns whose names
        start with ``y_``.
    ignore : sequence of str
        Columns of a table that are left out.
    delimiter : str, optional
        One character between the cells of a ``.csv``, a comma by default.
    truth : Path, optional
        A ``.csv`` with a header, p rows and one column per task. Only if ``path`` is a table.

    Raises
    ------
    DataError
        If the data are invalid; the message names the file and, if possible, the column.
    InstallationError
        If a ``.parquet`` is given and pyarrow is not installed.
    """
    with _placed(path):
        if path.suffix == ".npz":
            _refuse_for(path, response=response, ignore=ignore, delimiter=delimiter, truth=truth)
            problem = _from_npz(path)
        elif path.suffix in (".csv", ".parquet"):
            if path.suffix == ".parquet":
                _refuse_for(path, delimiter=delimiter)
                table = _read_parquet(path, ignore)
            else:
                table = _read_csv(path, delimiter, ignore)
            names = _responses(list(table.columns), response, ignore)
            values = None if truth is None else _read_csv(truth, delimiter).to_numpy()
            problem = _from_table(table, names, values)
        else:
            raise DataError("a data file must end in .npz, .csv or .parquet.")
        for j, y in enumerate(problem.y):
            if np.ptp(y) == 0:
                raise DataError(f"the response of task {j} is constant: there is nothing to fit.")
    return problem


@contextmanager
def _placed(path: Path) -> Iterator[None]:
    """Let errors name this file unless they name a place."""
    try:
        yield
    except DataError as error:
        error.place = error.place or str(path)
        raise


def _refuse_for(path: Path, **given: object) -> None:
    """Raise DataError if settings are given that this kind of file does not have."""
    for name in [name for name, value in given.items() if value]:
        kinds = ".csv files" if name == "delimiter" else "tables"
        own = ", which holds its own as an array 'truth'" if name == "truth" else ""
        raise DataError(
            f"`{name}` is for {kinds}, but this is a {path.suffix} file{own}.",
            remedy=f"Remove `{name}`.",
        )


def _from_npz(path: Path) -> Problem:
    try:
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            raise ValueError("it holds a single array")
        with loaded as archive:
            arrays = {name: archive[name] for name in archive.files}
        if other := [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]:
            raise ValueError(f"'{other[0]}' is another file")
    # The readers of archives and headers raise errors of many types.
    except Exception as error:
        raise DataError(
            f"not a readable .npz archive of plain arrays ({error}).",
            remedy="Write it with numpy.savez(path, X=X, y=y).",
        ) from None
    r = sum(name.startswith("X_") for name in arrays)
    if {"X", "X_0"} <= arrays.keys():
        raise DataError("there are arrays 'X' and 'X_0'.", remedy="Leave one of them out.")
    if "X_0" not in arrays:
        _require(arrays, ["X", "y"])
        X, y = arrays["X"], arrays["y"]
        if X.ndim == 3:
            X, y = list(X), list(y)
    else:
        _require(arrays, [f"{kind}_{j}" for j in range(r) for kind in "Xy"])
        X, y = ([arrays[f"{kind}_{j}"] for j in range(r)] for kind in "Xy")
    return as_problem(X, y, truth=arrays.get("truth"))


def _require(arrays: dict, names: list[str]) -> None:
    for name in names:
        if name not in arrays:
            raise DataError(
                f"there is no array '{name}' (found: {', '.join(sorted(arrays)) or 'none'}).",
                remedy="Name the arrays X and y, or X_0, y_0, X_1, y_1, ... for several designs.",
            )


def _from_table(table: pd.DataFrame, names: list[str], truth: np.ndarray | None) -> Problem:
    """Return the problem of a table with these response columns."""
    responses = set(names)
    features = [column for column in table.columns if column not in responses]
    if not features:
        raise DataError("every column is a response; there is no feature left.")
    X, y = table[features].to_numpy(), table[names].to_numpy()
    problem = as_problem(X, y, truth=truth, feature_names=features)
    return replace(problem, class_names=tuple(names))


def _responses(header: list[str], response: Sequence[str], ignore: Sequence[str]) -> list[str]:
    """The response columns: those given by the user, or y or y_* by default."""
    both = set(response) & set(ignore)
    if both:
        raise DataError(f"`response` and `ignore` both name '{min(both)}'.")
    names = list(response)
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

    with _placed(path):
        try:
            header = _header(path, delimiter)
            with warnings.catch_warnings():
                # pandas only warns when rows have more fields than the header.
                warnings.simplefilter("error", pd.errors.ParserWarning)
                table = pd.read_csv(
                    path,
                    index_col=False,
                    sep=delimiter or ",",
                    low_memory=False,
                    **exact_numbers(),
                )
        except pd.errors.ParserWarning:
            raise DataError(
                "the rows have more fields than the header.",
                remedy="The first line must name the columns, and a row must not end with a comma.",
            ) from None
        except UnicodeDecodeError:
            raise DataError("the text is not UTF-8.", remedy="Save it as UTF-8.") from None
        except (ValueError, OSError, csv.Error) as error:
            reason = str(error).strip().rstrip(".").lower()
            raise DataError(f"not a readable table ({reason}).") from None
        if table.empty:
            raise DataError("the table has no rows.")
        # pandas renames columns with equal names and columns without a name.
        kept = _kept(header, ignore, f"{path}:1")
        # A choice of columns copies them one by one, which takes as long as reading them.
        table = table if len(kept) == table.shape[1] else table.iloc[:, kept]
        table.columns = [header[i] for i in kept]
        return _numbers(table, path)


def _read_parquet(path: Path, ignore: Sequence[str]) -> pd.DataFrame:
    """Read the columns that are not ignored, as numbers."""
    import pandas as pd

    try:
        table = pd.read_parquet(path, engine="pyarrow")
    except ImportError:
        raise InstallationError(
            "a .parquet file is read by pyarrow.",
            place=str(path),
            remedy="Install it by 'pip install greedyexp[parquet]', or save the table as .csv.",
        ) from None
    # The metadata of pandas may name anything.
    except Exception as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise DataError(f"not a readable table ({reason}).") from None
    header = [str(name) for name in table.columns]
    kept = _kept(header, ignore, str(path))
    numbers, names = from_frame(table.iloc[:, kept], "the table")
    return pd.DataFrame(numbers, columns=list(names))


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
    times, left_out = Counter(header), set(ignore)
    for name in ignore:
        if name not in times:
            raise DataError(
                f"`ignore` names a column '{name}', which does not exist.",
                place=place,
                remedy=did_you_mean(name, header),
            )
    kept = [i for i, name in enumerate(header) if name not in left_out]
    for i in kept:
        name = header[i]
        if name.startswith("Unnamed: "):
            why = "the lines may end with a delimiter"
            if i == 0:
                why = "pandas writes its index like this"
            raise DataError(
                f"column {i + 1} has no name; {why}.",
                place=place,
                remedy=f"Leave it out with `ignore: ['{name}']`, or give it a name.",
            )
        if times[name] > 1:
            raise DataError(
                f"{times[name]} columns are named '{name}'.",
                place=place,
                remedy=f"Rename them, or leave them out with `ignore: [{name}]`.",
            )
    return kept


def _numbers(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    import pandas as pd

    # Columns of numbers alone are converted together: one by one takes longer than reading them.
    if all(dtype.kind in "iuf" for dtype in table.dtypes):
        values = table.to_numpy(dtype=float)
        if np.isfinite(values).all():
            return pd.DataFrame(values, columns=table.columns)
    columns = {}
    for name in table.columns:
        numbers = pd.to_numeric(table[name], errors="coerce")
        bad = ~np.isfinite(numbers)
        if bad.any():
            row = int(np.argmax(bad))
            held = table[name].iloc[row]
            what = "nothing" if pd.isna(held) else f"'{held}'"
            raise DataError(
                f"column '{name}' holds {what}; a finite number is needed.",
                place=f"{path}:{row + 2}",
                remedy=f"Remove or impute it, or leave the column out with `ignore: [{name}]`.",
            )
        columns[name] = numbers.astype(float)
    return pd.DataFrame(columns)
