"""Figure ``transition_threshold``: fitted crossings, intervals, points without a fit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from figure_frames import THETAS, legend_texts, outcomes, style  # noqa: F401 (an autouse fixture)
from scipy.optimize import minimize
from scipy.special import expit

from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.figures._plot import COLOURS, NUMBERS
from greedyexp.figures.phase_transition.transition_threshold import transition_threshold
from greedyexp.results.context import Context
from greedyexp.results.successes import thresholds
from greedyexp.stats.sequential import located_crossing

CONTEXT = Context(
    "demo",
    "smoke",
    20,
    "A paper, Figure 2",
    {"ours": "greedy_dirty", "lasso": "lasso"},
    {"ours": "Ours", "lasso": "Lasso"},
)
OURS, LASSO = (COLOURS[NUMBERS[name]] for name in ("greedy_dirty", "lasso"))
SUCCESS = {"default": "sign_support"}


def logistic_crossing(wins, trials=100):
    """Return the 50% point of a logistic regression, by a general optimiser."""
    x, won = np.array(THETAS), np.array(wins)

    def loss(theta):
        p = expit(theta[0] + theta[1] * x)
        return -(won @ np.log(p) + (trials - won) @ np.log(1 - p))

    a, b = minimize(loss, [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-9}).x
    return -a / b


@pytest.fixture
def frame():
    return pd.concat(
        [
            outcomes((25, 40, 65, 75), trials=100, kappa=0.3),
            outcomes((30, 55, 70, 75), trials=100, kappa=0.8),
            outcomes((0, 0, 0, 0), trials=100, kappa=0.3, algorithm="lasso"),
            outcomes((25, 30, 40, 70), trials=100, kappa=0.8, algorithm="lasso"),
        ],
        ignore_index=True,
    )


def drawn(figure, colour, axis=0):
    """Return x and y of the line with markers in a colour."""
    lines = [
        line
        for line in figure.axes[axis].lines
        if line.get_color() == colour and len(line.get_xdata()) == 2 and line.get_marker() != "None"
    ]
    return lines[0].get_xdata(), lines[0].get_ydata()


def marked(figure, gid, axis=0):
    return [line for line in figure.axes[axis].lines if line.get_gid() == gid]


def test_where_chooses_the_rows_and_the_title_names_one_value(frame):
    figure = transition_threshold(
        frame, CONTEXT, theory=False, where={"algorithm": ["ours"], "kappa": [0.3, 0.8]}
    )
    assert legend_texts(figure) == ["Ours"]
    assert figure.get_suptitle() == "", "both values are seen"
    one = transition_threshold(frame, CONTEXT, x="p", theory=False, where={"kappa": 0.3})
    assert one.get_suptitle() == "κ = 0.3"


def test_thresholds_are_those_of_a_logistic_regression(frame):
    table = thresholds(
        frame, CONTEXT, of="theta", success=SUCCESS, by=["algorithm", "kappa"]
    ).set_index(["algorithm", "kappa"])
    for key, wins in (
        (("ours", 0.3), (25, 40, 65, 75)),
        (("ours", 0.8), (30, 55, 70, 75)),
        (("lasso", 0.8), (25, 30, 40, 70)),
    ):
        assert table.loc[key, "estimate"] == pytest.approx(logistic_crossing(wins), abs=1e-5)
        assert table.loc[key, "low"] < table.loc[key, "estimate"] < table.loc[key, "high"]
    assert table.loc[("lasso", 0.3), "estimate"] == np.inf
    assert table["trials"].tolist() == [400] * 4


def test_failed_replicates_are_trials_without_success(frame):
    lost = frame["algorithm"].eq("ours") & frame["kappa"].eq(0.3) & frame["theta"].eq(2.0)
    failing = frame.copy()
    failing.loc[lost & (frame["replicate"] < 15), "status"] = "timeout"
    failing.loc[lost & (frame["replicate"] < 15), "sign_support"] = np.nan
    table = thresholds(failing, CONTEXT, of="theta", success=SUCCESS, by=["algorithm", "kappa"])
    ours = table[(table["algorithm"] == "ours") & (table["kappa"] == 0.3)].iloc[0]
    assert ours["trials"] == 400
    assert ours["estimate"] == pytest.approx(logistic_crossing((25, 40, 65, 60)), abs=1e-5)
    note = transition_threshold(failing, CONTEXT).get_supxlabel()
    assert "failed (counted as no success): 0.94%" in note


def test_a_curve_that_crosses_beyond_the_data_has_no_threshold():
    """What the fitted curve does where nothing was tested is not shown."""
    low = outcomes((5, 15, 25, 40), trials=100)
    rising = thresholds(low, CONTEXT, of="theta", success=SUCCESS, by=["algorithm"]).iloc[0]
    assert logistic_crossing((5, 15, 25, 40)) > 2
    assert (rising["estimate"], rising["high"]) == (np.inf, np.inf)
    # 40 successes of 100 do not exclude a crossing before the last point.
    assert rising["low"] == 1.5
    high = outcomes((60, 75, 85, 95), trials=100)
    falling = thresholds(high, CONTEXT, of="theta", success=SUCCESS, by=["algorithm"]).iloc[0]
    assert (falling["estimate"], falling["low"]) == (-np.inf, -np.inf)
    assert np.isfinite(falling["high"])


def test_arrows_at_one_place_stand_side_by_side_and_in_the_legend():
    never = [
        outcomes((0, 0, 0, 0), trials=100, kappa=0.3, algorithm=name) for name in ("ours", "lasso")
    ]
    figure = transition_threshold(
        pd.concat(never, ignore_index=True), CONTEXT, theory=False, direction="rising"
    )
    places = [arrow.get_window_extent() for arrow in marked(figure, "unreached")]
    assert abs(places[0].x0 - places[1].x0) > 6 * figure.dpi / 72
    assert "in the order of the legend" in figure.get_supxlabel()
    colours = [line.get_markeredgecolor() for line in marked(figure, "unreached")]
    order = sorted(zip((place.x0 for place in places), colours, strict=True))
    assert [colour for _, colour in order] == [OURS, LASSO]
    assert legend_texts(figure) == ["Ours", "Lasso", "above the tested range"]


def test_groups_may_have_different_numbers_of_trials():
    more = outcomes((8, 2), trials=10, thetas=(1.0, 0.75))
    more["replicate"] += 20
    frame = pd.concat([outcomes((5, 8, 13, 15)), more])
    table = thresholds(frame, CONTEXT, of="theta", success=SUCCESS, by=["algorithm"])
    assert table.loc[0, ["trials", "fewest", "most"]].tolist() == [100, 10, 30]


def test_points_and_bars_are_the_tables_numbers(frame):
    figure = transition_threshold(frame, CONTEXT)
    table = thresholds(frame, CONTEXT, of="theta", success=SUCCESS, by=["algorithm", "kappa"])
    ours = table[table["algorithm"] == "ours"]
    x, y = drawn(figure, OURS)
    assert y.tolist() == ours["estimate"].tolist()
    assert x.tolist() == ours["kappa"].tolist()
    bars = [tuple(line.get_ydata()) for line in marked(figure, "interval")]
    assert set(zip(ours["low"], ours["high"], strict=True)) <= set(bars)
    places = {
        round(72 * line.get_window_extent().x0 / figure.dpi, 2)
        for line in marked(figure, "interval")
    }
    assert len(places) == 4, "intervals of two lines must not hide one another"


def test_a_threshold_beyond_what_was_tested_is_an_open_arrow_and_named(frame):
    figure = transition_threshold(frame, CONTEXT)
    (arrow,) = marked(figure, "unreached")
    assert arrow.get_ydata()[0] == figure.axes[0].get_ylim()[1]
    assert arrow.get_markerfacecolor() == "white"
    assert np.isnan(drawn(figure, LASSO)[1][0])
    assert "Not crossed in the tested range: Lasso at κ = 0.3." in figure.get_supxlabel()
    always = transition_threshold(outcomes((20, 20, 20, 20)), CONTEXT, direction="rising")
    (arrow,) = marked(always, "unreached")
    assert arrow.get_ydata()[0] == always.axes[0].get_ylim()[0]


def test_a_logarithmic_axis_has_the_same_points_and_arrows(frame):
    figure = transition_threshold(frame, CONTEXT, of_scale="log")
    axis = figure.axes[0]
    assert axis.get_yscale() == "log"
    low, high = axis.get_ylim()
    plain = transition_threshold(frame, CONTEXT)
    np.testing.assert_array_equal(drawn(figure, OURS)[1], drawn(plain, OURS)[1])
    assert 0 < low < drawn(figure, OURS)[1].min()
    (arrow,) = marked(figure, "unreached")
    assert arrow.get_ydata()[0] == high
    shifted = frame.assign(theta=frame["theta"] - 5.0)
    with pytest.raises(ConfigError, match="logarithmic axis needs positive values"):
        transition_threshold(shifted, CONTEXT, of_scale="log", theory=False)


def test_an_unbounded_interval_reaches_the_edge_with_an_arrow(frame):
    figure = transition_threshold(frame, CONTEXT)
    top = figure.axes[0].get_ylim()[1]
    table = thresholds(frame, CONTEXT, of="theta", success=SUCCESS, by=["algorithm", "kappa"])
    low = table.loc[table["estimate"] == np.inf, "low"].item()
    bars = {tuple(line.get_ydata()) for line in marked(figure, "interval")}
    assert (low, top) in bars
    assert np.isfinite(top)
    unbounded = table[np.isinf(table["high"])]
    arrows = marked(figure, "beyond")
    assert len(arrows) == len(unbounded) > 0
    assert {line.get_ydata()[0] for line in arrows} == {top}


def test_predictions_are_drawn_where_they_are_stated(frame):
    def curves(table, **options):
        figure = transition_threshold(table, CONTEXT, **options)
        return {
            (line.get_color(), line.get_linestyle()): np.array(line.get_ydata())
            for line in figure.axes[0].lines
            if len(line.get_xdata()) == 101
        }

    found = curves(frame)
    kappa = np.linspace(0.3, 0.8, 101)
    np.testing.assert_allclose(found[OURS, "--"], 1 - kappa / 2)
    np.testing.assert_allclose(found[LASSO, "--"], 2.0)
    assert not curves(frame, theory=False)
    assert not curves(frame.assign(n_tasks=3))
    group = frame.replace({"algorithm": {"lasso": "group_lasso"}})
    assert len(curves(group)) == 2
    assert len(curves(group.assign(values="gaussian"))) == 1


@pytest.mark.parametrize("line", [["algorithm"], ["algorithm", "p"]])
def test_predictions_have_the_marker_of_their_method_and_dashes_of_no_measurement(frame, line):
    sizes = pd.concat([frame.assign(p=p, s=p // 10) for p in (128, 256, 512)])
    table = sizes if len(line) > 1 else sizes[sizes["p"] == 128]
    (axis,) = transition_threshold(table, CONTEXT, line=line).axes
    found = [one for one in axis.lines if one.get_gid() == "prediction"]
    measured = [one for one in axis.lines if not one.get_label().startswith("_")]
    markers = {one.get_color(): one.get_marker() for one in measured}
    assert {one.get_color() for one in found} == {OURS, LASSO}
    assert all(one.get_marker() == markers[one.get_color()] for one in found)
    dashes = {str(one._unscaled_dash_pattern) for one in measured}
    assert not dashes & {str(one._unscaled_dash_pattern) for one in found}


def test_the_lassos_law_is_drawn_for_each_size(frame):
    sizes = pd.concat([frame.assign(p=p, s=s) for p, s in ((128, 13), (512, 51))])
    kappa = np.linspace(0.3, 0.8, 101)
    # n = 2 s log(p), divided by s log(p - (2 - kappa) s).
    laws = [2 * np.log(p) / np.log(p - (2 - kappa) * s) for p, s in ((128, 13), (512, 51))]

    def curves(colour, **options):
        figure = transition_threshold(sizes, CONTEXT, **options)
        lines = [(axis, line) for axis in figure.axes for line in axis.lines]
        found = [(a, o) for a, o in lines if o.get_color() == colour and len(o.get_xdata()) == 101]
        assert "n = 2 s log(p)" in figure.get_supxlabel().replace("\n", " ")
        return [axis for axis, _ in found], [line.get_ydata() for _, line in found]

    np.testing.assert_allclose(curves(LASSO, line=["algorithm", "p"])[1], laws)
    axes, heights = curves(LASSO, panel="p")
    np.testing.assert_allclose(heights, laws)
    assert axes[0] is not axes[1]
    # Others are the same for all sizes.
    np.testing.assert_allclose(curves(OURS, line=["algorithm", "p"])[1], [1 - kappa / 2])
    with pytest.raises(ConfigError, match="average over the values of 'p'"):
        transition_threshold(sizes, CONTEXT)


def test_the_level_moves_the_threshold(frame):
    at_half = drawn(transition_threshold(frame, CONTEXT), OURS)[1]
    figure = transition_threshold(frame, CONTEXT, level=0.7)
    assert np.all(drawn(figure, OURS)[1] > at_half)
    assert "70% success" in figure.axes[0].get_ylabel()


def test_thresholds_are_divided_by_a_column(frame):
    sized = frame.assign(n_samples=26 * frame["theta"], s=13)
    figure = transition_threshold(sized, CONTEXT, of="n_samples", per="s", scale="log")
    plain = drawn(transition_threshold(frame, CONTEXT, theory=False), OURS)[1]
    np.testing.assert_allclose(drawn(figure, OURS)[1], 2 * plain)
    assert figure.axes[0].get_ylabel() == "n / s at 50% success"
    assert figure.axes[0].get_xscale() == "log"
    part = registry.find("figure", "transition_threshold")
    assert "s" in part.columns(x="kappa", of="n_samples", per="s", line=["algorithm"])
    two = pd.concat([sized, sized.assign(s=26)])
    with pytest.raises(ConfigError, match="'s' has several values for one threshold"):
        transition_threshold(two, CONTEXT, of="n_samples", per="s")


def test_note_states_profile_trials_and_intervals(frame):
    note = transition_threshold(frame, CONTEXT).get_supxlabel()
    assert "profile smoke: 100 trials per point" in note
    others = outcomes((5,), thetas=(1.0,), kappa=0.3, trials=7)
    more = pd.concat([frame, others.assign(replicate=others["replicate"] + 100)])
    note = transition_threshold(more, CONTEXT).get_supxlabel().replace("\n", " ")
    assert "100 to 107 trials per point, 1607 in all, 95% intervals without a model" in note


@pytest.mark.parametrize(
    ("lasso", "others"),
    [
        ((0, 0, 30, 45, 60, 80, 100, 100), ""),
        ((0, 0, 0, 0, 100, 100, 100, 100), " for 1 of 2, others without a model"),
    ],
)
def test_note_says_how_many_intervals_are_of_a_logistic_fit(lasso, others):
    points = {"thetas": tuple(np.arange(8) / 4), "trials": 100}
    ours = outcomes((0, 0, 30, 45, 60, 80, 100, 100), **points)
    both = pd.concat([ours, outcomes(lasso, algorithm="lasso", **points)])
    note = " ".join(transition_threshold(both, CONTEXT).get_supxlabel().split())
    assert f"95% intervals of a logistic fit{others}" in note
    assert ("without a model" in note) == bool(others)


def test_a_second_column_tells_lines_apart(frame):
    two = pd.concat([frame, frame.assign(p=128)])
    apart = transition_threshold(two, CONTEXT, line=["algorithm", "p"])
    assert "100 trials per point" in apart.get_supxlabel()
    assert "p = 128" in legend_texts(apart)


def test_bad_columns_are_refused_with_a_sentence(frame):
    with pytest.raises(ConfigError, match=r"no column 'kapa'. Did you mean 'kappa'"):
        transition_threshold(frame, CONTEXT, x="kapa")
    with pytest.raises(ConfigError, match="'values' is not a number in every row"):
        transition_threshold(frame, CONTEXT, x="values")
    with pytest.raises(ConfigError, match="'theta' is not a number in every row"):
        transition_threshold(frame.assign(theta=np.nan), CONTEXT)
    with pytest.raises(ConfigError, match="'p' is not a success"):
        transition_threshold(frame, CONTEXT, success={"default": "p"})


def test_thresholds_of_a_run_until_decided_are_those_of_a_fixed_run_at_a_higher_level(frame):
    by = {"of": "theta", "success": SUCCESS, "by": ["algorithm", "kappa"]}
    frame = frame[frame["algorithm"] == "ours"]
    context = replace(CONTEXT, adaptive=True, looks=5)
    found = thresholds(frame, context, **by)
    plain = thresholds(frame, CONTEXT, **by)
    assert (found["estimate"] == plain["estimate"]).all()
    for (_, points), low, high in zip(
        frame.groupby(by["by"]), found["low"], found["high"], strict=True
    ):
        counts = points.groupby("theta")["sign_support"].agg(["sum", "count"])
        given = (counts.index, counts["sum"], counts["count"])
        # Five looks that each miss with 1% miss together with at most 5%.
        fit = located_crossing(*given, "rising", sequential=False, confidence=0.99)
        assert (low, high) == (fit.low, fit.high)
    note = " ".join(transition_threshold(frame, context).get_supxlabel().split())
    assert "valid at every look" in note
    assert "stopping time" not in note


def test_thresholds_that_results_located_have_intervals_of_such_trials_and_say_so(frame):
    context = replace(CONTEXT, adaptive=True)
    table = thresholds(frame, context, of="theta", success=SUCCESS, by=["algorithm", "kappa"])
    (row,) = table[(table["algorithm"] == "ours") & (table["kappa"] == 0.3)].to_dict("records")
    fits = [
        located_crossing(THETAS, (25, 40, 65, 75), [100] * 4, "rising", sequential=flag)
        for flag in (True, False)
    ]
    assert (row["low"], row["high"]) == (fits[0].low, fits[0].high)
    assert row["low"] < fits[1].low or row["high"] > fits[1].high
    words = "valid at any stopping time"
    notes = [transition_threshold(frame, one).get_supxlabel() for one in (context, CONTEXT)]
    assert [words in " ".join(note.split()) for note in notes] == [True, False]


@pytest.mark.parametrize(("places", "widest"), [(2, 16.0), (15, 6.0)])
def test_bars_of_many_methods_are_further_apart_where_x_has_few_values(places, widest):
    names = [f"method {number}" for number in range(9)]
    context = replace(
        CONTEXT, algorithms={name: name for name in names}, titles={name: name for name in names}
    )
    rows = [
        outcomes((25, 40, 65, 75), trials=100, kappa=kappa, algorithm=name)
        for kappa in np.linspace(0, 1, places)
        for name in names
    ]
    figure = transition_threshold(pd.concat(rows, ignore_index=True), context, theory=False)
    figure.canvas.draw()
    axis = figure.axes[0]
    lines = [line for line in axis.lines if len(line.get_xdata()) == places]
    ends = [line.get_transform().transform((0.0, 0.5))[0] for line in lines]
    assert max(ends) - min(ends) == pytest.approx(widest * figure.dpi / 72)


def test_a_falling_curve_has_the_mirrored_threshold_and_arrows(frame):
    mirrored = frame.assign(theta=3 - frame["theta"])
    by = ["algorithm", "kappa"]
    rise, fall = (
        thresholds(one, CONTEXT, of="theta", success=SUCCESS, by=by) for one in (frame, mirrored)
    )
    assert fall["estimate"].tolist() == pytest.approx((3 - rise["estimate"]).tolist())
    assert fall["low"].tolist() == pytest.approx((3 - rise["high"]).tolist())
    figure = transition_threshold(mirrored, CONTEXT)
    (arrow,) = marked(figure, "unreached")
    assert arrow.get_ydata()[0] == figure.axes[0].get_ylim()[0]
    assert "below the tested range" in legend_texts(figure)


def test_curves_that_contradict_the_others_are_left_blank_and_named(frame):
    hump = outcomes((0, 100, 100, 0), trials=100, kappa=0.5)
    falls = outcomes((60, 50, 40, 25), trials=100, kappa=0.6, algorithm="lasso")
    mixed = pd.concat([frame, hump, falls], ignore_index=True)
    figure = transition_threshold(mixed, CONTEXT)
    note = " ".join(figure.get_supxlabel().split())
    up_and_down = "Ours at κ = 0.5. Success crosses the level upwards and downwards."
    assert f"Without a threshold: {up_and_down}" in note
    assert "Lasso at κ = 0.6. Success falls, although it should rise." in note
    assert "Not crossed in the tested range: Lasso at κ = 0.3." in note
    table = thresholds(mixed, CONTEXT, of="theta", success=SUCCESS, by=["algorithm", "kappa"])
    assert table["estimate"].isna().tolist() == [False, True, False, False, True, False]
    assert len(marked(figure, "unreached")) == 1


def test_curves_without_a_direction_have_no_threshold_unless_it_is_given():
    never = outcomes((0, 0, 0, 0), trials=100)
    blank = transition_threshold(never, CONTEXT)
    assert marked(blank, "unreached") == []
    note = " ".join(blank.get_supxlabel().split())
    assert "neither rises nor falls clearly; `direction` can say which." in note
    for direction, edge in (("rising", 1), ("falling", 0)):
        figure = transition_threshold(never, CONTEXT, direction=direction)
        (arrow,) = marked(figure, "unreached")
        assert arrow.get_ydata()[0] == figure.axes[0].get_ylim()[edge]
