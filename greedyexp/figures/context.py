"""What a figure must say about the run behind it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Context:
    """The run a figure is drawn from.

    Parameters
    ----------
    name, profile : str
        Experiment and profile.
    trials : int
        Replicates asked for at each point.
    source : str
        Paper and figure reproduced; empty when there is none.
    algorithms : dict of str to str
        Algorithm label, as in the CSV, to the registered name behind it.
    titles : dict of str to str
        Algorithm label to how the figure calls it.
    """

    name: str
    profile: str
    trials: int
    source: str
    algorithms: dict[str, str]
    titles: dict[str, str]
