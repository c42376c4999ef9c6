"""Rows of the tidy table: identity of replicates, kinds of records, sizes, chosen rows.

The columns before ``status`` identify the row: data, replicate, algorithm and swept parameters.
The columns from ``status`` on are results.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.parts import Protocol, RecordKind
from greedyexp.core.registry import parts
from greedyexp.protocols.base import FIT_SECONDS, Status
from greedyexp.results.context import Context
from greedyexp.results.words import number_text

if TYPE_CHECKING:
    import pandas as pd

FAILED = tuple(status.value for status in Status if status.failed)
NOT_CERTIFIED = Status.NOT_CONVERGED.value
NO_SECONDS = "there are no seconds of fits, because timings.csv is missing or has none"

# Parameters of figures and tables.
Where = Annotated[
    dict[str, Any], Field(description="column: value or list of values; the rows to show")
]
Sizes = Annotated[list[int], Field(description="sizes to show; all sizes of the protocol if empty")]


class NoSeconds(ConfigError):
    """A figure or a table needs seconds of fits, and the run does not have them."""


class AllFailed(ConfigError):
    """Every replicate failed and there are no measurements."""


def remedy_for(column: str) -> str | None:
    """Return advice on how to record a column; None if no protocol declares it."""
    return _joined(kind for _, kind in _declared() if column in kind.columns)


def _declared() -> list[tuple[Protocol, RecordKind]]:
    return [(part, kind) for part in parts("protocol").values() for kind in part.records]


def _joined(kinds: Iterable[RecordKind]) -> str | None:
    return " ".join(dict.fromkeys(kind.remedy for kind in kinds)) or None


def identity(frame: pd.DataFrame) -> list[str]:
    """Return the columns that identify a replicate: those before ``status``."""
    return list(frame.columns[: list(frame.columns).index("status")])


def replicates(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the first row of each replicate. Some protocols write many rows per replicate."""
    found: pd.DataFrame = frame.loc[~frame.duplicated(identity(frame))]
    return found


def positions(rows: pd.DataFrame, columns: Sequence[str]) -> list[np.ndarray]:
    """Return the positions of the rows of each group with equal values, in order of appearance.

    Arrays at these positions cost far less than a table for each of thousands of replicates.
    """
    numbers = rows.groupby(list(columns), dropna=False, sort=False).ngroup().to_numpy()
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(order) else []


def failed_rows(frame: pd.DataFrame) -> pd.Series[bool]:
    """Return a mask of the rows of failed replicates."""
    return frame["status"].isin(FAILED)


def records(
    frame: pd.DataFrame,
    kind: str,
    columns: Sequence[str],
    *,
    finite: Sequence[str] = (),
    numeric: Sequence[str] = (),
) -> pd.DataFrame:
    """Return the rows of one kind of record.

    Parameters
    ----------
    kind : str
        Value of the column ``record``, such as ``epsilon``, ``iteration`` or ``bound``.
    columns : sequence of str
        Required columns without empty cells.
    finite : sequence of str
        Required columns with a finite number in every row.
    numeric : sequence of str
        Required columns with numbers or empty cells.

    Raises
    ------
    ConfigError
        If a column is missing or has wrong values, if there is no row of this kind, or if every
        replicate failed.
    """
    require_columns(frame, ["record", *columns, *finite])
    refuse_all_failed(frame)
    rows: pd.DataFrame = frame[frame["record"] == kind]
    if rows.empty:
        raise ConfigError(
            f"the table has no rows of record '{kind}'.", remedy=_remedy_for_kind(frame, kind)
        )
    refuse_empty_cells(rows, [*columns, *finite])
    require_finite(rows, *finite)
    require_columns(rows, numeric)
    require_numeric(rows, *numeric)
    return rows


def records_at(
    frame: pd.DataFrame, kind: Literal["class", "feature"], value: str, sizes: Sequence[int]
) -> tuple[pd.DataFrame, dict[Any, int]]:
    """Return the rows about single classes or features at some sizes.

    Parameters
    ----------
    frame : DataFrame
        Table of protocol ``selection``.
    value : str
        Numeric column of these rows.
    sizes : sequence of int
        The sizes to keep; all if empty.

    Returns
    -------
    rows : DataFrame
    order : dict
        The position of each class or feature in the data.

    Raises
    ------
    ConfigError
        If the table has no rows about classes or features, or lacks a size.
    """
    columns = ["size", kind, *(["used"] if value == "used" else [])]
    rows = records(frame, kind, columns)
    known = sorted(rows["size"].unique())
    for size in sizes:
        if size not in known:
            listed = ", ".join(f"{one:g}" for one in known)
            raise ConfigError(
                f"the table has no such rows of size {size}.", remedy=f"It has sizes {listed}."
            )
    rows = rows[rows["size"].isin(sizes)] if sizes else rows
    require_columns(rows, [value])
    require_numeric(rows, value)
    return rows, {name: place for place, name in enumerate(rows[kind].unique())}


def name_text(name: Any) -> str:
    """Return the name of a class or feature; empty cells turn whole numbers into floats."""
    whole = isinstance(name, float) and name.is_integer()
    return number_text(int(name)) if whole else str(name)


def _remedy_for_kind(frame: pd.DataFrame, kind: str) -> str | None:
    """Return advice on how to record rows of a kind, preferably with the protocol of the table."""
    present = set(frame["record"].dropna())
    able = [(part, one) for part, one in _declared() if one.name == kind]
    writers = [one for part, one in able if present <= {other.name for other in part.records}]
    return _joined(writers or [one for _, one in able])


def refuse_all_failed(frame: pd.DataFrame) -> None:
    """Raise ``AllFailed`` if every replicate failed."""
    if failed_rows(frame).all():
        raise AllFailed(
            "every replicate failed, so there is nothing to draw.",
            remedy="The reasons are in the column 'message' of the table.",
        )


def refuse_empty_cells(rows: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise ``ConfigError`` if a column that separates lines or panels has empty cells."""
    for name in columns:
        if rows[name].isna().any():
            raise ConfigError(
                f"column '{name}' has empty cells.",
                remedy="Name a column with a value in every row.",
            )


def require_columns(frame: pd.DataFrame, names: Sequence[str]) -> None:
    """Raise ``ConfigError`` if a column is missing, and suggest the nearest name.

    For the seconds of fits it is ``NoSeconds``.
    """
    for name in names:
        if name in frame.columns:
            continue
        if name == FIT_SECONDS.name:
            raise NoSeconds(f"{NO_SECONDS}.", remedy="`greedyexp run --force` measures them.")
        raise ConfigError(
            f"the table has no column '{name}'.", remedy=did_you_mean(name, frame.columns)
        )


def require_numeric(frame: pd.DataFrame, *names: str) -> None:
    """Raise ``ConfigError`` if a column contains text. Cells may be empty."""
    import pandas as pd

    for name in names:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            raise _not_numeric(name)


def require_finite(frame: pd.DataFrame, *names: str) -> None:
    """Raise ``ConfigError`` if a column has a cell that is not a finite number."""
    require_numeric(frame, *names)
    for name in names:
        if not np.isfinite(frame[name].astype(float)).all():
            raise _not_numeric(name)


def _not_numeric(name: str) -> ConfigError:
    return ConfigError(
        f"column '{name}' is not a number in every row.", remedy="Name a numeric column."
    )


def with_sizes(frame: pd.DataFrame) -> pd.DataFrame:
    """Fill in the columns ``p`` and ``aspect_ratio`` from each other.

    Generators take one of the two and leave the other empty. The fact ``n_features`` is the
    resulting number of features. Without a column ``n_samples``, no ratio is added.
    """
    import pandas as pd

    features = frame["p"] if "p" in frame.columns else pd.Series(float("nan"), index=frame.index)
    if "n_features" in frame.columns:
        features = features.fillna(frame["n_features"])
    filled = _filled(frame, "p", features)
    if "n_samples" not in frame.columns:
        return filled
    return _filled(filled, "aspect_ratio", features / frame["n_samples"])


def _filled(frame: pd.DataFrame, name: str, values: pd.Series[float]) -> pd.DataFrame:
    import pandas as pd

    if name in frame.columns:
        frame = frame.assign(**{name: frame[name].fillna(values)})
    elif values.notna().any():
        # The new column is first because the columns before the status identify replicates.
        frame = pd.concat([values.rename(name), frame], axis=1)
    return frame


def group_columns(
    frame: pd.DataFrame, context: Context, *columns: str | None, merge: bool = False
) -> tuple[pd.DataFrame, list[str]]:
    """Prepare a table for grouping by some columns.

    Sizes are filled in. Labels of one swept entry, such as ``rmp (lam=0.1)``, become the label of
    the entry, ``rmp``, if the columns include all swept parameters: a figure with lam along an axis
    shows them as one algorithm.

    Parameters
    ----------
    *columns : str or None
        Duplicates and None are dropped.
    merge : bool
        Also treat parameters with a single value in each group as named. With
        ``zip: [{loss: [squared, logistic], ridge: [0.0, 0.01]}]``, a panel for each loss has one
        ridge, so all panels show the same algorithm.

    Returns
    -------
    frame : DataFrame
    keys : list of str
        The columns to group by.

    Raises
    ------
    ConfigError
        If a column is missing.
    """
    frame = with_sizes(frame)
    keys = list(dict.fromkeys(name for name in columns if name is not None))
    require_columns(frame, keys)
    grouped = _merged_labels(frame, context, keys)
    if not merge:
        return grouped, keys
    entry = _merged_labels(frame, context, list(frame.columns))["algorithm"]
    own = [grouped[key] for key in keys if key != "algorithm"]
    own += [entry] if "algorithm" in keys else []
    constant = [
        name
        for name in identity(frame)
        if name not in ("replicate", "algorithm", *keys)
        and (frame[name].groupby(own, dropna=False).nunique(dropna=False) == 1).all()
    ]
    return _merged_labels(frame, context, [*keys, *constant]), keys


def _merged_labels(frame: pd.DataFrame, context: Context, keys: Sequence[str]) -> pd.DataFrame:
    labels = {label: context.entry(label, keys) for label in frame["algorithm"].unique()}
    if all(label == entry for label, entry in labels.items()):
        return frame
    found: pd.DataFrame = frame.assign(algorithm=frame["algorithm"].map(labels))
    return found


def as_list(wanted: Any) -> list[Any]:
    """Return a list as it is, and another value as the only element of a list."""
    return wanted if isinstance(wanted, list) else [wanted]


def rows_where(frame: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows with given values.

    A failed replicate has empty cells in the columns of the protocol. It is kept for the count of
    failures.

    Parameters
    ----------
    where : mapping of column to value or list of values
        Numbers match up to rounding.

    Raises
    ------
    AllFailed
        If rows are chosen by a result, and all of them belong to failed replicates.
    ConfigError
        If a column is missing or no row matches.
    """
    require_columns(frame, list(where))
    known = identity(frame)
    failed = failed_rows(frame)
    for name, wanted in where.items():
        wanted = as_list(wanted)
        if not wanted:
            raise ConfigError(
                f"no row is chosen: the list for '{name}' is empty.", remedy="Remove it."
            )
        keep = matches(frame[name], wanted)
        if not keep.any():
            if name not in known:
                refuse_all_failed(frame)
            levels = sorted(map(str, frame[name].dropna().unique()))
            raise ConfigError(
                f"no row has {name} = {' or '.join(map(str, wanted))}.",
                remedy=did_you_mean(str(wanted[0]), levels) if levels else None,
            )
        if name not in known:
            keep |= failed & frame[name].isna()
        frame, failed = frame[keep], failed[keep]
    return frame


def merged_where(frame: pd.DataFrame, context: Context, where: Mapping[str, Any]) -> pd.DataFrame:
    """Return the chosen rows, with the label of an entry where its swept parameters are chosen.

    With ``where: {ridge: 0.1}``, ``omp (ridge=0.1)`` becomes ``omp``.
    """
    chosen = [name for name, wanted in where.items() if len(as_list(wanted)) == 1]
    return _merged_labels(rows_where(frame, where), context, chosen)


def matches(column: pd.Series[Any], wanted: Sequence[Any]) -> pd.Series[bool]:
    """Return a mask of the cells equal to one of the values.

    Numbers match up to rounding, None matches an empty cell. A number given as text matches too,
    because protocols store the numbers of features without names as text. A boolean matches only in
    columns of zeros and ones, as booleans are written.
    """
    import pandas as pd

    keep: pd.Series[bool] = pd.Series(False, index=column.index)
    numeric = pd.api.types.is_numeric_dtype(column)
    for value in wanted:
        wrong = isinstance(value, bool) and not _has_booleans(column)
        number = _number(value) if numeric and not wrong else None
        if value is None:
            keep |= column.isna()
        elif number is not None:
            keep = keep | np.isclose(column.astype(float), number, rtol=1e-9, atol=0)
        else:
            keep |= column.astype(str) == str(value)
    return keep


def _has_booleans(column: pd.Series[Any]) -> bool:
    # Two replicates are no booleans.
    return column.name != "replicate" and bool(column.dropna().isin((0, 1)).all())


def _number(value: Any) -> float | None:
    """Return the value as a finite number, or None if it is not one."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
