"""Facts about a run that figures and tables need in addition to its tidy table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from greedyexp.core.registry import lookup
from greedyexp.experiment.design import Design
from greedyexp.experiment.resampling import INDEPENDENT, Resampling
from greedyexp.experiment.variants import Variant
from greedyexp.results.words import short_name, told_apart
from greedyexp.stats.level import LEVEL

# Generators whose rows of coefficients belong to sensors.
_OF_SENSORS = {"casas", "simulated_home", "uci_adl"}


@dataclass(frozen=True)
class Context:
    """Facts about a run that are not in its tidy table.

    It is the second argument of every figure and table, after the tidy table.

    Parameters
    ----------
    name : str
        Name of the experiment, such as ``phase_transition``.
    profile : str
        ``smoke``, ``quick``, ``paper`` or ``deep``.
    trials : int
        Replicates of each point of the sweep; the largest number allowed if ``adaptive``. The
        table may have fewer: count its rows rather than use this number.
    source : str
        Paper and figure that the experiment reproduces, such as ``jalali2012, Figure 1``; empty if
        none is given.
    algorithms : dict of str to str
        Maps each label in the column ``algorithm`` to the registered name of the algorithm, in the
        order of the experiment file. An entry with a ``sweep`` has a label for itself, ``rmp``, and
        one for each value, ``rmp (lam=0.1)``.
    titles : dict of str to str
        Maps each of these labels to the text for legends and headings.
    adaptive : bool
        True if ``trials`` is a rule and the number of replicates of each point depended on results.
        Confidence intervals must then be valid at any stopping time.
    looks : int
        Number of looks at the claims that the largest number of trials allows, if claims decided
        which points got more trials; otherwise 0.
    words : dict of str to list of str
        Maps each swept column whose values are words to these words, in the order of the file.
    variants : dict of str to Variant
        Maps each label of an algorithm with swept parameters to its entry and these parameters.
    part : str
        Part of the run in the table, such as ``3 of 12 replicates``; empty if it is complete.
    counted : str
        What sizes count: ``features``, or what the rows of coefficients are, such as ``sensors``.
    accuracy : str
        ``relative`` if accuracies of the objective are fractions of the first gap, ``absolute`` if
        they are gaps; empty if the experiment does not say.
    resampling : Resampling
        Which replicates are drawn from the rows of one finite data set.
    successes : frozenset of str
        Columns with successes, which are 0 or 1.
    title : str
        Title of the figure; empty if it describes the rows that it shows.
    """

    name: str
    profile: str
    trials: int
    source: str
    algorithms: dict[str, str]
    titles: dict[str, str]
    adaptive: bool = False
    looks: int = 0
    words: dict[str, list[str]] = field(default_factory=dict)
    variants: dict[str, Variant] = field(default_factory=dict)
    part: str = ""
    counted: str = "features"
    accuracy: str = ""
    resampling: Resampling = INDEPENDENT
    successes: frozenset[str] = frozenset()
    title: str = ""

    @property
    def placed(self) -> bool:
        """True if successes decided where replicates were placed along a parameter."""
        return self.adaptive and not self.looks

    @property
    def confidence(self) -> float:
        """The confidence level at which intervals of all looks together have ``LEVEL``."""
        return 1 - (1 - LEVEL) / max(self.looks, 1)

    def entry(self, label: str, named: Sequence[str]) -> str:
        """Return the entry of a label if all its swept parameters are named, or else the label."""
        variant = self.variants.get(label)
        return variant.entry if variant and set(variant.swept) <= set(named) else label

    def titled(self, labels: Sequence[str], *beside: str) -> dict[str, str]:
        """Map labels to titles that differ from each other and from the texts ``beside`` them."""
        return told_apart({label: self.titles.get(label, label) for label in labels}, beside)

    def in_order(self, column: str, levels: list[str]) -> list[str]:
        """Sort the values of a column as the experiment file lists them; others come last."""
        listed = list(self.algorithms) if column == "algorithm" else self.words.get(column, [])
        places = {word: place for place, word in reversed([*enumerate(listed)])}
        return sorted(levels, key=lambda level: places.get(level, len(listed)))


def context_of(design: Design, labels: Iterable[str], part: str = "") -> Context:
    """Return the context of a run.

    Parameters
    ----------
    design : Design
        The settings of the run.
    labels : iterable of str
        Labels of the algorithms in the table.
    part : str
        Part of the run in the table; empty if it is complete.
    """
    names = {entry.label: entry.name for entry in design.entries}
    variants = [design.variant(label) for label in dict.fromkeys([*names, *labels])]
    algorithms, titles = {}, {}
    for entry, name in names.items():
        known = lookup("algorithm", name) if entry == name else None
        title = known.title if known else _words(entry, name)
        for variant in (one for one in variants if one.entry == entry):
            algorithms[variant.label] = name
            titles[variant.label] = title + _suffix_text(variant)
    return Context(
        name=design.name,
        profile=design.profile,
        trials=design.trials,
        source=design.source,
        algorithms=algorithms,
        titles=told_apart(titles),
        adaptive=design.adaptive,
        looks=0 if design.looks is None else design.looks.up_to(design.trials),
        words=design.words,
        variants={one.label: one for one in variants if one.swept},
        part=part,
        counted=_counted(design),
        accuracy=str(_setting(design, "trajectory", "accuracy") or ""),
        resampling=design.resampling,
        successes=frozenset(one.name for one in design.known_measured if one.kind == "success"),
    )


def _words(label: str, name: str) -> str:
    """Return a label as words: ``foba_gdt_by_sensor`` is ``FoBa-gdt, by sensor``."""
    known = lookup("algorithm", name)
    if " " in label or known is None:
        return label
    rest = label.removeprefix(f"{name}_").replace("_", " ")
    return f"{known.title}, {rest}" if label.startswith(f"{name}_") else rest


def _suffix_text(variant: Variant) -> str:
    """Return the swept values of a label with the names of their columns in words."""
    text = variant.suffix
    for name in variant.swept:
        text = text.replace(f"{name}=", f"{short_name(name)} = ")
    return text


def _counted(design: Design) -> str:
    """Return what the sizes of protocol ``selection`` count."""
    by_rows = _setting(design, "selection", "by") == "rows"
    return "sensors" if by_rows and set(design.generators) <= _OF_SENSORS else "features"


def _setting(design: Design, protocol: str, name: str) -> Any:
    """Return a setting of a protocol; None if the experiment does not give it."""
    protocols = design.settings.get("protocol")
    chosen = protocols.get(protocol) if isinstance(protocols, Mapping) else None
    return chosen.get(name) if isinstance(chosen, Mapping) else None
