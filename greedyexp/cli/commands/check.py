"""``greedyexp check``: validate experiments without running them."""

from __future__ import annotations

import click

from greedyexp.cli import completion, failures, options, plan
from greedyexp.core import shipped


@click.command("check", short_help="Validate configs without running them.")
@click.argument(
    "configs", nargs=-1, required=True, metavar="CONFIG...", shell_complete=completion.configs
)
@options.experiment
@click.option("--resolved", is_flag=True, help="Print the full config as YAML instead.")
@options.trust
@options.shared
@click.pass_context
def command(ctx: click.Context, configs: tuple[str, ...], resolved: bool, **choices) -> None:
    """Validate each CONFIG, a YAML file or the name of a shipped config, and run nothing."""
    from greedyexp import config as experiment
    from greedyexp.runner.code_version import require_importable

    def validate(numbered: tuple[int, str]) -> None:
        index, source = numbered
        found = shipped.locate(source)
        loaded = experiment.load(found, **choices)
        require_importable(loaded.plugins)
        if resolved:
            click.echo("---\n" * bool(index) + loaded.as_yaml(), nl=False)
        else:
            place = f"{source}: " if len(configs) > 1 else ""
            click.echo(f"{place}ok: {plan.size_words(loaded)}")
            for line in (*plan.described(loaded), *plan.unused_profile(ctx, found)):
                click.echo(line)

    ctx.exit(failures.each(ctx, enumerate(configs), validate))
