"""Curves that lie on or beside each other: found from the data, made visible, named in the note.

Bounds are found and named too. They are thin lines with dashes, so they are left as they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# One of two curves hides the other if they are nowhere further apart than this, in points.
_HIDDEN = 0.75
# They nearly coincide if the gap between them is nowhere wider than a line and mostly none.
_WIDEST, _MEAN = 2.8, 0.5
# How much wider a line and its markers are than those of the next line above it, in points.
_WIDER, _LARGER = 2.6, 3.0
# Larger groups would be ribbons; they are only named.
_MOST_SHOWN = 3
# Panels that a note names.
_MOST_NAMED = 3
# Labels of bounds begin with an underscore, so that legends leave them out.
_BOUND = "_bound: "


def bound_label(name: str) -> str:
    """Return the label of the line of a bound or a prediction, from its name in notes."""
    return f"{_BOUND}{name}"


def show_coincident(axis: Axes) -> list[tuple[str, ...]]:
    """Show each labelled line below an equal one around it, and return the labels of near lines.

    The lower line gets a wide and light line with large pale markers. They have no outline, because
    rings are published numbers. Limits and scales of the panel must be final.
    """
    known = {line: str(line.get_label()) for line in axis.lines if _is_joined(line)}
    curves = [line for line, label in known.items() if not label.startswith("_")]
    for group in _groups(axis, curves, _hides):
        if len(group) <= _MOST_SHOWN:
            for above, line in enumerate(reversed(group[:-1]), start=1):
                _widen(line, above)
    bounds = [line for line, label in known.items() if label.startswith(_BOUND)]
    near = [*_groups(axis, curves, _nearly_coincide), *_groups(axis, bounds, _hides)]
    labels = [[str(line.get_label()) for line in group] for group in near]
    named = [tuple(dict.fromkeys(one.removeprefix(_BOUND) for one in group)) for group in labels]
    return [group for group in named if len(group) > 1]


def _groups(
    axis: Axes, lines: Sequence[Line2D], joined_at: Callable[[np.ndarray], bool]
) -> list[list[Line2D]]:
    """Divide lines into groups in which each is joined to another one by their distances."""
    # Limits that nobody has set are found when they are asked for.
    axis.get_xlim()
    scale = 72 / axis.figure.dpi
    places = [scale * axis.transData.transform(_points(line)) for line in lines]
    groups: list[list[int]] = []
    for new, place in enumerate(places):
        joined = [
            group for group in groups if any(joined_at(_apart(place, places[k])) for k in group)
        ]
        groups = [group for group in groups if group not in joined]
        groups.append([*itertools.chain.from_iterable(joined), new])
    return [[lines[one] for one in sorted(group)] for group in sorted(groups, key=min)]


def coincident_text(panels: Sequence[tuple[str, Sequence[tuple[str, ...]]]]) -> str:
    """Name the curves that coincide; empty if there are none.

    Parameters
    ----------
    panels : sequence of (str, sequence of tuple of str)
        Title of each panel, and the labels of its equal lines.
    """
    places: dict[tuple[str, ...], list[str]] = {}
    for name, groups in panels:
        for group in groups:
            places.setdefault(group, []).append(name)
    texts = []
    for group, names in places.items():
        where = ""
        if len(names) < len(panels):
            few = "; ".join(names) if len(names) <= _MOST_NAMED else ""
            where = f" ({few or f'{len(names)} of {len(panels)} panels'})"
        texts.append(f"{' ≈ '.join(group)}{where}")
    # Names may have commas.
    return f"Curves that nearly coincide: {'; '.join(texts)}." if texts else ""


def _is_joined(line: Line2D) -> bool:
    """Return True for a line through at least two points."""
    joined = line.get_linestyle() not in ("None", "none", "", " ")
    return joined and len(_points(line)) > 1


def _points(line: Line2D) -> np.ndarray:
    found = np.column_stack([np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata())])
    return found[np.isfinite(found.astype(float)).all(axis=1)].astype(float)


def _hides(distances: np.ndarray) -> bool:
    return bool(distances.max() <= _HIDDEN)


def _nearly_coincide(distances: np.ndarray) -> bool:
    beside = distances.max() <= _WIDEST and distances.mean() <= _MEAN
    return bool(beside) or _hides(distances)


def _apart(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the distance of each corner of two curves from the other curve."""
    return np.concatenate([_distances(one, other), _distances(other, one)])


def _distances(points: np.ndarray, curve: np.ndarray) -> np.ndarray:
    """Return the distances of points from a chain of straight lines."""
    least = np.full(len(points), np.inf)
    for start, end in itertools.pairwise(curve):
        along, length = end - start, float((end - start) @ (end - start)) or 1.0
        part = np.clip((points - start) @ along / length, 0.0, 1.0)
        least = np.minimum(least, np.hypot(*(points - start - part[:, None] * along).T))
    return least


def _widen(line: Line2D, above: int) -> None:
    """Make a line visible below a number of others."""
    from matplotlib.colors import to_rgb

    red, green, blue = (0.5 + 0.5 * part for part in to_rgb(line.get_color()))
    line.set_markersize(line.get_markersize() + _LARGER * above)
    line.set_color((red, green, blue))
    line.set_linewidth(line.get_linewidth() + _WIDER * above)
    line.set_linestyle("-")
