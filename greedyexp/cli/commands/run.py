"""``greedyexp run``: run experiments, draw their figures and report failures."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from greedyexp.cli import completion, failures, options, plan, process, summaries, text
from greedyexp.core import listing, shipped
from greedyexp.core.errors import ConfigError, UserError
from greedyexp.core.signals import Interrupted

if TYPE_CHECKING:
    from greedyexp.config import Experiment
    from greedyexp.runner import Merged, Report, RunOptions, Shard

_INTERRUPTED = "Interrupted: finished replicates are kept; the same command continues."


@click.command("run", short_help="Run experiments: CSV and figures.")
@click.argument(
    "configs", nargs=-1, required=True, metavar="CONFIG...", shell_complete=completion.configs
)
@options.experiment
@options.deciding
@options.execution
@click.option(
    "-n",
    "--dry-run",
    is_flag=True,
    help="Print the plan, and what a run would compute and why. Compute only the first replicate of"
    " each algorithm on each block of data, at full size and with any time limit. Write nothing.",
)
@options.verbosity
@options.trust
@options.shared
@click.pass_context
def command(
    ctx: click.Context,
    configs: tuple[str, ...],
    out: Path,
    dry_run: bool,
    keep_going: bool,
    quiet: bool,
    verbose: bool,
    **settings,
) -> None:
    """Run each CONFIG, a YAML file or the name of a shipped config.

    Results go to OUT/<name>/<profile>/. Options that change rows, such as --seed, add
    +<key>=<value> to the name of the folder, or +TAG with --tag.
    Finished replicates are not computed again: the same command continues an interrupted run.
    """
    from greedyexp.runner import RunOptions

    # The remaining options change the experiment.
    how = {one.name: settings.pop(one.name) for one in fields(RunOptions) if one.name in settings}
    experiments, code = _load_all(ctx, configs, keep_going=keep_going, settings=settings)
    options = RunOptions.of(progress=not quiet, tracebacks=ctx.obj["traceback"], **how)
    for index, experiment in enumerate(experiments):
        try:
            folder = out / f"{experiment.subfolder}{options.shard.suffix}"
            if dry_run:
                one = rehearse(experiment, folder, options)
            else:
                one = execute(experiment, folder, options, verbose=verbose)
        except Exception as error:
            one = failures.report(error, ctx)
        except KeyboardInterrupt as error:
            one = process.report_interruption(error, "Interrupted." if dry_run else _INTERRUPTED)
        code = max(code, one)
        if process.ended_by_signal(one) or (one and not keep_going):
            left = [later.name for later in experiments[index + 1 :]]
            # A closed terminal must not change the exit code.
            with suppress(OSError):
                if left:
                    click.echo(f"Not run: {', '.join(left)}.", err=True)
            break
    ctx.exit(code)


def _load_all(
    ctx: click.Context, configs: tuple[str, ...], *, keep_going: bool, settings: dict
) -> tuple[list[Experiment], int]:
    """Load all configs before any run starts; with ``keep_going``, only report errors.

    Returns
    -------
    list of Experiment
        Experiments that can be run.
    int
        0 if all configs are valid, otherwise the exit code of the last error.
    """
    from greedyexp.config import load

    loaded: dict[str, Experiment] = {}
    code = failures.DONE
    for source in configs:
        try:
            found = shipped.locate(source)
            experiment = load(found, **settings)
            if experiment.name in loaded:
                raise ConfigError(
                    f"another config is also named '{experiment.name}'.",
                    place=source,
                    remedy="Give each its own name; otherwise they would share a results folder.",
                )
        except UserError as error:
            if not keep_going:
                raise
            code = failures.report(error, ctx)
            continue
        loaded[experiment.name] = experiment
        for line in () if ctx.params.get("quiet") else plan.unused_profile(ctx, found):
            click.echo(line, err=True)
    return list(loaded.values()), code


def rehearse(experiment: Experiment, folder: Path, options: RunOptions) -> int:
    """Print the plan, what is missing, and the result of the first replicate of each algorithm."""
    from greedyexp import runner

    click.echo(plan.words(experiment))
    click.echo(plan.explained(folder, runner.explain(experiment, folder, options)))
    tried = runner.rehearse(experiment, options)
    for _, outcome, _ in tried:
        click.echo(outcome.traceback, err=True, nl=False)
    rows = [
        (label, outcome.status.value, listing.duration(seconds), outcome.message)
        for label, outcome, seconds in tried
    ]
    click.echo("The first replicate:")
    click.echo(text.table(rows, indent="  "))
    failed = any(outcome.status.failed for _, outcome, _ in tried)
    return failures.SOME_FAILED if failed else failures.DONE


def execute(experiment: Experiment, folder: Path, options: RunOptions, *, verbose: bool) -> int:
    """Run one experiment, draw its figures, judge its claims and print the summary."""
    from greedyexp import runner

    quiet = not options.progress
    say = (lambda *_: None) if quiet else click.echo
    # A closed output must not end the run; printing the summary raises the error again.
    with suppress(OSError):
        if verbose:
            say(plan.words(experiment))
        elif not quiet:
            for line in plan.described(experiment):
                say(line)
    done = runner.run(experiment, folder, options)
    if done.interrupted:
        # In a pipeline, Ctrl-C also ends the reader.
        with suppress(OSError):
            _summarise(experiment, done, say, shard=options.shard, retry=False)
        raise Interrupted(done.signum)
    retry = not (quiet or options.retry_failed)
    summarise = partial(_summarise, experiment, done, say, shard=options.shard, retry=retry)
    if options.shard.suffix:
        # Figures and verdicts are those of all shards.
        summarise()
        say(done.csv)
        return failures.SOME_FAILED if done.failed else failures.DONE
    return conclude(
        folder, done, say, summarise, claims=bool(experiment.claims), keep=not options.force
    )


def conclude(
    folder: Path,
    done: Report | Merged,
    say: Callable[[object], None],
    summarise: Callable[[], None],
    *,
    claims: bool,
    keep: bool,
) -> int:
    """Draw the figures of a run folder, judge its claims and print the summary."""
    from greedyexp import report

    # Everything is written to disk before anything is printed, since the output may be closed
    # early. The summaries are printed even if a figure cannot be drawn.
    drawn, trouble = _attempted(partial(report.draw, keep=keep), folder)
    judged, unjudged = None, None
    if claims:
        judged, unjudged = _attempted(partial(report.verdicts, keep=keep), folder)
    summarise()
    for line in (done.csv, *(drawn or ()), *(summaries.lines(judged, folder) if judged else ())):
        say(line)
    if unjudged is not None:
        raise unjudged
    if trouble is not None:
        # If every replicate failed, report these failures rather than the figure.
        if not (isinstance(trouble, UserError) and done.failed == done.done):
            raise trouble
        click.echo(f"Not drawn: {trouble}", err=True)
    return failures.SOME_FAILED if done.failed else failures.DONE


def _attempted(action: Callable[[Path], object], folder: Path) -> tuple:
    """Return the result and the error of an action; one of them is None."""
    try:
        return action(folder), None
    except Exception as error:
        return None, error


def _summarise(
    experiment: Experiment,
    done: Report,
    say: Callable[[object], None],
    *,
    shard: Shard,
    retry: bool,
) -> None:
    """Print the numbers of replicates, the omitted claims and the failures."""
    part = f", shard {shard}" if shard.suffix else ""
    say(
        f"{experiment.name} ({experiment.profile}{part}): {done.done} of {done.total} done,"
        f" {done.failed} failed; {done.computed} computed in {listing.duration(done.wall_seconds)}"
    )
    if done.late:
        say("  The time is over; finished replicates are kept, and the same command continues.")
    if done.replaced:
        kept = "The replicates of the earlier settings remain in the journal."
        say(f"  replaced results with other settings ({'; '.join(done.replaced)}). {kept}")
    for claim, why in experiment.dropped.items():
        say(f"  claim {claim} left out: {why}")
    labels = {spec.label for spec in experiment.algorithms}
    for line in summaries.problems(done.csv, labels):
        click.echo(f"  {line}", err=True)
    if done.failed and retry:
        click.echo("  --retry-failed computes the failed replicates again.", err=True)
