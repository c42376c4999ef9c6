"""The typed model of an experiment: the settings as written, and the experiment they describe."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from greedyexp.claims.language import Claim
from greedyexp.config.trials import AdaptiveTrials
from greedyexp.experiment.design import Design, design_of
from greedyexp.experiment.messages import SLUG

PROFILES = ("smoke", "quick", "paper", "deep")
TUNINGS = ("oracle", "cv", "theory")


class PaperReference(BaseModel):
    """The figure or table of a paper that an experiment reproduces."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: Annotated[str, Field(min_length=1, description="Citation key, such as jalali2012.")]
    figure: Annotated[str, Field(description="Figure or table, such as 'Figure 1'.")] = ""


class Settings(BaseModel):
    """The top level of an experiment file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[
        str,
        Field(
            pattern=SLUG,
            max_length=100,
            description="Names the results folder: letters, digits, '-' and '_'.",
        ),
    ]
    description: Annotated[str, Field(description="What the experiment shows, for readers.")] = ""
    paper: Annotated[
        PaperReference | None, Field(description="The paper and figure it reproduces.")
    ] = None
    seed: Annotated[
        int, Field(ge=0, lt=2**63, description="Root of every random stream of the experiment.")
    ] = 0
    trials: Annotated[
        Annotated[int, Field(ge=1)] | AdaptiveTrials,
        Field(description="Replicates of every point of the sweep, or a rule that decides."),
    ] = 1
    time_limit: Annotated[
        float | None,
        Field(gt=0, description="Seconds for one algorithm on one replicate; empty for no limit."),
    ] = None
    protocol: Annotated[
        str | dict[str, Any],
        Field(description="How algorithms are evaluated: a name, or name: {parameters}."),
    ] = "recovery"
    plugins: Annotated[
        list[str],
        Field(description="Python files that register parts, relative to the experiment file."),
    ] = []
    data: Annotated[
        dict[str, Any] | Annotated[list[Any], Field(min_length=1)],
        Field(description="A generator, its parameters and their sweep; or a list of such blocks."),
    ]
    algorithms: Annotated[
        list[Any], Field(min_length=1, description="Names, or name: {parameters}.")
    ]
    metrics: Annotated[list[str], Field(description="Names of metrics, a column each.")] = []
    figures: Annotated[list[Any], Field(description="Names, or name: {parameters}.")] = []
    tables: Annotated[list[Any], Field(description="Names, or name: {parameters}.")] = []
    claims: Annotated[
        list[Any], Field(description="What the paper says, each with the test that decides it.")
    ] = []
    readings: Annotated[
        list[Any], Field(description="Ambiguities of the paper, and what was made of them.")
    ] = []
    profiles: Annotated[
        dict[str, Any],
        Field(description="Changes for smoke, quick, paper and deep runs, merged over the rest."),
    ] = {}


@dataclass(frozen=True)
class Point:
    """What one data set is drawn from.

    Parameters
    ----------
    generator : str
        Registered name.
    params : dict
        Every parameter, validated, in the order of the generator's signature.
    label : str or None
        The block of data it belongs to; None when the data are one mapping.
    """

    generator: str
    params: dict
    label: str | None = None

    @property
    def cells(self) -> dict:
        """Column -> value: the parameters, and the label in the column ``data``."""
        return self.params if self.label is None else {"data": self.label, **self.params}


@dataclass(frozen=True)
class AlgorithmSpec:
    """One algorithm with all its parameters.

    Parameters
    ----------
    name : str
        The registered name.
    label : str
        Its label in rows and figures; unique in the experiment.
    entry : str
        Label of the entry of the file that it belongs to.
    params : dict
        Every parameter, validated.
    swept : dict
        The parameters that vary by a ``sweep:`` inside the entry; a column each.
    tuning : {"none", "oracle", "cv", "theory"}
        How a point of its path is chosen; "none" for algorithms without a path.
    folds : int
        Folds of cross-validation.
    """

    name: str
    label: str
    entry: str
    params: dict
    swept: dict
    tuning: str
    folds: int


@dataclass(frozen=True)
class ProtocolSpec:
    """A protocol with all its parameters."""

    name: str
    params: dict


@dataclass(frozen=True)
class FigureSpec:
    """One figure or table with all its parameters."""

    name: str
    params: dict


@dataclass(frozen=True)
class Experiment:
    """What a run computes, validated.

    Parameters
    ----------
    name, profile, description : str
        Name (of the results folder too), profile and free text.
    paper : PaperReference or None
        What it reproduces.
    seed : int, >= 0
        Root of every random stream.
    trials : int, >= 1
        Replicates of each point, at most if ``adaptive``.
    adaptive : AdaptiveTrials or None
        The rule by which results decide how many replicates a point gets.
    time_limit : float or None
        Seconds for one algorithm on one replicate.
    protocol : ProtocolSpec
        How algorithms are evaluated.
    points : list of Point
        The points of each block of data in canonical order: sorted by value, column by column in
        the order of the generator's signature. No point comes twice in a block.
    swept : list of str
        The columns of the data that take more than one value in a block, and ``data`` when there
        are several blocks; in the order of the CSV.
    algorithms : list of AlgorithmSpec
        Sorted by label.
    metrics : list of str
        Registered names as written, a column of the CSV each.
    figures, tables : list of FigureSpec
        As written.
    claims : list of Claim
        As written, their tests parsed.
    dropped : dict of str to str
        Id of each claim of the file that the changes of the command line made void, and why.
    plugins : list of str
        Absolute paths.
    folder : Path
        Where its relative paths start: the folder of its file, or the working directory.
    variant : str
        What follows the profile in the name of the results folder, such as ``+noise_std=0.5``;
        empty when the experiment is as its file has it.
    resolved : dict
        The settings after profile and overrides, with the defaults of data and algorithms filled
        in; plain enough for ``yaml.safe_dump``, and loading it gives this experiment again.
    """

    name: str
    profile: str
    description: str
    paper: PaperReference | None
    seed: int
    trials: int
    adaptive: AdaptiveTrials | None
    time_limit: float | None
    protocol: ProtocolSpec
    points: list[Point]
    swept: list[str]
    algorithms: list[AlgorithmSpec]
    metrics: list[str]
    figures: list[FigureSpec]
    tables: list[FigureSpec]
    claims: list[Claim]
    dropped: dict[str, str]
    plugins: list[str]
    folder: Path = field(compare=False)
    variant: str = field(compare=False)
    resolved: dict

    @cached_property
    def design(self) -> Design:
        """The settings as figures, tables and claims read them."""
        return design_of(self.resolved, self.profile)

    @property
    def subfolder(self) -> Path:
        """The results folder below the one that ``--out`` names."""
        return Path(self.name) / f"{self.profile}{self.variant}"

    def as_yaml(self, plugins: list[str] | None = None) -> str:
        """The settings of ``resolved`` as a file has them.

        Parameters
        ----------
        plugins : list of str, optional
            What the file calls its plugins, instead of their absolute paths.
        """
        named = {"plugins": plugins} if plugins else {}
        return yaml.safe_dump({**self.resolved, **named}, sort_keys=False, allow_unicode=True)
