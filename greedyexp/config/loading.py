"""From a YAML file, a profile and the command line to a validated experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from greedyexp.claims.setting import setting_of
from greedyexp.config.algorithms import Algorithms, read_algorithms
from greedyexp.config.claims import read_claims, read_readings, texts_of
from greedyexp.config.compatibility import refuse_columns, refuse_measured, refuse_part
from greedyexp.config.data import COLUMN, Data, read_data
from greedyexp.config.document import Document, from_mapping
from greedyexp.config.drawn import (
    refuse_averages,
    refuse_base,
    refuse_choice,
    refuse_figure,
    refuse_strangers,
    settings_of,
)
from greedyexp.config.entries import read_entries
from greedyexp.config.mistakes import Keys, Mistakes, Place
from greedyexp.config.model import PROFILES, Experiment, FigureSpec, Settings
from greedyexp.config.only import keep_only
from greedyexp.config.overrides import Override, apply_override, parse_override
from greedyexp.config.profiles import apply_profile, check_profiles
from greedyexp.config.protocol import Protocol, read_measured, read_protocol, refuse_metrics
from greedyexp.config.settings import (
    find_part,
    read_fixed,
    read_settings,
    refuse_incomplete,
)
from greedyexp.config.trials import AdaptiveTrials, mistakes_in
from greedyexp.config.variant import require_tag, variant_of
from greedyexp.config.where import Choice, Values, values_of
from greedyexp.config.yaml_source import read_file
from greedyexp.core.errors import ConfigError, did_you_mean
from greedyexp.core.parts import Display, Figure, Metric, Table
from greedyexp.core.plugins import load_plugins
from greedyexp.datasets.own import relative_to, search_folders
from greedyexp.experiment.design import design_of
from greedyexp.experiment.messages import show
from greedyexp.experiment.parameters import Parameters
from greedyexp.protocols.base import Measured

_AS_WRITTEN = ("name", "description", "paper", "seed", "time_limit")


def load(
    source: str | Path | dict,
    *,
    profile: str = "quick",
    overrides: Sequence[str] = (),
    only: Sequence[str] = (),
    trials: int | None = None,
    seed: int | None = None,
    tag: str | None = None,
    beside: Path | None = None,
) -> Experiment:
    """Read and validate an experiment; nothing is computed and nothing is written.

    Parameters
    ----------
    source : path or dict
        A YAML file, or its contents.
    profile : {"smoke", "quick", "paper", "deep"}
        Which changes of the file's ``profiles`` to apply; one it does not define has none.
    overrides : sequence of str
        ``dotted.key=value`` with the value in YAML; later ones win.
    only : sequence of str
        ``column=value[,value]``; keeps matching points and algorithms.
    trials, seed : int, optional
        Beat the file and the overrides.
    tag : str, optional
        Names the results folder, as ``<profile>+<tag>``. Overrides that change rows name it
        otherwise.
    beside : Path, optional
        Where relative paths start when ``source`` is a dict; the working directory by default. For
        a file it is always the folder of the file.

    Returns
    -------
    Experiment

    Raises
    ------
    ConfigError
        When anything in it is wrong, with file, line and remedy.
    PluginError
        When a plugin cannot be imported.
    """
    if not isinstance(source, dict):
        beside = Path(source).resolve().parent
        # A folder whose name is not text cannot be stored; the command line explains the error.
        str(beside).encode("utf-8")
    with relative_to(beside):
        return _load(source, profile, overrides, only, trials, seed, tag, beside or Path.cwd())


def _load(
    source: str | Path | dict,
    profile: str,
    overrides: Sequence[str],
    only: Sequence[str],
    trials: int | None,
    seed: int | None,
    tag: str | None,
    folder: Path,
) -> Experiment:
    doc = _open(source)
    mistakes = Mistakes()
    check_profiles(doc, profile, mistakes)
    replaced = doc.get(("profiles", profile, "algorithms")) is not None
    apply_profile(doc, profile)
    parsed = [parse_override(text) for text in overrides]
    replaced = replaced or any(one.key.partition(".")[0] == "algorithms" for one in parsed)
    plugins = _override(doc, folder, parsed)
    _set_options(doc, trials=trials, seed=seed)
    settings = read_settings(doc, mistakes)
    adaptive = settings.trials if isinstance(settings.trials, AdaptiveTrials) else None
    most = adaptive.max if adaptive else settings.trials
    protocol = read_protocol(doc, mistakes)
    data = read_data(doc, most, mistakes)
    algorithms = read_algorithms(doc, protocol, data, most, mistakes)
    metric_parts = _metrics(settings, protocol, data, doc, mistakes)
    figures = _drawn(doc, Figure, mistakes)
    tables = _drawn(doc, Table, mistakes)
    mistakes.stop_if_any()
    measured = read_measured(protocol, metric_parts, doc, mistakes)
    if adaptive:
        if replaced:
            adaptive = adaptive.limited_to(algorithms.named)
            settings = settings.model_copy(update={"trials": adaptive})
        adaptive = _complete(adaptive, protocol, data, measured, algorithms, doc, mistakes)
    names = [column.name for column in measured]
    refuse_measured(protocol.part, protocol.spec.params, names, data, doc, mistakes)
    columns = refuse_columns(data, algorithms.specs, names, doc, mistakes)
    results = [column.name for column in measured if not column.apart]
    for keys, part, spec in (*figures, *tables):
        refuse_figure(part, spec.params, columns, results, keys, doc, mistakes)
        refuse_strangers(part, spec.params, algorithms.named, keys, doc, mistakes, changed=replaced)
    resolved = _resolved(settings, plugins, protocol, data, algorithms, doc)
    design = design_of(resolved, profile)
    words = setting_of(design, measured, columns - texts_of(data))
    unchanged = _unchanged(source, profile, overrides, folder)
    values = values_of(measured, algorithms.specs)
    elsewhere = partial(_elsewhere, source, profile, metric_parts)
    choice = Choice(data, words, measured, values, elsewhere)
    settled = settings_of(data, algorithms.specs)
    for keys, part, spec in () if mistakes.found else (*figures, *tables):
        refuse_averages(part, spec.params, settled, measured, keys, doc, mistakes)
        # What the command line changes may leave a figure nothing, as it may leave claims out.
        if not overrides:
            refuse_choice(part, spec.params, choice, keys, doc, mistakes)
        if not (overrides or replaced):
            refuse_base(spec.params, choice, algorithms.specs, keys, doc, mistakes)
    claims, dropped = read_claims(doc, choice, design.family, mistakes, unchanged=unchanged)
    read_readings(doc, mistakes)
    mistakes.stop_if_any()
    experiment = Experiment(
        **{key: getattr(settings, key) for key in _AS_WRITTEN},
        profile=profile,
        protocol=protocol.spec,
        trials=most,
        adaptive=adaptive,
        points=data.points,
        swept=data.swept,
        algorithms=algorithms.specs,
        metrics=[part.name for part in metric_parts],
        figures=[spec for _, _, spec in figures],
        tables=[spec for _, _, spec in tables],
        claims=claims,
        dropped=dropped,
        plugins=plugins,
        folder=folder,
        variant=variant_of(parsed, seed) if tag is None else f"+{require_tag(tag)}",
        resolved=_resolved(settings, plugins, protocol, data, algorithms, doc),
    )
    return keep_only(experiment, tuple(only)) if only else experiment


def reload(resolved: dict, *, profile: str, beside: Path | None = None) -> Experiment:
    """The experiment that resolved settings describe, without its claims, figures and tables.

    These were checked when the file was loaded, which has the profiles that they may mean.
    Relative paths start from the folder ``beside``, by default the working directory.
    """
    if isinstance(resolved, dict):
        left_out = ("claims", "figures", "tables")
        resolved = {key: value for key, value in resolved.items() if key not in left_out}
    return load(resolved, profile=profile, beside=beside)


def _open(source: str | Path | dict) -> Document:
    if isinstance(source, dict):
        return from_mapping(source)
    doc = read_file(source)
    if doc.data is None:
        raise ConfigError(
            "the file is empty.",
            place=str(source),
            remedy="greedyexp new config NAME writes a starting point.",
        )
    if not isinstance(doc.data, dict):
        raise ConfigError(
            f"an experiment is a mapping of settings, but this is {show(doc.data)}.",
            place=str(doc.place()),
        )
    return doc


def _unchanged(
    source: str | Path | dict, profile: str, overrides: Sequence[str], folder: Path
) -> Callable[[], Experiment] | None:
    """Loads the experiment without its overrides; None when these do not set claims apart.

    Plugins stay: another version of a part cannot be registered beside the one in use.
    """
    keys = [parse_override(text).key for text in overrides]
    if set(keys) <= {"plugins"} or any(key.startswith("claims") for key in keys):
        return None
    kept = [text for text, key in zip(overrides, keys, strict=True) if key == "plugins"]
    return partial(load, source, profile=profile, overrides=kept, beside=folder)


def _elsewhere(source: str | Path | dict, profile: str, metrics: list[Metric]) -> Iterator[Values]:
    """What the other profiles of the file as written give keys and swept parameters."""
    for other in PROFILES:
        if other == profile:
            continue
        doc = _open(source)
        apply_profile(doc, other)
        protocol = read_protocol(doc, Mistakes())
        measured = read_measured(protocol, metrics, doc, Mistakes()) if protocol else []
        yield values_of(measured, read_algorithms(doc, None, None, 1, Mistakes()).specs)


def _set_options(doc: Document, **options: int | None) -> None:
    for name, value in options.items():
        if value is not None:
            doc.graft((name,), Document(value, {(): Place(f"--{name} {value}")}))


def _override(doc: Document, folder: Path, overrides: list[Override]) -> list[str]:
    """Apply the overrides, plugins first since the others may name what those register.

    Returns
    -------
    list of str
        Absolute paths of the plugins.
    """
    folders = search_folders(folder)
    for override in overrides:
        if override.key == "plugins":
            apply_override(doc, override)
            # A path on the command line starts from the working directory first.
            folders = [Path.cwd(), folder]
    plugins = _plugins(doc, folders)
    load_plugins(plugins)
    for override in overrides:
        if override.key != "plugins":
            apply_override(doc, override)
    return plugins


def _plugins(doc: Document, folders: list[Path]) -> list[str]:
    written = doc.get(("plugins",))
    paths = []
    for index, name in enumerate(written if isinstance(written, list) else ()):
        if not isinstance(name, str):
            continue
        relative = Path(name).expanduser()
        found = [path for path in (folder / relative for folder in folders) if path.is_file()]
        if not found:
            searched = "" if relative.is_absolute() else f" in {' or '.join(map(str, folders))}"
            nearby = {file.name for f in folders for file in (f / relative).parent.glob("*.py")}
            raise ConfigError(
                f"there is no plugin file '{name}'{searched}.",
                place=str(doc.place(("plugins", index))),
                remedy=did_you_mean(relative.name, nearby) if len(nearby) < 20 else None,
            )
        paths.append(str(found[0].resolve()))
    return paths


def _metrics(
    settings: Settings,
    protocol: Protocol | None,
    data: Data | None,
    doc: Document,
    mistakes: Mistakes,
) -> list[Metric]:
    metrics: list[Metric] = []
    if protocol is not None:
        refuse_metrics(protocol, settings.metrics, doc, mistakes)
    for index, name in enumerate(settings.metrics):
        keys = ("metrics", index)
        part = find_part(Metric, name, keys, doc, mistakes)
        if part is None:
            continue
        if name in [metric.name for metric in metrics]:
            mistakes.add(doc.place(keys), f"metric '{name}' is listed twice.", "Keep one.")
        metrics.append(part)
        if data is not None:
            refuse_part(part, data, keys, doc, mistakes)
    return metrics


def _drawn(
    doc: Document, kind: type[Display], mistakes: Mistakes
) -> list[tuple[Keys, Display, FigureSpec]]:
    """The figures or tables with their places."""
    found = []
    for entry in read_entries(doc, f"{kind.kind}s", mistakes):
        part = find_part(kind, entry.name, entry.keys, doc, mistakes)
        if part is None:
            continue
        parameters = Parameters(part)
        given = read_fixed(entry.settings, entry.keys, parameters, doc, mistakes)
        refuse_incomplete(parameters, set(entry.settings), entry.keys, doc, mistakes)
        params = {**parameters.defaults, **given}
        ordered = {name: params[name] for name in parameters.names if name in params}
        found.append((entry.keys, part, FigureSpec(entry.name, ordered)))
    return found


def _complete(
    adaptive: AdaptiveTrials,
    protocol: Protocol,
    data: Data,
    measured: list[Measured],
    algorithms: Algorithms,
    doc: Document,
    mistakes: Mistakes,
) -> AdaptiveTrials:
    """The rule with its success metrics; what the experiment cannot give it is noted."""
    # A rule looks at one row of a replicate.
    keyed = any(column.kind == "key" for column in measured)
    binary = [] if keyed else [one.name for one in measured if one.kind == "success"]
    if not binary and (keyed or not protocol.part.metrics):
        mistakes.add(
            doc.place(("trials",)),
            f"protocol '{protocol.part.name}' gives no one success (0 or 1) of a replicate for a"
            " rule to decide by.",
            "Give a number of trials.",
        )
        return adaptive
    for keys, message, remedy in mistakes_in(
        adaptive,
        points=[point.params for point in data.points],
        swept=data.swept_by_all(),
        somewhere=[name for name in data.swept if name != COLUMN],
        zipped=data.zipped(),
        metrics=binary,
        algorithms=algorithms.named,
    ):
        mistakes.add(doc.place(("trials", *keys)), message, remedy)
    default = {"default": binary[0]} if binary else {}
    return adaptive.model_copy(update={"success": default | adaptive.success})


def _resolved(
    settings: Settings,
    plugins: list[str],
    protocol: Protocol,
    data: Data,
    algorithms: Algorithms,
    doc: Document,
) -> dict:
    whole = {
        **settings.model_dump(mode="json", exclude={"profiles"}, exclude_none=True),
        "protocol": protocol.resolved,
        "plugins": plugins,
        "data": data.resolved,
        "algorithms": algorithms.resolved,
        "figures": doc.get(("figures",)),
        "tables": doc.get(("tables",)),
        "claims": doc.get(("claims",)),
        "readings": doc.get(("readings",)),
    }
    return {key: value for key, value in whole.items() if value not in (None, "", [])}
