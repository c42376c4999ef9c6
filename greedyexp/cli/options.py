"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from greedyexp.cli import completion
from greedyexp.core.errors import did_you_mean
from greedyexp.core.trust import consent

PROFILES = ("smoke", "quick", "paper", "deep")
ENGINES = ("processes", "serial", "dask")

Function = TypeVar("Function", bound=Callable[..., Any])


class Choice(click.Choice):
    """A choice of words; the error for an unknown word suggests the closest one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value not in self.choices:
            self.fail(f"there is no '{value}'. {did_you_mean(value, self.choices)}", param, ctx)
        return super().convert(value, param, ctx)


class Whole(click.IntRange):
    """A whole number in a range, which errors call an integer and not an integer range."""

    name = "integer"


def _remember_traceback(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(dict)["traceback"] = True


def _combined(*added: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Return a decorator that adds several options, listed by the help text in this order."""

    def add(function: Function) -> Function:
        for option in reversed(added):
            function = option(function)
        return function

    return add


# Every command takes this option.
shared = click.option(
    "--traceback",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_remember_traceback,
    help="Print the traceback if an error occurs.",
)


def _consent(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        ctx.with_resource(consent())


# Every command that reads run folders takes this option.
trust = click.option(
    "--trust",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_consent,
    help="Run the plugins in run folders this time, also those of others.",
)

# The run folders that a command reads.
runs = click.argument(
    "path",
    type=click.Path(path_type=Path),
    default=Path("results"),
    shell_complete=completion.runs,
)

verbosity = _combined(
    click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors and failures."),
    click.option("-v", "--verbose", is_flag=True, help="Print the plan first."),
)

plugins = click.option(
    "--plugin",
    "plugin_files",
    type=click.Path(path_type=Path),
    metavar="FILE",
    multiple=True,
    help="Include the parts of a Python file. Repeatable.",
)

# Options that change an experiment, named like the arguments of `config.load`.
experiment = _combined(
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
        help="Change a setting. KEY is dotted, VALUE is YAML, a list is a sweep; KEY+=[...] adds to"
        " a list. Repeatable.",
    ),
    click.option(
        "--only",
        metavar="COLUMN=VALUE",
        multiple=True,
        help="Use only the data points or algorithms with this value. Repeatable.",
    ),
    click.option("--trials", type=Whole(min=1), help="Replicates of each data point."),
    click.option("--seed", type=Whole(min=0), help="Seed of the experiment."),
    click.option(
        "--tag",
        metavar="NAME",
        help="Name the results folder <profile>+NAME instead of using the values of --set.",
    ),
)

# Options of `run` for trials that claims request, the first two named like arguments of
# `config.load`.
deciding = _combined(
    click.option(
        "--until-decided",
        is_flag=True,
        help="Double the trials where claims are open, until all are decided.",
    ),
    click.option(
        "--max-trials",
        type=Whole(min=1),
        help="Largest number of trials of a point with --until-decided (default: 16 times the"
        " first).",
    ),
    click.option(
        "--max-time",
        metavar="DURATION",
        help="Stop --until-decided after a time such as 90s, 30m or 2h; the same command"
        " continues.",
    ),
)

# Options of `run` for the computation.
execution = _combined(
    click.option("-j", "--jobs", type=Whole(min=1), help="Worker processes (default: cores)."),
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
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Dask scheduler, such as tcp://host:8786, or its scheduler file (engine dask;"
        " default: a cluster on this machine).",
    ),
    click.option(
        "--cluster",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Start the Dask cluster that a YAML file describes (engine dask).",
    ),
    click.option(
        "--shard",
        metavar="K/N",
        help="Compute the K-th of N parts, in a folder of its own that `greedyexp merge` reads.",
    ),
    click.option("-f", "--force", is_flag=True, help="Compute everything again."),
    click.option(
        "-k",
        "--keep-going",
        is_flag=True,
        help="With several configs, continue with the next if one fails.",
    ),
    click.option("--retry-failed", is_flag=True, help="Compute failed replicates again."),
    click.option(
        "--pdb",
        is_flag=True,
        help="Stop in the debugger if an algorithm or a generator fails (serial engine).",
    ),
)
