"""The claims of an experiment, and the rows that claims, figures and tables choose."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from greedyexp.claims.entries import BadClaim, compile_claim
from greedyexp.claims.language import Test, named_in
from greedyexp.claims.setting import Setting
from greedyexp.config.data import Data
from greedyexp.config.document import Node
from greedyexp.core.errors import did_you_mean
from greedyexp.experiment.design import DATA_COLUMN
from greedyexp.experiment.messages import Mistake, below, listing, show
from greedyexp.experiment.model import AlgorithmSpec
from greedyexp.experiment.parameters import BadValue, Parameters, is_number, same_value
from greedyexp.experiment.settings import ClaimEntry
from greedyexp.protocols.base import Measured
from greedyexp.results.records import as_list

# A value within this relative distance of a swept one is treated as a typing error.
_SLIP = 0.02

Values = Mapping[str, list[Any]]
Mistakes = Iterator[Mistake]


@dataclass(frozen=True)
class Choice:
    """The rows and columns that claims, figures and tables may name.

    Parameters
    ----------
    data : Data
    algorithms : list of AlgorithmSpec
    setting : Setting
        The names that tests of claims may use.
    measured : list of Measured
        The columns of the protocol.
    columns : set of str
        All columns of the CSV.
    elsewhere : callable
        Returns the values of ``values_of`` for the other profiles of the file.
    """

    data: Data
    algorithms: list[AlgorithmSpec]
    setting: Setting
    measured: list[Measured]
    columns: set[str]
    elsewhere: Callable[[], Iterable[Values]]

    @cached_property
    def values(self) -> Values:
        """The values that ``values_of`` returns."""
        return values_of(self.measured, self.algorithms)

    @property
    def known(self) -> set[str]:
        """The columns whose values are known before the run, except ``algorithm``."""
        return {*self.data.columns, *self.setting.columns, *self.setting.keys}


def values_of(measured: Iterable[Measured], specs: Iterable[AlgorithmSpec]) -> Values:
    """Return the known values of keys of the protocol and of swept parameters of algorithms."""
    values = {one.name: list(one.values) for one in measured if one.values is not None}
    for spec in specs:
        for name, value in spec.swept.items():
            values.setdefault(name, []).append(value)
    return values


def wrong_choices(where: Mapping[str, Any], choice: Choice) -> Mistakes:
    """Yield columns that do not exist and values that a column cannot have.

    A possible value of the data that this profile lacks is accepted; its claim is inconclusive.
    """
    known = {"algorithm", *choice.known}
    for name, wanted in where.items():
        if name not in known:
            yield (name,), f"there is no column '{name}'.", did_you_mean(name, known)
        elif wanted == []:
            yield (name,), f"no row is chosen: the list for '{name}' is empty.", "Remove it."
        else:
            for value in as_list(wanted):
                for message, remedy in _wrong_value(name, value, choice):
                    yield (name,), message, remedy


def _wrong_value(name: str, value: Any, choice: Choice) -> Iterator[tuple[str, str]]:
    labels = {"algorithm": ("is no algorithm", [*choice.setting.algorithms])}
    if choice.data.listed:
        labels[DATA_COLUMN] = ("are no data", choice.data.values(DATA_COLUMN))
    if name in labels:
        what, known = labels[name]
        if value not in known:
            yield f"there {what} '{value}' in the experiment.", did_you_mean(str(value), known)
    elif name in choice.data.columns:
        yield from _wrong_parameter(name, value, choice.data)
    elif value is not None and name in choice.values:
        profiles = itertools.chain([choice.values], choice.elsewhere())
        if not any(_among(value, values.get(name, [])) for values in profiles):
            yield f"no row has {name} = {show(value)}.", listing(choice.values[name], value)


def _among(value: Any, values: Iterable[Any]) -> bool:
    return any(same_value(one, value) or str(one) == str(value) for one in values)


def _wrong_parameter(name: str, value: Any, data: Data) -> Iterator[tuple[str, str]]:
    """Yield an error if no generator of the data accepts a value of a parameter."""
    values, refused = data.values(name), None
    for parameters in (Parameters(block.generator) for block in data.blocks):
        if name not in parameters.names:
            continue
        try:
            value, refused = parameters.read(name, value), None
            break
        except BadValue as error:
            refused = error.found[0][1:]
    if refused is not None:
        yield refused
    elif value not in values and is_number(value):
        numbers = [one for one in values if is_number(one)]
        near = min(numbers, key=lambda other: abs(other - value), default=None)
        if near is not None and abs(near - value) <= _SLIP * abs(near):
            yield f"no point has {name} = {show(value)}.", f"Did you mean {show(near)}?"


def absent(where: Mapping[str, Any], columns: Collection[str], choice: Choice) -> Mistakes:
    """Yield an error for the first column that no chosen row has together with the others."""
    wanted = {name: as_list(value) for name, value in where.items()}
    known = {one.name: one for one in choice.measured}
    asked = [name for name, values in wanted.items() if name in known and None not in values]
    left = {name: set(wanted[name]) for name in asked if not known[name].only}
    rows = {name: f"the rows with {name} = {_alternatives(wanted[name])}" for name in left}
    for name in dict.fromkeys([*asked, *sorted(known.keys() & columns)]):
        for key, values in known[name].only.items():
            both = left.get(key, set(values)) & set(values)
            if not both:
                yield (
                    (key if key in where else next(iter(where), ""),),
                    f"{rows[key]} have no {name}.",
                    f"{name} is in those with {key} = {_alternatives(values)}.",
                )
                return
            rows.setdefault(key, f"the rows with {name}")
            left[key] = both


def _alternatives(values: Iterable[Any]) -> str:
    return " or ".join(map(str, values))


def read_claims(
    node: Node,
    written: list[tuple[Node, ClaimEntry]],
    choice: Choice,
    family: str,
    unchanged: Callable[[], object] | None,
) -> tuple[list[ClaimEntry], dict[str, str]]:
    """Return the claims of an experiment; report those with errors.

    Parameters
    ----------
    node : Node
        The top level of the document, after profile and overrides have been applied. Claims that do
        not apply are removed from it.
    written : list of (Node, ClaimEntry)
    choice : Choice
    family : str
        Default figure of claims.
    unchanged : callable, optional
        Loads the experiment without the changes of the command line. If given, claims that are
        invalid because of these changes are dropped.

    Returns
    -------
    claims : list of ClaimEntry
    dropped : dict of str to str
        Maps the id of each dropped claim to the reason.

    Raises
    ------
    ConfigError
        If claims do not apply, and the experiment also has errors without the changes.
    """
    claims: list[ClaimEntry] = []
    dropped: dict[str, str] = {}
    gone = []
    for here, entry in written:
        mistakes = list(_mistakes(entry, choice))
        if mistakes and unchanged:
            dropped[entry.id] = mistakes[0][1]
            gone.append(here.keys)
            continue
        if entry.id in [claim.id for claim in claims]:
            here.at("id").add(f"two claims have the id '{entry.id}'.", "Rename one.")
        here.add_all(mistakes)
        claims.append(entry.model_copy(update={"figure": entry.figure or family}))
    if gone and unchanged:
        # A claim that is wrong in the file too is an error.
        unchanged()
    for keys in reversed(gone):
        node.doc.remove(keys)
    return claims, dropped


def _mistakes(entry: ClaimEntry, choice: Choice) -> Mistakes:
    wrong = list(below(("where",), wrong_choices(entry.where, choice)))
    try:
        claim = compile_claim(entry, choice.setting, "")
    except BadClaim as error:
        yield error.keys, error.message, error.remedy or ""
    else:
        for test in () if wrong else claim.tests:
            yield from _undecided(entry.where, test, choice)
    yield from wrong


def _undecided(where: Mapping[str, Any], test: Test, choice: Choice) -> Mistakes:
    """Yield the reasons why no chosen row can decide a test."""
    labels, columns = named_in(test)
    chosen = as_list(where.get("algorithm", list(labels)))
    for label in labels:
        if label not in chosen:
            yield (
                ("where", "algorithm"),
                f"the test names '{label}', whose rows are not chosen.",
                f"Add '{label}' to the list, or remove 'algorithm'.",
            )
    yield from below(("where",), absent(where, columns, choice))
