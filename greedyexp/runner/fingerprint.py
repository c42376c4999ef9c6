"""The key of a journal row: a hash of everything that determines the row, and of nothing else."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path

from greedyexp.core import registry
from greedyexp.core.errors import DataError
from greedyexp.core.parts import Generator, Part
from greedyexp.datasets.own import locate
from greedyexp.losses import binding
from greedyexp.runner import code_version
from greedyexp.runner.canonical import digest
from greedyexp.runner.code_version import Source

NUMERICAL_LIBRARIES = ("numpy", "scipy", "numba", "clarabel")

# Of the runner, only what makes the streams and calls the parts has a say in the numbers.
RUNNER_MODULES = ("greedyexp.runner.seeds", "greedyexp.runner.canonical", "greedyexp.runner.work")


@dataclass
class Disk:
    """What a run has read of code and data, each file once: an edit while it runs changes no key.

    Parameters
    ----------
    code : dict of Path to Source
        Files of code that rows depend on.
    data : dict of Path to str
        Hashes of the data files.
    names : dict of Path to str
        What the settings call each data file.
    """

    code: dict[Path, Source] = field(default_factory=dict)
    data: dict[Path, str] = field(default_factory=dict)
    names: dict[Path, str] = field(default_factory=dict)

    def hash(self, name: str) -> str:
        """Of a data file, as it was when it was first asked for.

        Raises
        ------
        DataError
            When there is no such file, or it cannot be read.
        """
        path = locate(name)
        # An absolute path means nothing on another machine.
        own = path.name if Path(name).is_absolute() else name
        taken = [known for other, known in self.names.items() if other != path]
        self.names[path] = own if own not in taken else f"{len(taken) + 1}/{own}"
        if path not in self.data:
            self.data[path] = _file_hash(path)
        return self.data[path]

    def checksums(self) -> dict[str, str]:
        """SHA-256 of each data file by its name, sorted."""
        found = {name: self.data[path] for path, name in self.names.items()}
        return dict(sorted(found.items()))

    def require_unchanged_data(self) -> None:
        """Refuse to go on with data that are no longer those of the keys.

        Raises
        ------
        DataError
            When a data file has other contents than when it was read.
        """
        for path, known in self.data.items():
            if _file_hash(path) != known:
                raise DataError(
                    "the data were changed while the run was going on.",
                    place=str(path),
                    remedy="Everything finished is kept; the same command goes on with the new"
                    " data.",
                )


class Fingerprints:
    """Keys for the rows of one experiment.

    The time limit and the labels of algorithms and of blocks of data are left out on purpose: none
    changes a number. A row whose time limit was too short is computed again with ``retry_failed``.

    Parameters
    ----------
    experiment : Experiment
    disk : Disk, optional
        Files that count as they were when they were read.
    """

    def __init__(self, experiment, disk: Disk | None = None):
        self._experiment, self._disk = experiment, disk or Disk()
        self._points: dict[int, bytes] = {}
        self._algorithms: dict[str, list[bytes]] = {}
        for name in dict.fromkeys(point.generator for point in experiment.points):
            generator = registry.find("generator", name)
            self._algorithms[name] = [
                self._of_algorithm(spec, generator) for spec in experiment.algorithms
            ]

    def key(self, point: int, replicate: int, algorithm: int) -> bytes:
        """32 bytes for the algorithm of that index on that replicate of the point of that index."""
        source = self._experiment.points[point]
        if point not in self._points:
            self._points[point] = self._of_point(source)
        head = self._points[point] + self._algorithms[source.generator][algorithm]
        return hashlib.sha256(head + str(replicate).encode("ascii")).digest()

    def _of_point(self, point) -> bytes:
        generator = registry.find("generator", point.generator)
        return digest(
            {
                "seed": self._experiment.seed,
                "generator": generator.name,
                "params": point.params,
                "files": self._contents(generator, point.params),
            }
        )

    def _of_algorithm(self, spec, generator: Generator) -> bytes:
        experiment, code = self._experiment, self._disk.code
        part = registry.find("algorithm", spec.name)
        protocol = registry.find("protocol", experiment.protocol.name)
        metrics = [registry.find("metric", name) for name in experiment.metrics]
        return digest(
            {
                "generator_code": self._version(generator),
                "algorithm": spec.name,
                "params": spec.params,
                "tuning": spec.tuning,
                "folds": spec.folds if spec.tuning == "cv" else None,
                "code": self._version(part),
                "loss_code": self._loss_versions(spec.params, part, generator, protocol, *metrics),
                "protocol": [protocol.name, experiment.protocol.params],
                "protocol_code": self._version(protocol),
                "metrics": [[metric.name, self._version(metric)] for metric in metrics],
                "runner_code": [code_version.of_module(name, code) for name in RUNNER_MODULES],
                "libraries": {name: version(name) for name in NUMERICAL_LIBRARIES},
                "python": _python(),
            }
        )

    def _version(self, part: Part) -> str:
        return code_version.of_function(part.function, self._disk.code)

    def _loss_versions(self, params: dict, *used: Part) -> list[str]:
        """Return the versions of the losses that a row may use: they are imported by name only."""
        known = self._disk.code
        using = [one for one in used if _binds_losses(one, known)]
        if not using:
            return []
        # A shipped part uses the loss that its parameters name; a plugin may use any.
        loss = params.get("loss")
        if loss in binding.modules() and all(one.shipped for one in using):
            names = [binding.module_of(loss)]
        else:
            names = sorted(binding.modules().values())
        return [code_version.of_module(name, known) for name in names]

    def _contents(self, generator: Generator, params: dict) -> list[str]:
        """Hashes of the files a generator reads for these parameters."""
        reads = generator.reads
        return [self._disk.hash(name) for name in reads(**params)] if reads else []


def _binds_losses(part: Part, known: dict[Path, Source]) -> bool:
    path = code_version.source_of(part.function)
    return path is None or Path(binding.__file__).resolve() in code_version.sources(path, known)


def _python() -> str:
    """Such as 3.12: the syntax that code versions hash is written out in its own way by each."""
    return ".".join(platform.python_version_tuple()[:2])


def _file_hash(path: Path) -> str:
    try:
        found = path.stat()
        return _content_hash(path.resolve(), found.st_mtime_ns, found.st_size)
    except OSError as error:
        raise DataError(f"the data cannot be read: {error.strerror}.", place=str(path)) from None


@cache
def _content_hash(path: Path, _changed: int, _size: int) -> str:
    total = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            total.update(block)
    return total.hexdigest()
