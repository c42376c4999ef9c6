"""From a YAML file, a profile and the command line to a validated experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from greedyexp.claims.setting import setting_of
from greedyexp.config.algorithms import read_algorithms
from greedyexp.config.choices import Choice, Values, values_of
from greedyexp.config.claims import read_claims
from greedyexp.config.data import read_data
from greedyexp.config.displays import check_displays, read_displays
from greedyexp.config.document import Document, Node, document_of
from greedyexp.config.only import keep_only
from greedyexp.config.patches import (
    Override,
    apply_overrides,
    apply_profile,
    check_profiles,
    options,
    parse_override,
)
from greedyexp.config.protocol import read_metrics, read_protocol
from greedyexp.config.reading import read_file
from greedyexp.config.rules import check_columns, check_protocol_needs
from greedyexp.config.run_names import require_tag, variant_name
from greedyexp.config.sections import check_keys, read_models
from greedyexp.config.trials import MAX_TRIALS, UNTIL_DECIDED, UntilDecided, complete_rule
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.parts import Figure, Metric, Table
from greedyexp.core.plugins import load_plugins
from greedyexp.datasets.own import relative_to, search_folders
from greedyexp.experiment.design import design_of
from greedyexp.experiment.messages import show
from greedyexp.experiment.model import (
    PROFILES,
    AdaptiveTrials,
    Experiment,
    PaperReference,
    Reading,
    Settings,
)
from greedyexp.experiment.parameters import BadValue, model_adapter, read_value

_AS_WRITTEN = ("name", "description", "paper", "seed", "time_limit")
_LISTED = ("algorithms", "figures", "tables", "metrics", "claims", "readings")
# Settings that no section depends on, with the values that stand in for wrong ones.
_ALONE = {
    "name": "unnamed",
    "description": "",
    "paper": None,
    "seed": 0,
    "trials": 1,
    "time_limit": None,
}


@dataclass(frozen=True)
class _Request:
    """The experiment to load; relative paths start from ``folder``.

    If the settings are ``resolved``, claims, figures and tables were left out of them.
    """

    source: str | Path | dict[str, Any]
    profile: str
    folder: Path
    overrides: tuple[str, ...] = ()
    options: tuple[Override, ...] = ()
    until: UntilDecided | None = None
    resolved: bool = False

    def open(self) -> Document:
        """Return the settings as written."""
        if isinstance(self.source, dict):
            return document_of(self.source)
        doc = read_file(self.source)
        if doc.data is None:
            raise ConfigError(
                "the file is empty.",
                place=str(self.source),
                remedy="greedyexp new config NAME writes a starting point.",
            )
        if not isinstance(doc.data, dict):
            raise ConfigError(
                f"an experiment is a mapping of settings, but this is {show(doc.data)}.",
                place=str(doc.place()),
            )
        return doc

    def unchanged(self) -> Callable[[], Experiment] | None:
        """Return a function that loads the experiment without overrides.

        Overrides of plugins are kept, since two versions of a part cannot be registered together.
        Return None if there are no other overrides, or if an override changes claims.
        """
        keys = [parse_override(text).key for text in self.overrides]
        if set(keys) <= {"plugins"} or any(key.startswith("claims") for key in keys):
            return None
        kept = [text for text, key in zip(self.overrides, keys, strict=True) if key == "plugins"]
        return partial(_load, replace(self, overrides=tuple(kept), options=()))

    def elsewhere(self, metrics: list[Metric]) -> Iterator[Values]:
        """Yield the values of keys and swept parameters in the other profiles."""
        for profile in PROFILES:
            if profile != self.profile:
                node = Node(self.open())
                apply_profile(node.doc, profile)
                protocol = read_protocol(node.at("protocol"))
                measured = protocol.measured(metrics, node.at("protocol")) if protocol else []
                yield values_of(measured, read_algorithms(node, None, None, 1).specs)


def load(
    source: str | Path | dict[str, Any],
    *,
    profile: str = "quick",
    overrides: Sequence[str] = (),
    only: Sequence[str] = (),
    trials: int | None = None,
    seed: int | None = None,
    tag: str | None = None,
    until_decided: bool = False,
    max_trials: int | None = None,
) -> Experiment:
    """Read and validate an experiment; nothing is computed and nothing is written.

    Parameters
    ----------
    source : path or dict
        A YAML file, or its contents.
    profile : {"smoke", "quick", "paper", "deep"}
        Selects changes from the file's ``profiles``; a profile that the file does not define
        changes nothing.
    overrides : sequence of str
        ``dotted.key=value`` with the value in YAML; later ones win.
    only : sequence of str
        ``column=value[,value]``; keeps matching points and algorithms.
    trials, seed : int, optional
        Values that replace those of the file and of the overrides.
    tag : str, optional
        Name of the results folder: ``<profile>+<tag>``. By default the overrides that change rows
        name it.
    until_decided : bool
        Continue trials where claims are open, from the given number of trials.
    max_trials : int, optional
        Largest number of trials of a point if ``until_decided``; by default 16 times the number of
        the first look.

    Returns
    -------
    Experiment
        Its relative paths start from the folder of the file, or from the working directory.

    Raises
    ------
    ConfigError
        If the experiment is not valid. The message gives the file, the line and a remedy.
    PluginError
        If a plugin cannot be imported.
    """
    folder = None
    if not isinstance(source, dict):
        folder = Path(source).resolve().parent
        # A folder whose name is not text cannot be stored; the command line explains the error.
        str(folder).encode("utf-8")
    given = tuple(options(trials=trials, seed=seed))
    until = UntilDecided(max_trials) if until_decided else None
    if max_trials is not None and not until_decided:
        raise ConfigError(
            f"it needs {UNTIL_DECIDED}.", place=MAX_TRIALS, remedy=f"Add {UNTIL_DECIDED}."
        )
    request = _Request(source, profile, folder or Path.cwd(), tuple(overrides), given, until)
    with relative_to(folder):
        experiment = _load(request)
    if tag is not None:
        experiment = replace(experiment, variant=f"+{require_tag(tag)}")
    if not only:
        return experiment
    if experiment.adaptive and experiment.adaptive.until_decided:
        raise ConfigError(
            "trials until the claims are decided need all points and algorithms.",
            place=" ".join(f"--only {text}" for text in only),
            remedy="Leave out the choice, or give a number of trials.",
        )
    return keep_only(experiment, tuple(only))


def reload(resolved: dict[str, Any], *, profile: str, folder: Path | None = None) -> Experiment:
    """Return the experiment of resolved settings, without its figures and tables.

    Its claims are kept in ``resolved`` if they decide on the number of trials.

    Claims, figures and tables were checked when the file was loaded; they may refer to profiles
    that resolved settings do not have. Relative paths start from ``folder``, by default
    the working directory.
    """
    left_out = ("claims", "figures", "tables")
    kept = {key: value for key, value in resolved.items() if key not in left_out}
    with relative_to(folder):
        experiment = _load(_Request(kept, profile, folder or Path.cwd(), resolved=True))
    if experiment.adaptive and experiment.adaptive.until_decided:
        # The claims tell which replicates the run wants.
        claims = resolved.get("claims", [])
        return replace(experiment, resolved={**experiment.resolved, "claims": claims})
    return experiment


def _load(request: _Request) -> Experiment:
    node = Node(request.open())
    stop_if_any = node.diagnostics.stop_if_any
    overrides = [parse_override(text) for text in request.overrides]
    plugins, replaced = _changed(node, request, overrides)
    settings = _read_settings(node)
    if request.until:
        trials_rule = request.until.rule(settings.trials, node.at("trials"))
        settings = settings.model_copy(update={"trials": trials_rule})
    rule = settings.trials if isinstance(settings.trials, AdaptiveTrials) else None
    trials = settings.trials if isinstance(settings.trials, int) else settings.trials.max
    protocol = read_protocol(node.at("protocol"))
    data = read_data(node.at("data"), trials)
    algorithms = read_algorithms(node, protocol, data, trials)
    metrics = read_metrics(node.at("metrics"), settings.metrics, protocol, data)
    figures, tables = read_displays(node, Figure), read_displays(node, Table)
    stop_if_any()
    # Errors in the protocol or the data have been raised by now.
    assert protocol is not None
    assert data is not None
    measured = protocol.measured(metrics, node.at("protocol"))
    if rule and replaced:
        rule = rule.limited_to(algorithms.names)
        settings = settings.model_copy(update={"trials": rule})
    if rule:
        rule = complete_rule(rule, protocol, data, measured, algorithms, node.at("trials"))
    check_protocol_needs(protocol.part, protocol.spec.params, data, node.at("protocol"))
    columns = check_columns(data, algorithms.specs, [one.name for one in measured], node)
    resolved = partial(
        _resolved,
        node.doc,
        settings,
        protocol=protocol.resolved,
        plugins=plugins,
        data=data.resolved,
        algorithms=algorithms.resolved,
    )
    design = design_of(resolved(), request.profile)
    setting = setting_of(design, measured, columns - data.texts)
    elsewhere = partial(request.elsewhere, metrics)
    choice = Choice(data, algorithms, setting, measured, columns, elsewhere)
    check_displays([*figures, *tables], choice, changed=bool(overrides), replaced=replaced)
    claims, dropped = read_claims(node, choice, design.family, request.unchanged())
    read_models(node, "readings", Reading)
    if rule and rule.until_decided and not claims and not request.resolved:
        raise ConfigError(
            "the experiment has no claims to decide.",
            place=UNTIL_DECIDED if request.until else str(node.at("trials").place),
            remedy="Give a number of trials, or add claims.",
        )
    stop_if_any()
    return Experiment(
        **{key: getattr(settings, key) for key in _AS_WRITTEN},
        profile=request.profile,
        protocol=protocol.spec,
        trials=trials,
        adaptive=rule,
        points=data.points,
        swept=data.swept,
        algorithms=algorithms.specs,
        metrics=[part.name for part in metrics],
        figures=[display.spec for display in figures],
        tables=[display.spec for display in tables],
        claims=claims,
        dropped=dropped,
        plugins=plugins,
        folder=request.folder,
        variant=variant_name([*overrides, *request.options]),
        # Without the claims that were dropped.
        resolved=resolved(),
    )


def _changed(node: Node, request: _Request, overrides: list[Override]) -> tuple[list[str], bool]:
    """Apply profile, overrides and options.

    Returns
    -------
    plugins : list of str
        Absolute paths.
    replaced : bool
        True if profile or overrides changed the algorithms of the file.
    """
    doc, profile = node.doc, request.profile
    check_profiles(node, profile)
    replaced = doc.get(("profiles", profile, "algorithms")) is not None
    apply_profile(doc, profile)
    # Plugins come first, since other overrides may name the parts that they register.
    of_plugins = [one for one in overrides if one.key == "plugins"]
    apply_overrides(doc, of_plugins)
    # A path on the command line is looked up in the working directory first.
    folders = [Path.cwd(), request.folder] if of_plugins else search_folders(request.folder)
    plugins = _find_plugins(node.at("plugins"), folders)
    load_plugins(plugins)
    apply_overrides(doc, [one for one in overrides if one.key != "plugins"])
    apply_overrides(doc, request.options)
    return plugins, replaced or any(one.section == "algorithms" for one in overrides)


def _find_plugins(node: Node, folders: list[Path]) -> list[str]:
    """Return the absolute paths of plugins."""
    paths = []
    for item in node.items:
        name = item.value
        if not isinstance(name, str):
            continue
        relative = Path(name).expanduser()
        found = [path for path in (folder / relative for folder in folders) if path.is_file()]
        if not found:
            searched = "" if relative.is_absolute() else f" in {' or '.join(map(str, folders))}"
            nearby = {file.name for f in folders for file in (f / relative).parent.glob("*.py")}
            raise ConfigError(
                f"there is no plugin file '{name}'{searched}.",
                place=str(item.place),
                remedy=did_you_mean(relative.name, nearby) if len(nearby) < 20 else None,
            )
        paths.append(str(found[0].resolve()))
    return paths


def _read_settings(node: Node) -> Settings:
    """Return the validated top level.

    A wrong value that no section depends on is reported, and its default is returned: so the
    mistakes of the sections are found, too.

    Raises
    ------
    ConfigError
        If the top level has unknown keys, or sections of a wrong type.
    """
    written = check_keys(node, node.value, Settings.model_fields)
    if isinstance(written.get("paper"), dict):
        paper = check_keys(node.at("paper"), written["paper"], PaperReference.model_fields)
        written["paper"] = paper
    deep = {*_LISTED, "data", "profiles"} - {"metrics"}
    shallow = {key: _shallow(value) if key in deep else value for key, value in written.items()}
    unknown, wrong = node.count, set()
    try:
        settings: Settings = read_value(model_adapter(Settings), shallow, "")
    except BadValue as error:
        for keys, message, remedy in error.found:
            if len(keys) == 1 and keys[0] in _LISTED:
                value = node.at(*keys).value
                remedy = "Start each entry with a dash." if value else "List at least one."
                if isinstance(value, dict):
                    message = f"{keys[0]} must be a list, but is {show(value)}."
            node.at(*keys).add(message, remedy)
        wrong = {keys[0] if keys else "" for keys, _, _ in error.found}
    if unknown or wrong - _ALONE.keys():
        node.diagnostics.stop_if_any()
    if wrong:
        kept = {key: value for key, value in shallow.items() if key not in wrong}
        settings = read_value(model_adapter(Settings), _ALONE | kept, "")
    return settings


def _shallow(value: Any) -> Any:
    """Return a container without its contents, whose errors later checks describe better."""
    if isinstance(value, dict):
        return {}
    if isinstance(value, list):
        return [0] * min(len(value), 1)
    return value


def _resolved(doc: Document, settings: Settings, **sections: Any) -> dict[str, Any]:
    """Return the settings with these sections, and figures, tables and claims from ``doc``."""
    whole = {
        **settings.model_dump(mode="json", exclude={"profiles"}, exclude_none=True),
        **sections,
        **{key: doc.get((key,)) for key in ("figures", "tables", "claims", "readings")},
    }
    return {key: value for key, value in whole.items() if value not in (None, "", [])}
