"""Tools to draw figures: panels, axes, styles of lines, marks.

- ``panels``: grids of panels with legend and note, and the parameters of figures
- ``axes``: logarithmic axes, ticks, limits
- ``methods``: colour, dashes and marker of each method
- ``style``: the common style, and the styles of lines
- ``marks``: bands, intervals, bounds, vertical lines
- ``coincident``: curves that hide each other
- ``typeset``: letters and formulas in texts
- ``points``: what is known of each point of a line

Figures import this package as ``plot`` and use the names of all its modules.
"""

# ruff: noqa: F401, F403
from greedyexp.figures._plot.axes import *
from greedyexp.figures._plot.coincident import bound_label
from greedyexp.figures._plot.marks import *
from greedyexp.figures._plot.methods import *
from greedyexp.figures._plot.panels import *
from greedyexp.figures._plot.points import *
from greedyexp.figures._plot.style import *
from greedyexp.results.columns import declared, reads, separate, separate_algorithms
