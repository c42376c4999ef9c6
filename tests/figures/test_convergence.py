"""Figure ``convergence``: measured gaps, and labels of all other curves."""

import numpy as np
import pandas as pd
import pytest
from figure_frames import legend_texts, style  # noqa: F401 (an autouse fixture)
from trajectory_frames import CONTEXT, iteration_rows, table

from greedyexp.config import load
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.figures._plot import COLOURS, NUMBERS, shades
from greedyexp.figures.trajectory.convergence import convergence

DESCENT, OURS = (COLOURS[NUMBERS[name]] for name in ("gradient_descent", "rmp"))
MARKS = (0, 1, 3, 10, 30, 100)


@pytest.fixture
def frame():
    return table(iteration_rows((10, 20), marks=MARKS))


def lines(figure, gid, axis=0, colour=None):
    return [
        line
        for line in figure.axes[axis].lines
        if line.get_gid() == gid and colour in (None, line.get_color())
    ]


def texts(figure):
    return legend_texts(figure)


def medians(frame, value, p, algorithm="gradient_descent"):
    rows = frame[(frame["p"] == p) & (frame["algorithm"] == algorithm)]
    return np.array([np.median(rows.loc[rows["iteration"] == k, value]) for k in MARKS])


def test_lines_are_medians_of_the_gap_and_bounds_are_told_apart(frame):
    figure = convergence(frame, CONTEXT, panel="p", floor=1e-60)
    assert [axis.get_title() for axis in figure.axes] == ["p = 10", "p = 20"]
    for axis, p in enumerate((10, 20)):
        for gid, value in (
            ("gap", "gap"),
            ("guarantee", "guarantee"),
            ("prediction", "prediction"),
        ):
            (line,) = lines(figure, gid, axis, DESCENT)
            assert tuple(line.get_xdata()) == MARKS
            np.testing.assert_allclose(line.get_ydata(), medians(frame, value, p))
    dashes = [lines(figure, gid)[0]._dash_pattern for gid in ("gap", "guarantee", "prediction")]
    assert len({str(dash) for dash in dashes}) == 3
    assert lines(figure, "gap")[0].get_linestyle() == "-"
    assert texts(figure)[:2] == ["Gradient descent", "Ours"]
    assert texts(figure)[2:] == ["proved bound", "asymptotic prediction, not a bound"]
    assert figure.axes[0].get_yscale() == "log"
    assert "Bounds and predictions are medians too." in figure.get_supxlabel()


def test_what_is_not_wanted_or_not_in_the_table_is_not_drawn(frame):
    bare = frame.drop(columns=["guarantee", "prediction"])
    for figure in (
        convergence(bare, CONTEXT, panel="p"),
        convergence(frame, CONTEXT, panel="p", guarantee=False, prediction=False),
    ):
        assert not lines(figure, "guarantee")
        assert not lines(figure, "prediction")
        assert texts(figure) == ["Gradient descent", "Ours"]
        assert "medians too" not in figure.get_supxlabel()


def test_twice_the_exponent_is_drawn_for_those_named_and_said_to_be_no_bound(frame):
    assert not lines(convergence(frame, CONTEXT, panel="p"), "twice")
    figure = convergence(frame, CONTEXT, panel="p", twice=["rmp", "rpm"])
    (line,) = lines(figure, "twice")
    assert line.get_color() == OURS
    ours = frame[(frame["algorithm"] == "ours") & (frame["p"] == 10)]
    rate = ours.loc[ours["iteration"] == 1, "guarantee"].iloc[0] / 4.0
    np.testing.assert_allclose(line.get_ydata(), 8.0 * rate ** (2 * np.array(MARKS)))
    assert "exponent 2k, not a bound" in texts(figure)


def test_an_algorithm_named_twice_that_does_not_run_is_refused_before_any_work():
    names = ["gradient_descent", "gs_coordinate_descent"]
    source = {
        "name": "t",
        "data": {"generator": "gaussian"},
        "protocol": {"trajectory": {"guarantees": True}},
        "algorithms": names,
        "figures": [{"convergence": {"twice": names}}],
        "profiles": {"smoke": {"algorithms": names[1:]}},
    }
    assert load(source).figures[0].params["twice"] == names
    narrowed = load(source, profile="smoke")
    assert narrowed.figures[0].params["twice"] == names[1:]
    assert load(narrowed.resolved).figures == narrowed.figures
    source["figures"] = [{"convergence": {"twice": [*names, "gradient_decent"]}}]
    with pytest.raises(ConfigError, match=r"'gradient_decent'.*'gradient_descent'") as refused:
        load(source)
    assert refused.value.place == "figures[0].convergence.twice[2]"
    short = load(source, overrides=["algorithms=[{rmp: {lam: 0.1}}]"])
    assert short.figures[0].params["twice"] == []


def test_the_bound_on_the_final_support_begins_where_it_holds(frame):
    some = frame["iteration"] >= 10
    frame["local_guarantee"] = (2 * frame["gap"]).where(some)
    figure = convergence(frame, CONTEXT, panel="p")
    assert lines(figure, "local_guarantee")[0].get_xdata().tolist() == [10, 30, 100]
    first = frame["p"] == frame["p"].min()
    for late, begins in (([2], 10), ([0, 1, 2], 30)):
        before = (frame["iteration"] < 30) & frame["replicate"].isin(late)
        frame["local_guarantee"] = frame["local_guarantee"].mask(before)
        bound = lines(convergence(frame, CONTEXT, panel="p"), "local_guarantee")[0]
        assert bound.get_xdata()[0] == begins
        here = frame[first & (frame["iteration"] == begins)]
        absent = here.groupby("algorithm")["local_guarantee"].apply(
            lambda values: np.median(values.fillna(np.inf))
        )
        assert bound.get_ydata()[0] == pytest.approx(absent.iloc[0])
    assert "proved bound on the final support" in texts(figure)
    assert not lines(convergence(frame, CONTEXT, panel="p", local=False), "local_guarantee")


def test_a_line_ends_where_the_first_replicate_does(frame):
    short = frame[~((frame["replicate"] == 1) & (frame["iteration"] > 30))]
    (line,) = lines(convergence(short, CONTEXT, panel="p"), "gap", colour=DESCENT)
    assert line.get_xdata()[-1] == 30


def test_what_is_below_the_floor_is_not_drawn_and_said(frame):
    (line,) = lines(convergence(frame, CONTEXT, panel="p", floor=1e-3), "gap", colour=DESCENT)
    expected = medians(frame, "gap", 10)
    seen = [k for k, gap in zip(MARKS, expected, strict=True) if gap > 1e-3]
    assert 2 < len(seen) < len(MARKS)
    assert line.get_xdata().tolist() == seen
    # A gap that comes back above the floor is rounding and no return.
    again = frame.assign(gap=frame["gap"].mask(frame["iteration"] == 30, 0.0))
    figure = convergence(again, CONTEXT, panel="p", floor=1e-12)
    assert medians(again, "gap", 10, "ours")[-1] > 1e-12
    assert lines(figure, "gap", colour=OURS)[0].get_xdata()[-1] == 10
    assert "gap falls to 1e-12" in figure.get_supxlabel()
    assert "Lines end" not in convergence(frame, CONTEXT, panel="p", floor=1e-60).get_supxlabel()


def test_runs_that_level_off_at_rounding_end_at_the_floor(frame):
    frame["gap"] = frame["gap"].clip(lower=3e-14)
    level = convergence(frame, CONTEXT, panel="p")
    assert lines(level, "gap", colour=DESCENT)[0].get_xdata()[-1] == 100
    figure = convergence(frame, CONTEXT, panel="p", floor=1e-13)
    for axis in (0, 1):
        drawn = lines(figure, "gap", axis)
        assert min(line.get_ydata().min() for line in drawn) > 1e-13
        assert 1e-14 < figure.axes[axis].get_ylim()[0] < 1e-13
    assert lines(figure, "gap", colour=DESCENT)[0].get_xdata()[-1] < 100
    # A band that is cut off is said though no median is as low.
    fastest = frame["replicate"].eq(0) & frame["iteration"].eq(100)
    rest = frame.assign(gap=frame["gap"].clip(lower=1e-3).mask(fastest, 1e-14))
    said = convergence(rest, CONTEXT, panel="p", floor=1e-13).get_supxlabel()
    assert "falls to 1e-13; bands are cut off there." in said.replace("\n", " ")


def test_bands_hold_the_replicates_and_nothing_is_cut_off(frame):
    figure = convergence(frame, CONTEXT, panel="p", row="algorithm")
    band = figure.axes[0].collections[0].get_paths()[0].vertices
    start = frame[(frame["p"] == 10) & (frame["algorithm"] == "gradient_descent")]
    ends = start.loc[start["iteration"] == 3, "gap"]
    at = band[band[:, 0] == 3][:, 1]
    assert {at.min(), at.max()} == {ends.min(), ends.max()}
    low, high = figure.axes[0].get_ylim()
    assert low < medians(frame, "gap", 10).min()
    assert high > frame["gap"].max()


def test_a_bound_far_above_does_not_squeeze_what_was_measured(frame):
    frame["guarantee"] = 1e30
    assert convergence(frame, CONTEXT, panel="p").axes[0].get_ylim()[1] < 1e3 * 12 * 100
    frame["guarantee"] = 1000.0
    assert convergence(frame, CONTEXT, panel="p").axes[0].get_ylim()[1] > 1000


def test_numbers_have_shades_and_a_second_key_markers(frame):
    figure = convergence(frame, CONTEXT, line=["p", "algorithm"], guarantee=False, prediction=False)
    drawn = lines(figure, "gap")
    assert {line.get_color() for line in drawn} == set(shades([10, 20]).values())
    assert len({(line.get_color(), line.get_marker()) for line in drawn}) == 4
    assert texts(figure) == ["p = 10", "p = 20", "Gradient descent", "Ours"]


def test_a_logarithmic_axis_keeps_iteration_0(frame):
    figure = convergence(frame, CONTEXT, panel="p", scale="log", until=30)
    axis = figure.axes[0]
    assert axis.get_xlim()[0] < 0
    assert [label.get_text() for label in axis.get_xticklabels()][:3] == ["0", "1", "2"]
    assert lines(figure, "gap", colour=DESCENT)[0].get_xdata().tolist() == [0, 1, 3, 10, 30]


def test_panels_keep_the_order_of_the_table_and_wrap():
    names = ["wide", "narrow", "even", "last"]
    parts = [table(iteration_rows((10,), marks=MARKS), data=name) for name in names]
    figure = convergence(pd.concat(parts, ignore_index=True), CONTEXT, panel="data")
    assert [axis.get_title() for axis in figure.axes] == names
    tops = [axis.get_subplotspec().rowspan.start for axis in figure.axes]
    assert tops == [0, 0, 1, 1]


def test_failures_are_counted_by_replicate(frame):
    lost = (frame["replicate"] == 0) & (frame["p"] == 10) & (frame["algorithm"] == "ours")
    failed = frame[lost].iloc[[0]].assign(status="error", record=np.nan, iteration=np.nan)
    failed[["gap", "guarantee", "prediction"]] = np.nan
    note = convergence(
        pd.concat([frame[~lost], failed], ignore_index=True), CONTEXT, panel="p"
    ).get_supxlabel()
    assert f"failed (left out): {1 / 12:.2%}" in note
    assert "medians of 2 to 3 replicates" in note


def test_bad_columns_are_refused_with_a_sentence(frame):
    with pytest.raises(ConfigError, match=r"no column 'q'"):
        convergence(frame, CONTEXT, line=["q"])
    with pytest.raises(ConfigError, match="no rows of record 'iteration'"):
        convergence(frame.assign(record="epsilon"), CONTEXT)
    with pytest.raises(ConfigError, match="'gap' is not a number in every row"):
        convergence(frame.assign(gap="small"), CONTEXT)
    with pytest.raises(ConfigError, match="'guarantee' is not a number in every row"):
        convergence(frame.assign(guarantee="some"), CONTEXT)
    columns_of = registry.find("figure", "convergence").columns
    assert columns_of(panel="data", row=None, line=["p"]) == [
        "data",
        "p",
        "record",
        "iteration",
        "gap",
    ]
