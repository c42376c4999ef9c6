"""Axes of matplotlib as axes of Plotly: range, ticks with their labels, title."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axes._secondary_axes import SecondaryAxis
from matplotlib.axis import Axis

from greedyexp.report.site import artists, mathtext


def layout_of(axis: Axis, letter: str, domain: np.ndarray) -> dict[str, Any]:
    """Return an axis for the layout of a figure of Plotly.

    Parameters
    ----------
    axis : Axis
    letter : {"x", "y"}
    domain : array of two floats
        Its ends in parts of the figure.

    Returns
    -------
    dict
        With ``meta``, which is not a key of Plotly: True if Plotly may choose other ticks when a
        part of the axis is shown.
    """
    limits = axis.get_view_interval()
    if axis.get_inverted():
        limits = limits[::-1]
    ticks, labels = _ticks_of(axis)
    shown = axis.get_tick_params(which="major")
    gridlines = axis.get_gridlines()
    found: dict[str, Any] = {
        "domain": _rounded(domain),
        "type": "log" if axis.get_scale() == "log" else "linear",
        "range": _rounded(artists.in_range(axis, limits)),
        "tickmode": "array",
        "tickvals": artists.plain(artists.placed(axis, ticks)),
        "ticktext": [mathtext.markup(label) for label in labels],
        "showticklabels": bool(shown.get("labelbottom" if letter == "x" else "labelleft", True)),
        "tickangle": -shown.get("labelrotation", 0.0),
        "showgrid": bool(gridlines) and gridlines[0].get_visible(),
        "meta": artists.is_native(axis) and _are_numbers(ticks, labels),
    }
    title = axis.get_label().get_text()
    if title and axis.get_label().get_visible():
        found["title"] = {"text": mathtext.markup(title), "standoff": 4}
    return found


def second_layout(other: SecondaryAxis, axes: Axes, first: dict[str, Any]) -> dict[str, Any]:
    """Return a second horizontal axis, whose ticks stand at places of the first."""
    ticks, labels = _ticks_of(other.xaxis)
    pixels = [other.transData.transform((tick, 0))[0] for tick in ticks]
    here = [axes.transData.inverted().transform((x, 0))[0] for x in pixels]
    angles = (label.get_rotation() for label in other.get_xticklabels())
    return {
        **{key: first[key] for key in ("type", "range", "domain")},
        "anchor": "free",
        "showline": False,
        "ticks": "",
        "side": "top",
        "tickmode": "array",
        "tickvals": artists.plain(artists.placed(axes.xaxis, here)),
        "ticktext": [mathtext.markup(label) for label in labels],
        "tickangle": -max(angles, default=0.0),
        "showgrid": False,
        "title": {"text": mathtext.markup(other.get_xlabel()), "standoff": 4},
    }


def _ticks_of(axis: Axis) -> tuple[list[float], list[str]]:
    """Return places and labels of the major ticks within the limits."""
    low, high = sorted(axis.get_view_interval())
    locations = np.asarray(axis.get_majorticklocs(), dtype=float)
    labels = axis.get_major_formatter().format_ticks(locations.tolist())
    rounding = 1e-9 * (high - low)
    kept = [
        (float(tick), label)
        for tick, label in zip(locations, labels, strict=True)
        if low - rounding <= tick <= high + rounding
    ]
    return [tick for tick, _ in kept], [label for _, label in kept]


def _are_numbers(ticks: Sequence[float], labels: Sequence[str]) -> bool:
    """Return True if each label is the number at its place."""
    for tick, label in zip(ticks, labels, strict=True):
        text = mathtext.plain(label).replace("−", "-").replace("·10^", "e")
        text = text.replace("10^", "1e") if text.startswith("10^") else text
        try:
            shown = float(text)
        except ValueError:
            return not label
        if not np.isclose(shown, tick, rtol=0.05, atol=1e-12):
            return False
    return True


def _rounded(values: Any) -> list[float]:
    return [float(f"{value:.6g}") for value in np.asarray(values, dtype=float)]
