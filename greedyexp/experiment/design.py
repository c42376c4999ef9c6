"""The settings of a run: sweeps, labels of the table, columns of the protocol.

A design is made from the resolved settings of an experiment, in memory or from ``config.yaml`` in
a run folder. It needs neither the data nor the plugins of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count
from pathlib import Path
from typing import Any, TypeVar

from greedyexp.core.errors import ConfigError, StorageError, message_of
from greedyexp.core.parts import Figure, Generator
from greedyexp.core.registry import find, lookup
from greedyexp.core.stored import RESTORE
from greedyexp.core.yaml_text import load_yaml
from greedyexp.experiment.messages import dotted
from greedyexp.experiment.parameters import BadValue, Parameters, model_adapter, read_value
from greedyexp.experiment.resampling import INDEPENDENT, Resampling, Source
from greedyexp.experiment.settings import DECIDED as DECIDED
from greedyexp.experiment.settings import DEFAULT_PROTOCOL as DEFAULT_PROTOCOL
from greedyexp.experiment.settings import Entry, Settings
from greedyexp.experiment.sweep import Axes, columns_of_axes, values_by_name, values_of_sweep
from greedyexp.experiment.variants import Variant, variant_in, variants_of
from greedyexp.protocols.base import Measured
from greedyexp.stats.multiplicity import Looks

# Column of the table for the labels of several blocks of data.
DATA_COLUMN = "data"


Written = TypeVar("Written")
Listed = TypeVar("Listed")


@dataclass(frozen=True)
class Design:
    """The settings of one run; see ``design_of``.

    Parameters
    ----------
    settings : mapping
        The resolved settings.
    profile : str
        ``smoke``, ``quick``, ``paper`` or ``deep``, with the changes of the command line.
    """

    settings: Mapping[str, Any]
    profile: str
    _read: Settings

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return self._read.name

    @property
    def trials(self) -> int:
        """Replicates of each point; the largest number allowed if ``adaptive``."""
        trials = self._read.trials
        return trials if isinstance(trials, int) else trials.max

    @property
    def adaptive(self) -> bool:
        """True if the results decide how many replicates a point gets."""
        return not isinstance(self._read.trials, int)

    @property
    def looks(self) -> Looks | None:
        """The looks after which claims decide which points get more trials; None if they do not."""
        trials = self._read.trials
        if isinstance(trials, int) or not trials.until_decided:
            return None
        return Looks(trials.min)

    @property
    def success(self) -> Mapping[str, str]:
        """The success metrics of a rule for trials, by label or name; empty without a rule."""
        return getattr(self._read.trials, "success", {})

    @property
    def source(self) -> str:
        """The paper and figure to reproduce, such as ``jalali2012, Figure 1``; may be empty."""
        paper = self._read.paper
        return ", ".join(filter(None, (paper.key, paper.figure))) if paper else ""

    @property
    def family(self) -> str:
        """Default figure of claims: the figure of the paper, or the name of the experiment."""
        paper = self._read.paper
        return (paper.figure if paper else "") or self.name

    @property
    def plugins(self) -> list[str]:
        """Paths of the plugins as written."""
        return self._read.plugins

    @property
    def parts(self) -> list[tuple[str, str, list[str]]]:
        """Kind and registered name of every part, and the parameters of generators and protocol."""
        found: dict[tuple[str, str], list[str]] = {}
        for block in self._read.data:
            given = [key for key in block.settings if key not in Generator.reserved_keys]
            given += [name for axis in block.axes for name in axis]
            found.setdefault(("generator", block.name), []).extend(given)
        found |= {("algorithm", entry.name): [] for entry in self.entries}
        for entry in self.entries:
            for values in (entry.settings, *values_of_sweep(entry.settings.get("sweep"))):
                if isinstance(values.get("loss"), str):
                    found["loss", values["loss"]] = []
        found["protocol", self.protocol] = [*self._read.protocol.settings]
        found |= {("metric", name): [] for name in self._read.metrics}
        found |= {("figure", entry.name): [] for entry in self._read.figures}
        found |= {("table", entry.name): [] for entry in self._read.tables}
        return [(kind, name, [*dict.fromkeys(given)]) for (kind, name), given in found.items()]

    @property
    def entries(self) -> list[Entry]:
        """The entries of ``algorithms`` in the order of the file."""
        return self._read.algorithms

    @cached_property
    def _variants(self) -> list[tuple[Entry, list[Variant] | None]]:
        # The label of an entry goes before those that a sweep makes.
        ordered = sorted(self.entries, key=lambda entry: bool(entry.axes))
        return [(entry, variants_of(entry)) for entry in ordered]

    @cached_property
    def variants(self) -> dict[str, Variant]:
        """The algorithms of the table by their label, as far as they are registered."""
        known = [variant for _, variants in self._variants for variant in variants or ()]
        return {variant.label: variant for variant in reversed(known)}

    def variant(self, label: str) -> Variant:
        """Return the variant with this label; an unknown label is treated as an entry."""
        gone = [entry for entry, variants in self._variants if variants is None]
        return self.variants.get(label) or variant_in(gone, label)

    def drawn(self, kind: str) -> list[tuple[str, dict[str, Any]]]:
        """Return name and parameters of each ``figure`` or ``table``."""
        return [
            (name, {key: value for key, value in settings.items() if not _is_text(kind, key)})
            for name, settings in self._displays(kind)
        ]

    def texts(self, kind: str) -> list[dict[str, str]]:
        """Return ``title`` and ``caption`` of each ``figure`` or ``table``, as far as given."""
        return [
            {key: str(value) for key, value in settings.items() if _is_text(kind, key)}
            for _, settings in self._displays(kind)
        ]

    def _displays(self, kind: str) -> list[tuple[str, Mapping[str, Any]]]:
        entries = self._read.figures if kind == "figure" else self._read.tables
        return [(entry.name, entry.settings) for entry in entries]

    @cached_property
    def data_axes(self) -> Axes:
        """The swept data columns; first ``data`` if the data are a list of blocks."""
        axes = tuple(dict.fromkeys(axis for block in self._read.data for axis in block.axes))
        return ((DATA_COLUMN,), *axes) if self._listed else self._read.data[0].axes

    @property
    def _listed(self) -> bool:
        return isinstance(self.settings["data"], list)

    @property
    def generators(self) -> list[str]:
        """Registered names of the generators, without repetition."""
        return list(dict.fromkeys(block.name for block in self._read.data))

    @cached_property
    def resampling(self) -> Resampling:
        """Which replicates are drawn from the rows of one finite data set."""
        sources = []
        for block in self._read.data:
            part = lookup("generator", block.name)
            if part is not None and part.left_out is not None:
                known = part.parameters.model_fields
                params = {key: value for key, value in block.settings.items() if key in known}
                swept = tuple(name for axis in block.axes for name in axis)
                where = {DATA_COLUMN: block.settings["label"]} if self._listed else {}
                sources.append(Source(part, params, swept, where))
        if not sources:
            return INDEPENDENT
        measured = self.known_measured
        held_out = {column.name: column.held_out for column in measured}
        shares = frozenset(column.name for column in measured if column.share_of_rows)
        return Resampling(tuple(sources), held_out, shares)

    @property
    def protocol(self) -> str:
        """Registered name of the protocol."""
        return self._read.protocol.name

    @cached_property
    def given(self) -> dict[tuple[str, str, str], list[Any]]:
        """The values of parameters that are given or swept, and the labels of data blocks.

        A key has the column and the value that choose the rows, both empty for all rows, and the
        column of the values.
        """
        several = isinstance(self.settings["data"], list)
        found: dict[tuple[str, str, str], list[Any]] = {}
        for block in self._read.data:
            rows = (DATA_COLUMN, block.label) if several else ("", "")
            names = block.settings.keys() - {*Generator.reserved_keys}
            fixed = {name: [block.settings[name]] for name in names}
            swept = values_by_name(block.settings.get("sweep"))
            for name, values in (fixed | swept).items():
                found.setdefault((*rows, name), []).extend(values)
            if several:
                found.setdefault(("", "", DATA_COLUMN), []).append(block.label)
        for entry in self.entries:
            for name, values in values_by_name(entry.settings.get("sweep")).items():
                found.setdefault(("algorithm", entry.label, name), []).extend(values)
        return found

    @cached_property
    def words(self) -> dict[str, list[str]]:
        """The labels of data blocks and the text values of swept parameters, in file order."""
        words = {DATA_COLUMN: [block.label for block in self._read.data]}
        for entry in (*self._read.data, *self.entries):
            for group in columns_of_axes(entry.settings.get("sweep")):
                for name, values in group.items():
                    listed = values if isinstance(values, list) else []
                    words.setdefault(name, []).extend(v for v in listed if isinstance(v, str))
        return words

    @cached_property
    def measured(self) -> list[Measured]:
        """The columns that the protocol gives.

        Raises
        ------
        ConfigError
            If the protocol or a metric is not registered, or its parameters are impossible.
        """
        name, params = self.protocol, self._read.protocol.settings
        part = find("protocol", name)
        metrics = [find("metric", metric) for metric in self._read.metrics]
        try:
            return list(part.columns(metrics, **Parameters(part).read_all(params)))
        except ValueError as error:
            reason = message_of(error).rstrip(".")
            raise ConfigError(f"impossible parameters of protocol '{name}': {reason}.") from None

    @property
    def known_measured(self) -> list[Measured]:
        """The columns that the protocol gives.

        None if a plugin of the run is missing, or the protocol was edited since.
        """
        with suppress(ConfigError):
            return self.measured
        return []


def design_of(settings: Mapping[str, Any], profile: str = "") -> Design:
    """Return the design that resolved settings describe.

    Raises
    ------
    BadValue
        If a key is missing or has a value of another type. The parameters of parts and the values
        of sweeps are not checked.
    """
    # Claims are read where they are judged, so that a wrong one hides no rows.
    known = {key: settings[key] for key in Settings.model_fields if key in settings}
    known.pop("claims", None)
    return Design(settings, profile, read_value(model_adapter(Settings), known, ""))


def read_design(text: str, path: Path, profile: str) -> Design:
    """Return the design in the ``config.yaml`` of a run folder.

    Raises
    ------
    StorageError
        If the file is damaged, with the key that is missing or has a value of another type.
    """
    try:
        settings = load_yaml(text)
    except ConfigError as error:
        reason = message_of(error).rstrip(".")
        raise _damaged(path, f"not a readable configuration ({reason}).") from None
    if not isinstance(settings, dict) or "name" not in settings:
        raise _damaged(path, "this is not the configuration of a run.")
    try:
        design = design_of(settings, profile)
    except BadValue as error:
        keys, message, remedy = error.found[0]
        where = f"{path}: {dotted(keys)}" if keys else str(path)
        raise StorageError(message, place=where, remedy=remedy or RESTORE) from None
    needed = ["trials"]
    if settings.get("protocol", DEFAULT_PROTOCOL) == DEFAULT_PROTOCOL:
        needed.append("metrics")
    for key in needed:
        if key not in settings:
            raise _damaged(path, f"'{key}' is missing.")
    return design


def _damaged(path: Path, wrong: str) -> StorageError:
    return StorageError(wrong, place=str(path), remedy=RESTORE)


def entry_of(item: str | Mapping[str, Written]) -> tuple[str, Written | None]:
    """Return name and settings of an entry, which may be a bare name."""
    return (item, None) if isinstance(item, str) else next(iter(item.items()))


def _is_text(kind: str, key: str) -> bool:
    """Return True for a key of a figure that is no parameter; tables have parameters only."""
    return kind == "figure" and key in Figure.reserved_keys


def by_stem(listed: Iterable[tuple[str, Listed]]) -> dict[str, tuple[str, Listed]]:
    """Return figures or tables, given as (name, settings), by the names of their files.

    The files of the second figure of a name end in ``_2``, unless another one has this name.
    """
    stems: dict[str, tuple[str, Listed]] = {}
    for name, settings in listed:
        numbered = chain([name], (f"{name}_{number}" for number in count(2)))
        stems[next(stem for stem in numbered if stem not in stems)] = name, settings
    return stems


def success_metric(success: Mapping[str, str], label: str, name: str) -> str | None:
    """Return the metric by which an algorithm succeeds.

    Parameters
    ----------
    success : mapping of str to str
        Metric by label or registered name; ``default`` for the others.
    label, name : str
        Label and registered name of the algorithm.

    Returns
    -------
    str or None
        None if the mapping has neither the algorithm nor a default.
    """
    return success.get(label, success.get(name, success.get("default")))
