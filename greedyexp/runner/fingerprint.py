"""The key of a journal row: a hash of everything that determines the row, and of nothing else."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

from greedyexp import registry
from greedyexp.errors import DataError
from greedyexp.registry import Part
from greedyexp.runner import code_version
from greedyexp.runner.canonical import digest

NUMERICAL_LIBRARIES = ("numpy", "scipy", "numba", "clarabel")

# Of the runner, only what makes the streams and calls the parts has a say in the numbers.
RUNNER_MODULES = ("greedyexp.runner.seeds", "greedyexp.runner.canonical", "greedyexp.runner.work")


class Fingerprints:
    """Keys for the rows of one experiment.

    The time limit and the labels of algorithms and of blocks of data are left out on purpose: none
    changes a number. A row whose time limit was too short is computed again with ``retry_failed``.

    Parameters
    ----------
    experiment : Experiment
    """

    def __init__(self, experiment):
        self._experiment = experiment
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
                "files": _contents(generator, point.params),
            }
        )

    def _of_algorithm(self, spec, generator: Part) -> bytes:
        experiment = self._experiment
        part = registry.find("algorithm", spec.name)
        protocol = registry.find("protocol", experiment.protocol.name)
        metrics = [registry.find("metric", name) for name in experiment.metrics]
        return digest(
            {
                "generator_code": code_version.of_function(generator.function),
                "algorithm": spec.name,
                "params": spec.params,
                "tuning": spec.tuning,
                "folds": spec.folds if spec.tuning == "cv" else None,
                "code": code_version.of_function(part.function),
                "protocol": [protocol.name, experiment.protocol.params],
                "protocol_code": code_version.of_function(protocol.function),
                "metrics": [
                    [metric.name, code_version.of_function(metric.function)] for metric in metrics
                ],
                "runner_code": [code_version.of_module(name) for name in RUNNER_MODULES],
                "libraries": {name: version(name) for name in NUMERICAL_LIBRARIES},
                "python": _python(),
            }
        )


def _python() -> str:
    """Such as 3.12: the syntax that code versions hash is written out in its own way by each."""
    return ".".join(platform.python_version_tuple()[:2])


def _contents(generator: Part, params: dict) -> list[str]:
    """Hashes of the files a generator reads for these parameters."""
    reads = generator.extra.get("reads")
    return [_file_hash(Path(name)) for name in reads(**params)] if reads else []


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
