"""One layout serves all formats of a figure, and is the one that matplotlib finds."""

import io
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import greedyexp.report  # noqa: F401 (loads the module below)
from greedyexp.figures._plot.style import use_style

drawing = sys.modules["greedyexp.report.draw"]


def picture(layout) -> Figure:
    figure = Figure(figsize=(5, 3), layout=layout)
    axes = figure.subplots(1, 2)
    axes[0].plot([1e-3, 2e5], label="a line with a long name")
    axes[0].set_ylabel("a label\nof two lines")
    axes[1].imshow(np.arange(6).reshape(2, 3))
    figure.legend(loc="outside upper center" if layout == "constrained" else "upper center")
    return figure


@pytest.mark.parametrize("layout", ["constrained", "tight", "none", None])
def test_the_pixels_are_those_of_matplotlib(layout):
    with matplotlib.rc_context():
        use_style()
        expected = io.BytesIO()
        picture(layout).savefig(expected, format="png")
        files = drawing._saved(picture(layout), {}, ("png", "pdf"))
    drawn = Image.open(io.BytesIO(files["png"]))
    assert np.array_equal(np.asarray(drawn), np.asarray(Image.open(expected)))
    assert files["pdf"].startswith(b"%PDF")
