"""Summaries on the terminal: failures of a run, and the verdicts on its claims."""

from __future__ import annotations

import csv
import gzip
import shlex
import textwrap
from collections.abc import Container, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from greedyexp.cli.text import table
from greedyexp.core.listing import count
from greedyexp.stats.level import percent

if TYPE_CHECKING:
    from greedyexp.claims.evaluation import JudgedClaim
    from greedyexp.report import Verified

_COLOURS = {"supported": "green", "refuted": "red", "inconclusive": "yellow"}
_WIDTH = 96


NOT_FINISHED = (
    "a run is in progress or did not finish; table, figures and verdicts are those of the previous"
    " run, if any."
)


def note(sentence: str) -> None:
    """Print a note on stderr."""
    click.echo(f"Note: {sentence}", err=True)


def warn_unchecked(folder: Path) -> None:
    """Print a note on stderr if a run folder has no digests, or if its last run did not finish."""
    from greedyexp.runner.run_contents import unchecked
    from greedyexp.runner.run_folder import RunFolder

    home = RunFolder(folder)
    if home.unfinished:
        note(f"{folder}: {NOT_FINISHED}")
    if why := unchecked(folder, home.manifest()):
        note(f"{why}.")


def problems(table: Path, labels: Container[str] | None = None) -> list[str]:
    """Return a line for each status except ``ok``: number of rows and first message.

    Parameters
    ----------
    table : Path
        A run's CSV, compressed or not.
    labels : container of str, optional
        Labels of the algorithms to count; by default all. With ``--only`` the table contains others
        as well.

    Returns
    -------
    list of str
        Lines such as ``timeout: 3 rows, first: ...``, in the order of the first rows.
    """
    numbers: dict[str, int] = {}
    first: dict[str, str] = {}
    opened = gzip.open if table.suffix == ".gz" else open
    with opened(table, "rt", encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            status = row["status"]
            if status != "ok" and (labels is None or row["algorithm"] in labels):
                numbers[status] = numbers.get(status, 0) + 1
                first.setdefault(status, f"{row['algorithm']}: {row['message']}".rstrip(": "))
    return [
        f"{status}: {count(number, 'row')}, first: {first[status]}"
        for status, number in numbers.items()
    ]


def coloured(verdict: str) -> str:
    """Return a verdict in its colour; click removes it if the output is not a terminal."""
    return click.style(verdict, fg=_COLOURS[verdict], bold=True)


def lines(contents: Mapping[str, Any], folder: Path) -> list[str]:
    """Return a line for each claim of ``claims.json`` in a run folder: its id and verdict.

    If the claims decided on the number of trials, lines say how, and why claims are open.
    Otherwise the last line is the command that prints the tests, unless all claims are supported.
    """
    from greedyexp.claims.report import looks_sentence

    claims = contents["claims"]
    width = max((len(one["id"]) for one in claims), default=0)
    found = [f"{one['id'].ljust(width)}  {coloured(one['verdict'])}" for one in claims]
    how = looks_sentence(contents)
    if not how:
        if all(one["verdict"] == "supported" for one in claims):
            return found
        why = f"`greedyexp verify {shlex.quote(str(folder))}` prints the estimates and intervals."
        return [*found, why]
    still = [one for one in claims if one["verdict"] == "inconclusive"]
    return [*found, how, *(f"  {one['id']} is open: {one['reason']}" for one in still)]


def summary(verified: Verified) -> str:
    """Return a line such as ``phase_transition (paper): 3 claims, 2 supported, 1 refuted``."""
    part = f", only {verified.part}" if verified.part else ""
    title = f"{verified.name} ({verified.profile}{part})"
    if not verified.judged:
        return f"{title}: the experiment makes no claims"
    verdicts = [judged.verdict.value for judged in verified.judged]
    parts = [f"{verdicts.count(word)} {word}" for word in _COLOURS if word in verdicts]
    return f"{title}: {count(len(verdicts), 'claim')}, {', '.join(parts)}"


def report(judged: JudgedClaim) -> str:
    """Return verdict, decisive test and quotation of a claim, as text."""
    from greedyexp.claims import report as words

    claim = judged.claim
    head = f"{claim.id}: {coloured(judged.verdict.value)}"
    held = sum(test.verdict is judged.verdict for test in judged.tests)
    if len(judged.tests) > 1:
        head += f" ({held} of {len(judged.tests)} tests)"
    rows = []
    test = words.weakest(judged)
    if test is not None:
        rows.append(("test", test.text))
        rows += [("at", words.group_words(test.group))] if test.group else []
        if test.p is None:
            rows.append(("reason", f"{test.reason}."))
        else:
            assert test.confidence is not None
            level = percent(test.confidence)
            numbers = [words.number_words(test.estimate)]
            numbers += [] if test.boundary is None else [words.number_words(test.boundary)]
            rows.append(("estimate", " against ".join(numbers)))
            rows.append(("interval", f"{words.interval_words(test)} at {level}"))
            failed = words.outcome_words(test)
            trials = f"{test.trials} per point{words.splits_words(test)}"
            rows.append(("trials", f"{trials} ({failed})" if failed else trials))
            rows += [("decided by", words.decider(test))] if words.decider(test) else []
            if test.look is not None:
                rows.append(("decided at" if test.decided else "last seen at", f"look {test.look}"))
    quote = textwrap.wrap(f'"{claim.quote}"', _WIDTH - 16) or [""]
    rows += [("quote" if not index else "", line) for index, line in enumerate(quote)]
    rows += [("place", claim.place)] if claim.place else []
    return f"{head}\n{table(rows, indent='  ')}"
