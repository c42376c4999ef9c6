"""The experiment: its settings as written in a file, and the validated experiment."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from greedyexp.experiment.design import DATA_COLUMN, DECIDED, DEFAULT_PROTOCOL, Design, design_of
from greedyexp.experiment.messages import SLUG

PROFILES = ("smoke", "quick", "paper", "deep")

Text = Annotated[str, Field(min_length=1)]


class Section(BaseModel):
    """A mapping of an experiment file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PaperReference(Section):
    """The figure or table of a paper that an experiment reproduces."""

    key: str = Field(min_length=1, description="Citation key, such as jalali2012.")
    figure: str = Field(default="", description="Figure or table, such as 'Figure 1'.")


class Until(Section):
    """Stop at a point when the interval of its success probability is narrow enough."""

    half_width: float = Field(gt=0, lt=0.5, description="Half width of the 95% interval to reach.")


class Locate(Section):
    """Place replicates where success crosses a level, until its interval is narrow enough."""

    threshold: float = Field(default=0.5, gt=0, lt=1, description="Success probability to locate.")
    of: str = Field(description="Swept data parameter along which success rises.")
    half_width: float = Field(
        gt=0, description="Half width of the 95% interval of the crossing to reach."
    )


class AdaptiveTrials(Section):
    """A rule by which the number of replicates of a point and an algorithm depends on results."""

    until: Until | Literal["decided"] | None = Field(
        default=None,
        description="Narrow the interval of every point, or 'decided': continue where claims are"
        " open, doubling the trials.",
    )
    locate: Locate | None = Field(default=None, description="Find where success crosses a level.")
    min: int = Field(
        default=20,
        ge=1,
        description="Replicates added at a time, to every point ('until') or to examined points"
        " ('locate'); with 'until: decided', the replicates of every point at the first look.",
    )
    max: int = Field(default=400, ge=1, description="Largest number of replicates of a point.")
    success: dict[str, str] = Field(
        default={}, description="Success metric of each algorithm; 'default' is for the others."
    )

    @property
    def until_decided(self) -> bool:
        """True if trials continue where claims are open."""
        return self.until == DECIDED

    def limited_to(self, algorithms: set[str]) -> AdaptiveTrials:
        """Return the rule without the success metrics of other algorithms."""
        known = {*algorithms, "default"}
        kept = {key: metric for key, metric in self.success.items() if key in known}
        return self.model_copy(update={"success": kept})


class ClaimEntry(Section):
    """A statement of a paper, and the test that decides whether it holds."""

    id: str = Field(pattern=SLUG, max_length=100, description="Unique name in the experiment.")
    quote: Text = Field(description="The words of the paper.")
    place: str = Field(default="", description="Place in the paper, such as 'Figure 1, caption'.")
    test: Text | Annotated[list[Text], Field(min_length=1)] = Field(
        description="A condition such as 'threshold(a) < threshold(b)', or several."
    )
    where: dict[str, Any] = Field(
        default={}, description="Column: value or list of values; the rows to use."
    )
    margin: float | None = Field(
        default=None, gt=0, description="Half width of equality; required for ==, else not allowed."
    )
    figure: str = Field(
        default="", description="Figure; p-values of its claims are corrected for their number."
    )
    exhaustive: bool = Field(
        default=False,
        description="The claim is about exactly the data sets of the run; for always and usually.",
    )
    note: str = Field(default="", description="How the words become the test, and why.")


class Reading(Section):
    """An ambiguity of the paper, and its resolution."""

    printed: Text = Field(description="The words of the paper.")
    used: Text = Field(description="The choice of the experiment.")
    because: Text = Field(description="The reason.")


class Settings(Section):
    """The top level of an experiment file."""

    name: str = Field(
        pattern=SLUG,
        max_length=100,
        description="Names the results folder: letters, digits, '-' and '_'.",
    )
    description: str = Field(default="", description="Purpose of the experiment, for readers.")
    paper: PaperReference | None = Field(default=None, description="Paper and figure to reproduce.")
    seed: int = Field(
        default=0, ge=0, lt=2**63, description="Root of every random stream of the experiment."
    )
    trials: Annotated[int, Field(ge=1)] | AdaptiveTrials = Field(
        default=1, description="Replicates of every point of the sweep, or an adaptive rule."
    )
    time_limit: float | None = Field(
        default=None,
        gt=0,
        description="Seconds for one algorithm on one replicate; empty for no limit.",
    )
    protocol: str | dict[str, Any] = Field(
        default=DEFAULT_PROTOCOL,
        description="Evaluation of algorithms: a name, or name: {parameters}.",
    )
    plugins: list[str] = Field(
        default=[], description="Python files that register parts, relative to the experiment file."
    )
    data: dict[str, Any] | Annotated[list[Any], Field(min_length=1)] = Field(
        description="A generator, its parameters and their sweep; or a list of such blocks."
    )
    algorithms: list[Any] = Field(min_length=1, description="Names, or name: {parameters}.")
    metrics: list[str] = Field(default=[], description="Names of metrics, one column each.")
    figures: list[Any] = Field(default=[], description="Names, or name: {parameters}.")
    tables: list[Any] = Field(default=[], description="Names, or name: {parameters}.")
    claims: list[Any] = Field(default=[], description="Statements of the paper, each with a test.")
    readings: list[Any] = Field(
        default=[], description="Ambiguities of the paper and their resolution."
    )
    profiles: dict[str, Any] = Field(
        default={},
        description="Changes for smoke, quick, paper and deep runs, merged over the rest.",
    )


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
        return yaml.safe_dump({**self.resolved, **named}, sort_keys=False, allow_unicode=True)
