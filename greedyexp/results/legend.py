"""What the columns of a table of results mean.

Descriptions come from where the columns are declared: parameters, metrics, and the section
``Columns`` in the docstring of a generator or a protocol.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence

from greedyexp.core.errors import ConfigError
from greedyexp.core.part import Part
from greedyexp.core.registry import lookup
from greedyexp.experiment.design import DATA_COLUMN, Design
from greedyexp.experiment.wording import parameter_rows
from greedyexp.protocols.base import FIT_SECONDS, Measured

Legend = dict[str, dict[str, str]]

# Columns of every table.
_COMMON = {
    "replicate": ("key", "Number of the data set at its point; all algorithms have the same data."),
    "algorithm": ("key", "Label of the algorithm in the experiment."),
    "status": (
        "text",
        "How it ended: ok; not_converged, a value without its certificate; error, timeout or"
        " nonfinite, a failure without measurements.",
    ),
    "message": ("text", "Remark of the algorithm, or why it failed; usually empty."),
    DATA_COLUMN: ("key", "Label of the block of data."),
    FIT_SECONDS.name: ("seconds", "Seconds of the fit alone, which differ from run to run."),
}
# Facts that most generators have.
_FACTS = {
    "n_samples": "Number of rows for the fit; of several tasks, the smallest.",
    "n_test": "Number of test rows.",
    "n_features": "Number of features.",
}

_SECTION = re.compile(r"^Columns\n-{3,}\n(?P<items>.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.M | re.S)
_ITEM = re.compile(r"^(?P<names>\S.*)\n(?P<text>(?:^[ \t]+\S.*\n?)+)", re.M)


def legend(design: Design, columns: Sequence[str]) -> Legend:
    """Return what is known of each column of a table.

    Parameters
    ----------
    design : Design
        The settings of the run.
    columns : sequence of str

    Returns
    -------
    dict
        For each column, five texts:

        - ``kind``: ``parameter`` of the data or of an algorithm, ``fact`` of the data, ``key``
          (tells rows apart), ``number``, ``success`` (0 or 1), ``text`` or ``seconds``;
        - ``description``;
        - ``range`` of a parameter;
        - ``rows`` that have the column, such as ``record = epsilon``; empty for all rows;
        - ``of``: the part that it belongs to, such as ``metric support``, which ``greedyexp show``
          describes further.

        A text is empty if it is unknown, for example because a plugin is missing.
    """
    known: Legend = {}
    for name, entry in (*_of_data(design), *_of_algorithms(design), *_of_protocol(design)):
        known.setdefault(name, entry)
    for name, (kind, description) in _COMMON.items():
        known[name] = _entry(kind, description)
    # Generators of plugins need not declare their facts, which are written before the replicate.
    facts = columns[: columns.index("replicate")] if "replicate" in columns else ()
    return {name: known.get(name) or _entry("fact" * (name in facts), "") for name in columns}


def _entry(
    kind: str, description: str, part: Part | None = None, *, within: str = "", rows: str = ""
) -> dict[str, str]:
    of = f"{part.kind} {part.name}" if part else ""
    return {"kind": kind, "description": description, "range": within, "rows": rows, "of": of}


def _of_data(design: Design) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the parameters and the facts of the generators."""
    for name in design.generators:
        part = lookup("generator", name)
        if part is not None:
            yield from _parameters(part)
            said = _documented(part)
            for fact in dict.fromkeys([*part.facts, *said]):
                yield fact, _entry("fact", said.get(fact) or _FACTS.get(fact, ""), part)


def _of_algorithms(design: Design) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the swept parameters of algorithms."""
    for entry in design.entries:
        part = lookup("algorithm", entry.name)
        swept = {name for axis in entry.axes for name in axis}
        if swept and part is not None:
            yield from ((name, said) for name, said in _parameters(part) if name in swept)


def _parameters(part: Part) -> Iterator[tuple[str, dict[str, str]]]:
    for name, _, _, within, description in parameter_rows(part):
        yield name, _entry("parameter", description, part, within=within)


def _of_protocol(design: Design) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the columns of the protocol and the metrics."""
    try:
        measured = design.measured
    except ConfigError:
        # The plugin of a metric is missing, or the protocol has changed since the run.
        return
    protocol = lookup("protocol", design.protocol)
    said = _documented(protocol) if protocol else {}
    for column in measured:
        metric = lookup("metric", column.name)
        part = protocol if column.name in said else metric or protocol
        description = said.get(column.name) or (metric.summary if metric else "")
        yield column.name, _entry(column.kind, description, part, rows=_rows(column))


def _rows(column: Measured) -> str:
    """Return the rows that have a column, such as ``record = step, bound``."""
    parts = [f"{name} = {', '.join(values)}" for name, values in column.only.items()]
    return "; ".join(parts)


def _documented(part: Part) -> dict[str, str]:
    """Return the columns that the docstring of a part describes in its section ``Columns``."""
    section = _SECTION.search(f"{inspect.getdoc(part.function) or ''}\n")
    found: dict[str, str] = {}
    for item in _ITEM.finditer(section["items"]) if section else ():
        text = " ".join(item["text"].split())
        found |= dict.fromkeys(re.split(r",\s*", item["names"].strip()), text)
    return found
