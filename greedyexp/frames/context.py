"""What a figure or a table must say about the run behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Context:
    """The run that a tidy table comes from.

    Parameters
    ----------
    name, profile : str
        Experiment and profile.
    trials : int
        Replicates asked for at each point, at most if their number was chosen as results came in.
    source : str
        Paper and figure reproduced; empty when there is none.
    algorithms : dict of str to str
        Algorithm label, as in the CSV, to the registered name behind it, in the order of the file.
    titles : dict of str to str
        Algorithm label to how the figure calls it.
    adaptive : bool
        Whether results decided how many replicates a point got: intervals must then hold at any
        stopping time.
    words : dict of str to list of str
        Column to the words that the file sweeps it over, in the order given there.
    part : str
        How much of the run the table has, in words; empty for all that is known of.
    """

    name: str
    profile: str
    trials: int
    source: str
    algorithms: dict[str, str]
    titles: dict[str, str]
    adaptive: bool = False
    words: dict[str, list[str]] = field(default_factory=dict)
    part: str = ""

    def titled(self, labels: Sequence[str]) -> dict[str, str]:
        """What to call algorithms: their titles, or their labels where two have one title."""
        titles = {label: self.titles.get(label, label) for label in labels}
        apart = len(set(titles.values())) == len(titles)
        return titles if apart else {label: label for label in labels}

    def in_order(self, column: str, levels: list[str]) -> list[str]:
        """Words of a column as the file lists them, then others as they come."""
        listed = list(self.algorithms) if column == "algorithm" else self.words.get(column, [])
        places = {word: place for place, word in reversed([*enumerate(listed)])}
        return sorted(levels, key=lambda level: places.get(level, len(listed)))
