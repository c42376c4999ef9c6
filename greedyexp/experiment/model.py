"""The validated experiment."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from greedyexp.core.yaml_text import dump_yaml
from greedyexp.experiment.design import DATA_COLUMN, Design, design_of
from greedyexp.experiment.settings import AdaptiveTrials, ClaimEntry, PaperReference


@dataclass(frozen=True)
class Point:
    """The generator and the parameters of one data set.

    Parameters
    ----------
    generator : str
        Registered name of the generator.
    params : dict
        Every parameter, validated, in the order of the generator's signature.
    label : str or None
        Label of the block of data; None if the data are one mapping.
    """

    generator: str
    params: dict[str, Any]
    label: str | None = None

    @property
    def cells(self) -> dict[str, Any]:
        """Column -> value: the parameters, and the label in the column ``data``."""
        return self.params if self.label is None else {DATA_COLUMN: self.label, **self.params}


@dataclass(frozen=True)
class AlgorithmSpec:
    """One algorithm with all its parameters.

    Parameters
    ----------
    name : str
        The registered name.
    label : str
        Label in rows and figures; unique in the experiment.
    entry : str
        Label of the entry that the algorithm belongs to.
    params : dict
        Every parameter, validated.
    swept : dict
        Values of the parameters in the ``sweep:`` of the entry; each parameter is a column.
    tuning : {"none", "oracle", "cv", "ebic_robust", "theory", "end"}
        Rule that chooses a point of the path; "none" for algorithms without a path.
    folds : int
        Folds of cross-validation.
    """

    name: str
    label: str
    entry: str
    params: dict[str, Any]
    swept: dict[str, Any]
    tuning: str
    folds: int


@dataclass(frozen=True)
class PartSpec:
    """A protocol, a figure or a table with all its parameters."""

    name: str
    params: dict[str, Any]


@dataclass(frozen=True)
class Experiment:
    """A validated experiment.

    Parameters
    ----------
    name, profile, description : str
        Name, which is also that of the results folder; profile; and a free text.
    paper : PaperReference or None
        The paper and figure to reproduce.
    seed : int, >= 0
        Root of every random stream.
    trials : int, >= 1
        Replicates of each point; the largest number if ``adaptive``.
    adaptive : AdaptiveTrials or None
        The rule that determines the number of replicates of a point from its results.
    time_limit : float or None
        Seconds for one algorithm on one replicate.
    protocol : PartSpec
        Evaluates the algorithms.
    points : list of Point
        The points of each block of data in canonical order. They are sorted by value, column by
        column, in the order of the generator's signature. The points of a block are distinct.
    swept : list of str
        The columns of the data that take more than one value in a block, and ``data`` if there are
        several blocks, in the order of the CSV.
    algorithms : list of AlgorithmSpec
        Sorted by label.
    metrics : list of str
        Registered names as written, one column of the CSV each.
    figures, tables : list of PartSpec
        As written.
    claims : list of ClaimEntry
        As written. The default of ``figure`` is the figure of the paper or else ``name``.
    dropped : dict of str to str
        Maps the id of each claim that does not apply after the changes of the command line to the
        reason.
    plugins : list of str
        Absolute paths of the plugin files.
    folder : Path
        Folder of the file, or the working directory; relative paths start here.
    variant : str
        Suffix of the profile in the name of the results folder, such as ``+noise_std=0.5``; empty
        if the experiment is as in its file.
    resolved : dict
        The settings after profile and overrides, as plain data, with the defaults of data and
        algorithms filled in. Loading them gives the same experiment.
    whole : Experiment or None
        The experiment before ``only`` narrowed it.
    """

    name: str
    profile: str
    description: str
    paper: PaperReference | None
    seed: int
    trials: int
    adaptive: AdaptiveTrials | None
    time_limit: float | None
    protocol: PartSpec
    points: list[Point]
    swept: list[str]
    algorithms: list[AlgorithmSpec]
    metrics: list[str]
    figures: list[PartSpec]
    tables: list[PartSpec]
    claims: list[ClaimEntry]
    dropped: dict[str, str]
    plugins: list[str]
    folder: Path = field(compare=False)
    variant: str = field(compare=False)
    resolved: dict[str, Any]
    whole: Experiment | None = field(default=None, compare=False)

    @cached_property
    def design(self) -> Design:
        """The settings that figures, tables and claims read."""
        return design_of(self.resolved, self.profile)

    @property
    def subfolder(self) -> Path:
        """The results folder, relative to ``--out``."""
        return Path(self.name) / f"{self.profile}{self.variant}"

    def as_yaml(self, plugins: list[str] | None = None) -> str:
        """Return ``resolved`` as YAML.

        Parameters
        ----------
        plugins : list of str, optional
            Paths to write instead of the absolute paths of the plugins.
        """
        named = {"plugins": plugins} if plugins else {}
        return dump_yaml({**self.resolved, **named})
