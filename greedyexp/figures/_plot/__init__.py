"""Tools to draw figures: panels, axes, styles of lines, marks.

- ``panels``: grids of panels with legend and note, and the parameters of figures
- ``axes``: logarithmic axes, ticks, limits
- ``style``: colours and the styles of lines
- ``marks``: intervals, bounds, vertical lines
"""

# ruff: noqa: F401 - imported to be used from here
from greedyexp.figures._plot.axes import (
    MAX_ABOVE,
    LogAxis,
    horizontal_axis,
    iteration_axis,
    least_gap,
    linear_limits,
    log_ticks,
    set_ticks,
    tick_labels,
)
from greedyexp.figures._plot.marks import (
    REFERENCE_LINE,
    Mark,
    bound_handle,
    bound_marker,
    draw_arrow,
    draw_bound,
    draw_interval,
    draw_intervals,
    draw_mark,
    isolated,
    mark_handles,
    unreached_handles,
    unreached_style,
)
from greedyexp.figures._plot.panels import (
    IterationScale,
    Line,
    Panel,
    Panels,
    Row,
    Scale,
    X,
    inside,
    wrapped,
)
from greedyexp.figures._plot.style import (
    COLOURS,
    DASHES,
    GREY,
    MARKERS,
    LineStyles,
    Style,
    cycle,
    legend_entry,
    shades,
)
from greedyexp.results.columns import reads, separate, separate_algorithms
