"""Curves that lie on top of each other are made visible and named; others are left alone."""

import numpy as np
import pandas as pd
import pytest
from figure_frames import legend_texts, style  # noqa: F401 (an autouse fixture)

from greedyexp.figures._plot import LINES, Panels, bound_style, draw_bound
from greedyexp.figures.comparison import comparison
from greedyexp.results.context import Context

CONTEXT = Context(
    "t", "paper", 1, "", {"a": "foba_gdt", "b": "forward_gdt", "c": "lasso"}, {"a": "A", "b": "B"}
)
X = np.arange(5.0)


def drawn(*heights, panels=1, log=False):
    """Return the note, and the lines of the first panel."""
    grid = Panels([[{"k": k} for k in range(panels)]])
    for axis, shown in grid:
        grid.title(axis, shown, CONTEXT)
        axis.set_yscale("log" if log else "linear")
        axis.set_ylim(0.1, 10)
        for label, values in zip("abcde", heights, strict=False):
            axis.plot(X, values if shown["k"] == 0 else values + ord(label) % 5, label=label)
    note = grid.finish().get_supxlabel()
    return note, grid.axes[0, 0].lines


def test_the_lower_of_two_equal_curves_is_wider_and_its_markers_pale():
    note, (lower, upper, other) = drawn(X + 1, X + 1, X + 2)
    assert note == "Curves that nearly coincide: a ≈ b."
    assert lower.get_linewidth() > upper.get_linewidth() + 2
    assert lower.get_markersize() > upper.get_markersize() + 2
    assert lower.get_markerfacecolor() == lower.get_color() != upper.get_color()
    # An outline of another colour would look like the ring of a published number.
    assert lower.get_markeredgecolor() == lower.get_color()
    assert upper.get_linewidth() == other.get_linewidth()
    assert other.get_markeredgecolor() == other.get_color()


@pytest.mark.parametrize(("apart", "equal"), [(0.01, True), (0.3, False)])
def test_equal_is_what_looks_equal(apart, equal):
    note, _ = drawn(X + 1, X + 1 + apart * (X == 3))
    assert (note != "") == equal


def test_on_a_logarithmic_axis_small_differences_are_seen():
    assert drawn(0.2 + 0 * X, 0.205 + 0 * X)[0] != ""
    assert drawn(0.2 + 0 * X, 0.205 + 0 * X, log=True)[0] == ""


def test_steep_curves_are_compared_across_and_not_upwards():
    flat, steep = np.array([1, 1, 1, 9, 9.0]), np.array([1, 1, 5, 9, 9.0])
    lower = 0.17 * (X == 2)
    assert drawn(flat, flat + lower)[0] == ""
    note, lines = drawn(steep, steep + lower)
    assert note == "Curves that nearly coincide: a ≈ b."
    # Neither hides the other.
    assert lines[0].get_linewidth() == lines[1].get_linewidth()


def test_a_bundle_is_named_whole_although_its_outer_curves_differ():
    step = 0.1 * (X == 2)
    note, _ = drawn(X + 1, X + 3, X + 1 + step, X + 1 + 2 * step)
    assert note == "Curves that nearly coincide: a ≈ c ≈ d."


def test_panels_are_named_unless_all_have_the_same():
    assert drawn(X, X, panels=2)[0] == "Curves that nearly coincide: a ≈ b (k = 0)."


def test_large_groups_are_only_named():
    note, lines = drawn(X, X, X, X)
    assert note == "Curves that nearly coincide: a ≈ b ≈ c ≈ d."
    assert len({line.get_linewidth() for line in lines}) == 1


def test_bounds_that_coincide_are_named_and_stay_thin():
    grid = Panels([["all"]])
    axis = grid.axes[0, 0]
    axis.set_ylim(0, 10)
    axis.plot(X, X + 1, label="a")
    for name in ("bound of a", "bound of b"):
        draw_bound(axis, pd.Series(X), pd.Series(X + 3), bound_style(LINES[1]), name)
    draw_bound(axis, pd.Series(X), pd.Series(X + 4), bound_style(LINES[1]), "bound of c")
    note = grid.finish().get_supxlabel()
    assert note == "Curves that nearly coincide: bound of a ≈ bound of b."
    assert len({line.get_linewidth() for line in axis.lines[1:]}) == 1


def test_figures_name_methods_by_their_titles():
    rows = [
        {"x": x, "replicate": 0, "algorithm": label, "status": "ok", "error": x + (label == "c")}
        for label in "abc"
        for x in (1, 2, 3)
    ]
    figure = comparison(pd.DataFrame(rows), CONTEXT, row="x", metrics=["error"])
    assert "Curves that nearly coincide: A ≈ B." in figure.get_supxlabel()
    assert legend_texts(figure) == ["A", "B", "c"]
