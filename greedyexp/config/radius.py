"""The radius of an l1 ball, which may stand for the true coefficients."""

from __future__ import annotations

from greedyexp.core.parts import Algorithm


def radius_instead(part: Algorithm, params: dict, trait: str) -> str:
    """What to do where an algorithm needs a trait only because it is given no radius.

    Returns
    -------
    str
        A sentence; empty where a radius would not help.
    """
    if trait != "truth" or params.get("radius", 0.0) is not None:
        return ""
    helped = trait not in part.requirements_of({**params, "radius": 1.0})
    return f"Give radius of algorithm '{part.name}'." if helped else ""
