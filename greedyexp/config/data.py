"""The ``data:`` section: one generator with its sweep, or a list of such blocks."""

from __future__ import annotations

from dataclasses import dataclass

from greedyexp.config.blocks import MAX_ROWS, Block, read_block
from greedyexp.config.document import Document
from greedyexp.config.mistakes import Mistakes
from greedyexp.config.model import Point
from greedyexp.config.sweep import sort_key
from greedyexp.experiment.messages import show
from greedyexp.experiment.sweep import axes_of

# The column that holds the label of a block.
COLUMN = "data"
_KEYS = ("data",)


@dataclass(frozen=True)
class Data:
    """The blocks of an experiment's data.

    Parameters
    ----------
    blocks : list of Block
        As written.
    listed : bool
        Whether they were written as a list; a block without a list has no label.
    """

    blocks: list[Block]
    listed: bool

    @property
    def points(self) -> list[Point]:
        """The points of one block after the other."""
        return [
            Point(block.generator.name, params, block.label)
            for block in self.blocks
            for params in block.points
        ]

    @property
    def columns(self) -> list[str]:
        """The columns that tell points apart: the label, then all parameters."""
        names = dict.fromkeys(name for block in self.blocks for name in block.points[0])
        return [*([COLUMN] if self.listed else []), *names]

    @property
    def swept(self) -> list[str]:
        """The columns that take more than one value in a block, and the label of several."""
        several = {COLUMN} if len(self.blocks) > 1 else set()
        swept = several.union(*(block.swept for block in self.blocks))
        return [name for name in self.columns if name in swept]

    def swept_by_all(self) -> list[str]:
        """The parameters that take more than one value in every block."""
        return [name for name in self.swept if all(name in block.swept for block in self.blocks)]

    @property
    def facts(self) -> set[str]:
        """What the generators tell of each problem, a column each."""
        return {name for block in self.blocks for name in block.generator.facts}

    @property
    def resolved(self) -> dict | list[dict]:
        """The section with defaults filled in."""
        return [block.resolved for block in self.blocks] if self.listed else self.blocks[0].resolved

    def all_have(self, trait: str) -> bool:
        """Whether the problems of every point provide the trait."""
        return all(trait in traits for block in self.blocks for traits in block.traits)

    def zipped(self) -> set[str]:
        """Parameters that are zipped with others."""
        axes = [axis for block in self.blocks for axis in axes_of(block.resolved.get("sweep"))]
        return {name for axis in axes if len(axis) > 1 for name in axis}

    def values(self, name: str) -> list:
        """What a column takes, each value once, in the order of the points."""
        if self.listed and name == COLUMN:
            return [block.label for block in self.blocks]
        found = (params[name] for block in self.blocks for params in block.points if name in params)
        return list({sort_key(value): value for value in found}.values())


def read_data(doc: Document, trials: int, mistakes: Mistakes) -> Data | None:
    """The data of the experiment, or None after noting mistakes.

    Parameters
    ----------
    doc : Document
        Settings after profile and overrides.
    trials : int
        Replicates of each point; bounds the size of the sweep.
    """
    before = len(mistakes.found)
    written = doc.get(_KEYS)
    if isinstance(written, list):
        blocks = _read_list(written, doc, trials, mistakes)
    else:
        blocks = [read_block(_KEYS, doc, trials, mistakes, listed=False)]
    if None in blocks or len(mistakes.found) > before:
        return None
    count = sum(len(block.points) for block in blocks)
    if count * trials > MAX_ROWS:
        mistakes.add(
            doc.place(_KEYS),
            f"the data have {count} points, with {trials} trial(s) more than {MAX_ROWS}"
            " replicates.",
            "Sweep fewer values or lower trials.",
        )
        return None
    return Data(blocks, isinstance(written, list))


def _read_list(written: list, doc: Document, trials: int, mistakes: Mistakes) -> list[Block | None]:
    blocks: list[Block | None] = []
    labels: set[str] = set()
    for index, item in enumerate(written):
        keys = (*_KEYS, index)
        if not isinstance(item, dict):
            mistakes.add(
                doc.place(keys),
                f"a block of data is a mapping, but here is {show(item)}.",
                "Write generator: NAME and its parameters.",
            )
            continue
        block = read_block(keys, doc, trials, mistakes, listed=True)
        blocks.append(block)
        if block is None:
            continue
        if block.label in labels:
            mistakes.add(
                doc.place(keys),
                f"two blocks of data have the label '{block.label}'.",
                "Give one of them a 'label:'.",
            )
        labels.add(block.label)
    return blocks
