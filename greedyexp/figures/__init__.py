"""Figures: functions that reduce the tidy table and return a matplotlib figure.

- ``phase_transition``: success probabilities and their crossings of a level
- ``trajectory``: iterations, rates and coefficients
- ``tradeoff``: risk, steps and features, with the bounds of theorems
- ``comparison``, ``class_errors``, ``constants``: means with intervals

To add a figure, write one file that registers it and draws with the tools of ``_plot``.
"""

import os

if os.environ.get("MPLBACKEND", "agg") != "agg":
    try:
        import matplotlib
    except ValueError:
        # MPLBACKEND names a backend that is not installed, for example in commands started from a
        # notebook of another environment. Figures are drawn to files, which needs no backend.
        os.environ.pop("MPLBACKEND", None)
        import matplotlib  # noqa: F401
