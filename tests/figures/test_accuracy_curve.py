"""Figure ``accuracy_curve``: steps, bounds, growth and accuracies that were not reached."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from figure_frames import legend_handles, legend_texts, style  # noqa: F401 (an autouse fixture)
from matplotlib.colors import same_color
from tradeoff_frames import CONTEXT, EPSILONS, accuracy_rows, size, step_rows, table

from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.experiment.parameters import Parameters
from greedyexp.figures._plot import COLOURS
from greedyexp.figures._plot.marks import isolated
from greedyexp.figures.tradeoff.accuracy_curve import accuracy_curve
from greedyexp.results.theorems import is_random
from greedyexp.theory import sparsity_bounds as bounds
from greedyexp.theory import sparsity_smoothing as smoothing
from greedyexp.theory.theorems import theorems as known_theorems

FORWARD, CORRECTIVE = COLOURS[:2]


def both(**given):
    return table(
        [
            *accuracy_rows("forward", ("T2", "T2-termination"), **given),
            *accuracy_rows("corrective", ("T3",), times=9.0, **given),
        ]
    )


def lines(axis, gid, colour=None):
    return [
        line
        for line in axis.lines
        if line.get_gid() == gid and (colour is None or same_color(line.get_color(), colour))
    ]


def legend(figure):
    return legend_texts(figure)


def test_lines_are_medians_over_replicates_and_bounds_stand_beside_them():
    figure = accuracy_curve(both(), CONTEXT)
    titles = [axis.get_title() for axis in figure.axes]
    assert titles == ["Theorem 2", "Theorem 2, until it ends", "Theorem 3"]
    shown = [("forward", FORWARD, 4), ("forward", FORWARD, 4), ("corrective", CORRECTIVE, 9)]
    for axis, (name, colour, times) in zip(figure.axes, shown, strict=True):
        ((line,), (bound,)) = lines(axis, "measured"), lines(axis, "promise")
        assert same_color(line.get_color(), colour)
        assert same_color(bound.get_color(), "black")
        middle = size(name, 1)
        steps = [np.ceil(middle / e) for e in sorted(EPSILONS) if e < 1]
        assert line.get_xdata().tolist() == sorted(EPSILONS)
        np.testing.assert_allclose(line.get_ydata()[:-1], steps)
        promised = [times * middle / e for e in sorted(EPSILONS)]
        np.testing.assert_allclose(bound.get_ydata(), promised)
    assert figure.axes[0].get_xlim()[0] > figure.axes[0].get_xlim()[1], "finer to the right"
    assert "medians of 3 replicates, bands: smallest to largest" in figure.get_supxlabel()


def test_bounds_of_one_accuracy_are_marks():
    one = both(epsilons=[1e-2])
    for panel in ("theorem", None):
        figure = accuracy_curve(one, CONTEXT, panel=panel)
        bounds = [line for axis in figure.axes for line in lines(axis, "promise")]
        assert len(bounds) == 3
        looks = {line.get_marker() for line in bounds}
        assert "None" not in looks
        assert len(looks) == (1 if panel else 3), "several in one panel are told apart"
        handles = {one.get_label(): one.get_marker() for one in legend_handles(figure)}
        assert looks <= set(handles.values())
        assert [line.get_markevery() for line in bounds] == [[0]] * 3
    assert not any(
        line.get_marker() != "None"
        for axis in accuracy_curve(both(), CONTEXT).axes
        for line in lines(axis, "promise")
    )
    assert isolated([np.nan, 1, np.nan, 2, 3, np.inf, 4]) == [1, 6]


def beyond(axis):
    return [text.get_text() for text in axis.texts if text.get_gid() == "beyond"]


def test_promises_beyond_the_axis_are_told():
    far = both()
    far.loc[far["theorem"] == "T2", "steps_bound"] *= 1e12
    first, *others = accuracy_curve(far, CONTEXT).axes
    assert beyond(first) == ["promised: beyond the axis"]
    (line,) = lines(first, "promise")
    assert (line.get_ydata() > first.get_ylim()[1]).all()
    assert [beyond(axis) for axis in others] == [[], []]
    (axis,) = accuracy_curve(far, CONTEXT, panel=None).axes
    assert beyond(axis) == ["Theorem 2: beyond the axis"]
    # Some of a line on the axis is enough.
    some = both()
    some.loc[(some["theorem"] == "T2") & (some["epsilon"] < 1), "steps_bound"] *= 1e12
    assert beyond(accuracy_curve(some, CONTEXT).axes[0]) == []


def test_no_step_at_all_stands_apart_at_0():
    axis = accuracy_curve(both(), CONTEXT).axes[0]
    place = lines(axis, "measured")[0].get_ydata()[-1]
    labels = [text.get_text() for text in axis.get_yticklabels()]
    assert dict(zip(axis.get_yticks(), labels, strict=True))[place] == "0"
    assert axis.get_ylim()[0] < place < 1
    some = both(epsilons=EPSILONS[1:])
    labels = [t.get_text() for t in accuracy_curve(some, CONTEXT).axes[0].get_yticklabels()]
    assert "0" not in labels


def test_where_nothing_is_promised_there_is_no_panel_but_a_line_elsewhere():
    frame = pd.concat([both(), table(accuracy_rows("fixed", ("none",)))], ignore_index=True)
    figure = accuracy_curve(frame, CONTEXT)
    assert not any("none" in axis.get_title() for axis in figure.axes)
    assert "Replacement" not in legend(figure)
    figure = accuracy_curve(frame, CONTEXT, panel=None)
    (axis,) = figure.axes
    note = figure.get_supxlabel().replace("\n", " ")
    assert "medians of 3 replicates, bands" in note, "each counts once"
    assert len(lines(axis, "measured")) == 3, "one line for each algorithm"
    assert len(lines(axis, "promise")) == 3, "one for each theorem"
    words = ["Theorem 2", "Theorem 2, until it ends", "Theorem 3"]
    handles = {one.get_label(): one for one in legend_handles(figure)}
    assert [*handles] == ["Forward greedy", "Fully corrective", "Replacement", *words]
    assert len({str(handles[one]._unscaled_dash_pattern) for one in words}) == 3
    with pytest.raises(ConfigError, match="no theorem has a bound") as refused:
        accuracy_curve(table(accuracy_rows("fixed", ("none",))), CONTEXT)
    assert refused.value.remedy == "Write `panel: reference` or `panel: null`."
    unpromised = table(accuracy_rows("fixed", ("none",)))
    with pytest.raises(ConfigError, match="no theorem has a bound") as refused:
        accuracy_curve(unpromised, CONTEXT, row="theorem", panel="reference")
    assert refused.value.remedy == "Write `row: reference` or `row: null`."
    for panel in ("reference", None):
        accuracy_curve(unpromised, CONTEXT, panel=panel)


def test_a_theorem_that_some_replicates_lack_is_an_infinite_bound_of_theirs():
    frame = table(accuracy_rows("forward", ("T2", "T4")))
    lost = frame.replace({"theorem": {"T4": "none"}})
    two = (frame["theorem"] == "T4") & (frame["replicate"] > 0)
    one = accuracy_curve(frame.where(~two, lost), CONTEXT, panel=None)
    assert legend(one) == ["Forward greedy", "Theorem 2"]
    few = (frame["theorem"] == "T4") & (frame["replicate"] > 1)
    (axis,) = accuracy_curve(frame.where(~few, lost), CONTEXT, panel=None).axes
    highest = max(lines(axis, "promise"), key=lambda line: line.get_ydata()[0])
    # Of two bounds and an infinite one the larger is the median.
    np.testing.assert_allclose(highest.get_ydata()[0], 4 * size("forward", 1) / 1e-4)


def test_lines_are_about_one_reference():
    frame = table(
        [*accuracy_rows("forward"), *accuracy_rows("forward", ("none",), reference="support")]
    )
    with pytest.raises(ConfigError, match="mix the references l1_ball, support") as refused:
        accuracy_curve(frame, CONTEXT, panel=None)
    assert "where: {reference: l1_ball}" in refused.value.remedy
    accuracy_curve(frame, CONTEXT, panel="theorem")
    figure = accuracy_curve(frame, CONTEXT, panel="reference")
    assert [axis.get_title() for axis in figure.axes] == [
        "reference: best in the l1 ball",
        "reference: best on the true support",
    ]
    figure = accuracy_curve(frame, CONTEXT, panel=None, where={"reference": "support"})
    assert figure.get_suptitle() == "reference: best on the true support"


def test_what_was_not_reached_is_marked_in_the_strip():
    # Replicates take 2, 4 and 6 thousand steps for 1e-3, and ten times as many for 1e-4.
    frame = pd.concat([both(budget=4500), table(step_rows("forward"))], ignore_index=True)
    figure = accuracy_curve(frame, CONTEXT, panel="algorithm")
    forward = figure.axes[0]
    assert forward.get_title() == "Forward greedy"
    marks = {line.get_xdata()[0]: line for line in lines(forward, "unreached")}
    assert set(marks) == {1e-3, 1e-4}
    assert same_color(marks[1e-4].get_markerfacecolor(), "white"), "reached by none"
    assert same_color(marks[1e-3].get_markerfacecolor(), FORWARD), "reached by two of three"
    assert {e: mark.get_fillstyle() for e, mark in marks.items()} == {1e-4: "full", 1e-3: "bottom"}
    assert lines(forward, "measured")[0].get_xdata().min() == 1e-3
    assert "not reached within 1000 steps" in legend(figure)
    assert "not reached by some replicates" in legend(figure)
    # 1 and 3 pairs of forward and 3 of corrective, whichever theorems speak of them, of 30.
    assert "Accuracy not reached: 23.33% of all pairs" in figure.get_supxlabel()


def test_data_and_marks_have_places_of_their_own():
    figure = accuracy_curve(both(budget=4500), CONTEXT, panel=None)
    figure.canvas.draw()
    (axis,) = figure.axes
    strip = axis.patches[0].get_window_extent()
    for line in lines(axis, "unreached"):
        height = axis.transAxes.transform((0, line.get_ydata()[0]))[1]
        assert strip.y0 < height < strip.y1
    for kind in ("measured", "promise"):
        for line in lines(axis, kind):
            assert line.get_clip_box().y1 <= strip.y0 + 1e-6


def test_bounds_have_the_colour_of_their_algorithm_only_if_they_differ():
    frame = table([*accuracy_rows("forward"), *accuracy_rows("corrective")])
    (axis,) = accuracy_curve(frame, CONTEXT).axes
    colours = [line.get_color() for line in lines(axis, "promise")]
    assert all(map(same_color, colours, (CORRECTIVE, FORWARD)))
    frame["steps_bound"] = 9 / frame["epsilon"]
    (axis,) = accuracy_curve(frame, CONTEXT).axes
    (bound,) = lines(axis, "promise")
    assert same_color(bound.get_color(), "black")


def test_a_huge_promise_does_not_squeeze_what_is_measured():
    frame = both()
    frame.loc[frame["theorem"] == "T3", "steps_bound"] = 1e35
    top = 1e3 * size("forward", 2) / 1e-4
    ticks = accuracy_curve(frame, CONTEXT).axes[0].get_yticks()
    assert 0.1 * top < max(ticks) <= 1.3 * top


def test_steps_bound_features_only_where_there_are_no_more_of_them():
    many = table(accuracy_rows("fixed", ("T5",), features=30))
    frame = pd.concat([both(), many], ignore_index=True)
    figure = accuracy_curve(frame, CONTEXT, panel="algorithm", count="features_needed")
    names = {axis.get_title(): axis for axis in figure.axes if axis.get_visible()}
    assert not lines(names["Replacement"], "promise")
    assert len(lines(names["Forward greedy"], "promise")) == 2
    assert lines(names["Replacement"], "measured")[0].get_ydata().tolist() == [30] * 5
    assert figure.axes[0].get_ylabel().split() == ["features", "to", "reach", "the", "accuracy"]


def test_theorems_about_half_of_the_runs_are_said_to_be():
    frame = table([*accuracy_rows("forward", ("T1",)), *accuracy_rows("corrective", ("T3",))])
    note = accuracy_curve(frame, CONTEXT).get_supxlabel()
    assert "Theorem 1: promised with probability 1/2." in note
    assert "probability" not in accuracy_curve(both(), CONTEXT).get_supxlabel()


def test_a_cell_of_the_grid_without_rows_says_so():
    frame = table([*accuracy_rows("forward", p=10), *accuracy_rows("corrective", ("T3",), p=20)])
    figure = accuracy_curve(frame, CONTEXT, row="p")
    texts = [[text.get_text() for text in axis.texts] for axis in figure.axes]
    assert [words.count("nothing is promised") for words in texts] == [0, 1, 1, 0]


def test_failed_replicates_are_told():
    frame = both()
    failed = frame[frame["replicate"] == 0].assign(replicate=9).drop_duplicates("algorithm")
    failed = failed.assign(status="timeout", record=None, theorem=None, reference=None)
    note = accuracy_curve(pd.concat([frame, failed], ignore_index=True), CONTEXT).get_supxlabel()
    assert "failed (left out): 25.00%" in note


def test_every_theorem_that_is_promised_has_words():
    replaced = {"features": 9, "first_gap": 1.0, "span": 1.0}
    promises = [
        bounds.theorem1_smooth(1.0, 1.0),
        bounds.theorem1_lipschitz(1.0, 1.0),
        bounds.theorem1_lipschitz(1.0, 1.0, reading="printed"),
        bounds.theorem2(1.0, 1.0),
        bounds.theorem2(1.0, 1.0, counts="termination"),
        bounds.theorem3(1.0, 1.0),
        bounds.theorem4(1.0, 1.0, 1, 1.0),
        bounds.theorem5(1.0, 1.0, 1, **replaced),
        smoothing.corollary2(1.0, 1.0),
        smoothing.corollary2(1.0, 1.0, reading="printed"),
        smoothing.theorem2_2008(1.0, 1.0),
        smoothing.theorem1_2008(1.0, 1.0),
    ]
    shipped = ["T1", "T1-lipschitz", "T1-lipschitz-printed", "T2", "T2-termination", "C2"]
    shipped += ["C2-printed", "S08-T1", "S08-T2", "T3", "T4", "T5"]
    assert list(known_theorems()) == shipped
    assert {one.theorem for one in promises} == set(shipped)
    assert [name for name in shipped if is_random(name)] == shipped[:3]


def test_columns_are_listed_and_bad_ones_refused():
    part = registry.find("figure", "accuracy_curve")
    given = Parameters(part).read_all({"row": "p", "where": {"copies": 1}})
    assert part.columns(**given) == [
        *("theorem", "p", "algorithm", "record", "reference", "epsilon", "steps"),
        *("features_needed", "steps_bound", "copies"),
    ]
    assert part.apart(**given) == ["theorem", "p", "algorithm"]
    with pytest.raises(ConfigError, match="no rows of record 'epsilon'"):
        accuracy_curve(both().assign(record="step"), CONTEXT)
    with pytest.raises(ConfigError, match="'steps' is not a number"):
        accuracy_curve(both().assign(steps="many"), CONTEXT)
    with pytest.raises(ConfigError, match="no row has theorem = T9"):
        accuracy_curve(both(), CONTEXT, where={"theorem": "T9"})


def test_a_budget_of_many_steps_is_written_as_a_power():
    rows = [*accuracy_rows("forward", budget=100), *step_rows("forward", marks=(1, 200_000_000))]
    words = legend(accuracy_curve(table(rows), CONTEXT))
    assert r"not reached within $2\cdot10^{8}$ steps" in words


def test_many_panels_in_a_row_are_narrower_and_their_numbers_apart():
    theorems = ("T1", "T2", "T3", "T4")
    rows = [row for p in (10, 20) for row in accuracy_rows("forward", theorems, p=p)]
    figure = accuracy_curve(table(rows), CONTEXT, row="p")
    assert figure.get_figwidth() <= 9
    figure.canvas.draw()
    for axis in figure.axes[4:]:
        boxes = [text.get_window_extent() for text in axis.get_xticklabels()]
        boxes = sorted((box for box in boxes if box.width), key=lambda box: box.x0)
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
