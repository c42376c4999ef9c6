"""Checks of claims, figures and tables before a run: rows that they choose, columns, averages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
from pandas.api.types import is_object_dtype

from greedyexp.claims.language import Test, named_in
from greedyexp.claims.parser import BadClaim, compile_claim
from greedyexp.claims.setting import Setting
from greedyexp.config.algorithms import DisplayEntry
from greedyexp.config.data import Data, guarded
from greedyexp.config.document import Node
from greedyexp.config.sections import read_models
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.registry import parts
from greedyexp.experiment.design import DATA_COLUMN
from greedyexp.experiment.messages import Keys, show
from greedyexp.experiment.model import AlgorithmSpec, ClaimEntry
from greedyexp.experiment.parameters import BadValue, Parameters, is_number, same_value
from greedyexp.protocols.base import Measured
from greedyexp.results.columns import ENDINGS, chosen, separated_by_results, with_panels
from greedyexp.results.records import remedy_for

# A value within this relative distance of a swept one is treated as a typing error.
_SLIP = 0.02
# Maximum number of values in a message; if there are more, it gives the nearest.
_LISTED = 12

Values = Mapping[str, list[Any]]
# Column, message and remedy.
Found = Iterator[tuple[str, str, str]]


@dataclass(frozen=True)
class Choice:
    """The rows and columns that claims, figures and tables may name.

    Parameters
    ----------
    data : Data
    algorithms : list of AlgorithmSpec
    setting : Setting
        The names that tests of claims may use.
    measured : list of Measured
        The columns of the protocol.
    elsewhere : callable
        Returns the values of ``values_of`` for the other profiles of the file.
    """

    data: Data
    algorithms: list[AlgorithmSpec]
    setting: Setting
    measured: list[Measured]
    elsewhere: Callable[[], Iterable[Values]]

    @cached_property
    def values(self) -> Values:
        """The values that ``values_of`` returns."""
        return values_of(self.measured, self.algorithms)

    @property
    def columns(self) -> set[str]:
        """The columns whose values are known before the run, except ``algorithm``."""
        return {*self.data.columns, *self.setting.columns, *self.setting.keys}


def values_of(measured: Iterable[Measured], specs: Iterable[AlgorithmSpec]) -> Values:
    """Return the known values of keys of the protocol and of swept parameters of algorithms."""
    values = {one.name: list(one.values) for one in measured if one.values is not None}
    for spec in specs:
        for name, value in spec.swept.items():
            values.setdefault(name, []).append(value)
    return values


def _wrong_choices(where: Mapping[str, Any], choice: Choice) -> Found:
    """Yield columns that do not exist and values that a column cannot have.

    A possible value of the data that this profile lacks is accepted; its claim is inconclusive.
    """
    known = {"algorithm", *choice.columns}
    for name, wanted in where.items():
        if name not in known:
            yield name, f"there is no column '{name}'.", did_you_mean(name, known)
        elif isinstance(wanted, list) and not wanted:
            yield name, f"no row is chosen: the list for '{name}' is empty.", "Remove it."
        else:
            for value in wanted if isinstance(wanted, list) else [wanted]:
                for message, remedy in _wrong_value(name, value, choice):
                    yield name, message, remedy


def _wrong_value(name: str, value: Any, choice: Choice) -> Iterator[tuple[str, str]]:
    labels, values = choice.setting.algorithms, choice.values
    if name == "algorithm":
        if value not in labels:
            message = f"there is no algorithm '{value}' in the experiment."
            yield message, did_you_mean(str(value), labels)
    elif choice.data.listed and name == DATA_COLUMN:
        if value not in choice.data.values(name):
            message = f"there are no data '{value}' in the experiment."
            yield message, did_you_mean(str(value), map(str, choice.data.values(name)))
    elif name in choice.data.columns:
        yield from _wrong_parameter(name, value, choice.data)
    elif value is not None and name in values and not _among(value, values[name]):
        others = [values.get(name, []) for values in choice.elsewhere()]
        if not any(_among(value, other) for other in others):
            yield f"no row has {name} = {show(value)}.", _nearest(value, values[name])


def _wrong_parameter(name: str, value: Any, data: Data) -> Iterator[tuple[str, str]]:
    """Yield an error if no generator of the data accepts a value of a parameter."""
    values, refused = data.values(name), None
    for parameters in (Parameters(block.generator) for block in data.blocks):
        if name not in parameters.names:
            continue
        try:
            value, refused = parameters.read(name, value), None
            break
        except BadValue as error:
            refused = error.found[0][1:]
    if refused is not None:
        yield refused
    elif value not in values and is_number(value):
        numbers = [one for one in values if is_number(one)]
        near = min(numbers, key=lambda other: abs(other - value), default=None)
        if near is not None and abs(near - value) <= _SLIP * abs(near):
            yield f"no point has {name} = {show(value)}.", f"Did you mean {show(near)}?"


def _among(value: Any, values: Iterable[Any]) -> bool:
    if is_number(value):
        return any(same_value(one, value) for one in values)
    return any(str(one) == str(value) for one in values)


def _nearest(value: Any, values: list[Any]) -> str:
    if len(values) > _LISTED and is_number(value):
        near = min(filter(is_number, values), key=lambda one: abs(one - value))
        return f"The nearest is {show(near)}."
    listed = ", ".join(dict.fromkeys(map(str, values[:_LISTED])))
    return f"It takes: {listed}{', ...' if len(values) > _LISTED else ''}." if listed else ""


def _empty_choice(where: Mapping[str, Any], test: Test, choice: Choice) -> Found:
    """Yield the reasons why no chosen row can decide a test."""
    labels, columns = named_in(test)
    chosen_labels = _lists(where).get("algorithm", labels)
    for label in labels:
        if label not in chosen_labels:
            yield (
                "algorithm",
                f"the test names '{label}', whose rows are not chosen.",
                f"Add '{label}' to the list, or remove 'algorithm'.",
            )
    yield from _absent(where, columns, choice)


def _absent(where: Mapping[str, Any], columns: Collection[str], choice: Choice) -> Found:
    """Yield the first column that no chosen row has together with the others."""
    wanted = _lists(where)
    known = {one.name: one for one in choice.measured}
    asked = [name for name, values in wanted.items() if name in known and None not in values]
    left = {name: set(wanted[name]) for name in asked if not known[name].only}
    rows = {name: f"the rows with {name} = {_listed(wanted[name])}" for name in left}
    for name in dict.fromkeys([*asked, *sorted(known.keys() & columns)]):
        for key, values in known[name].only.items():
            both = left.get(key, set(values)) & set(values)
            if not both:
                yield (
                    key if key in where else next(iter(where), ""),
                    f"{rows[key]} have no {name}.",
                    f"{name} is in those with {key} = {_listed(values)}.",
                )
                return
            rows.setdefault(key, f"the rows with {name}")
            left[key] = both


def _lists(where: Mapping[str, Any]) -> Values:
    return {name: value if isinstance(value, list) else [value] for name, value in where.items()}


def _listed(values: Iterable[Any]) -> str:
    return " or ".join(map(str, values))


def read_claims(
    node: Node, choice: Choice, family: str, unchanged: Callable[[], object] | None
) -> tuple[list[ClaimEntry], dict[str, str]]:
    """Return the claims of an experiment; report those with errors.

    Parameters
    ----------
    node : Node
        The top level after profile and overrides. Claims that do not apply are removed from it.
    choice : Choice
    family : str
        Default figure of claims.
    unchanged : callable, optional
        Loads the experiment without the changes of the command line. If given, claims that are
        invalid because of these changes are dropped.

    Returns
    -------
    claims : list of ClaimEntry
    dropped : dict of str to str
        Id of each dropped claim, and the reason.

    Raises
    ------
    ConfigError
        If claims do not apply, and the experiment also has errors without the changes.
    """
    dropped = _drop_claims(node, choice, unchanged) if unchanged else {}
    claims: list[ClaimEntry] = []
    for here, entry in read_models(node, "claims", ClaimEntry):
        if entry.id in [claim.id for claim in claims]:
            here.at("id").add(f"two claims have the id '{entry.id}'.", "Rename one.")
        _check_claim(here, entry, choice)
        claims.append(entry.model_copy(update={"figure": entry.figure or family}))
    return claims, dropped


def _drop_claims(node: Node, choice: Choice, unchanged: Callable[[], object]) -> dict[str, str]:
    """Remove the claims that are invalid because of changes of the command line."""
    dropped: dict[str, str] = {}
    gone: list[Keys] = []
    for here, entry in read_models(Node(node.doc), "claims", ClaimEntry):
        alone = Node(node.doc, here.keys)
        _check_claim(alone, entry, choice)
        if alone.count:
            dropped[entry.id] = alone.diagnostics.found[0][1]
            gone.append(here.keys)
    if gone:
        # A claim that is wrong in the file too is an error.
        unchanged()
    for keys in reversed(gone):
        node.doc.remove(keys)
    return dropped


def _check_claim(node: Node, entry: ClaimEntry, choice: Choice) -> None:
    wrong = list(_wrong_choices(entry.where, choice))
    try:
        claim = compile_claim(entry.model_dump(), choice.setting, "")
    except BadClaim as error:
        node.at(*error.keys).add(error.message, error.remedy)
    else:
        for test in () if wrong else claim.tests:
            wrong += _empty_choice(entry.where, test, choice)
    for name, message, remedy in wrong:
        node.at("where", name).add(message, remedy)


def check_display(display: DisplayEntry, columns: set[str], measured: Sequence[Measured]) -> None:
    """Report columns of a figure or a table that the CSV will not have or that are results.

    Parameters
    ----------
    columns : set of str
        All columns.
    measured : sequence of Measured
        The columns of the protocol.
    """
    part, params, node = display.part, display.spec.params, display.node
    who = f"{part.kind} '{part.name}'"
    with guarded("columns", part, node.place):
        names = list(part.columns(**params)) if part.columns else []
    for name in names:
        if name not in columns:
            node.add(
                f"{who} reads a column '{name}', which the CSV will not have.",
                remedy_for(name) or did_you_mean(name, columns),
            )
    texts = {name for name, metric in parts("metric").items() if metric.text}
    written = {key: value for key, value in params.items() if key != "where"}
    for name in texts & set(_words(written)):
        node.add(f"{who} cannot show '{name}', whose values are texts.")
    results = [one.name for one in measured if not one.apart]
    with guarded("apart", part, node.place):
        refusals = separated_by_results(part, params, (*results, *ENDINGS))
    for message, remedy in refusals:
        node.add(message, remedy)


def _words(value: Any) -> Iterator[str]:
    """Yield every text in plain data, including keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _words([*value, *value.values()])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _words(item)


def check_algorithms_of(display: DisplayEntry, known: set[str], *, changed: bool) -> None:
    """Report every algorithm that a figure or a table names and the experiment lacks.

    Parameters
    ----------
    known : set of str
        Labels and names of the algorithms.
    changed : bool
        True if profile or command line replaced the algorithms of the file. Unknown algorithms are
        then removed from the parameter and not reported.
    """
    name, node = display.part.by_algorithm or "", display.node
    given: Any = display.spec.params.get(name) or ()
    labels = enumerate(given) if isinstance(given, list) else zip(given, given, strict=True)
    unknown = {key: label for key, label in labels if label not in known}
    # Start with the last, since removing an item of a list moves up those behind it.
    for key in reversed(unknown if changed else ()):
        del given[key]
        node.doc.remove((*node.keys, name, key))
    for key, label in () if changed else unknown.items():
        node.at(name, key).add(
            f"`{name}` names an algorithm '{label}', which the experiment does not have.",
            did_you_mean(label, known),
        )


def check_averages(display: DisplayEntry, choice: Choice) -> None:
    """Report the columns over which a figure or a table would silently average."""
    part, params = display.part, display.spec.params
    if part.apart is None:
        return
    points, algorithms = _settings_frames(choice.data, choice.algorithms)
    known = {*algorithms.columns, "replicate", *(one.name for one in choice.measured)}
    named = [name for name in part.apart(**params) if name not in known]
    # Facts, and sizes that depend on other parameters, are known only when the data are drawn.
    drawn = set(named) <= set(points.columns)
    if drawn and chosen(points, params)[named].notna().all(axis=None):
        frames = [points, algorithms]
    else:
        frames = [algorithms]
    try:
        with_panels(part, params, frames, choice.measured)
    except ConfigError as error:
        display.node.add(error.message, error.remedy)


def _settings_frames(
    data: Data, algorithms: Sequence[AlgorithmSpec]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the points of the data and the algorithms, a row each, with columns of the CSV."""
    swept = [{"algorithm": spec.label, **spec.swept} for spec in algorithms]
    frames = (pd.DataFrame([point.cells for point in data.points]), pd.DataFrame(swept))
    for frame in frames:
        for name in filter(lambda name: is_object_dtype(frame[name]), frame.columns):
            # pandas cannot compare lists; the CSV stores them as text.
            frame[name] = frame[name].map(lambda v: str(v) if isinstance(v, (list, dict)) else v)
    return frames


def check_choice(display: DisplayEntry, choice: Choice) -> None:
    """Report choices of rows in a figure or a table that find no row.

    Errors are values in ``where`` and in published numbers that no row has, and columns to show
    that no chosen row has together with the column ``row``.
    """
    part, params = display.part, display.spec.params
    where, row = params.get("where"), params.get("row")
    if where is None or part.columns is None:
        return
    # Other columns are results, whose values are known only after the run.
    known = {k: v for k, v in where.items() if k in choice.columns - {"algorithm"} or v == []}
    wrong: list[tuple[Keys, str, str]] = [
        (("where", name), text, remedy) for name, text, remedy in _wrong_choices(known, choice)
    ]
    shown = [name for name in part.columns(**params) if name not in (row, *where)]
    for name in () if wrong else shown:
        for at, *rest in _absent(known, {name} if row is None else {name, row}, choice):
            wrong.append((("where", at) if at in where else ("row",), rest[0], rest[1]))
    levels = {level for numbers in _published(display) for level in numbers}
    if row and row in choice.values and row not in choice.data.columns and levels:
        asked = {row: sorted(map(_number_or_text, levels), key=str)}
        wrong += [
            (("published",), text, remedy) for _, text, remedy in _wrong_choices(asked, choice)
        ]
    for keys, message, remedy in wrong:
        display.node.at(*keys).add(message, remedy)


def _published(display: DisplayEntry) -> Iterator[Mapping[str, Any]]:
    """Yield the printed numbers of a figure or a table, by value of its column ``row``."""
    given = display.spec.params.get("published") or {}
    for numbers in given.values() if display.part.by_algorithm == "published" else ():
        nested = any(isinstance(value, dict) for value in numbers.values())
        yield from numbers.values() if nested else [numbers]


def _number_or_text(text: str) -> int | float | str:
    """Return the value of a YAML key, which is stored as text."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def check_base(display: DisplayEntry, choice: Choice) -> None:
    """Report a ``base`` that does not name one column of the table."""
    base, row = display.spec.params.get("base"), display.spec.params.get("row")
    if not isinstance(base, str):
        return
    columns = {
        spec.entry if spec.swept and set(spec.swept) <= {row} else spec.label
        for spec in choice.algorithms
    }
    if base not in columns:
        display.node.at("base").add(
            f"`base` names '{base}', which is not a column of the table.",
            did_you_mean(base, columns),
        )
