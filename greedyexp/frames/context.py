"""What a figure or a table must say about the run behind it."""

from __future__ import annotations

from dataclasses import dataclass


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
        Algorithm label, as in the CSV, to the registered name behind it.
    titles : dict of str to str
        Algorithm label to how the figure calls it.
    adaptive : bool
        Whether results decided how many replicates a point got: intervals must then hold at any
        stopping time.
    """

    name: str
    profile: str
    trials: int
    source: str
    algorithms: dict[str, str]
    titles: dict[str, str]
    adaptive: bool = False
