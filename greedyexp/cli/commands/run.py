"""``greedyexp run``: run experiments, draw their figures, say what failed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from greedyexp import shipped
from greedyexp.cli import failures, options, outcomes, plan, text, verdicts
from greedyexp.errors import ConfigError, UserError

if TYPE_CHECKING:
    from greedyexp.experiment import Experiment


@click.command("run", short_help="Run experiments: CSV and figures.")
@click.argument("configs", nargs=-1, required=True, metavar="CONFIG...")
@options.experiment
@options.execution
@click.option(
    "-n",
    "--dry-run",
    is_flag=True,
    help="Print the plan, compute the first replicate of each algorithm on each block of data at"
    " its full size (a time limit holds), write nothing.",
)
@options.verbosity
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
    jobs: int | None,
    engine: str,
    force: bool,
    retry_failed: bool,
    **choices,
) -> None:
    """Run each CONFIG, a YAML file or the name of a shipped config.

    Results go to OUT/<name>/<profile>/. What is there already is not computed anew: the same
    command goes on where an interrupted one stopped.
    """
    experiments, code = load_all(ctx, configs, keep_going=keep_going, choices=choices)
    for index, experiment in enumerate(experiments):
        try:
            if dry_run:
                one = rehearse(experiment)
            else:
                one = execute(
                    experiment,
                    out / experiment.name / experiment.profile,
                    quiet=quiet,
                    verbose=verbose,
                    jobs=jobs,
                    engine=engine,
                    force=force,
                    retry_failed=retry_failed,
                )
        except Exception as error:
            if not keep_going:
                raise
            one = failures.tell(error, ctx)
        code = max(code, one)
        if one == failures.INTERRUPTED or (one and not keep_going):
            left = [later.name for later in experiments[index + 1 :]]
            if left:
                click.echo(f"Not run: {', '.join(left)}.", err=True)
            break
    ctx.exit(code)


def load_all(
    ctx: click.Context, configs: tuple[str, ...], *, keep_going: bool, choices: dict
) -> tuple[list[Experiment], int]:
    """Load every config before any work starts; with ``keep_going`` bad ones are only reported.

    Returns
    -------
    list of Experiment
        Those that can be run.
    int
        Exit code so far.
    """
    from greedyexp.experiment import load

    loaded: dict[str, Experiment] = {}
    code = failures.DONE
    for source in configs:
        try:
            found = shipped.locate(source)
            experiment = load(found, **choices)
            if experiment.name in loaded:
                raise ConfigError(
                    f"another config is named '{experiment.name}' too.",
                    place=source,
                    remedy="Give each its own name: they would share a results folder.",
                )
        except UserError as error:
            if not keep_going:
                raise
            code = failures.tell(error, ctx)
            continue
        loaded[experiment.name] = experiment
        for line in () if ctx.params.get("quiet") else plan.unused_profile(ctx, found):
            click.echo(line, err=True)
    return list(loaded.values()), code


def rehearse(experiment: Experiment) -> int:
    """Print the plan and what the first replicate of each algorithm gave."""
    from greedyexp import runner

    click.echo(plan.words(experiment))
    tried = runner.rehearse(experiment)
    rows = [
        (label, outcome.status.value, text.duration(seconds), outcome.message)
        for label, outcome, seconds in tried
    ]
    click.echo("The first replicate:")
    click.echo(text.table(rows, indent="  "))
    failed = any(outcome.status.failed for _, outcome, _ in tried)
    return failures.SOME_FAILED if failed else failures.DONE


def execute(experiment: Experiment, folder: Path, *, quiet: bool, verbose: bool, **how) -> int:
    """Run one experiment, draw its figures, judge its claims and print the summary."""
    from greedyexp import report, runner

    say = (lambda *_: None) if quiet else click.echo
    if verbose:
        say(plan.words(experiment))
    else:
        for line in () if quiet else plan.described(experiment):
            say(line)
    done = runner.run(experiment, folder, progress=not quiet, **how)
    title = f"{experiment.name} ({experiment.profile})"
    say(
        f"{title}: {done.done} of {done.total} done, {done.failed} failed;"
        f" {done.computed} computed in {text.duration(done.wall_seconds)}"
    )
    for claim, why in experiment.dropped.items():
        say(f"  claim {claim} left out: {why}")
    labels = {spec.label for spec in experiment.algorithms}
    for line in outcomes.problems(done.csv, labels):
        click.echo(f"  {line}", err=True)
    if done.interrupted:
        click.echo("Interrupted: everything finished is kept; the same command goes on.", err=True)
        return failures.INTERRUPTED
    # Drawn before anything is printed: a reader that closes the pipe must not cost a figure.
    drawn, trouble = [], None
    try:
        drawn = report.draw(folder)
    except Exception as error:  # A figure that cannot be drawn must not cost the verdicts.
        trouble = error
    judged = verdicts.lines(report.verify(folder)) if experiment.claims else []
    say(done.csv)
    for figure in drawn:
        say(figure)
    for line in judged:
        say(line)
    if trouble is not None:
        # Where nothing but failures is there, these and not the figure are what went wrong.
        if not (isinstance(trouble, UserError) and done.failed == done.done):
            raise trouble
        click.echo(f"Not drawn: {trouble}", err=True)
    return failures.SOME_FAILED if done.failed else failures.DONE
