"""Figure ``tradeoff``: the least risk for each number of features, and bounds."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from figure_frames import legend_texts, style  # noqa: F401 (an autouse fixture)
from kept_registry import kept_registry
from matplotlib.colors import same_color
from tradeoff_frames import CONTEXT, MARKS, size, step_rows, table

from greedyexp.config import load
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.experiment.parameters import Parameters
from greedyexp.experiment.variants import Variant
from greedyexp.figures._plot import COLOURS
from greedyexp.figures.tradeoff.tradeoff import curves, recorded_steps, tradeoff
from greedyexp.results.records import group_columns

FORWARD, CORRECTIVE = COLOURS[:2]


def both(**given):
    rows = step_rows("forward", ("T2", "T2-termination"), **given)
    return table([*rows, *step_rows("corrective", ("T3",), times=9.0, **given)])


def lines(axis, gid, colour=None):
    return [
        line
        for line in axis.lines
        if line.get_gid() == gid and (colour is None or same_color(line.get_color(), colour))
    ]


def legend(figure):
    return legend_texts(figure)


def test_along_steps_lines_are_medians_and_bounds_stand_beside_them():
    figure = tradeoff(both(), CONTEXT, x="step")
    (axis,) = figure.axes
    for name, colour, times in (("forward", FORWARD, 4), ("corrective", CORRECTIVE, 9)):
        (line,), (bound,) = lines(axis, "measured", colour), lines(axis, "promise", colour)
        assert line.get_xdata().tolist() == list(MARKS)
        expected = size(name, 1) / (np.array(MARKS) + 3)
        np.testing.assert_allclose(line.get_ydata(), expected)
        np.testing.assert_allclose(bound.get_ydata(), times * expected)
    assert axis.get_yscale() == "log"
    assert axis.get_xlabel() == "steps $k$"
    # What a second reading of a theorem says of steps alone is not drawn twice.
    assert legend(figure) == ["Forward greedy", "Fully corrective", "Theorem 2", "Theorem 3"]


def test_a_reading_asked_for_alone_is_drawn():
    assert "Theorem 2, until it ends" in legend(
        tradeoff(both(), CONTEXT, theorems=["T2-termination"])
    )
    assert not lines(tradeoff(both(), CONTEXT, theorems=[]).axes[0], "promise")
    with pytest.raises(ConfigError, match="unknown theorem 'T22' in `theorems`"):
        tradeoff(both(), CONTEXT, theorems=["T22"])


def brute_force(frame, features):
    """Return the least excess of each replicate with at most so many features."""
    bound = frame[frame["record"] == "bound"][["replicate", "step", "excess"]]
    steps = frame[frame["record"] == "step"][["replicate", "step", "features"]]
    one = bound.merge(steps, on=["replicate", "step"])
    return [
        one[(one["replicate"] == r) & (one["features"] <= features)]["excess"].min()
        for r in sorted(one["replicate"].unique())
    ]


def random_runs(seed=5):
    """Return runs that remove features again and end with different numbers of them."""
    rng = np.random.default_rng(seed)
    frame = table(step_rows("forward"))
    steps = frame["record"] == "step"
    frame.loc[steps, "features"] = rng.integers(1, 9, steps.sum()) + frame["replicate"][steps]
    pairs = frame["record"] == "bound"
    frame.loc[pairs, "excess"] = rng.exponential(size=pairs.sum())
    return frame


def test_along_features_a_line_is_the_least_with_at_most_so_many():
    frame = random_runs()
    rows = recorded_steps(frame, frame, ["algorithm"])
    found = curves(rows, frame, ["algorithm"], "features", "excess").set_index("at")
    counts = frame.groupby("replicate")["features"]
    assert found.index.tolist() == list(range(int(counts.min().max()), int(counts.max().max()) + 1))
    for m in found.index:
        least = brute_force(frame, m)
        assert found.loc[m, "estimate"] == np.median(least)
        assert found.loc[m, ["low", "high"]].tolist() == [min(least), max(least)]
    assert len(set(counts.max())) > 1, "lines that end early keep their last value"


def test_a_long_line_keeps_its_last_number_of_features():
    frame = table(step_rows("forward", marks=(0, 1, 10, 60, 163, 400), most=400))
    found = curves(
        recorded_steps(frame, frame, ["algorithm"]), frame, ["algorithm"], "features", "gap"
    )
    assert found["at"].max() == 400
    np.testing.assert_allclose(found["estimate"].iloc[-1], 2 * size("forward", 1) / 403)


def test_one_number_of_features_is_a_marker_with_its_band():
    frame = pd.concat([both(), table(step_rows("fixed", ("T5",), features=6))], ignore_index=True)
    (axis,) = tradeoff(frame, CONTEXT).axes
    (bar,) = axis.containers
    point, _, (band,) = bar
    least = [size("fixed", r) / 1003 for r in range(3)]
    np.testing.assert_allclose(point.get_xydata(), [[6, least[1]]])
    np.testing.assert_allclose(band.get_segments()[0][:, 1], [least[0], least[2]])
    # With six features after one step, a bound after k steps is none for k features.
    assert not lines(axis, "promise", point.get_color())
    assert lines(tradeoff(frame, CONTEXT, x="step").axes[0], "promise", point.get_color())


def test_what_is_at_or_below_the_reference_is_in_the_strip():
    figure = tradeoff(both(lower=0.02), CONTEXT, x="step")
    (axis,) = figure.axes
    (strip,) = [patch for patch in axis.patches if patch.get_gid() == "zero"]
    top = strip.get_y() + strip.get_height()
    for name, colour in (("forward", FORWARD), ("corrective", CORRECTIVE)):
        heights = lines(axis, "measured", colour)[0].get_ydata()
        below = size(name, 1) / (np.array(MARKS) + 3) <= 0.02
        assert below.any()
        assert (axis.get_ylim()[0] < heights[below]).all()
        assert (heights[below] < top).all()
        assert (heights[~below] > top).all()
    assert "at or below the reference" in legend(figure)
    plain = tradeoff(both(), CONTEXT, x="step")
    assert "at or below the reference" not in legend(plain)
    assert not [patch for patch in plain.axes[0].patches if patch.get_gid() == "zero"]


def test_bounds_far_above_do_not_squeeze_what_is_measured():
    frame = both()
    frame["excess_bound"] *= 1e20
    assert tradeoff(frame, CONTEXT).axes[0].get_ylim()[1] < 1e4 * size("forward", 2) / 3
    high = tradeoff(both(), CONTEXT).axes[0].get_ylim()[1]
    assert high > 4 * size("forward", 1) / 3, "bounds at hand are shown whole"


def test_two_measurements_have_two_styles_of_one_colour():
    figure = tradeoff(both(), CONTEXT, x="step", measured=["excess", "gap"])
    (axis,) = figure.axes
    first, second = lines(axis, "measured", FORWARD)
    np.testing.assert_allclose(second.get_ydata(), 2 * first.get_ydata())
    assert (first.get_marker(), second.get_marker()) == ("o", "None")
    assert first.is_dashed() < second.is_dashed()
    assert axis.get_ylabel() == "excess risk and duality gap"
    assert {"excess risk", "duality gap"} <= {*legend(figure)}
    (axis,) = tradeoff(both(), CONTEXT, x="step", measured=["risk"]).axes
    assert not lines(axis, "promise"), "bounds are of the excess"
    np.testing.assert_allclose(
        lines(axis, "measured", FORWARD)[0].get_ydata(), 1 + first.get_ydata()
    )


def test_an_algorithm_without_a_gap_has_no_line_of_it():
    frame = both()
    frame.loc[frame["algorithm"] == "corrective", "gap"] = np.nan
    (axis,) = tradeoff(frame, CONTEXT, x="step", measured=["gap"]).axes
    assert len(lines(axis, "measured")) == 1
    with pytest.raises(ConfigError, match="no run has a gap") as refused:
        tradeoff(both().assign(gap=np.nan), CONTEXT, measured=["excess", "gap"])
    assert "out of `measured`" in refused.value.remedy


def test_the_features_of_the_reference_are_marked():
    figure = tradeoff(both(), CONTEXT)
    (line,) = lines(figure.axes[0], "reference")
    assert line.get_xdata() == [9, 9]
    assert "features of the reference" in legend(figure)
    assert not lines(tradeoff(both(), CONTEXT, x="step").axes[0], "reference")


def test_lines_are_about_one_reference_chosen_by_where():
    frame = both(references=("l1_ball", "support"))
    with pytest.raises(ConfigError, match="mix the references l1_ball, support"):
        tradeoff(frame, CONTEXT)
    figure = tradeoff(frame, CONTEXT, x="step", where={"reference": "support"})
    (line,) = lines(figure.axes[0], "measured", FORWARD)
    np.testing.assert_allclose(line.get_ydata(), 1 + size("forward", 1) / (np.array(MARKS) + 3))
    assert "Reference of the excess risk: best on the true support." in figure.get_supxlabel()
    figure = tradeoff(frame, CONTEXT, panel="reference", where={"algorithm": "forward"})
    assert [axis.get_title() for axis in figure.axes] == [
        "reference: best in the l1 ball",
        "reference: best on the true support",
    ]
    assert legend(figure)[:1] == ["Forward greedy"]


def test_what_is_known_of_a_step_is_about_no_reference():
    frame = both(references=("l1_ball", "support"))
    one = tradeoff(both(), CONTEXT, measured=["risk", "gap"])
    for marked, figure in (
        (True, one),
        (False, tradeoff(frame, CONTEXT, measured=["risk", "gap"])),
    ):
        (axis,) = figure.axes
        assert "bands: smallest to largest" in figure.get_supxlabel().replace("\n", " ")
        assert len(lines(axis, "measured")) == 4
        for line, same in zip(lines(axis, "measured"), lines(one.axes[0], "measured"), strict=True):
            np.testing.assert_array_equal(line.get_xydata(), same.get_xydata())
        assert bool(lines(axis, "reference")) == marked, "no one number of features of several"
        assert ("features of the reference" in legend(figure)) == marked
    with pytest.raises(ConfigError, match="mix the references"):
        tradeoff(frame, CONTEXT, measured=["risk", "excess"])


def asking(**figure):
    return {
        "name": "told",
        "data": {"generator": "rademacher", "p": 8, "n_samples": 20, "sparsity": 2},
        "protocol": {
            "tradeoff": {"steps": 10, "radius": 1.0, "references": ["l1_ball", "support"]}
        },
        "trials": 1,
        "algorithms": [{"forward_greedy": {"radius": 1.0}}],
        "figures": [figure],
    }


@pytest.mark.parametrize(
    "given",
    [
        {"where": {"reference": "l1_ball"}},
        {"where": {"reference": "support", "theorem": "T3"}, "measured": ["excess", "risk"]},
        {"row": "reference"},
        {"row": "theorem", "where": {"reference": "l1_ball"}},
        {"panel": "reference", "where": {"theorem": ["T2", "T3"]}},
        {"measured": ["risk"]},
    ],
)
def test_what_the_figure_asks_for_can_be_said(given):
    load(asking(tradeoff=given))


@pytest.fixture
def parts():
    with kept_registry():
        yield


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        ({"tradeoff": {"theorems": ["T2", "T22"]}}, "unknown theorem 'T22' in `theorems`."),
        ({"tradeoff": {"where": {"theorem": "T22"}}}, "unknown theorem 'T22' in `where`."),
        (
            {"accuracy_curve": {"where": {"theorem": ["T2", "T22"]}}},
            "unknown theorem 'T22' in `where`",
        ),
    ],
)
def test_a_theorem_that_is_none_is_refused_before_the_run(figure, said, parts):
    with pytest.raises(ConfigError) as refused:
        load(accuracies_asked(figure))
    assert said in str(refused.value)
    assert "Did you mean 'T2'?" in str(refused.value)
    known = {name: dict(given) for name, given in figure.items()}
    for given in known.values():
        given |= {name: swapped(value) for name, value in given.items()}
    load(accuracies_asked(known))

    @registry.algorithm("t_proved", theorems=lambda path, reference, **_: [])
    def proved(problem, *, steps: int = 1, grid=None):
        """An algorithm with its own theorems."""

    load(accuracies_asked(figure))


def accuracies_asked(figure):
    experiment = asking(**figure)
    experiment["protocol"]["tradeoff"]["epsilons"] = [0.1]
    return experiment


def swapped(value):
    """Return the same with a known theorem."""
    if isinstance(value, list):
        return [swapped(one) for one in value]
    if isinstance(value, dict):
        return {swapped(name): swapped(one) for name, one in value.items()}
    return "T3" if value == "T22" else value


def test_a_measurement_is_drawn_once():
    with pytest.raises(ConfigError, match="duplicate value excess in `measured`"):
        load(asking(tradeoff={"measured": ["excess", "excess"]}))


def test_all_panels_reach_as_far_as_the_longest_line():
    short = table(step_rows("forward", marks=(0, 1, 5), p=20))
    frame = pd.concat([both(marks=(0, 1, 5, 80)), short], ignore_index=True)
    figure = tradeoff(frame, CONTEXT, panel="p")
    assert [axis.get_xlim()[1] > 80 for axis in figure.axes] == [True, True]


def swept(zipped):
    """Return two losses, each with one ridge or with both."""
    parts = []
    for loss, ridge in [("squared", 0.0), ("logistic", 0.1), *zipped]:
        part = table(step_rows("forward")).assign(algorithm=f"forward (loss={loss}, ridge={ridge})")
        part.insert(3, "loss", loss)
        part.insert(4, "ridge", ridge)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def test_values_swept_together_are_told_by_one_of_them():
    frame = swept([])
    labels = dict.fromkeys(["forward", *frame["algorithm"].unique()], "forward_greedy")
    variants = dict.fromkeys(frame["algorithm"], Variant("forward", ("loss", "ridge")))
    context = replace(CONTEXT, algorithms=labels, variants=variants)
    figure = tradeoff(frame, context, panel="loss")
    assert legend(figure)[0] == "Forward greedy"
    assert [axis.get_title() for axis in figure.axes] == ["loss: squared", "loss: logistic"]
    crossed = swept([("squared", 0.1)])
    variants |= dict.fromkeys(crossed["algorithm"], Variant("forward", ("loss", "ridge")))
    context = replace(
        CONTEXT,
        algorithms=labels | dict.fromkeys(crossed["algorithm"], "forward_greedy"),
        variants=variants,
    )
    named, keys = group_columns(crossed, context, "loss", "algorithm", merge=True)
    assert keys == ["loss", "algorithm"]
    assert named["algorithm"].nunique() == 3


def test_theorems_about_the_mean_are_said_to_be():
    note = tradeoff(table(step_rows("forward", ("T1",))), CONTEXT).get_supxlabel()
    assert "Theorem 1: a bound of the mean over runs." in note
    assert "mean over runs" not in tradeoff(both(), CONTEXT).get_supxlabel()


def test_failed_replicates_are_told():
    frame = both()
    failed = frame[frame["replicate"] == 0].assign(replicate=9).drop_duplicates("algorithm")
    failed = failed.assign(status="timeout", record=None, theorem=None, reference=None)
    note = tradeoff(pd.concat([frame, failed], ignore_index=True), CONTEXT).get_supxlabel()
    assert "failed (left out): 25.00%" in note
    assert "medians of 3 replicates" in note


def test_the_horizontal_axis_is_no_column_that_tells_panels_apart():
    part = registry.find("figure", "tradeoff")
    given = Parameters(part).read_all({"x": "step", "measured": ["excess", "gap"], "row": "data"})
    assert part.apart(**given) == ["data", "algorithm"]
    assert part.columns(**given) == [
        *("data", "algorithm", "record", "theorem", "reference", "step", "excess"),
        *("excess_bound", "gap"),
    ]
    experiment = {
        "name": "told",
        "data": {"generator": "rademacher", "p": 8, "n_samples": 20, "sparsity": 2},
        "protocol": {"tradeoff": {"steps": 10, "radius": 1.0}},
        "trials": 1,
        "algorithms": [{"forward_greedy": {"radius": 1.0}}],
    }
    load({**experiment, "figures": [{"tradeoff": {"x": "step", "panel": "reference"}}]})
    with pytest.raises(ConfigError, match="panels by 'features'"):
        load({**experiment, "figures": [{"tradeoff": {"panel": "features"}}]})


def test_bad_tables_are_refused_with_a_sentence():
    with pytest.raises(ConfigError, match="no rows of record 'bound'"):
        tradeoff(both().assign(record="step"), CONTEXT)
    with pytest.raises(ConfigError, match="'excess' is not a number"):
        tradeoff(both().assign(excess="low"), CONTEXT)
    with pytest.raises(ConfigError, match="no column 'gap'"):
        tradeoff(both().drop(columns="gap"), CONTEXT)
