"""Columns that a figure or a table would average over without saying so.

Figures average over replicates. Whatever else varies (data, algorithms and their swept parameters,
keys of the protocol) must be told apart by an axis, a line, a panel or a row, unless ``where``
chooses one value of it. A column that is not named takes the place of ``panel`` or ``row`` if that
is null, or becomes the second of ``line``; where there is no place the figure is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import yaml

from greedyexp.core.errors import ConfigError
from greedyexp.core.parts import Display
from greedyexp.protocols.measured import Measured
from greedyexp.results.records import identity, replicates
from greedyexp.results.sizes import with_sizes
from greedyexp.results.where import matches

# Most panels of a figure for columns that it does not name, and most lines of one
# colour.
MOST_PANELS = 12
MOST_LINES = 4


def with_panels(
    part: Display,
    params: Mapping[str, Any],
    frames: Sequence[pd.DataFrame],
    keys: Sequence[Measured],
) -> dict[str, Any]:
    """The parameters of a figure or a table, with panels for what it would average over.

    Parameters
    ----------
    part : Display
        A figure or a table. One that was registered without ``apart`` is not checked.
    params : mapping
        All its parameters.
    frames : sequence of DataFrame
        The settings of the replicates, from ``settings_of``. The columns of several frames are
        crossed: each row of one occurs with each row of the others.
    keys : sequence of Measured
        All columns of the protocol.

    Returns
    -------
    dict
        The parameters, in which ``panel``, ``row`` and ``line`` name what the part would average
        over.

    Raises
    ------
    ConfigError
        When there is no place for a column, or too many panels or lines would be drawn.
    """
    params = dict(params)
    if part.apart is None:
        return params
    frames = [chosen(frame, params) for frame in frames]
    averaged = _averaged(part, params, frames, keys)
    if not averaged:
        return params
    # Other keys of the protocol are axes of its rows and cannot be panels.
    told = {one.name: one.apart for one in keys}
    free = _places(part, params)
    fits = len(averaged) <= len(free)
    for place, (name, values) in zip(free, averaged.items(), strict=False):
        fits &= bool(values) and told.get(name, True)
        if place == "line":
            fits &= len(values) <= MOST_LINES
            params["line"] = [*params["line"], name]
        else:
            params[place] = name
    if not fits or _panels(params, averaged, frames) > MOST_PANELS:
        raise _refusal(part, averaged)
    return params


def settings_of(frame: pd.DataFrame) -> pd.DataFrame:
    """The settings of the replicates of a tidy table: the columns before ``status``."""
    return replicates(frame)[identity(frame)]


def chosen(frame: pd.DataFrame, params: Mapping[str, Any]) -> pd.DataFrame:
    """The rows that ``where`` chooses; its entries for other columns are ignored."""
    for name, wanted in (params.get("where") or {}).items():
        if name in frame.columns:
            frame = frame[matches(frame[name], wanted if isinstance(wanted, list) else [wanted])]
    return frame


def _averaged(
    part: Display, params: dict, frames: Sequence[pd.DataFrame], keys: Sequence[Measured]
) -> dict[str, list]:
    """Columns that the part would average over, with their values; none if unknown."""
    named = list(part.apart(**params))
    found: dict[str, list] = {}
    for frame in frames:
        while (name := _varying(frame, [*named, *found])) is not None:
            found[name] = sorted(frame[name].dropna().unique().tolist(), key=_order)
    return found | _averaged_keys(part, params, keys)


def _varying(frame: pd.DataFrame, named: Sequence[str]) -> str | None:
    """The first column with several values among the rows that agree in the named columns.

    Facts of the data may differ between replicates of one setting. They stand after the parameters
    and do not differ where replicate and parameters agree.
    """
    sized = with_sizes(frame) if {"p", "aspect_ratio"} & set(named) else frame
    by = [name for name in dict.fromkeys([*named, "replicate"]) if name in sized.columns]
    for name in frame.columns:
        if name in by or frame[name].nunique(dropna=False) < 2:
            continue
        if not by or (sized.groupby(by, dropna=False)[name].nunique(dropna=False) > 1).any():
            return name
    return None


def _averaged_keys(part: Display, params: dict, keys: Sequence[Measured]) -> dict[str, list]:
    """The keys of the protocol that vary among the rows read and that the part does not read."""
    columns = part.columns
    if columns is None:
        return {}
    # Columns in ``where`` are read too, but only one value of them separates points.
    read = set(columns(**params | ({"where": {}} if "where" in params else {})))
    told = read.union(part.apart(**params))
    where = {
        name: wanted if isinstance(wanted, list) else [wanted]
        for name, wanted in (params.get("where") or {}).items()
    }
    found: dict[str, list] = {}
    # Seconds are of a replicate, the same in all its rows.
    for one in (one for one in keys if one.name in read and one.kind in ("number", "success")):
        among = where | {name: list(values) for name, values in one.only.items()}
        for key in (key for key in keys if key.kind == "key" and key.name not in told):
            elsewhere = any(
                name in among and not set(among[name]) & set(values)
                for name, values in key.only.items()
            )
            values = among.get(key.name, key.values)
            if not elsewhere and (values is None or len(values) > 1):
                found[key.name] = list(values or ())
    return found


def _places(part: Display, params: Mapping) -> list[str]:
    """The parameters that may take a column that the part does not name."""
    fields = part.parameters.model_fields
    free = [name for name in ("panel", "row") if name in fields and params[name] is None]
    line = params.get("line")
    return [*free, *(["line"] if isinstance(line, list) and len(line) == 1 else [])]


def _panels(params: Mapping, averaged: Mapping, frames: Sequence[pd.DataFrame]) -> int:
    count = 1
    for name in {params.get("panel"), params.get("row")} - {None}:
        known = [frame[name].nunique() for frame in frames if name in frame.columns]
        count *= len(averaged[name]) if name in averaged else max(known, default=1)
    return count


def _refusal(part: Display, averaged: Mapping[str, list]) -> ConfigError:
    """The error, with what can be named and with a choice that can be pasted."""
    parts = [
        f"the {len(values)} values of '{name}'" if len(values) > 1 else f"the values of '{name}'"
        for name, values in averaged.items()
    ]
    taken = part.parameters.model_fields
    # A required row is an axis.
    places = [
        f"`{name}`"
        for name in ("panel", "row", "line")
        if name in taken and not taken[name].is_required()
    ]
    remedies = []
    if places:
        listed = " or ".join([", ".join(places[:-1]), places[-1]] if places[1:] else places)
        remedies.append(f"name {'it' if len(averaged) == 1 else 'them'} in {listed}")
    if "where" in taken:
        one = {name: values[0] if values else "VALUE" for name, values in averaged.items()}
        text = yaml.safe_dump(one, default_flow_style=True, width=math.inf, sort_keys=False)
        remedies.append(f"choose one value by `where: {text.strip()}`")
    else:
        remedies.append("run one value")
    remedy = ", or ".join(remedies)
    return ConfigError(
        f"{part.kind} '{part.name}' would average over {' and '.join(parts)}.",
        remedy=f"{remedy[0].upper()}{remedy[1:]}.",
    )


def _order(value) -> tuple:
    return isinstance(value, str), value
