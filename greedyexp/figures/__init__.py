"""Figures: tidy frames in, matplotlib figures out."""

import os

try:
    import matplotlib
except ValueError:
    # MPLBACKEND names a backend that is not installed, as in commands started from a notebook of
    # another environment. Figures are drawn to files, for which none is needed.
    os.environ.pop("MPLBACKEND", None)
    import matplotlib  # noqa: F401
