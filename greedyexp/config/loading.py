"""From a YAML file, a profile and the command line to a validated experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from greedyexp.claims.setting import setting_of
from greedyexp.config.algorithms import (
    measured_by,
    names_of,
    read_algorithms,
    read_metrics,
    read_protocol,
)
from greedyexp.config.claims import Choice, Values, read_claims, values_of
from greedyexp.config.data import read_data
from greedyexp.config.displays import check_displays, read_displays
from greedyexp.config.document import Document, Node, document_of, read_file
from greedyexp.config.only import keep_only
from greedyexp.config.patches import (
    Override,
    apply_overrides,
    apply_profile,
    check_profiles,
    options,
    parse_override,
)
from greedyexp.config.rules import (
    check_columns,
    check_predictions,
    check_protocol_needs,
    check_replicates,
)
from greedyexp.config.run_names import require_tag, variant_name
from greedyexp.config.sections import read_models
from greedyexp.config.trials import MAX_TRIALS, UNTIL_DECIDED, UntilDecided, complete_rule
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.parts import Figure, Metric, Table
from greedyexp.core.plugins import load_plugins
from greedyexp.core.registry import find
from greedyexp.core.trust import is_run_folder, plugin_files
from greedyexp.datasets.own import relative_to, search_folders
from greedyexp.experiment.design import design_of
from greedyexp.experiment.messages import show, unknown_key
from greedyexp.experiment.model import Experiment, PartSpec
from greedyexp.experiment.parameters import BadValue, adapter_of, read_value
from greedyexp.experiment.settings import PROFILES, AdaptiveTrials, ClaimEntry, Reading, Settings

_AS_WRITTEN = ("name", "description", "paper", "seed", "time_limit")
# Sections that readers of their own check item by item.
_LISTED = ("algorithms", "figures", "tables", "metrics", "claims", "readings")
_OWN_READERS = ({*_LISTED} - {"metrics"}) | {"data", "protocol", "profiles"}
_CONTAINERS: dict[str, tuple[str, tuple[type, ...]]] = {
    "data": ("a mapping or a list", (dict, list)),
    "profiles": ("a mapping", (dict,)),
}
# The name that stands in for a wrong one.
_UNNAMED = "unnamed"


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
                measured = measured_by(protocol, metrics, node) if protocol else []
                yield values_of(measured, read_algorithms(node, None, None, 1)[0])


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
        settings["trials"] = request.until.rule(settings["trials"], node.at("trials"))
    rule = settings["trials"] if isinstance(settings["trials"], AdaptiveTrials) else None
    trials = rule.max if rule else settings["trials"]
    protocol = read_protocol(node.at("protocol"))
    data = read_data(node.at("data"), trials)
    specs, algorithms = read_algorithms(node, protocol, data, trials)
    metrics = read_metrics(node.at("metrics"), settings["metrics"], protocol, data)
    figures, tables = read_displays(node, Figure), read_displays(node, Table)
    written_claims = read_models(node, "claims", ClaimEntry)
    read_models(node, "readings", Reading)
    stop_if_any()
    # Errors in the protocol or the data have been raised by now.
    assert protocol is not None
    assert data is not None
    check_predictions(metrics, specs, node.at("metrics"))
    measured = measured_by(protocol, metrics, node.at("protocol"))
    if rule and replaced:
        rule = rule.limited_to(names_of(specs))
        settings["trials"] = rule
    if rule:
        rule = complete_rule(rule, protocol, data, measured, specs, node.at("trials"))
    part = find("protocol", protocol.name)
    check_protocol_needs(part, protocol.params, data, node.at("protocol"))
    check_replicates(data, specs, trials, rule, node.at("trials"))
    columns = check_columns(data, specs, [one.name for one in measured], node)
    settings |= {
        "protocol": _as_entry(protocol),
        "plugins": plugins,
        "data": data.resolved,
        "algorithms": algorithms,
    }
    design = design_of(_resolved(node.doc, settings), request.profile)
    setting = setting_of(design, measured, columns - data.texts)
    elsewhere = partial(request.elsewhere, metrics)
    choice = Choice(data, specs, setting, measured, columns, elsewhere)
    check_displays([*figures, *tables], choice, changed=bool(overrides), replaced=replaced)
    unchanged = request.unchanged()
    claims, dropped = read_claims(node, written_claims, choice, design.family, unchanged)
    if rule and rule.until_decided and not claims and not request.resolved:
        raise ConfigError(
            "the experiment has no claims to decide.",
            place=UNTIL_DECIDED if request.until else str(node.at("trials").place),
            remedy="Give a number of trials, or add claims.",
        )
    stop_if_any()
    return Experiment(
        **{key: settings[key] for key in _AS_WRITTEN},
        profile=request.profile,
        protocol=protocol,
        trials=trials,
        adaptive=rule,
        points=data.points,
        swept=data.swept,
        algorithms=specs,
        metrics=[metric.name for metric in metrics],
        figures=[display.spec for display in figures],
        tables=[display.spec for display in tables],
        claims=claims,
        dropped=dropped,
        plugins=plugins,
        folder=request.folder,
        variant=variant_name([*overrides, *request.options]),
        # Without the claims that were dropped.
        resolved=_resolved(node.doc, settings),
    )


def _as_entry(protocol: PartSpec) -> str | dict[str, Any]:
    """Return the protocol in the form of the YAML file, with defaults filled in."""
    return (
        {protocol.name: to_jsonable_python(protocol.params)} if protocol.params else protocol.name
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
    # Those in the folder of a run may be of others.
    stored = not isinstance(request.source, dict) and is_run_folder(Path(request.source))
    names = _plugin_names(node) if stored else []
    agreed = dict(zip(names, plugin_files(request.folder, names, request.folder), strict=True))
    apply_overrides(doc, of_plugins)
    # A path on the command line is looked up in the working directory first.
    folders = [Path.cwd(), request.folder] if of_plugins else search_folders(request.folder)
    plugins = _find_plugins(node.at("plugins"), [Path.cwd()] if stored else folders, agreed)
    load_plugins(plugins)
    apply_overrides(doc, [one for one in overrides if one.key != "plugins"])
    apply_overrides(doc, request.options)
    return plugins, replaced or any(one.section == "algorithms" for one in overrides)


def _plugin_names(node: Node) -> list[str]:
    return [item.value for item in node.at("plugins").items if isinstance(item.value, str)]


def _find_plugins(node: Node, folders: list[Path], agreed: dict[str, Path]) -> list[str]:
    """Return the absolute paths of plugins; those of a run folder are known."""
    paths = []
    for item in node.items:
        name = item.value
        if not isinstance(name, str):
            continue
        if name in agreed:
            paths.append(str(agreed[name]))
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


def _read_settings(node: Node) -> dict[str, Any]:
    """Return the settings that need no reader of their own, and report wrong ones.

    The value of a wrong setting is its default, so that the mistakes of the sections are found,
    too.

    Raises
    ------
    ConfigError
        If the top level has unknown keys.
    """
    written, settings = node.value, {}
    unknown = [key for key in written if key not in Settings.model_fields]
    for key in unknown:
        node.at(key).add(*unknown_key(key, Settings.model_fields))
    for key, setting in Settings.model_fields.items():
        here, value = node.at(key), written.get(key)
        settings[key] = setting.get_default(call_default_factory=True)
        if key not in written:
            if setting.is_required():
                node.add(f"'{key}' is missing.")
        elif key in _OWN_READERS or (key in _LISTED and not isinstance(value, list)):
            settings[key] = None if key == "metrics" else value
            if key != "protocol":
                _check_container(here, value)
        else:
            try:
                settings[key] = read_value(
                    adapter_of(Settings, key), value, key, setting.annotation
                )
            except BadValue as error:
                here.add_all(error.found)
                settings[key] = None if key == "metrics" else settings[key]
    if unknown:
        # The settings that were meant would change what is wrong in the others.
        node.diagnostics.stop_if_any()
    return settings | ({} if isinstance(settings["name"], str) else {"name": _UNNAMED})


def _check_container(node: Node, value: Any) -> None:
    """Report a section that is neither a list nor, if it may be one, a mapping."""
    key = str(node.keys[0])
    wanted, kinds = _CONTAINERS.get(key, ("a list", (list,)))
    if value == [] and key in ("data", "algorithms"):
        wanted += " of at least 1 item"
    elif isinstance(value, kinds):
        return
    remedy = "Start each entry with a dash." if value else "List at least one."
    node.add(f"{key} must be {wanted}, but is {show(value)}.", remedy if key in _LISTED else "")


def _resolved(doc: Document, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings as plain data, with figures, tables and claims from ``doc``."""
    as_written = {key: doc.get((key,)) for key in ("figures", "tables", "claims", "readings")}
    whole = {**settings, **as_written}
    del whole["profiles"]
    for key, value in whole.items():
        if isinstance(value, BaseModel):
            whole[key] = value.model_dump(mode="json", exclude_none=True)
    return {key: value for key, value in whole.items() if value not in (None, "", [])}
