"""Can a verdict fail? The tests of supported claims are judged again on altered tables.

An alteration keeps the rows and settings of a table and replaces measured values: those of two
algorithms or of two columns are exchanged, those of one are permuted, made equal or put on a line,
or a bound becomes 0. A test that holds whatever is altered is *vacuous*: no row of the table could
have contradicted it.

A test is overturned if its relation is false for the estimate of the altered table. An estimate
that does not exist overturns nothing, and neither does a wider interval.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import pandas as pd

from greedyexp.claims.entries import Claim
from greedyexp.claims.evaluation import tested_claims
from greedyexp.claims.language import Always, Monotone, Test, leaves, named_in
from greedyexp.claims.setting import Setting
from greedyexp.claims.table import Table
from greedyexp.protocols.base import FIT_SECONDS
from greedyexp.stats.rounding import ROUNDING, vary

# A measured column, and its algorithm; all algorithms if the name is empty.
Leaf: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class Challenged:
    """A test of a supported claim, judged on altered tables.

    Parameters
    ----------
    claim : str
        The id of the claim.
    test : str
        The test as written.
    tried : list of str
        The alterations, up to the one that overturned the test. Of a vacuous test, those that one
        should have.
    reason : str
        Why the test is vacuous; empty if it is not.
    """

    claim: str
    test: str
    tried: list[str]
    reason: str = ""


@dataclass(frozen=True)
class _Alteration:
    """New values of some columns in all rows of the table, or another test."""

    text: str = ""
    columns: dict[str, np.ndarray] = field(default_factory=dict)
    test: Test | None = None


def challenge(claims: Iterable[Claim], frame: pd.DataFrame, setting: Setting) -> list[Challenged]:
    """Judge every test of some claims on altered tables.

    Parameters
    ----------
    claims : iterable of Claim
        Claims that the table supports.
    frame : DataFrame
        The tidy table. It is not changed.
    setting : Setting
        The sweeps and algorithms of the run.
    """
    whole = Table(frame, setting)
    return [_Challenger(claim, whole).challenged(test) for claim in claims for test in claim.tests]


class _Challenger:
    """One claim with the table that is altered.

    Parameters
    ----------
    claim : Claim
    whole : Table
        All rows. Values may come from rows that the claim does not choose.
    """

    def __init__(self, claim: Claim, whole: Table):
        self.claim, self.whole, self.setting = claim, whole, whole.setting
        self.chosen = whole.narrowed(claim.where)

    def challenged(self, test: Test) -> Challenged:
        """Alter the table until the test is overturned."""
        measured = _measured_in(test, self.setting)
        results = [leaf for leaf in measured if not self._is_arithmetic(leaf[0])]
        if not results:
            names = " and ".join(sorted({name for name, _ in measured}))
            verb = "are" if len(measured) > 1 else "is"
            reason = f"For equal settings, {names} {verb} the same in all data sets and algorithms."
            if not measured:
                reason = "The settings determine both sides, whatever a run does."
            return Challenged(self.claim.id, test.text, [], reason)
        tried: list[str] = []
        statements = list(self._contradicted(test))
        for alterations in self._alterations(test, measured, results):
            standing, texts = statements, []
            for alteration in alterations:
                texts.append(alteration.text)
                contradicted = self._contradicted(test, alteration)
                standing = [name for name in standing if not contradicted.get(name)]
                if not standing:
                    break
            tried += texts
            if standing:
                whose = f"For {' and '.join(standing)}, it" if standing[0] else "It"
                reason = f"{whose} holds whatever is altered."
                return Challenged(self.claim.id, test.text, texts, reason)
        return Challenged(self.claim.id, test.text, tried)

    def _alterations(
        self, test: Test, measured: list[Leaf], results: list[Leaf]
    ) -> Iterator[Iterator[_Alteration]]:
        """Yield kinds of alterations; of each kind, one must overturn the test."""
        if isinstance(test, Always):
            sides = ({one.name for one in leaves(side)} for side in (test.left, test.right))
            if all(not side.isdisjoint(self.setting.measured) for side in sides):
                swapped = replace(test, left=test.right, right=test.left)
                yield iter([_Alteration("the two sides exchanged", test=swapped)])
        equality = test.relation == "=="
        labels = {label for _, label in measured}
        if len(measured) == 2 and len(labels) == 1 and not equality and _compares_sizes(test):
            names = sorted(name for name, _ in measured)
            yield (_Alteration(f"{one} = 0", {one: 0.0 * self._values(one)}) for one in names)
        # In an inequality, a second column would keep its size, and 0 would exceed any factor.
        beyond = equality or len(measured) == 1
        moves = (move for leaf in results for move in self._moves(test, *leaf, beyond=beyond))
        yield itertools.chain(self._exchanges(measured, results), moves)

    def _contradicted(self, test: Test, alteration: _Alteration = _Alteration()) -> dict[str, bool]:
        """Return which statements of a test an altered table contradicts, by their names.

        A relation in every row is a statement about each group, such as each algorithm. Other tests
        are one statement without a name.
        """
        rows = self.chosen.origin
        # A row without a key belongs to a replicate that has no row at the chosen keys.
        blank = self.chosen.kinds.without_key & ~self.whole.kinds.without_key[rows]
        columns = alteration.columns.items()
        table = self.chosen.altered({n: np.where(blank, np.nan, v[rows]) for n, v in columns})
        # The rows have been chosen.
        changes = {"tests": (alteration.test or test,), "where": {}}
        (judged,) = tested_claims([self.claim.model_copy(update=changes)], table)
        answers = [
            (" ".join(map(str, one.group.values())), one.evidence.contradicted)
            for one in judged.tests
            if one.evidence is not None
        ]
        if isinstance(test, Always):
            return dict(answers)
        return {"": any(contradicted for _, contradicted in answers)}

    def _is_arithmetic(self, name: str) -> bool:
        """Return True if a column has one value where replicates and algorithms differ in others.

        It must differ between points, keys or parameters: a measured number that is the same in all
        rows may be a result. A success is never arithmetic, since all runs may succeed.
        """
        if name in self.setting.binary or name not in self.whole.frame:
            return False
        values = self._values(name)
        values = values[np.isfinite(values)]
        if not len(values) or not vary(values):
            return False
        where = {name: one for name, one in self.claim.where.items() if name != "algorithm"}
        frame = self.whole.narrowed(where).frame
        frame = frame[frame[name].notna()]
        known = [*self.setting.shared, *self.setting.swept_by(self.setting.algorithms)]
        keys = [frame[one] for one in dict.fromkeys(known) if one in frame] or [frame["status"]]

        def differs(column: str) -> bool:
            values = frame[column].astype(float)
            cells = values.groupby(keys, dropna=False)
            spread = float((cells.max() - cells.min()).max())
            return spread > ROUNDING * float(values.abs().max())

        # Seconds differ between runs of a fit.
        others = set(self.setting.measured) - {name, FIT_SECONDS.name}
        return not differs(name) and any(differs(one) for one in others if one in frame)

    def _exchanges(self, measured: list[Leaf], results: list[Leaf]) -> Iterator[_Alteration]:
        """Exchange columns of a test, and all columns of its algorithms with those of others."""
        named = list(dict.fromkeys(label for _, label in measured if label))
        others = [label for label in self.setting.algorithms if label not in named]
        names = list(dict.fromkeys(name for name, _ in measured))
        labels = [*itertools.combinations(named, 2), *itertools.product(named, others)]
        single = [(pair,) for pair in itertools.combinations(measured, 2)]
        whole = [tuple(((name, one), (name, two)) for name in names) for one, two in labels]
        for pairs in dict.fromkeys([*single, *whole]):
            if not set(results).isdisjoint(itertools.chain(*pairs)):
                yield self._exchanged(*pairs)

    def _exchanged(self, *pairs: tuple[Leaf, Leaf]) -> _Alteration:
        """Exchange values of algorithms on the same data with equal keys and parameters."""
        columns = {name: self._values(name).copy() for pair in pairs for name, _ in pair}
        for both in pairs:
            swept = [set(self.setting.swept_by(self._labels(label))) for _, label in both]
            rows = [self._rows(*leaf) for leaf in both]
            names = [*self.setting.keys, *sorted(swept[0] & swept[1])]
            names += [] if both[0][1] else ["algorithm"]
            codes = self._codes(np.concatenate(rows), names, self.whole.pairs)
            cells = np.split(codes, [len(rows[0])])
            for to, source in ((0, 1), (1, 0)):
                known, places = np.unique(cells[source], return_index=True)
                has = np.isin(cells[to], known)
                values = self._values(both[source][0])[rows[source][places]]
                new = values[np.searchsorted(known, cells[to][has])]
                # With another column, a zero would be a bound of exactly 0, whatever its factor.
                zero = np.abs(new) <= ROUNDING * np.nanmax(np.abs(new), initial=0.0)
                taken = ~zero | (both[0][0] == both[1][0])
                columns[both[to][0]][rows[to][has][taken]] = new[taken]
        texts = (f"{_shown(*one)} exchanged with {_shown(*two)}" for one, two in pairs)
        return _Alteration(" and ".join(texts), columns)

    def _moves(self, test: Test, name: str, label: str, *, beyond: bool) -> Iterator[_Alteration]:
        """Permute the values of an algorithm, or replace them by others between their extremes.

        ``beyond`` adds numbers that need not be in the table: 0, and one that is clearly larger. A
        number above 1 is doubled. Others become 1, since they may be shares.
        """
        rows, kinds = self._rows(name, label), self.whole.kinds.codes
        axes = [*self.setting.axes, *((key,) for key in self.setting.keys)]
        axes += [axis for one in self._labels(label) for axis in self.setting.algorithms[one].axes]
        # Those that the test names are the likeliest to overturn it.
        _, named = named_in(test)
        axes = sorted(dict.fromkeys(axes), key=named.isdisjoint)
        entry = [] if label else ["algorithm"]
        values = self._values(name)[rows]
        known = values[np.isfinite(values)]
        if not beyond and name not in self.setting.binary:
            # A single zero would otherwise exceed any factor between two columns.
            known = known[np.abs(known) > ROUNDING * np.max(np.abs(known), initial=0.0)]
        known = known if len(known) else np.zeros(1)
        ends = float(known.min()), float(known.max())
        for axis in axes:
            others = [one for each in axes if each != axis for one in each]
            group = self._codes(rows, [*others, *entry, "replicate"], kinds)
            along = self._codes(rows, axis)
            if not along.any():
                continue
            text = f"{_shown(name, label)} %s along {axis[0]}"
            reverse = values[_sources(group, along, -along)]
            yield self._changed(text % "reversed", name, rows, reverse)
            # Numbers of the observed size, without the ties of runs that ended too early.
            for how, (first, last) in (("rising", ends), ("falling", ends[::-1])):
                if name not in self.setting.binary:
                    line = first + (last - first) * along / along.max()
                    yield self._changed(text % how, name, rows, line)
        order = np.random.default_rng(0).permutation(len(rows))
        sources = _sources(self._codes(rows, entry, kinds), np.arange(len(rows)), order)
        yield self._changed(f"{_shown(name, label)} shuffled", name, rows, values[sources])
        levels = dict(zip(("smallest", "largest"), ends, strict=True))
        if beyond and name not in self.setting.binary:
            top = max(map(abs, ends))
            levels |= {f"{one:g}": one for one in (0.0, 2 * top if top > 1 else 1.0)}
        for how, level in levels.items():
            text = f"{_shown(name, label)} {how} in all rows"
            yield self._changed(text, name, rows, np.full(len(rows), level))

    def _changed(self, text: str, name: str, rows: np.ndarray, new: np.ndarray) -> _Alteration:
        values = self._values(name).copy()
        values[rows] = new
        return _Alteration(text, {name: values})

    def _labels(self, label: str) -> list[str]:
        return [label] if label else list(self.setting.algorithms)

    def _values(self, name: str) -> np.ndarray:
        values = np.asarray(self.whole.column(name), dtype=float)
        # A failure is no success.
        return np.nan_to_num(values) if name in self.setting.binary else values

    def _rows(self, name: str, label: str) -> np.ndarray:
        """Return the rows of an algorithm whose kind has a column.

        An empty cell of a run that did not reach an accuracy is a result, too, and so is a failure
        where successes are counted. Other values of failures are not known.
        """
        rows = self.whole.all_rows(label) if label else np.arange(len(self.whole.frame))
        has = self.whole.kinds.have(name, rows)
        if name not in self.setting.binary:
            has &= ~self.whole.failed[rows]
        measured: np.ndarray = rows[has]
        return measured

    def _codes(self, rows: np.ndarray, names: Sequence[str], *more: np.ndarray) -> np.ndarray:
        """Return integers in the order of the values that some rows have in some columns."""
        frame = self.whole.frame
        columns = [one[rows] for one in more]
        columns += [frame[name].to_numpy()[rows] for name in dict.fromkeys(names) if name in frame]
        if not columns:
            return np.zeros(len(rows), dtype=int)
        keys = pd.DataFrame(dict(enumerate(columns)))
        codes: np.ndarray = keys.groupby(list(keys), dropna=False).ngroup().to_numpy(dtype=int)
        return codes


def _shown(name: str, label: str) -> str:
    return f"{name} of {label}" if label else name


def _sources(group: np.ndarray, along: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Return for each value the place of its replacement, so that ``by`` rises in each group."""
    sources = np.empty(len(group), dtype=int)
    sources[np.lexsort((along, group))] = np.lexsort((by, group))
    return sources


def _measured_in(test: Test, setting: Setting) -> list[Leaf]:
    """Return the measured columns of a test with their algorithms."""
    if isinstance(test, Always):
        return sorted((o.name, o.algorithm) for o in test.leaves if o.name in setting.measured)
    return list(dict.fromkeys((part.metric, part.algorithm) for part in test.form.parts()))


def _compares_sizes(test: Test) -> bool:
    """Return False if a test is about the change along a column."""
    if isinstance(test, Always):
        return True
    averages = all(trend.name == "average" for trend in test.form.trends)
    return averages and not isinstance(test, Monotone)
