"""One look for all figures: colours that differ in lightness, and markers for greyscale."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
import numpy as np

# Okabe & Ito's colours, which colour-blind readers can tell apart; markers repeat the distinction
# so that a greyscale print keeps it.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))

SETTINGS = {
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    # Text stays text in the PDF, so that it can be searched.
    "pdf.fonttype": 42,
}


def use_style() -> None:
    """Apply the settings to matplotlib's defaults, whatever was set before."""
    matplotlib.rcdefaults()
    matplotlib.rcParams.update(SETTINGS)


def assign(names: Sequence, looks: Sequence) -> dict:
    """One look for each name, in the given order, starting over when there are more names."""
    return {name: looks[i % len(looks)] for i, name in enumerate(names)}


def shades(levels: Sequence) -> dict:
    """A colour for each of some ordered values, from dark to light, the lightest still legible."""
    places = np.linspace(0.0, 0.88, len(levels)) if len(levels) > 1 else [0.35]
    colours = map(matplotlib.colors.to_hex, matplotlib.colormaps["viridis"](places))
    return dict(zip(levels, colours, strict=True))
