"""The settings of an experiment: one model of its file and of ``config.yaml`` in a run folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails

from greedyexp.core.run_files import TAKEN_NAMES
from greedyexp.experiment.messages import SLUG, Mistake, refusal, show
from greedyexp.experiment.parameters import BadValue
from greedyexp.experiment.sweep import Axes, axes_of
from greedyexp.stats.direction import Direction
from greedyexp.stats.level import INTERVAL

PROFILES = ("smoke", "quick", "paper", "deep")
DEFAULT_PROTOCOL = "recovery"
# Value of `trials.until`: continue until the claims are decided.
DECIDED: Final = "decided"

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

    half_width: float = Field(gt=0, lt=0.5, description=f"Half width of the {INTERVAL} to reach.")


class Locate(Section):
    """Place replicates where success crosses a level, until its interval is narrow enough."""

    threshold: float = Field(default=0.5, gt=0, lt=1, description="Success probability to locate.")
    of: str = Field(description="Swept data parameter along which success rises or falls.")
    direction: Direction | None = Field(
        default=None,
        description="Whether it rises or falls; null: it is taken to rise until trials show that"
        " it falls.",
    )
    half_width: float = Field(
        gt=0, description=f"Half width of the {INTERVAL} of the crossing to reach."
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

    @model_validator(mode="after")
    def _one_rule(self) -> AdaptiveTrials:
        if (self.until is None) == (self.locate is None):
            message = "adaptive trials need either 'until' or 'locate'."
            raise refusal(message, "Keep one of them.")
        return self

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


@dataclass(frozen=True)
class Entry:
    """A part with its settings as written: an entry of ``algorithms`` and the like, or of ``data``.

    Parameters
    ----------
    name : str
        Registered name of the part.
    settings : mapping
        The parameters, their sweep and the other keys of the entry.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The label, or the name if the entry has none."""
        label = self.settings.get("label")
        return label if isinstance(label, str) else self.name

    @property
    def axes(self) -> Axes:
        """The swept parameters; the parameters of a zip form one axis."""
        return axes_of(self.settings.get("sweep"))


def read_entry(value: Any, what: str) -> Entry:
    """Return the entry that is written ``name`` or ``{name: settings}``.

    Parameters
    ----------
    value : object
    what : str
        Subject of messages.

    Raises
    ------
    BadValue
        If it is written in another way.
    """
    if isinstance(value, str):
        return Entry(value)
    if not isinstance(value, Mapping) or not value:
        message = f"{what} must be a name or 'name: {{...}}', but is {show(value)}."
        raise BadValue([((), message, "")])
    name, settings = next(iter(value.items()))
    if len(value) > 1:
        message = f"{what} must have one name, but has {', '.join(value)}."
        remedy = f"Indent the settings below '{name}:'."
        raise BadValue([((list(value)[1],), message, remedy)])
    if settings is not None and not isinstance(settings, Mapping):
        message = f"the settings of '{name}' must be a mapping, but are {show(settings)}."
        raise BadValue([((name,), message, "")])
    return Entry(name, settings or {})


def _written(what: str, *, swept: bool = False) -> PlainValidator:
    """Return the validator of an entry; if ``swept``, it may have a label and a sweep."""

    def read(value: Any) -> Entry:
        try:
            entry = read_entry(value, what)
        except BadValue as error:
            raise _invalid(error.found) from None
        if swept:
            _check_swept(entry.settings, (entry.name,))
        return entry

    return PlainValidator(read)


def _blocks(value: Any) -> list[Entry]:
    """Read ``data``: the settings of a generator, or a list of such mappings."""
    blocks = []
    for index, block in enumerate(value if isinstance(value, list) and value else [value]):
        keys = (index,) if isinstance(value, list) else ()
        if not isinstance(block, Mapping):
            message = f"a block of data must be a mapping, but is {show(block)}."
            raise _invalid([(keys, message, "")])
        _check_swept(block, keys)
        blocks.append(Entry(str(block.get("generator", "")), block))
    return blocks


def _check_swept(settings: Mapping[str, Any], keys: tuple[str | int, ...]) -> None:
    label, sweep = settings.get("label"), settings.get("sweep") or {}
    if not isinstance(label, (str, type(None))):
        raise _invalid([((*keys, "label"), f"label must be a text, but is {show(label)}.", "")])
    columns = sweep.items() if isinstance(sweep, Mapping) else [("", sweep)]
    for name, column in columns:
        if not isinstance(column, (list, Mapping)) or not name:
            message = f"sweep must have lists and ranges, but is {show(sweep)}."
            raise _invalid([((*keys, "sweep", *([name] if name else [])), message, "")])


def _invalid(mistakes: list[Mistake]) -> ValidationError:
    """Return an error that pydantic takes over, with the keys of each mistake."""
    details = [
        InitErrorDetails(type=refusal(message, remedy), loc=keys, input=None)
        for keys, message, remedy in mistakes
    ]
    return ValidationError.from_exception_data("entry", details)


def _not_taken(name: str) -> str:
    # Some file systems ignore case.
    if name.lower() in TAKEN_NAMES:
        message = f"'{name}' is the name of a file or folder that every run folder has."
        raise refusal(message, f"Choose another name, such as my_{name}.")
    return name


class Settings(Section):
    """The top level of an experiment file."""

    name: Annotated[str, AfterValidator(_not_taken)] = Field(
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
    protocol: Annotated[Entry, _written("protocol")] = Field(
        default=DEFAULT_PROTOCOL,
        validate_default=True,
        description="Evaluation of algorithms: a name, or name: {parameters}.",
    )
    plugins: list[str] = Field(
        default=[], description="Python files that register parts, relative to the experiment file."
    )
    data: Annotated[list[Entry], PlainValidator(_blocks)] = Field(
        description="A generator, its parameters and their sweep; or a list of such blocks."
    )
    algorithms: list[Annotated[Entry, _written("an entry of algorithms", swept=True)]] = Field(
        min_length=1, description="Names, or name: {parameters}."
    )
    metrics: list[str] = Field(default=[], description="Names of metrics, one column each.")
    figures: list[Annotated[Entry, _written("an entry of figures")]] = Field(
        default=[], description="Names, or name: {parameters}."
    )
    tables: list[Annotated[Entry, _written("an entry of tables")]] = Field(
        default=[], description="Names, or name: {parameters}."
    )
    claims: list[ClaimEntry] = Field(
        default=[], description="Statements of the paper, each with a test."
    )
    readings: list[Reading] = Field(
        default=[], description="Ambiguities of the paper and their resolution."
    )
    profiles: dict[str, Any] = Field(
        default={},
        description="Changes for smoke, quick, paper and deep runs, merged over the rest.",
    )
