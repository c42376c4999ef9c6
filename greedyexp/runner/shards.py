"""Shards: parts of an experiment that machines compute without knowing of each other.

The replicates of a point are dealt to the shards in turn, the first to a shard that a hash of the
seed, the generator and its parameters determines. So each shard has about as many replicates of
every point, large or small, and all algorithms of a data set are in one shard, which generates it
once. The order of the sweep, further points and algorithms, more trials and other versions of the
code move no replicate to another shard.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.experiment.model import Point
from greedyexp.runner.seeds import digest

# The end of the name of a shard's run folder.
SHARD_FOLDER = re.compile(r"\.shard-\d+-of-\d+$")

_PATTERN = re.compile(r"(\d+)/(\d+)", re.ASCII)


@dataclass(frozen=True)
class Shard:
    """One of several disjoint parts that together are the whole experiment.

    Parameters
    ----------
    number : int, 1 to ``of``
    of : int, at least 1
        Number of shards; the only shard of one is the whole experiment.
    """

    number: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return the shard of a text such as ``3/16``.

        Raises
        ------
        ConfigError
            If the text has another form, or there is no shard of this number.
        """
        found = _PATTERN.fullmatch(text) if isinstance(text, str) else None
        if not found or int(found[2]) == 0:
            raise ConfigError("a shard is written K/N, the K-th of N.", remedy="For example 3/16.")
        number, of = map(int, found.groups())
        if not 1 <= number <= of:
            raise ConfigError(
                f"there is no shard {number} of {of}: shards are numbered from 1 to {of}.",
                remedy=f"The indices of an array job must be 1 to {of}, too (Slurm:"
                f" --array=1-{of}).",
            )
        return cls(number, of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def suffix(self) -> str:
        """The end of the name of the run folder: ``.shard-03-of-16``; '' for the only shard."""
        return "" if self == WHOLE else f".shard-{self.number:0{len(str(self.of))}}-of-{self.of}"

    def first(self, seed: int, point: Point) -> int:
        """Return the first replicate of a point in this shard; every ``of``-th follows."""
        if self.of == 1:
            return 0
        generator = registry.find("generator", point.generator)
        # Without the parameters that a later version added, as in the seeds of the data.
        identity = ["shard", seed, generator.name, generator.seeding(point.params)]
        return (self.number - 1 - int.from_bytes(digest(identity), "big")) % self.of


WHOLE = Shard()
