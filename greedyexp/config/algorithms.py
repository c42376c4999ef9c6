"""The ``algorithms:`` section: each entry, its sweep and its tuning."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydantic_core import to_jsonable_python

from greedyexp.config.asking import guarded
from greedyexp.config.blocks import MAX_ROWS
from greedyexp.config.compatibility import (
    refuse_needs_for,
    refuse_parameters,
    refuse_part,
    refuse_tuning,
)
from greedyexp.config.data import Data
from greedyexp.config.document import Document
from greedyexp.config.entries import Entry, label_of, read_entries, refuse_label
from greedyexp.config.mistakes import Keys, Mistakes
from greedyexp.config.model import TUNINGS, AlgorithmSpec
from greedyexp.config.protocol import Protocol
from greedyexp.config.settings import find_part, read_fixed, refuse_both, refuse_incomplete
from greedyexp.config.sweep import combinations, read_axes, size
from greedyexp.core.errors import did_you_mean
from greedyexp.core.parts import YIELDS, Algorithm
from greedyexp.core.registry import parts
from greedyexp.experiment.design import variant_of
from greedyexp.experiment.messages import show
from greedyexp.experiment.parameters import Parameters

DEFAULT_FOLDS = 5


@dataclass(frozen=True)
class Algorithms:
    """The algorithms of an experiment.

    Parameters
    ----------
    specs : list of AlgorithmSpec
        Sorted by label.
    resolved : list
        The section with defaults filled in.
    """

    specs: list[AlgorithmSpec]
    resolved: list

    @property
    def named(self) -> set[str]:
        """All that a file may call them: labels, those of their entries, registered names."""
        return {name for spec in self.specs for name in (spec.name, spec.label, spec.entry)}


def read_algorithms(
    doc: Document, protocol: Protocol | None, data: Data | None, trials: int, mistakes: Mistakes
) -> Algorithms:
    """The algorithms, those with mistakes left out and noted.

    Parameters
    ----------
    doc : Document
        Settings after profile and overrides.
    protocol : Protocol or None
        What evaluates them; None when that is not known, and then not compared.
    data : Data or None
        What they will run on; None when that is not known, and then not compared.
    trials : int
        Replicates of each point; bounds the number of rows.
    """
    specs: dict[str, AlgorithmSpec] = {}
    resolved = []
    for entry in read_entries(doc, "algorithms", mistakes):
        found, entry_resolved = _read_entry(entry, doc, protocol, data, trials, mistakes)
        resolved.append(entry_resolved)
        for spec in found:
            if spec.label in specs:
                mistakes.add(
                    doc.place(entry.keys),
                    f"two algorithms have the label '{spec.label}'.",
                    "Give one of them a 'label:'.",
                )
            specs[spec.label] = spec
    _refuse_size(len(specs), data, trials, doc, mistakes)
    return Algorithms([specs[label] for label in sorted(specs)], resolved)


def _refuse_size(
    count: int, data: Data | None, trials: int, doc: Document, mistakes: Mistakes
) -> None:
    points = 1 if data is None else len(data.points)
    if points * trials * count > MAX_ROWS:
        mistakes.add(
            doc.place(("algorithms",)),
            f"{points} points, {trials} trials and {count} algorithms make more than"
            f" {MAX_ROWS} rows.",
            "Sweep fewer values or lower trials.",
        )


def _read_entry(
    entry: Entry,
    doc: Document,
    protocol: Protocol | None,
    data: Data | None,
    trials: int,
    mistakes: Mistakes,
) -> tuple[list[AlgorithmSpec], dict]:
    before = len(mistakes.found)
    part = find_part(Algorithm, entry.name, entry.keys, doc, mistakes)
    if part is None:
        return [], {}
    parameters = Parameters(part)
    written, keys = entry.settings, entry.keys
    fixed = read_fixed(written, keys, parameters, doc, mistakes, reserved=Algorithm.reserved_keys)
    axes = read_axes(written.get("sweep"), (*keys, "sweep"), parameters, doc, mistakes)
    names = {name for axis in axes for name in axis.names}
    refuse_both(written, names, keys, doc, mistakes)
    refuse_label(written.get("label", entry.name), (*keys, "label"), doc, mistakes)
    _refuse_protocol(part, protocol, keys, doc, mistakes)
    tuned = part.takes_grid and (protocol is None or protocol.part.tunes)
    tuning = _tuning(part, entry, data, doc, mistakes) if tuned else "none"
    if not tuned:
        _refuse_tuned(part, protocol, entry, doc, mistakes)
    folds = _folds(entry, doc, mistakes) if tuned else DEFAULT_FOLDS
    if data is not None:
        refuse_part(part, data, keys, doc, mistakes)
    if len(mistakes.found) == before:
        refuse_incomplete(parameters, names | fixed.keys(), keys, doc, mistakes)
        _refuse_size(size(axes), data, trials, doc, mistakes)
    if len(mistakes.found) > before:
        return [], {}
    rows = [axis.rows(parameters, doc, mistakes) for axis in axes]
    if len(mistakes.found) > before:
        return [], {}
    constant = {**parameters.defaults, **fixed}
    spec = AlgorithmSpec(part.name, label_of(entry), label_of(entry), constant, {}, tuning, folds)
    specs = [_vary(spec, combo, parameters.names) for combo in combinations(axes, rows)]
    _refuse_rowless_folds(specs, keys, doc, mistakes)
    if data is not None:
        refuse_parameters(part, specs, data, keys, doc, mistakes)
    if protocol is not None:
        _refuse_unfit(specs, protocol, keys, doc, mistakes)
        asked = protocol.part, protocol.spec.params
        if data is not None and len(mistakes.found) == before:
            refuse_needs_for(*asked, specs, data, keys, doc, mistakes)
    shown = {k: to_jsonable_python(v) for k, v in constant.items() if k not in names}
    if tuned:
        shown |= {"tuning": tuning, "folds": folds}
    shown |= {key: written[key] for key in ("label", "sweep") if written.get(key) is not None}
    return specs, {part.name: shown}


def _vary(spec: AlgorithmSpec, combo: dict, names: list[str]) -> AlgorithmSpec:
    """Return the algorithm with one choice of its swept parameters."""
    swept = {name: combo[name] for name in names if name in combo}
    return replace(
        spec,
        label=variant_of(spec.entry, swept).label,
        params={name: combo.get(name, spec.params.get(name)) for name in names},
        swept=swept,
    )


def _refuse_protocol(
    part: Algorithm, protocol: Protocol | None, keys: Keys, doc: Document, mistakes: Mistakes
) -> None:
    """Note that the protocol does not take what the algorithm gives."""
    given = part.yields
    if protocol is None or given == protocol.part.takes:
        return
    fitting = [name for name, one in parts("protocol").items() if one.takes == given]
    remedies = [f"Use protocol {' or '.join(fitting)}."] if fitting else []
    if not part.function.__module__.startswith("greedyexp."):
        remedies.append("What a plugin's algorithm makes is told by @algorithm(..., yields=...).")
    mistakes.add(
        doc.place(keys),
        f"algorithm '{part.name}' makes {YIELDS[given]}, which protocol '{protocol.part.name}'"
        " does not take.",
        " ".join(remedies),
    )


def _refuse_rowless_folds(
    specs: list[AlgorithmSpec], keys: Keys, doc: Document, mistakes: Mistakes
) -> None:
    """Note folds of rows for an algorithm that does not look at rows."""
    for spec in specs:
        if spec.tuning == "cv" and spec.params.get("risk") == "population":
            mistakes.add(
                doc.place(keys),
                f"cross-validation of algorithm '{spec.label}' needs risk: sample, since folds of"
                " rows have no moments of their own.",
                "Use risk: sample, or tuning: oracle.",
            )
            return


def _refuse_unfit(
    specs: list[AlgorithmSpec], protocol: Protocol, keys: Keys, doc: Document, mistakes: Mistakes
) -> None:
    """Note the first algorithm that cannot give what the protocol asks for."""
    check, place = protocol.part.check, doc.place(keys)
    for spec in specs if check is not None else ():
        with guarded("check", protocol.part, place):
            try:
                check(spec.params, **protocol.spec.params)
            except ValueError as error:
                said = str(error).rstrip(".")
                mistakes.add(
                    place,
                    f"impossible parameters of algorithm '{spec.label}' for protocol"
                    f" '{protocol.part.name}': {said}.",
                )
                return


def _refuse_tuned(
    part: Algorithm, protocol: Protocol | None, entry: Entry, doc: Document, mistakes: Mistakes
) -> None:
    """Note what an entry says of a tuning where there is none to choose."""
    why = f"algorithm '{part.name}' has no path to tune."
    if part.takes_grid and protocol is not None:
        why = f"protocol '{protocol.part.name}' tunes no algorithm."
    for name in ("tuning", "folds"):
        if entry.settings.get(name) is not None:
            mistakes.add(doc.place((*entry.keys, name)), why, f"Remove '{name}'.")


def _tuning(
    part: Algorithm, entry: Entry, data: Data | None, doc: Document, mistakes: Mistakes
) -> str:
    keys: Keys = (*entry.keys, "tuning")
    tuning = entry.settings.get("tuning")
    if tuning is None:
        tuning = "oracle" if data is None or data.all_have("truth") else "cv"
    if tuning not in TUNINGS:
        mistakes.add(
            doc.place(keys),
            f"tuning must be one of {', '.join(TUNINGS)}, but is {show(tuning)}.",
            did_you_mean(tuning, TUNINGS) if isinstance(tuning, str) else "",
        )
    elif data is not None:
        refuse_tuning(part, tuning, data, keys, doc, mistakes)
    return tuning


def _folds(entry: Entry, doc: Document, mistakes: Mistakes) -> int:
    if "folds" not in entry.settings:
        return DEFAULT_FOLDS
    folds, place = entry.settings["folds"], doc.place((*entry.keys, "folds"))
    if isinstance(folds, bool) or not isinstance(folds, int) or folds < 2:
        mistakes.add(place, f"folds must be a whole number of at least 2, but is {show(folds)}.")
    return folds
