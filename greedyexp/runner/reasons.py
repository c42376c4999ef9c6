"""Reasons: what changed between the earlier components of a replicate and those of now."""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from greedyexp.config.run_names import changes
from greedyexp.core import registry
from greedyexp.core.listing import listed
from greedyexp.datasets.own import locate
from greedyexp.runner import code_version
from greedyexp.runner.fingerprint import RUNNER_MODULES
from greedyexp.runner.plan import Plan

_MOST_FILES = 4

Content = dict[str, Any]


class _PointContent(BaseModel):
    kind: Literal["point"]
    generator: str
    params: dict[str, Any]
    files: list[str]


class _AlgorithmContent(BaseModel):
    kind: Literal["algorithm"]
    sources: Annotated[str, Field(pattern="^([0-9a-f]{2})*$")]
    label: str
    algorithm: str
    params: dict[str, Any]
    protocol: tuple[str, dict[str, Any]]
    metrics: list[tuple[str, str]]
    generator_code: str
    code: str
    protocol_code: str
    loss_code: list[str]
    runner_code: list[str]
    libraries: dict[str, str]
    packages: dict[str, str | None] = {}
    environment: dict[str, str] = {}
    python: str


class _SourcesContent(BaseModel):
    kind: Literal["sources"]
    files: dict[str, str]


@cache
def _contents() -> TypeAdapter[Any]:
    return TypeAdapter(_PointContent | _AlgorithmContent | _SourcesContent)


def is_content(stored: Any) -> bool:
    """Return True for the content of a component; other versions may have written other ones."""
    try:
        _contents().validate_python(stored)
    except ValidationError:
        return False
    return True


class Reasons:
    """The differences between the contents of components.

    Parameters
    ----------
    plan : Plan
    components : mapping of bytes to Content
        The contents of all components by their hashes, those of now and earlier ones.
    """

    def __init__(self, plan: Plan, components: Mapping[bytes, Content]):
        self._plan, self._components = plan, components

    def between(
        self, point: int, old: tuple[bytes, bytes], new: tuple[bytes, bytes]
    ) -> tuple[str, ...]:
        """Return what changed, such as ``data.noise_std: 0.1 -> 0.5``.

        Parameters
        ----------
        point : int
            Index of the point of ``new``.
        old, new : tuple of bytes
            The components of the point and of the algorithm.
        """
        before = [self._components[component] for component in old]
        now = [self._components[component] for component in new]
        files = self._files(point, before[0]["files"], now[0]["files"])
        return (
            *changes(before[0], now[0], ("seed",)),
            *changes(before[0]["params"], now[0]["params"], _names(before[0], now[0]), "data."),
            *files,
            *_settings_changed(before[1], now[1]),
            *_versions_changed(before[1], now[1]),
            *self._code_changed(point, before[1], now[1]),
        )

    def _files(self, point: int, before: list[str], now: list[str]) -> list[str]:
        """Return which data files of a point changed."""
        source = self._plan.experiment.points[point]
        reads = registry.find("generator", source.generator).reads
        names = list(reads(**source.params)) if reads else []
        known = self._plan.files.names
        changed = [
            known[locate(name)]
            for index, name in enumerate(names)
            if index >= len(before) or before[index] != now[index]
        ]
        return [f"data file changed: {', '.join(changed)}"] if changed else []

    def _code_changed(self, point: int, before: Content, now: Content) -> list[str]:
        """Return which parts have other code, grouped by the files that changed."""
        generator = self._plan.experiment.points[point].generator
        old_files, new_files = (self._sources(content) for content in (before, now))
        edited = {name for name, code in new_files.items() if old_files.get(name) != code}
        parts: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
        for part, changed, known in self._parts(generator, before, now):
            if changed:
                parts[tuple(sorted(edited & known))].append(part)
        found = []
        for files, names in parts.items():
            which = f": {listed(files, _MOST_FILES)}" if files else ""
            found.append(f"code of {', '.join(names)}{which}")
        return found

    def _sources(self, content: Content) -> dict[str, str]:
        stored = bytes.fromhex(content["sources"])
        one = self._components.get(stored, {"files": {}})
        return dict(one["files"])

    def _parts(
        self, generator: str, before: Content, now: Content
    ) -> Iterator[tuple[str, bool, set[str]]]:
        """Yield each part with whether its code changed, and the names of its files."""
        named = [("generator", generator, "generator_code")]
        if before["algorithm"] == now["algorithm"]:
            named.append(("algorithm", now["algorithm"], "code"))
        if before["protocol"][0] == now["protocol"][0]:
            named.append(("protocol", now["protocol"][0], "protocol_code"))
        for kind, name, key in named:
            yield f"{kind} {name}", before[key] != now[key], self._files_of(kind, name)
        old_metrics = dict(before["metrics"])
        for name, code in now["metrics"]:
            if name in old_metrics:
                yield f"metric {name}", code != old_metrics[name], self._files_of("metric", name)
        losses = (self._files_of("loss", name) for name in registry.parts("loss"))
        yield "losses", before["loss_code"] != now["loss_code"], set().union(*losses)
        runner = self._files_of_modules(RUNNER_MODULES)
        yield "the runner", before["runner_code"] != now["runner_code"], runner

    def _files_of(self, kind: str, name: str) -> set[str]:
        path = code_version.source_of(registry.find(kind, name).function)
        return self._names_of([path] if path else [])

    def _files_of_modules(self, names: Iterable[str]) -> set[str]:
        specs = [importlib.util.find_spec(name) for name in names]
        return self._names_of(Path(spec.origin).resolve() for spec in specs if spec and spec.origin)

    def _names_of(self, paths: Iterable[Path]) -> set[str]:
        """Return the names of files and of all that they import."""
        known = self._plan.files.code
        return {
            source.name for path in paths for source in code_version.sources(path, known).values()
        }


def _names(before: Content, now: Content) -> list[str]:
    return list(dict.fromkeys([*before["params"], *now["params"]]))


def _settings_changed(before: Content, now: Content) -> list[str]:
    """Return the changed settings of an algorithm, the protocol and the metrics."""
    place = f"algorithms.{now['label']}"
    found = []
    if before["algorithm"] != now["algorithm"]:
        found.append(f"{place}: {before['algorithm']} -> {now['algorithm']}")
    else:
        found += changes(before["params"], now["params"], _names(before, now), f"{place}.")
        found += changes(before, now, ("tuning", "folds"), f"{place}.")
    (old, old_params), (new, new_params) = before["protocol"], now["protocol"]
    if old != new:
        found.append(f"protocol: {old} -> {new}")
    else:
        names = list(dict.fromkeys([*old_params, *new_params]))
        found += changes(old_params, new_params, names, "protocol.")
    old_metrics, new_metrics = (
        {"metrics": [name for name, _ in one["metrics"]]} for one in (before, now)
    )
    return [*found, *changes(old_metrics, new_metrics, ("metrics",))]


def _versions_changed(before: Content, now: Content) -> list[str]:
    """Return the changed versions of packages and of Python, and variables of the environment."""
    old, new = (
        {**one["libraries"], **one.get("packages", {}), "Python": one["python"]}
        for one in (before, now)
    )
    variables = [one.get("environment", {}) for one in (before, now)]
    return [
        *(
            f"version of {name}: {old.get(name, 'none')} -> {new.get(name, 'none')}"
            for name in dict.fromkeys([*old, *new])
            if old.get(name) != new.get(name)
        ),
        *(
            f"environment variable {name}"
            for name in dict.fromkeys([*variables[0], *variables[1]])
            if variables[0].get(name) != variables[1].get(name)
        ),
    ]
