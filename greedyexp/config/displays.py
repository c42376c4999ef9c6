"""Figures and tables: their entries, and checks of what they show before a run."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from greedyexp.config.algorithms import names_of
from greedyexp.config.claims import Choice, Mistakes, absent, wrong_choices
from greedyexp.config.document import Node
from greedyexp.config.sections import find_part, guarded, read_entries, read_params
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.parts import Display
from greedyexp.core.registry import parts
from greedyexp.experiment.messages import below
from greedyexp.experiment.model import PartSpec
from greedyexp.results.columns import (
    ENDINGS,
    chosen,
    separated_by_results,
    separating_columns,
    with_panels,
)
from greedyexp.results.records import remedy_for

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class DisplayEntry:
    """A figure or a table of an experiment: its part, its parameters and its node."""

    part: Display
    params: dict[str, Any]
    node: Node

    @property
    def spec(self) -> PartSpec:
        """Name and parameters of the part."""
        return PartSpec(self.part.name, self.params)

    @property
    def named(self) -> str:
        """Kind and name for messages, such as ``figure 'comparison'``."""
        return f"{self.part.kind} '{self.part.name}'"


def read_displays(node: Node, kind: type[Display]) -> list[DisplayEntry]:
    """Return the figures or tables; report those with errors."""
    found = []
    for entry, here in read_entries(node, f"{kind.kind}s"):
        part = find_part(kind, entry.name, here)
        params = read_params(part, entry, here) if part else None
        if part and params is not None:
            found.append(DisplayEntry(part, params, here))
    return found


def check_displays(
    displays: Sequence[DisplayEntry], choice: Choice, *, changed: bool, replaced: bool
) -> None:
    """Report figures and tables that cannot be drawn.

    Parameters
    ----------
    displays : sequence of DisplayEntry
    choice : Choice
    changed : bool
        True if the command line changed settings. A figure may then choose no rows.
    replaced : bool
        True if the profile or the command line changed the algorithms. Algorithms that a parameter
        names and that the experiment lacks are then removed from the parameter and not reported.
    """
    if replaced:
        for display in displays:
            _remove_unknown_algorithms(display, choice)
    checks: list[tuple[Callable[[DisplayEntry, Choice], Mistakes], bool]] = [
        (_missing_columns, True),
        (_texts, True),
        (_separated_by_results, True),
        (_along_one_data_set, True),
        (_unknown_algorithms, True),
        (_averaged_columns, False),
    ]
    if not changed:
        checks += [(_empty_choices, False)]
    if not (changed or replaced):
        checks += [(_missing_base, False)]
    # Averages, rows and columns are checked only in an experiment without other errors.
    for always in (True, False):
        correct = not (displays and displays[0].node.wrong)
        for display in displays if always or correct else ():
            for check in (check for check, at_once in checks if at_once == always):
                display.node.add_all(check(display, choice))


def _missing_columns(display: DisplayEntry, choice: Choice) -> Mistakes:
    """Yield an error for each column that the display reads but the CSV will not have."""
    part = display.part
    with guarded("columns", part, display.node.place):
        names = list(part.columns(**display.params)) if part.columns else []
    for name in names:
        if name not in choice.columns:
            message = f"{display.named} reads a column '{name}', which the CSV will not have."
            yield (), message, remedy_for(name) or did_you_mean(name, choice.columns)


def _texts(display: DisplayEntry, choice: Choice) -> Mistakes:
    """Yield an error for each metric that cannot be shown because its values are texts."""
    written = {key: value for key, value in display.params.items() if key != "where"}
    words = json.dumps(written, default=str)
    for name, metric in parts("metric").items():
        if metric.text and f'"{name}"' in words:
            yield (), f"{display.named} cannot show '{name}', whose values are texts.", ""


def _separated_by_results(display: DisplayEntry, choice: Choice) -> Mistakes:
    """Yield an error for each result of the run that would separate points, lines or panels."""
    results = [one.name for one in choice.measured if not one.apart]
    with guarded("apart", display.part, display.node.place):
        refusals = separated_by_results(display.part, display.params, (*results, *ENDINGS))
    for message, remedy in refusals:
        yield (), message, remedy


def _along_one_data_set(display: DisplayEntry, choice: Choice) -> Mistakes:
    """Yield an error for a threshold along a column that varies within one data set."""
    setting, of = choice.setting, display.params.get("of")
    if "level" not in display.params or not isinstance(of, str) or of in setting.swept:
        return
    if of in {*setting.keys, *setting.swept_by(setting.algorithms)}:
        message = f"'{of}' is not swept by the data, so there is no threshold along it."
        yield ("of",), message, did_you_mean(of, setting.swept)


def _unknown_algorithms(display: DisplayEntry, choice: Choice) -> Mistakes:
    """Yield an error for each algorithm in ``by_algorithm`` that the experiment does not have."""
    name, known = display.part.by_algorithm or "", names_of(choice.algorithms)
    given: Any = display.params.get(name) or ()
    labels = enumerate(given) if isinstance(given, list) else zip(given, given, strict=True)
    for key, label in labels:
        if label not in known:
            message = f"`{name}` names an algorithm '{label}', which the experiment does not have."
            yield (name, key), message, did_you_mean(label, known)


def _remove_unknown_algorithms(display: DisplayEntry, choice: Choice) -> None:
    unknown = [keys for keys, _, _ in _unknown_algorithms(display, choice)]
    # Start with the last item, since removing an item shifts the items after it.
    for name, key in reversed(unknown):
        # The value may be the default of all figures of this kind.
        display.params[str(name)] = kept = copy.copy(display.params[str(name)])
        del kept[key]
        display.node.doc.remove((*display.node.keys, name, key))


def _averaged_columns(display: DisplayEntry, choice: Choice) -> Mistakes:
    """Yield the error for columns over which a figure or a table would silently average."""
    part, params = display.part, display.params
    if part.apart is None or _separates_all(display, choice):
        return
    points, algorithms = _settings_frames(choice)
    known = {*algorithms.columns, "replicate", *(one.name for one in choice.measured)}
    named = [name for name in part.apart(**params) if name not in known]
    # Facts, and sizes that depend on other parameters, are known only when the data are drawn.
    drawn = set(named) <= set(points.columns)
    drawn = drawn and bool(chosen(points, params)[named].notna().all(axis=None))
    try:
        frames = [points, algorithms] if drawn else [algorithms]
        with_panels(part, params, frames, choice.measured)
    except ConfigError as error:
        yield (), error.message, error.remedy or ""


def _separates_all(display: DisplayEntry, choice: Choice) -> bool:
    """Return True if a part with ``apart`` clearly averages over replicates only.

    Most do, and this test needs no pandas. If it is not clear, the answer is False.
    """
    named = separating_columns(display.part, display.params)
    determined = all(_determine(named, rows) for rows in _settings_rows(choice))
    with suppress(ConfigError):
        kept = with_panels(display.part, display.params, [], choice.measured)
        return determined and kept == display.params
    return False


def _determine(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if rows that agree in these columns are equal."""
    seen: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    return all(seen.setdefault(tuple(map(row.get, names)), row) == row for row in rows)


def _settings_rows(choice: Choice) -> Iterator[list[dict[str, Any]]]:
    """Yield the points of the data, then the algorithms, each with its columns of the CSV."""
    points = [point.cells for point in choice.data.points]
    swept = [{"algorithm": spec.label, **spec.swept} for spec in choice.algorithms]
    for rows in (points, swept):
        # Lists are not hashable and pandas cannot compare them; the CSV stores them as text.
        yield [
            {name: str(v) if isinstance(v, (list, dict)) else v for name, v in row.items()}
            for row in rows
        ]


def _settings_frames(choice: Choice) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the points of the data and the algorithms, one per row, with columns of the CSV."""
    import pandas as pd

    points, algorithms = _settings_rows(choice)
    return pd.DataFrame(points), pd.DataFrame(algorithms)


def _empty_choices(display: DisplayEntry, choice: Choice) -> Mistakes:
    """Yield an error for each choice that matches no row.

    A choice is a value in ``where`` or in published numbers, or a column to show. Such a column
    must occur in a chosen row together with the column ``row``.
    """
    part, params = display.part, display.params
    where, row = params.get("where"), params.get("row")
    if not isinstance(where, dict) or part.columns is None:
        return
    # Other columns are results, whose values are known only after the run.
    known = {key: value for key, value in where.items() if key in choice.known or value == []}
    wrong = list(wrong_choices(known, choice))
    yield from below(("where",), wrong)
    shown = [name for name in part.columns(**params) if name not in (row, *where)]
    for name in () if wrong else shown:
        for keys, *texts in absent(known, {name} if row is None else {name, row}, choice):
            yield ("where", *keys) if keys[0] in where else ("row",), texts[0], texts[1]
    levels = {level for numbers in _published(display) for level in numbers}
    if row and row in choice.values and row not in choice.data.columns and levels:
        asked = {row: sorted(map(_number_or_text, levels), key=str)}
        for _, message, remedy in wrong_choices(asked, choice):
            yield ("published",), message, remedy


def _published(display: DisplayEntry) -> Iterator[Mapping[str, Any]]:
    """Yield the printed numbers of a figure or a table, by value of its column ``row``."""
    given = display.params.get("published") or {}
    for numbers in given.values() if display.part.by_algorithm == "published" else ():
        nested = any(isinstance(value, dict) for value in numbers.values())
        yield from numbers.values() if nested else [numbers]


def _number_or_text(text: str) -> int | float | str:
    """Return the value of a YAML key, which is stored as text."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def _missing_base(display: DisplayEntry, choice: Choice) -> Mistakes:
    """Yield an error for each algorithm to compare with that is no line or column of the part."""
    row = display.params.get("row")
    labels = {
        spec.entry if spec.swept and set(spec.swept) <= {row} else spec.label
        for spec in choice.algorithms
    }
    base, against = display.params.get("base"), display.params.get("against") or {}
    named: list[tuple[tuple[str, ...], str]] = [(("base",), base)] if isinstance(base, str) else []
    for pair in against.items() if isinstance(against, dict) else ():
        named += [(("against", pair[0]), label) for label in pair]
    shown = "column of the table" if display.part.kind == "table" else "line of the figure"
    for keys, label in named:
        if label not in labels:
            message = f"`{keys[0]}` names '{label}', which is not a {shown}."
            yield keys, message, did_you_mean(label, labels)
