"""Columns that separate the points, lines and panels of a figure or the rows of a table.

Figures and tables average over replicates. Any other column that varies (data, algorithms and their
swept parameters, keys of the protocol) must separate points, lines, panels or rows, unless
``where`` chooses one of its values. A column that is not named becomes ``panel`` or ``row`` if that
parameter is null, or the second item of ``line``. If none of them is free, an error is raised.
Results of the run cannot separate anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from greedyexp.core.errors import ConfigError
from greedyexp.core.parts import Display
from greedyexp.core.yaml_text import dump_yaml
from greedyexp.protocols.base import Measured
from greedyexp.results.records import as_list, identity, matches, replicates, with_sizes

if TYPE_CHECKING:
    import pandas as pd

# Columns that describe how a replicate ended.
ENDINGS = ("status", "message")

# Limits for columns that a figure does not name: panels, and lines of one colour.
_MAX_PANELS = 12
_MAX_LINES = 4


def separate(
    *,
    x: str | None = None,
    of: str | None = None,
    panel: str | None = None,
    row: str | None = None,
    line: Sequence[str] = (),
    **_: Any,
) -> list[str]:
    """Return the columns that separate points, lines and panels, given a figure's parameters."""
    return [name for name in (x, of, panel, row, *line) if name is not None]


def separate_algorithms(*, panel: str | None = None, row: str | None = None, **_: Any) -> list[str]:
    """Return the columns that separate panels and lines if there is one line per algorithm.

    The horizontal axis of these figures shows a result, which does not separate points.
    """
    return separate(panel=panel, row=row, line=["algorithm"])


def reads(*measured: str, apart: Callable[..., list[str]] = separate) -> Callable[..., list[str]]:
    """Return a function from the parameters of a figure or table to the columns that it reads.

    Parameters
    ----------
    *measured : str
        Columns that are read for all values of the parameters.
    apart : callable
        Returns the columns that separate points, lines and panels.
    """

    def columns(
        *,
        mark: object = None,
        success: Mapping[str, str] | None = None,
        where: Mapping[str, Any] | None = None,
        **params: Any,
    ) -> list[str]:
        marked = [mark] if isinstance(mark, str) else []
        named = [*apart(**params), *marked, *(success or {}).values(), *measured, *(where or {})]
        return list(dict.fromkeys(named))

    return columns


def declared(*measured: str, apart: Callable[..., list[str]] = separate) -> dict[str, Any]:
    """Return the arguments ``columns`` and ``apart`` with which a figure or table is registered.

    Parameters
    ----------
    *measured, apart
        The arguments of ``reads``.
    """
    return {"columns": reads(*measured, apart=apart), "apart": apart}


def separated_by_results(
    part: Display, params: Mapping[str, Any], results: Collection[str]
) -> list[tuple[str, str]]:
    """Return message and remedy for each result that separates points of a figure or table.

    Parameters
    ----------
    part : Display
        A figure or a table.
    params : mapping
        All its parameters.
    results : collection of str
        Columns that are results of the run.
    """
    return [
        (
            f"{part.kind} '{part.name}' cannot separate points, lines or panels by '{name}',"
            " which is a result of the run.",
            "Name a column of the data or of the algorithms.",
        )
        for name in dict.fromkeys(separating_columns(part, params))
        if name in results
    ]


def refuse_separation_by_results(
    part: Display, params: Mapping[str, Any], frame: pd.DataFrame, keys: Collection[str] = ()
) -> None:
    """Raise ``ConfigError`` if a result separates points of a figure or table.

    Parameters
    ----------
    frame : DataFrame
        A tidy table: columns from ``status`` on are results.
    keys : collection of str
        Columns of the protocol that may separate points (``Measured.apart``).
    """
    results = [name for name in frame.columns[len(identity(frame)) :] if name not in keys]
    for message, remedy in separated_by_results(part, params, results):
        raise ConfigError(message, remedy=remedy)


def same_in_other_units(names: Collection[str]) -> set[str]:
    """Return the columns that only restate one of these columns in other units.

    Theta restates the number of samples; several of its values may give the same number.
    """
    return {"theta"} if "n_samples" in names else set()


def separating_columns(part: Display, params: Mapping[str, Any]) -> list[str]:
    """Return the columns that separate the points of a part; empty without ``apart``."""
    return list(part.apart(**params)) if part.apart else []


def with_panels(
    part: Display,
    params: Mapping[str, Any],
    frames: Sequence[pd.DataFrame],
    keys: Sequence[Measured],
) -> dict[str, Any]:
    """Add panels for the columns over which a figure or a table would average.

    Parameters
    ----------
    part : Display
        A figure or a table. Parts registered without ``apart`` are not checked.
    params : mapping
        All its parameters.
    frames : sequence of DataFrame
        The settings of the replicates, from ``settings_of``. Several frames are crossed: each row
        of one occurs with each row of the others.
    keys : sequence of Measured
        All columns of the protocol.

    Returns
    -------
    dict
        The parameters; ``panel``, ``row`` and ``line`` name the columns that were not named.

    Raises
    ------
    ConfigError
        If no parameter is free for a column, or there would be too many panels or lines.
    """
    params = dict(params)
    if part.apart is None:
        return params
    frames = [chosen(frame, params) for frame in frames]
    averaged = _averaged(part, params, frames, keys)
    if not averaged:
        return params
    # Some keys of a protocol are axes and cannot be panels.
    separating = {one.name: one.apart for one in keys}
    places = _free_places(part, params)
    fits = len(averaged) <= len(places)
    for place, (name, values) in zip(places, averaged.items(), strict=False):
        fits &= bool(values) and separating.get(name, True)
        if place == "line":
            fits &= len(values) <= _MAX_LINES
            params["line"] = [*params["line"], name]
        else:
            params[place] = name
    if not fits or _panels(params, averaged, frames) > _MAX_PANELS:
        raise _refusal(part, averaged)
    return params


def refuse_pooled(rows: pd.DataFrame, keys: Sequence[str]) -> None:
    """Raise ``ConfigError`` if a point would average over anything but replicates.

    Parameters
    ----------
    rows : DataFrame
        The rows that are averaged. A replicate may have one of them at each point.
    keys : sequence of str
        Columns that separate points.
    """
    by = [name for name in dict.fromkeys([*keys, "replicate"]) if name in rows.columns]
    by += [name for name in same_in_other_units(by) if name in rows.columns and name not in by]
    pooled = rows[rows.duplicated(by, keep=False)]
    if "replicate" not in by or pooled.empty:
        return
    among = pooled.drop(columns=[name for name in ENDINGS if name in pooled.columns])
    counts = among.groupby(by, dropna=False).nunique(dropna=False)
    varying = [str(name) for name in counts.columns if (counts[name] > 1).any()]
    # It restates the number of features.
    varying.sort(key="aspect_ratio".__eq__)
    what = f"the values of '{varying[0]}'" if varying else "equal rows of one replicate"
    raise ConfigError(
        f"a point would average over {what}.",
        remedy="Name the column that differs as line, row or panel, or choose a value by `where`.",
    )


def settings_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the settings of the replicates of a tidy table: the columns before ``status``."""
    found: pd.DataFrame = replicates(frame)[identity(frame)]
    return found


def chosen(frame: pd.DataFrame, params: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows chosen by ``where``, ignoring columns that the frame does not have."""
    for name, wanted in where_of(params).items():
        if name in frame.columns:
            frame = frame[matches(frame[name], as_list(wanted))]
    return frame


def where_of(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the choice of rows; a plugin may use the name for something else."""
    where = params.get("where")
    return where if isinstance(where, Mapping) else {}


def _averaged(
    part: Display,
    params: Mapping[str, Any],
    frames: Sequence[pd.DataFrame],
    keys: Sequence[Measured],
) -> dict[str, list[Any]]:
    """Return the columns over which the part would average, with their values if known."""
    named = separating_columns(part, params)
    found: dict[str, list[Any]] = {}
    for frame in frames:
        while (name := _varying(frame, [*named, *found])) is not None:
            levels = frame[name].dropna().unique().tolist()
            found[name] = sorted(levels, key=lambda value: (isinstance(value, str), value))
    return found | dict(_averaged_keys(part, params, keys))


def _varying(frame: pd.DataFrame, named: Sequence[str]) -> str | None:
    """Return the first column that varies among rows that agree in the named columns.

    Facts of the data may differ between the replicates of one setting. The columns of facts follow
    those of the parameters, and rows that agree in replicate and parameters also agree in the
    facts.
    """
    sized = with_sizes(frame) if {"p", "aspect_ratio"} & set(named) else frame
    by = [name for name in dict.fromkeys([*named, "replicate"]) if name in sized.columns]
    known = {*by, *same_in_other_units(named)}
    for name in frame.columns:
        if name in known or frame[name].nunique(dropna=False) < 2:
            continue
        if not by or (sized.groupby(by, dropna=False)[name].nunique(dropna=False) > 1).any():
            return str(name)
    return None


def _averaged_keys(
    part: Display, params: Mapping[str, Any], keys: Sequence[Measured]
) -> Iterator[tuple[str, list[Any]]]:
    """Yield the protocol keys that vary among the rows read but are not read by the part."""
    if part.columns is None:
        return
    # Columns in ``where`` are read too, but do not separate points.
    read = set(part.columns(**{**params, **({"where": {}} if where_of(params) else {})}))
    separating = read.union(separating_columns(part, params))
    where = {name: as_list(wanted) for name, wanted in where_of(params).items()}
    # Seconds are the same in all rows of a replicate.
    for one in (one for one in keys if one.name in read and one.kind in ("number", "success")):
        among = where | {name: list(values) for name, values in one.only.items()}
        for key in (key for key in keys if key.kind == "key" and key.name not in separating):
            elsewhere = any(
                name in among and not set(among[name]) & set(values)
                for name, values in key.only.items()
            )
            values = among.get(key.name, key.values)
            if not elsewhere and (values is None or len(values) > 1):
                yield key.name, list(values or ())


def _free_places(part: Display, params: Mapping[str, Any]) -> list[str]:
    """Return the parameters that are free to take another column."""
    fields = part.parameters.model_fields
    free = [name for name in ("panel", "row") if name in fields and params[name] is None]
    line = params.get("line")
    return [*free, *(["line"] if isinstance(line, list) and len(line) == 1 else [])]


def _panels(
    params: Mapping[str, Any], averaged: Mapping[str, list[Any]], frames: Sequence[pd.DataFrame]
) -> int:
    count = 1
    for name in {params[place] for place in ("panel", "row") if params.get(place)}:
        known = [frame[name].nunique() for frame in frames if name in frame.columns]
        count *= len(averaged[name]) if name in averaged else max(known, default=1)
    return count


def _refusal(part: Display, averaged: Mapping[str, list[Any]]) -> ConfigError:
    """Return the error; its remedy lists the free parameters and a ``where`` that can be pasted."""
    parts = [
        f"the {len(values)} values of '{name}'" if len(values) > 1 else f"the values of '{name}'"
        for name, values in averaged.items()
    ]
    fields = part.parameters.model_fields
    # A required row is an axis.
    places = [
        f"`{name}`"
        for name in ("panel", "row", "line")
        if name in fields and not fields[name].is_required()
    ]
    remedies = []
    if places:
        listed = " or ".join([", ".join(places[:-1]), places[-1]] if places[1:] else places)
        remedies.append(f"name {'it' if len(averaged) == 1 else 'them'} in {listed}")
    if "where" in fields:
        one = {name: values[0] if values else "VALUE" for name, values in averaged.items()}
        text = dump_yaml(one, default_flow_style=True, width=math.inf)
        remedies.append(f"choose one value by `where: {text.strip()}`")
    else:
        remedies.append("run one value")
    remedy = ", or ".join(remedies)
    return ConfigError(
        f"{part.kind} '{part.name}' would average over {' and '.join(parts)}.",
        remedy=f"{remedy[0].upper()}{remedy[1:]}.",
    )
