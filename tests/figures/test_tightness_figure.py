"""Figure ``tightness``: features needed, the impossible region, and bounds."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from figure_frames import legend_handles, legend_texts, style  # noqa: F401 (an autouse fixture)
from matplotlib.colors import same_color
from tradeoff_frames import CONTEXT, table

from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.experiment.parameters import Parameters
from greedyexp.figures._plot import COLOURS
from greedyexp.figures.tradeoff.tightness import tightness

EPSILONS = (0.5, 0.1, 0.05)
LABELS = {"corrective": "Fully corrective", "forward": "Forward greedy"}
FORWARD, CORRECTIVE = COLOURS[:2]
CONTEXT = replace(CONTEXT, titles=LABELS)


def exact(norm, error, epsilon):
    """Features for the squared error; about their square for the absolute error."""
    one = (norm**2 - 1) * (1 / epsilon - 1)
    return np.ceil(one if error == "squared" else one / epsilon)


def rows(algorithms=LABELS, errors=("squared", "absolute"), norms=(3.0, 5.0), trials=3, **given):
    budget = given.get("budget", np.inf)
    found = []
    for norm in norms:
        for r in range(trials):
            for name in algorithms:
                for error in errors:
                    for epsilon in EPSILONS:
                        least = exact(norm, error, epsilon)
                        needed = least * (1 if name == "corrective" else 2 + r)
                        bound = norm**2 / (8 * epsilon) if epsilon <= 0.1 else np.nan
                        found.append(
                            {
                                "truth_l1_norm": norm,
                                "p": 10,
                                "replicate": r,
                                "algorithm": name,
                                "record": "epsilon",
                                "error": error,
                                "epsilon": epsilon,
                                "needed": needed if needed <= budget else np.nan,
                                "exact": least,
                                "lower_bound": bound,
                                "lower_bound_printed": bound * (1 if error == "squared" else 4),
                                "l1_upper": 9 * least,
                            }
                        )
    frame = table(found)
    return frame[["truth_l1_norm", *(name for name in frame if name != "truth_l1_norm")]]


def lines(axis, gid, colour=None):
    return [
        line
        for line in axis.lines
        if line.get_gid() == gid and (colour is None or same_color(line.get_color(), colour))
    ]


def legend(figure):
    return legend_texts(figure)


def test_lines_are_medians_and_what_is_known_stands_beside_them():
    figure = tightness(rows(), CONTEXT)
    cells = [(error, norm) for error in ("squared", "absolute") for norm in (3.0, 5.0)]
    for axis, (error, norm) in zip(figure.axes, cells, strict=True):
        least = np.array([exact(norm, error, epsilon) for epsilon in sorted(EPSILONS)])
        for colour, times in ((CORRECTIVE, 1), (FORWARD, 3)):
            (line,) = lines(axis, "measured", colour)
            assert line.get_xdata().tolist() == sorted(EPSILONS)
            np.testing.assert_allclose(line.get_ydata(), times * least)
        (line,) = lines(axis, "exact")
        np.testing.assert_allclose(line.get_ydata(), least)
        (line,) = lines(axis, "l1_upper")
        np.testing.assert_allclose(line.get_ydata(), 9 * least)
        (line,) = lines(axis, "lower_bound")
        bounds = [norm**2 / (8 * epsilon) for epsilon in (0.05, 0.1)]
        np.testing.assert_allclose(line.get_ydata(), [*bounds, np.nan])
        (line,) = lines(axis, "lower_bound_printed")
        times = 1 if error == "squared" else 4
        np.testing.assert_allclose(line.get_ydata()[:2], times * np.array(bounds))
        assert axis.get_xlim()[0] > axis.get_xlim()[1], "finer to the right"
    assert [axis.get_title() for axis in figure.axes[:2]] == [
        "‖w*‖₁ = 3",
        "‖w*‖₁ = 5",
    ]
    assert "bands: smallest to largest" in figure.get_supxlabel().replace("\n", " ")


def test_what_is_below_the_best_predictor_is_shaded():
    (axis,) = tightness(rows(norms=(3.0,), errors=("squared",)), CONTEXT).axes
    shade = next(one for one in axis.collections if one.get_hatch())
    corners = shade.get_paths()[0].vertices
    least = {epsilon: exact(3.0, "squared", epsilon) for epsilon in EPSILONS}
    for epsilon, top in least.items():
        heights = corners[np.isclose(corners[:, 0], epsilon), 1]
        assert heights.max() == top
        assert heights.min() == axis.get_ylim()[0]


def test_one_error_has_marks_and_its_shade():
    frame = rows(norms=(3.0,))
    figure = tightness(frame[frame["epsilon"] == 0.1], CONTEXT)
    handles = {one.get_label(): one for one in legend_handles(figure)}
    for axis, error in zip(figure.axes, ("squared", "absolute"), strict=True):
        marks = {}
        for name in ("exact", "lower_bound", "lower_bound_printed", "l1_upper"):
            (line,) = lines(axis, name)
            marks[name] = line.get_marker()
        assert len(set(marks.values())) == 4
        assert "None" not in marks.values()
        assert handles["minimum over all predictors"].get_marker() == marks["exact"]
        (shade,) = [patch for patch in axis.patches if patch.get_hatch()]
        assert shade.get_y() + shade.get_height() == exact(3.0, error, 0.1)
    whole = tightness(frame, CONTEXT).axes[0]
    assert lines(whole, "exact")[0].get_marker() == "None"


def test_the_printed_bound_is_drawn_only_where_it_differs():
    assert "lower bound, as printed" in legend(tightness(rows(), CONTEXT))
    squared = tightness(rows(errors=("squared",)), CONTEXT)
    assert "lower bound, as printed" not in legend(squared)
    assert "lower bound, as proved" in legend(squared)
    none = tightness(rows().assign(lower_bound=np.nan, lower_bound_printed=np.nan), CONTEXT)
    assert not {"lower bound, as printed", "lower bound, as proved"} & {*legend(none)}


def test_errors_not_reached_are_marked_above():
    figure = tightness(rows(budget=2000), CONTEXT)
    figure.canvas.draw()
    axis = figure.axes[3]
    strip = axis.patches[0].get_window_extent()
    needed = {e: [exact(5.0, "absolute", e) * (2 + r) for r in range(3)] for e in EPSILONS}
    assert np.median(needed[0.05]) > 2000 > max(needed[0.5])
    marks = lines(axis, "unreached", FORWARD)
    assert 0.05 in {x for mark in marks for x in mark.get_xdata()}
    for mark in marks:
        for x, y in mark.get_xydata():
            none = min(needed[x]) > 2000
            assert same_color(mark.get_markerfacecolor(), "white" if none else FORWARD)
            assert mark.get_fillstyle() == ("full" if none else "bottom")
            assert strip.y0 < axis.transAxes.transform((0, y))[1] < strip.y1
    assert 0.05 not in lines(axis, "measured", FORWARD)[0].get_xdata()
    frame = rows(budget=2000)
    assert f"Error not reached: {frame['needed'].isna().mean():.2%}" in figure.get_supxlabel()
    assert not {"not reached", "not reached by some replicates"} & {
        *legend(tightness(rows(), CONTEXT))
    }


def test_failures_are_counted_in_the_note():
    frame = rows(norms=(3.0,))
    failed = frame[frame["replicate"] == 0].assign(replicate=9).drop_duplicates("algorithm")
    failed = failed.assign(status="timeout", record=None, error=None)
    note = tightness(pd.concat([frame, failed], ignore_index=True), CONTEXT).get_supxlabel()
    assert "failed (left out): 25.00%" in note


def test_columns_are_listed_and_bad_ones_refused():
    part = registry.find("figure", "tightness")
    given = Parameters(part).read_all({"where": {"accuracy": 0.1}})
    numbers = ["epsilon", "needed", "l1_upper", "exact", "lower_bound", "lower_bound_printed"]
    columns = ["truth_l1_norm", "error", "algorithm", "record", *numbers, "accuracy"]
    assert part.columns(**given) == columns
    with pytest.raises(ConfigError, match="no column 'exact'"):
        tightness(rows().drop(columns="exact"), CONTEXT)
    with pytest.raises(ConfigError, match="'needed' is not a number"):
        tightness(rows().assign(needed="few"), CONTEXT)
    with pytest.raises(ConfigError, match="no rows of record 'epsilon'"):
        tightness(rows().assign(record="step"), CONTEXT)
