"""Keys of journal rows: hashes of everything that determines a row, and nothing else."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from greedyexp.core import registry
from greedyexp.core.errors import DataError
from greedyexp.core.files import reason
from greedyexp.core.part import Part
from greedyexp.core.parts import Generator
from greedyexp.datasets.own import locate, stamp_of
from greedyexp.experiment.model import AlgorithmSpec, Experiment, Point
from greedyexp.losses import binding
from greedyexp.runner import code_version
from greedyexp.runner.code_version import SourceFile
from greedyexp.runner.digests import NUMERICAL_LIBRARIES
from greedyexp.runner.seeds import digest

# The modules of the runner that determine numbers: they make the streams and call the parts.
RUNNER_MODULES = ("greedyexp.runner.seeds", "greedyexp.runner.evaluator")


@dataclass
class InputFiles:
    """Code and data that a run has read. Each file is read once, so later edits change no key.

    Parameters
    ----------
    code : dict of Path to SourceFile
        Source files that rows depend on.
    data : dict of Path to str
        Hashes of the data files.
    names : dict of Path to str
        Names of the data files in the settings.
    """

    code: dict[Path, SourceFile] = field(default_factory=dict)
    data: dict[Path, str] = field(default_factory=dict)
    names: dict[Path, str] = field(default_factory=dict)
    _stamps: dict[Path, tuple[int, ...]] = field(default_factory=dict)

    def hash(self, name: str) -> str:
        """Return the hash of a data file as it was when it was first read.

        Raises
        ------
        DataError
            If the file does not exist or cannot be read.
        """
        path = locate(name)
        # An absolute path is meaningless on another machine.
        own = path.name if Path(name).is_absolute() else name
        taken = [known for other, known in self.names.items() if other != path]
        self.names[path] = own if own not in taken else f"{len(taken) + 1}/{own}"
        if path not in self.data:
            self._stamps[path] = stamp_of(path)
            self.data[path] = file_hash(path)
        return self.data[path]

    def checksums(self) -> dict[str, str]:
        """Return the SHA-256 of each data file by its name, sorted."""
        found = {name: self.data[path] for path, name in self.names.items()}
        return dict(sorted(found.items()))

    def require_unchanged_data(self) -> None:
        """Raise ``DataError`` if a data file has changed since it was read."""
        for path, known in self.data.items():
            stamp = stamp_of(path)
            if stamp != self._stamps[path] and file_hash(path) != known:
                raise DataError(
                    "the data were changed during the run.",
                    place=str(path),
                    remedy="Finished replicates are kept; the same command continues with the new"
                    " data.",
                )
            self._stamps[path] = stamp


class Fingerprints:
    """Keys for the rows of one experiment.

    A key is the hash of the component of its point, the component of its algorithm, and the
    replicate. The contents of components say why two keys differ.

    The time limit and the labels of algorithms and of blocks of data are not hashed, since they
    change no number. ``retry_failed`` recomputes a row whose time limit was too short.

    Parameters
    ----------
    experiment : Experiment
    files : InputFiles, optional
        Files as they were when first read.
    """

    def __init__(self, experiment: Experiment, files: InputFiles | None = None):
        self._experiment, self._files = experiment, files or InputFiles()
        self._libraries = {name: version(name) for name in NUMERICAL_LIBRARIES}
        # Algorithms share most of their code, and following all imports takes milliseconds.
        code = self._files.code
        self._version_of = cache(partial(code_version.of_function, known=code))
        self._binds_losses = cache(partial(_binds_losses, known=code))
        self._runner = [code_version.of_module(name, code) for name in RUNNER_MODULES]
        self._points: dict[int, bytes] = {}
        self._algorithms: dict[str, list[bytes]] = {}
        # The content of each algorithm's component.
        self._contents: dict[bytes, dict[str, Any]] = {}
        for name in dict.fromkeys(point.generator for point in experiment.points):
            generator = registry.find("generator", name)
            identities = [self._of_algorithm(spec, generator) for spec in experiment.algorithms]
            self._algorithms[name] = list(map(digest, identities))
            for spec, component, identity in zip(
                experiment.algorithms, self._algorithms[name], identities, strict=True
            ):
                self._contents[component] = {"label": spec.label, **identity}

    def key(self, point: int, replicate: int, algorithm: int) -> bytes:
        """Return a key of 32 bytes for an algorithm on a replicate of a point, given by indices."""
        return key_of(self.point(point), self.algorithm(point, algorithm), replicate)

    def point(self, point: int) -> bytes:
        """Return the component of a point."""
        if point not in self._points:
            self._points[point] = digest(self._of_point(self._experiment.points[point]))
        return self._points[point]

    def algorithm(self, point: int, algorithm: int) -> bytes:
        """Return the component of an algorithm on the data of a point."""
        return self._algorithms[self._experiment.points[point].generator][algorithm]

    def components(self) -> dict[bytes, dict[str, Any]]:
        """Return the content of all components, and the versions of the files of code."""
        sources = {one.name: one.syntax for one in self._files.code.values()}
        code = digest(sources)
        found: dict[bytes, dict[str, Any]] = {code: {"kind": "sources", "files": sources}}
        for component, content in self._contents.items():
            found[component] = {"kind": "algorithm", "sources": code.hex(), **content}
        for index, point in enumerate(self._experiment.points):
            found[self.point(index)] = {"kind": "point", **self._of_point(point)}
        return found

    def _of_point(self, point: Point) -> dict[str, Any]:
        generator = registry.find("generator", point.generator)
        return {
            "seed": self._experiment.seed,
            "generator": generator.name,
            "params": point.params,
            "files": self._hashes(generator, point.params),
        }

    def _of_algorithm(self, spec: AlgorithmSpec, generator: Generator) -> dict[str, Any]:
        experiment, code = self._experiment, self._files.code
        part = registry.find("algorithm", spec.name)
        protocol = registry.find("protocol", experiment.protocol.name)
        metrics = [registry.find("metric", name) for name in experiment.metrics]
        used = [part, generator, protocol, *metrics]
        losses = self._losses(spec.params, *used)
        own = [one for one in (*used, *losses) if not one.shipped]
        paths = [code_version.source_of(one.function) for one in own]
        around = code_version.surroundings(filter(None, paths), code)
        packages = {
            **{name: one for name, one in around.packages.items() if name not in self._libraries},
            **part.packages_of(spec.params),
        }
        return {
            "generator_code": self._version(generator),
            "algorithm": spec.name,
            "params": spec.params,
            "tuning": spec.tuning,
            "folds": spec.folds if spec.tuning == "cv" else None,
            "code": self._version(part),
            "loss_code": [self._version(loss) for loss in losses],
            "protocol": [protocol.name, experiment.protocol.params],
            "protocol_code": self._version(protocol),
            "metrics": [[metric.name, self._version(metric)] for metric in metrics],
            "runner_code": self._runner,
            "libraries": self._libraries,
            **({"packages": packages} if packages else {}),
            **({"environment": around.variables} if around.variables else {}),
            "python": python_version(),
        }

    def _version(self, part: Part) -> str:
        return self._version_of(part.function)

    def _losses(self, params: dict[str, Any], *used: Part) -> list[Part]:
        """Return the losses that a row may use, which are looked up by name."""
        using = [one for one in used if self._binds_losses(one.function)]
        if not using:
            return []
        # A shipped part uses the loss that its parameters name; a plugin may use any loss.
        named = binding.loss_of(params)
        if named and all(one.shipped for one in using):
            return [named]
        return [*registry.parts("loss").values()]

    def _hashes(self, generator: Generator, params: dict[str, Any]) -> list[str]:
        """Return hashes of the files that a generator reads for these parameters."""
        reads = generator.reads
        return [self._files.hash(name) for name in reads(**params)] if reads else []


def key_of(point: bytes, algorithm: bytes, replicate: int) -> bytes:
    """Return the key of a replicate from its two components."""
    return hashlib.sha256(point + algorithm + str(replicate).encode("ascii")).digest()


def _binds_losses(function: Callable[..., Any], known: dict[Path, SourceFile]) -> bool:
    path = code_version.source_of(function)
    return path is None or Path(binding.__file__).resolve() in code_version.sources(path, known)


def python_version() -> str:
    """Return the Python version, such as 3.12; the hashed syntax depends on it."""
    return ".".join(platform.python_version_tuple()[:2])


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a data file; raise ``DataError`` if it cannot be read."""
    total = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                total.update(block)
    except OSError as error:
        raise DataError(f"the data cannot be read: {reason(error)}.", place=str(path)) from None
    return total.hexdigest()
