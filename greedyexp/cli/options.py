"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from greedyexp.core.errors import did_you_mean

PROFILES = ("smoke", "quick", "paper", "deep")
ENGINES = ("processes", "serial")


class Choice(click.Choice):
    """One of several words; a wrong one is answered with the nearest."""

    def convert(self, value, param, ctx):
        if value not in self.choices:
            self.fail(f"there is no '{value}'. {did_you_mean(value, self.choices)}", param, ctx)
        return super().convert(value, param, ctx)


def shared(function: Callable) -> Callable:
    """``--traceback``, which every command takes."""
    return click.option(
        "--traceback",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_remember_traceback,
        help="Show where an error was raised.",
    )(function)


def _remember_traceback(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(dict)["traceback"] = True


def verbosity(function: Callable) -> Callable:
    """``-q`` and ``-v``, passed on as ``quiet`` and ``verbose``."""
    function = click.option("-v", "--verbose", is_flag=True, help="Print the plan first.")(function)
    return click.option(
        "-q", "--quiet", is_flag=True, help="Print nothing but errors and failures."
    )(function)


def experiment(function: Callable) -> Callable:
    """What chooses and changes an experiment; named as the arguments of ``experiment.load``."""
    chosen = [
        click.option(
            "--profile",
            type=Choice(PROFILES),
            default="quick",
            show_default=True,
            help="Size of the experiment.",
        ),
        click.option(
            "--set",
            "overrides",
            metavar="KEY=VALUE",
            multiple=True,
            help="Change an entry of the YAML: dotted key, value in YAML; a list sweeps."
            " Repeatable.",
        ),
        click.option(
            "--only",
            metavar="COLUMN=VALUE",
            multiple=True,
            help="Compute only the data points or algorithms with this value. Repeatable.",
        ),
        click.option("--trials", type=click.IntRange(min=1), help="Replicates of each data point."),
        click.option("--seed", type=click.IntRange(min=0), help="Seed of the experiment."),
        click.option(
            "--tag",
            metavar="NAME",
            help="Name the results folder <profile>+NAME instead of by the values of --set.",
        ),
    ]
    for option in reversed(chosen):
        function = option(function)
    return function


def plugins(function: Callable) -> Callable:
    """``--plugin FILE``: a user's own parts."""
    return click.option(
        "--plugin",
        "plugin_files",
        type=click.Path(path_type=Path),
        metavar="FILE",
        multiple=True,
        help="Include the parts of a Python file of yours. Repeatable.",
    )(function)


def execution(function: Callable) -> Callable:
    """Where and how ``run`` computes."""
    chosen = [
        click.option(
            "-j", "--jobs", type=click.IntRange(min=1), help="Worker processes (default: cores)."
        ),
        click.option(
            "--out",
            type=click.Path(path_type=Path, file_okay=False),
            default=Path("results"),
            show_default=True,
            help="Folder of the results.",
        ),
        click.option(
            "--engine",
            type=Choice(ENGINES),
            default="processes",
            show_default=True,
            help="Where replicates are computed.",
        ),
        click.option("-f", "--force", is_flag=True, help="Compute everything anew."),
        click.option(
            "-k",
            "--keep-going",
            is_flag=True,
            help="With several configs, go on to the next when one fails.",
        ),
        click.option("--retry-failed", is_flag=True, help="Compute failed replicates again."),
        click.option(
            "--pdb",
            is_flag=True,
            help="Stop in the debugger where an algorithm or a generator fails (engine serial).",
        ),
    ]
    for option in reversed(chosen):
        function = option(function)
    return function
