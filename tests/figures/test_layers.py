"""Layers draw points of a table, whatever figure they belong to."""

import numpy as np
import pandas as pd
import pytest

from greedyexp.figures import _plot as plot
from greedyexp.results.context import Context

CONTEXT = Context("t", "paper", 9, "", {"omp": "omp", "lasso": "lasso"}, {})
POINTS = pd.DataFrame(
    {
        "algorithm": ["omp", "omp", "lasso", "lasso"],
        "p": [10, 20, 10, 20],
        "estimate": [0.2, np.inf, 0.5, np.inf],
        "low": [0.1, 0.8, 0.4, 0.9],
        "high": [0.3, np.inf, 0.6, np.inf],
        "trials": [7, 8, 9, 9],
    }
)


def drawn(*layers):
    panels = plot.Panels.by_columns(POINTS, CONTEXT, None, None)
    figure = plot.chart(panels, CONTEXT, layers, ("p", "size"), [], [])
    return figure.axes[0]


def lines(axis, gid):
    return [line for line in axis.lines if line.get_gid() == gid]


@pytest.fixture
def curves():
    styles = plot.LineStyles(POINTS, ["algorithm"], CONTEXT)
    return lambda points, **given: plot.Curves(
        points, "p", ["algorithm", "p"], styles, "size", look={"gid": "size"}, **given
    )


def test_an_infinite_estimate_is_an_arrow_beside_those_at_its_place(curves):
    axis = drawn(lambda axis, _: axis.set_ylim(0, 1), curves(POINTS, bars=True))
    for line in lines(axis, "size"):
        assert np.isfinite(line.get_ydata()).tolist() == [True, False]
    arrows = lines(axis, "unreached")
    assert [arrow.get_ydata()[0] for arrow in arrows] == [1, 1]
    left, right = (arrow.get_transform().transform((20, 1))[0] for arrow in arrows)
    assert abs(left - right) > 5


def test_numbers_beside_a_point_are_those_of_the_table(curves):
    layer = curves(POINTS[POINTS["p"] == 10], counts={"runs": "trials"})
    for line, row in zip(
        lines(drawn(layer), "size"), POINTS.iloc[[2, 0]].itertuples(), strict=True
    ):
        known = plot.attached(line)
        assert known.keys == {"algorithm": [row.algorithm], "p": [10]}
        assert known.facts == {
            "size": [row.estimate],
            "95% interval": [[row.low, row.high]],
            "runs": [row.trials],
        }


def test_a_layer_may_draw_points_at_other_heights(curves):
    axis = drawn(
        curves(
            POINTS[POINTS["p"] == 10],
            shown=lambda own: own.assign(estimate=own["estimate"].clip(0.45)),
        )
    )
    assert [line.get_ydata()[0] for line in lines(axis, "size")] == [0.5, 0.45]


def test_theory_has_the_colour_of_its_method(curves):
    layer = curves(POINTS)
    theory = plot.Theory(POINTS, "p", layer.styles, plot.LINES[1], "bound", gid="bound")
    axis = drawn(layer, theory)
    for measured, bound in zip(
        sorted(lines(axis, "size"), key=str), sorted(lines(axis, "bound"), key=str), strict=True
    ):
        assert bound.get_zorder() < measured.get_zorder()
    colours = [{line.get_color() for line in lines(axis, gid)} for gid in ("size", "bound")]
    assert colours[0] == colours[1]


def test_accuracies_fall_to_the_right():
    along = plot.LogAxis("epsilon", [0.1, 0.01], falling=True)
    left, right = drawn(along).get_xlim()
    assert left > 0.1 > 0.01 > right
