"""Checks of figures and tables before a run: columns, averages, choices of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import pandas as pd
from pandas.api.types import is_object_dtype

from greedyexp.config.asking import guarded
from greedyexp.config.data import Data
from greedyexp.config.document import Document
from greedyexp.config.mistakes import Keys, Mistakes
from greedyexp.config.model import AlgorithmSpec
from greedyexp.config.where import Choice, untold, wrong_choices
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.parts import Display
from greedyexp.core.registry import parts
from greedyexp.protocols.base import Measured
from greedyexp.results.averaging import ENDINGS, chosen, separated_by_results, with_panels
from greedyexp.results.records import remedy_for


def refuse_figure(
    part: Display,
    params: dict,
    known: set[str],
    measured: list[str],
    keys: Keys,
    doc: Document,
    mistakes: Mistakes,
) -> None:
    """Note the columns of a figure that the CSV will not have or that cannot separate points.

    Parameters
    ----------
    known : set of str
        All columns.
    measured : list of str
        Columns of the protocol that cannot separate points.
    """
    wanted = part.columns
    with guarded("columns", part, doc.place(keys)):
        names = list(wanted(**params)) if wanted else []
    for name in names:
        if name not in known:
            mistakes.add(
                doc.place(keys),
                f"{part.kind} '{part.name}' reads a column '{name}', which the CSV will not have.",
                remedy_for(name) or did_you_mean(name, known),
            )
    written = {key: value for key, value in params.items() if key != "where"}
    for name in _texts() & set(_words(written)):
        mistakes.add(
            doc.place(keys),
            f"{part.kind} '{part.name}' cannot show '{name}', whose values are texts.",
        )
    with guarded("apart", part, doc.place(keys)):
        refusals = separated_by_results(part, params, (*measured, *ENDINGS))
    for message, remedy in refusals:
        mistakes.add(doc.place(keys), message, remedy)


def _texts() -> set[str]:
    """The metrics whose values are texts."""
    return {name for name, metric in parts("metric").items() if metric.text}


def _words(value) -> Iterator[str]:
    """Every text in plain data, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for item in value:
            yield from _words(item)
        if isinstance(value, dict):
            yield from _words(list(value.values()))


def refuse_averages(
    part: Display,
    params: dict,
    settings: tuple[pd.DataFrame, pd.DataFrame],
    measured: Sequence[Measured],
    keys: Keys,
    doc: Document,
    mistakes: Mistakes,
) -> None:
    """Note the columns that a figure would average over without saying so.

    Parameters
    ----------
    settings : tuple of DataFrame
        As ``settings_of`` gives them.
    measured : sequence of Measured
        The columns of the protocol.
    """
    apart = part.apart
    if apart is None:
        return
    points, algorithms = settings
    known = {*algorithms.columns, "replicate", *(one.name for one in measured)}
    named = [name for name in apart(**params) if name not in known]
    # Facts are known when the data are drawn, and so are sizes that another parameter gives.
    told = set(named) <= set(points.columns)
    if told and chosen(points, params)[named].notna().all(axis=None):
        frames = [points, algorithms]
    else:
        frames = [algorithms]
    try:
        with_panels(part, params, frames, measured)
    except ConfigError as error:
        mistakes.add(doc.place(keys), error.message, error.remedy or "")


def settings_of(
    data: Data, algorithms: Sequence[AlgorithmSpec]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The points of the data and the algorithms, a row each, with the columns of the CSV."""
    swept = [{"algorithm": spec.label, **spec.swept} for spec in algorithms]
    frames = (pd.DataFrame([point.cells for point in data.points]), pd.DataFrame(swept))
    for frame in frames:
        for name in filter(lambda name: is_object_dtype(frame[name]), frame.columns):
            # pandas cannot compare lists; the CSV has them as text, too.
            frame[name] = frame[name].map(lambda v: str(v) if isinstance(v, (list, dict)) else v)
    return frames


def refuse_choice(
    part: Display, params: dict, choice: Choice, keys: Keys, doc: Document, mistakes: Mistakes
) -> None:
    """Note what keeps a figure or a table that chooses rows by ``where`` from finding them.

    Values that no row has, in ``where`` and among published numbers, and columns to be shown that
    are in none of the rows chosen, or not in those that have the column ``row``.
    """
    where = params.get("where")
    if where is None:
        return
    row = params.get("row")
    # Other columns hold results, whose values are known only after the run.
    axes = {*choice.data.columns, *choice.setting.columns, *choice.setting.keys} - {"algorithm"}
    known = {name: value for name, value in where.items() if name in axes or value == []}
    wrong = [(("where", name), *said) for name, *said in wrong_choices(known, choice)]
    shown = [name for name in part.columns(**params) if name not in (row, *where)]
    for name in () if wrong else shown:
        for at, *said in untold(known, {name} if row is None else {name, row}, choice):
            wrong.append((("where", at) if at in where else ("row",), *said))
    levels = {level for numbers in _published(params, part) for level in numbers}
    if row in choice.values and row not in choice.data.columns:
        asked = {row: sorted(map(_plain, levels), key=str)} if levels else {}
        wrong += [(("published",), *said) for _, *said in wrong_choices(asked, choice)]
    for inner, message, remedy in wrong:
        mistakes.add(doc.place((*keys, *inner)), message, remedy)


def _published(params: dict, part: Display) -> Iterator[dict]:
    """The printed numbers of a figure or a table, by value of its column ``row``."""
    given = params.get("published") or {}
    for numbers in given.values() if part.by_algorithm == "published" else ():
        nested = any(isinstance(value, dict) for value in numbers.values())
        yield from numbers.values() if nested else [numbers]


def _plain(text: str) -> int | float | str:
    """What a key of YAML, which is read as text, says."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def refuse_base(
    params: dict,
    choice: Choice,
    algorithms: list[AlgorithmSpec],
    keys: Keys,
    doc: Document,
    mistakes: Mistakes,
) -> None:
    """Note a ``base`` that is not a column of the table, or is several."""
    base, row = params.get("base"), params.get("row")
    if not isinstance(base, str):
        return
    columns = {
        spec.entry if spec.swept and set(spec.swept) <= {row} else spec.label for spec in algorithms
    }
    if base not in columns:
        mistakes.add(
            doc.place((*keys, "base")),
            f"`base` names '{base}', which has no column of its own.",
            did_you_mean(base, columns),
        )


def refuse_strangers(
    part: Display,
    params: dict,
    known: set[str],
    keys: Keys,
    doc: Document,
    mistakes: Mistakes,
    *,
    changed: bool,
) -> None:
    """Note every algorithm that a figure has something about and the experiment lacks.

    Parameters
    ----------
    known : set of str
        Labels and names of the algorithms.
    changed : bool
        Whether profile or command line replaced the algorithms of the file: what is said about
        those no longer there is left out then.
    """
    name = part.by_algorithm
    given = params.get(name) or ()
    labels = enumerate(given) if isinstance(given, list) else zip(given, given, strict=True)
    strangers = {key: label for key, label in labels if label not in known}
    # The last first, as what stands behind an item taken out of a list moves up.
    for key in reversed(strangers if changed else ()):
        del given[key]
        doc.remove((*keys, name, key))
    for key, label in () if changed else strangers.items():
        mistakes.add(
            doc.place((*keys, name, key)),
            f"`{name}` names an algorithm '{label}', which the experiment does not have.",
            did_you_mean(label, known),
        )
