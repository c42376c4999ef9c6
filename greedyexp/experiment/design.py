"""The settings of a run: sweeps, labels of the table, columns of the protocol.

A design is made from the resolved settings of an experiment, in memory or from ``config.yaml`` in
a run folder. It needs neither the data nor the plugins of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field

from greedyexp.core.errors import ConfigError, StorageError
from greedyexp.core.parts import Figure
from greedyexp.core.registry import find
from greedyexp.core.yaml_text import load_yaml
from greedyexp.experiment.messages import dotted
from greedyexp.experiment.parameters import BadValue, Parameters, model_adapter, read_value
from greedyexp.experiment.sweep import Axes, axes_of, columns_of_axes
from greedyexp.experiment.variants import Entry, Variant, variants_of
from greedyexp.protocols.base import Measured
from greedyexp.stats.looks import Looks

DEFAULT_PROTOCOL = "recovery"
# Column of the table for the labels of several blocks of data.
DATA_COLUMN = "data"
# Value of `trials.until`: continue until the claims are decided.
DECIDED: Final = "decided"
_RESTORE = "Restore the file, or run the experiment again."


Written = TypeVar("Written")
Listed = TypeVar("Listed")


class _Settings(BaseModel):
    """Settings that figures, tables and verdicts need; the others are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class _Rule(_Settings):
    until: Any = None
    min: Annotated[int, Field(ge=1)] = 1
    max: Annotated[int, Field(ge=1)]
    success: dict[str, str] = {}


class _Paper(_Settings):
    key: str = ""
    figure: str = ""


class _Swept(_Settings):
    sweep: dict[str, list[Any] | dict[str, Any]] | None = None


class _Block(_Swept):
    generator: str = ""
    label: str | None = None


class _Algorithm(_Swept):
    label: str | None = None


_OneAlgorithm = Annotated[dict[str, _Algorithm | None], Field(min_length=1, max_length=1)]
_OnePart = Annotated[dict[str, dict[str, Any] | None], Field(min_length=1, max_length=1)]


class _Stored(_Settings):
    """The structure of ``config.yaml``."""

    name: str
    trials: Annotated[int, Field(ge=1)] | _Rule
    paper: _Paper | None = None
    plugins: list[str] = []
    protocol: str | _OnePart = DEFAULT_PROTOCOL
    data: _Block | Annotated[list[_Block], Field(min_length=1)]
    algorithms: list[str | _OneAlgorithm]
    metrics: list[str] = []
    figures: list[str | _OnePart] = []
    tables: list[str | _OnePart] = []


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
    _stored: _Stored

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return self._stored.name

    @property
    def trials(self) -> int:
        """Replicates of each point; the largest number allowed if ``adaptive``."""
        trials = self._stored.trials
        return trials if isinstance(trials, int) else trials.max

    @property
    def adaptive(self) -> bool:
        """True if the results decide how many replicates a point gets."""
        return not isinstance(self._stored.trials, int)

    @property
    def looks(self) -> Looks | None:
        """The looks after which claims decide which points get more trials; None if they do not."""
        trials = self._stored.trials
        if isinstance(trials, int) or trials.until != DECIDED:
            return None
        return Looks(trials.min)

    @property
    def success(self) -> Mapping[str, str]:
        """The success metrics of a rule for trials, by label or name; empty without a rule."""
        trials = self._stored.trials
        return {} if isinstance(trials, int) else trials.success

    @property
    def source(self) -> str:
        """The paper and figure to reproduce, such as ``jalali2012, Figure 1``; may be empty."""
        paper = self._stored.paper or _Paper()
        return ", ".join(text for text in (paper.key, paper.figure) if text)

    @property
    def family(self) -> str:
        """Default figure of claims: the figure of the paper, or the name of the experiment."""
        return (self._stored.paper or _Paper()).figure or self.name

    @property
    def plugins(self) -> list[str]:
        """Paths of the plugins as written."""
        return self._stored.plugins

    @cached_property
    def entries(self) -> list[Entry]:
        """The entries of ``algorithms`` in the order of the file."""
        entries = []
        for item in self._stored.algorithms:
            name, written = entry_of(item)
            params = written or _Algorithm()
            entries.append(Entry(name, params.label or name, params.sweep or {}))
        return entries

    @cached_property
    def variants(self) -> dict[str, Variant]:
        """The algorithms of the table by their label.

        If the algorithm is no longer registered or its parameters have changed, a variant is listed
        under every spelling that its label may have in the table.
        """
        return variants_of(self.entries)

    def variant(self, label: str) -> Variant:
        """Return the variant with this label; an unknown label is treated as an entry."""
        return self.variants.get(label, Variant(label))

    def drawn(self, kind: str) -> list[tuple[str, dict[str, Any]]]:
        """Return name and parameters of each ``figure`` or ``table``."""
        items = self._stored.figures if kind == "figure" else self._stored.tables
        return [
            (name, {key: value for key, value in (params or {}).items() if not _is_text(kind, key)})
            for name, params in map(entry_of, items)
        ]

    def texts(self, kind: str) -> list[dict[str, str]]:
        """Return ``title`` and ``caption`` of each ``figure`` or ``table``, as far as given."""
        items = self._stored.figures if kind == "figure" else self._stored.tables
        return [
            {key: str(value) for key, value in (params or {}).items() if _is_text(kind, key)}
            for _, params in map(entry_of, items)
        ]

    @cached_property
    def data_axes(self) -> Axes:
        """The swept data columns; first ``data`` if the data are a list of blocks."""
        data = self._stored.data
        if isinstance(data, _Block):
            return axes_of(data.sweep)
        axes = (axis for block in data for axis in axes_of(block.sweep))
        return ((DATA_COLUMN,), *dict.fromkeys(axes))

    @property
    def generators(self) -> list[str]:
        """Registered names of the generators, without repetition."""
        data = self._stored.data
        blocks = data if isinstance(data, list) else [data]
        return list(dict.fromkeys(block.generator for block in blocks))

    @property
    def protocol(self) -> str:
        """Registered name of the protocol."""
        return entry_of(self._stored.protocol)[0]

    @cached_property
    def words(self) -> dict[str, list[str]]:
        """The labels of data blocks and the text values of swept parameters, in file order."""
        data = self._stored.data
        blocks = data if isinstance(data, list) else [data]
        words = {DATA_COLUMN: [block.label or block.generator for block in blocks]}
        for sweep in (*(block.sweep for block in blocks), *(one.sweep for one in self.entries)):
            groups = [one for one in columns_of_axes(sweep or {}) if isinstance(one, Mapping)]
            for group in groups:
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
        name, params = entry_of(self._stored.protocol)
        part = find("protocol", name)
        metrics = [find("metric", metric) for metric in self._stored.metrics]
        try:
            return list(part.columns(metrics, **Parameters(part).read_all(params or {})))
        except ValueError as error:
            reason = str(error).rstrip(".")
            raise ConfigError(f"impossible parameters of protocol '{name}': {reason}.") from None


def design_of(settings: Mapping[str, Any], profile: str = "") -> Design:
    """Return the design that resolved settings describe.

    Raises
    ------
    BadValue
        If a key is missing or has a value of another type. The parameters of parts and the values
        of sweeps are not checked.
    """
    known = {key: settings[key] for key in _Stored.model_fields if key in settings}
    return Design(settings, profile, read_value(model_adapter(_Stored), known, ""))


def read_design(text: str, path: Path, profile: str) -> Design:
    """Return the design in the ``config.yaml`` of a run folder.

    Raises
    ------
    StorageError
        If the file is damaged, with the key that is missing or has a value of another type.
    """
    try:
        settings = load_yaml(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise _damaged(path, f"not a readable configuration ({reason}).") from None
    if not isinstance(settings, dict) or "name" not in settings:
        raise _damaged(path, "this is not the configuration of a run.")
    try:
        design = design_of(settings, profile)
    except BadValue as error:
        keys, message, remedy = error.found[0]
        where = f"{path}: {dotted(keys)}" if keys else str(path)
        raise StorageError(message, place=where, remedy=remedy or _RESTORE) from None
    if settings.get("protocol", DEFAULT_PROTOCOL) == DEFAULT_PROTOCOL and "metrics" not in settings:
        raise _damaged(path, "'metrics' is missing.")
    return design


def _damaged(path: Path, wrong: str) -> StorageError:
    return StorageError(wrong, place=str(path), remedy=_RESTORE)


def entry_of(item: str | Mapping[str, Written]) -> tuple[str, Written | None]:
    """Return name and settings of an entry, which may be a bare name."""
    return (item, None) if isinstance(item, str) else next(iter(item.items()))


def _is_text(kind: str, key: str) -> bool:
    """Return True for a key of a figure that is no parameter; tables have parameters only."""
    return kind == "figure" and key in Figure.reserved_keys


def by_stem(listed: Iterable[tuple[str, Listed]]) -> dict[str, tuple[str, Listed]]:
    """Return figures or tables, given as (name, settings), by the names of their files.

    The files of the second figure of a name end in ``_2``.
    """
    count: dict[str, int] = {}
    stems = {}
    for name, settings in listed:
        count[name] = count.get(name, 0) + 1
        stems[name if count[name] == 1 else f"{name}_{count[name]}"] = name, settings
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
