"""Draw the figures of runs with ``greedyexp plot``, and describe each in a text beside its file.

    python scripts/frozen_figures.py RESULTS FOLDER

The description has the points, texts, colours and limits of a figure, so that two drawings can be
compared without their pixels.
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np


def describe(picture: Any) -> dict[str, Any]:
    """Return what a matplotlib figure shows."""
    texts = picture.findobj(lambda artist: hasattr(artist, "get_text") and artist.get_visible())
    return {
        "size": _numbers(picture.get_size_inches()),
        "texts": sorted(text.get_text() for text in texts if text.get_text()),
        "axes": [_axes(axes) for axes in picture.get_axes()],
    }


def _axes(axes: Any) -> dict[str, Any]:
    lines = [
        {
            "points": _numbers(line.get_xydata()),
            "style": f"{_colour(line.get_color())} {line.get_linestyle()} {line.get_marker()}",
        }
        for line in axes.get_lines()
    ]
    collections = [
        {
            "kind": type(artist).__name__,
            "offsets": _numbers(artist.get_offsets()),
            "paths": [_numbers(path.vertices) for path in artist.get_paths()],
            "values": _numbers(artist.get_array()),
        }
        for artist in axes.collections
    ]
    return {
        "scales": [axes.get_xscale(), axes.get_yscale()],
        "limits": _numbers([axes.get_xlim(), axes.get_ylim()]),
        "lines": lines,
        "collections": collections,
        "bars": [_numbers(patch.get_path().vertices) for patch in axes.patches],
    }


def _numbers(values: Any) -> list[str]:
    if values is None:
        return []
    numbers = np.ma.filled(np.ma.asarray(values, dtype=float), np.nan)
    return [f"{number:.10g}" for number in numbers.ravel()]


def _colour(colour: Any) -> str:
    from matplotlib.colors import to_hex

    return str(to_hex(colour, keep_alpha=True))


def main(results: str, folder: str) -> None:
    """Plot the runs, with descriptions."""
    from matplotlib.figure import Figure

    from greedyexp.cli.app import greedyexp

    descriptions = {}
    save = Figure.savefig

    def save_and_describe(picture: Any, stream: Any, **options: Any) -> None:
        save(picture, stream, **options)
        descriptions[sha256(stream.getvalue()).digest()] = describe(picture)

    Figure.savefig = save_and_describe
    options = ("--out", folder, "--format", "png", "--quiet")
    greedyexp(["plot", results, *options], standalone_mode=False)
    for path in Path(folder).rglob("*.png"):
        description = descriptions[sha256(path.read_bytes()).digest()]
        path.with_suffix(".json").write_text(json.dumps(description, indent=0))


if __name__ == "__main__":
    main(*sys.argv[1:])
