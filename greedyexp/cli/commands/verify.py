"""``greedyexp verify``: the verdict on every claim, from CSV files alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from greedyexp.cli import failures, options, summaries

if TYPE_CHECKING:
    from greedyexp.claims.challenge import Challenged
    from greedyexp.report import Verified


@click.command("verify", short_help="Judge every claim: supported, refuted or inconclusive.")
@options.runs
@click.option("--strict", is_flag=True, help="Exit with 5 if a claim is inconclusive.")
@click.option("-q", "--quiet", is_flag=True, help="Print only claims that are not supported.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the contents of every claims.json; write nothing.",
)
@click.option(
    "--challenge",
    is_flag=True,
    help="Print supported claims that cannot fail, and exit with 6 if any; write nothing.",
)
@options.trust
@options.shared
@click.pass_context
def command(
    ctx: click.Context, path: Path, strict: bool, quiet: bool, as_json: bool, challenge: bool
) -> None:
    """Judge the claims of the runs at or below PATH (default: results).

    A claims.json is written to each run folder if possible. Exits with 4 if a claim is refuted.
    """
    from greedyexp import report
    from greedyexp.core.run_files import CLAIMS

    if challenge:
        if strict or as_json:
            other = "--strict" if strict else "--json"
            raise click.UsageError(f"--challenge and {other} cannot be used together.")
        _challenge(ctx, report.run_folders(path), quiet=quiet)
    verified: list[Verified] = []

    # All claims are judged before anything is printed, since the output may be closed early.
    code = failures.each(
        ctx,
        report.run_folders(path),
        lambda folder: verified.append(report.verify(folder, write=not as_json)),
    )
    if as_json:
        click.echo(json.dumps([one.contents for one in verified], indent=2, allow_nan=False))
    for one in () if as_json else verified:
        _show(one, quiet=quiet)
        summaries.warn_unchecked(one.folder)
        if one.unwritten:
            click.echo(
                f"Warning: {one.folder / CLAIMS} was not written: {one.unwritten}.", err=True
            )
    ctx.exit(code or _code(verified, strict=strict))


def _challenge(ctx: click.Context, folders: list[Path], *, quiet: bool) -> NoReturn:
    from greedyexp import report

    judged: list[tuple[Verified, list[Challenged]]] = []
    code = failures.each(ctx, folders, lambda folder: judged.append(report.challenged(folder)))
    for verified, tests in judged:
        vacuous = [test for test in tests if test.reason]
        if quiet and not vacuous:
            continue
        click.echo(summaries.summary(verified))
        if tests:
            many = summaries.count(len(tests), "test")
            click.echo(f"{len(tests) - len(vacuous)} of {many} of supported claims can fail")
        for test in vacuous:
            tried = "".join(f"\n    {text}" for text in test.tried)
            click.echo(f"\n{test.claim}: {test.test}\n  {test.reason}{tried}")
        if vacuous:
            click.echo()
    some_vacuous = any(test.reason for _, tests in judged for test in tests)
    ctx.exit(code or (failures.CLAIM_VACUOUS if some_vacuous else failures.DONE))


def _show(verified: Verified, *, quiet: bool) -> None:
    from greedyexp.claims.report import looks_sentence

    shown = [
        judged for judged in verified.judged if not quiet or judged.verdict.value != "supported"
    ]
    if shown or not quiet:
        click.echo(summaries.summary(verified))
        if how := looks_sentence(verified.contents):
            click.echo(how)
    for judged in shown:
        click.echo(f"\n{summaries.report(judged)}")
    if shown:
        click.echo()


def _code(verified: list[Verified], *, strict: bool) -> int:
    found = {judged.verdict.value for one in verified for judged in one.judged}
    if "refuted" in found:
        return failures.CLAIM_REFUTED
    if strict and "inconclusive" in found:
        return failures.CLAIM_INCONCLUSIVE
    return failures.DONE
