"""Tools to draw figures: panels, axes, styles of lines, marks.

- ``panels``: grids of panels with legend and note, and the parameters of figures
- ``axes``: logarithmic axes, ticks, limits
- ``methods``: colour, dashes and marker of each method
- ``style``: the common style, and the styles of lines
- ``layers``: lines with bands or bars, theory and references, which ``chart`` draws
- ``marks``: bands, intervals, bounds, vertical lines
- ``strips``: axes of counts, with a strip for accuracies that were not reached
- ``coincident``: curves that hide each other
- ``typeset``: letters and formulas in texts
- ``points``: what is known of each point of a line

Figures import this package as ``plot`` and use the names of all its modules, and those of the
modules of ``greedyexp.results`` that are about rows, points, words and notes.
"""

# ruff: noqa: F401, F403
from typing import TYPE_CHECKING

from greedyexp.figures._plot.axes import *
from greedyexp.figures._plot.coincident import bound_label
from greedyexp.figures._plot.layers import *
from greedyexp.figures._plot.marks import *
from greedyexp.figures._plot.methods import *
from greedyexp.figures._plot.panels import *
from greedyexp.figures._plot.points import *
from greedyexp.figures._plot.strips import *
from greedyexp.figures._plot.style import *
from greedyexp.results.columns import *
from greedyexp.results.comparisons import *
from greedyexp.results.context import *
from greedyexp.results.curves import *
from greedyexp.results.notes import *
from greedyexp.results.records import *
from greedyexp.results.text import *
from greedyexp.results.words import *

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from pandas import DataFrame as Frame
    from pandas import Series
