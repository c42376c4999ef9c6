"""A column of a table of results: its kind, its meaning, its symbol and its label on an axis.

Descriptions come from where the columns are declared: parameters, metrics, and the section
``Columns`` in the docstring of a generator or a protocol. Tables, legends, axes, notebooks and
pages read them here.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from greedyexp.core.part import Part
from greedyexp.core.registry import lookup
from greedyexp.experiment.design import DATA_COLUMN, Design
from greedyexp.experiment.wording import parameter_rows
from greedyexp.protocols.base import FIT_SECONDS

_SECTION = re.compile(r"^Columns\n-{3,}\n(?P<items>.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.M | re.S)
_ITEM = re.compile(r"^(?P<names>\S.*)\n(?P<text>(?:^[ \t]+\S.*\n?)+)", re.M)


@dataclass(frozen=True)
class DescribedColumn:
    """What is known of a column; a text is empty if it is unknown, such as without a plugin.

    Parameters
    ----------
    name : str
    kind : str
        ``parameter`` of the data or of an algorithm, ``fact`` of the data, ``key`` (tells rows
        apart), ``number``, ``success`` (0 or 1), ``text`` or ``seconds``.
    description : str
    range : str
        Range of a parameter.
    rows : str
        Rows that have the column, such as ``record = epsilon``; empty for all rows.
    of : str
        The part that it belongs to, such as ``metric support``, which ``greedyexp show`` describes
        further.
    symbol : str
        Letter or short name; by default the name with spaces.
    axis : str
        Label of an axis; by default the symbol.
    """

    name: str
    kind: str = ""
    description: str = ""
    range: str = ""
    rows: str = ""
    of: str = ""
    symbol: str = ""
    axis: str = ""

    @property
    def short(self) -> str:
        """The letter of the column, or its name with spaces."""
        return self.symbol or self.name.replace("_", " ")

    @property
    def label(self) -> str:
        """The label of an axis."""
        return self.axis or self.short

    @property
    def title(self) -> str:
        """The title of a metric, or the short name of another column."""
        metric = lookup("metric", self.name)
        return metric.title.replace("_", " ") if metric else self.short

    def texts(self) -> dict[str, str]:
        """Return the texts of a notebook by their names."""
        texts: dict[str, str] = asdict(self)
        return {name: texts[name] for name in ("kind", "description", "range", "rows", "of")}


# Kind and description of the columns of every table.
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
# Symbol and axis of the columns that the field abbreviates or whose names are not words.
_WORDS = {
    "theta": ("θ", r"control parameter $\theta = n\,/\,(s\,\log(p-(2-\kappa)s))$"),
    "kappa": ("κ", r"shared fraction of the supports $\kappa$"),
    "noise_std": ("σ", r"standard deviation of the noise $\sigma$"),
    "n_samples": ("n", "number of samples $n$"),
    "p": ("", "number of features $p$"),
    "sparsity": ("", "nonzero true coefficients $s$"),
    "correlation": ("ρ", r"correlation of neighbouring features $\rho$"),
    "norm": ("‖b*‖", r"norm of the true coefficients $\|b^*\|$"),
    "signal_ratio": ("", r"weakest true coefficient $/\;\|\nabla Q(\bar b)\|_\infty$"),
    "max_features": ("features", "number of features selected"),
    "truth_l1_norm": ("‖w*‖₁", r"$\ell_1$ norm of the true coefficients $\|w^*\|_1$"),
    "lam": ("λ", r"weight of the $\ell_1$ norm $\lambda$"),
    "aspect_ratio": ("p/n", "features per sample $p\\,/\\,n$"),
    "epsilon": ("ε", r"accuracy $\varepsilon$"),
    "iteration": ("", "iteration $k$"),
    "iterations": ("", r"iterations to reach the accuracy, $k(\varepsilon)$"),
    "gap": ("", "objective above its minimum"),
    "size": ("", "number of features selected"),
    "step": ("", "steps $k$"),
    "steps": ("", r"steps to reach the accuracy, $k(\varepsilon)$"),
    "features_needed": ("", "features to reach the accuracy"),
    "flip": ("P(copy differs)", ""),
    "values": ("nonzero values", ""),
    "n_train": ("training samples", ""),
    "samples_per_digit": ("samples of each digit", ""),
}


def described(name: str) -> DescribedColumn:
    """Return the words of a column, whatever the run."""
    symbol, axis = _WORDS.get(name, ("", ""))
    return DescribedColumn(name, symbol=symbol, axis=axis)


def described_columns(design: Design, names: Sequence[str]) -> dict[str, DescribedColumn]:
    """Return what is known of each column of a table.

    Parameters
    ----------
    design : Design
        The settings of the run.
    names : sequence of str
        The columns.
    """
    known: dict[str, DescribedColumn] = {}
    for column in (*_of_data(design), *_of_algorithms(design), *_of_protocol(design)):
        known.setdefault(column.name, column)
    known |= {name: _described(name, *texts) for name, texts in _COMMON.items()}
    # Generators of plugins need not declare their facts, which are written before the replicate.
    facts = names[: names.index("replicate")] if "replicate" in names else ()
    return {
        name: known.get(name) or _described(name, "fact" * (name in facts), "") for name in names
    }


def _described(
    name: str, kind: str, description: str, part: Part | None = None, **texts: str
) -> DescribedColumn:
    """Return a column whose description is replaced, with the part that it belongs to."""
    of = f"{part.kind} {part.name}" if part else ""
    return replace(described(name), kind=kind, description=description, of=of, **texts)


def _of_data(design: Design) -> Iterator[DescribedColumn]:
    """Yield the parameters and the facts of the generators."""
    for name in design.generators:
        part = lookup("generator", name)
        if part is not None:
            yield from _parameters(part)
            said = _documented(part)
            for fact in dict.fromkeys([*part.facts, *said]):
                yield _described(fact, "fact", said.get(fact) or _FACTS.get(fact, ""), part)


def _of_algorithms(design: Design) -> Iterator[DescribedColumn]:
    """Yield the swept parameters of algorithms."""
    for entry in design.entries:
        part = lookup("algorithm", entry.name)
        swept = {name for axis in entry.axes for name in axis}
        if swept and part is not None:
            yield from (column for column in _parameters(part) if column.name in swept)


def _parameters(part: Part) -> Iterator[DescribedColumn]:
    for name, _, _, within, description in parameter_rows(part):
        yield _described(name, "parameter", description, part, range=within)


def _of_protocol(design: Design) -> Iterator[DescribedColumn]:
    """Yield the columns of the protocol and the metrics."""
    protocol = lookup("protocol", design.protocol)
    said = _documented(protocol) if protocol else {}
    for column in design.known_measured:
        metric = lookup("metric", column.name)
        part = protocol if column.name in said else metric or protocol
        text = said.get(column.name) or (metric.summary if metric else "")
        only = [f"{name} = {', '.join(values)}" for name, values in column.only.items()]
        yield _described(column.name, column.kind, text, part, rows="; ".join(only))


def _documented(part: Part) -> dict[str, str]:
    """Return the columns that the docstring of a part describes in its section ``Columns``."""
    section = _SECTION.search(f"{inspect.getdoc(part.function) or ''}\n")
    found: dict[str, str] = {}
    for item in _ITEM.finditer(section["items"]) if section else ():
        text = " ".join(item["text"].split())
        found |= dict.fromkeys(re.split(r",\s*", item["names"].strip()), text)
    return found
