"""Figure ``epsilon_curve``: iterations, and accuracies that were not reached."""

from dataclasses import replace

import matplotlib
import numpy as np
import pandas as pd
import pytest
from figure_frames import legend_texts, style  # noqa: F401 (an autouse fixture)
from trajectory_frames import CONTEXT, epsilon_rows, table

from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.experiment.variants import Variant
from greedyexp.figures._plot.style import shades
from greedyexp.figures.trajectory.epsilon_curve import epsilon_curve
from greedyexp.results.curves import medians_reached
from greedyexp.results.records import records, replicates

EPSILONS = (1.0, 1e-4, 1e-8)
COLOURS = dict(zip(EPSILONS, list(shades([1, 2, 3]).values())[::-1], strict=True))


@pytest.fixture
def frame():
    return table(epsilon_rows((10, 40, 52, 400), epsilons=EPSILONS))


def lines(figure, gid, epsilon=None, axis=0):
    """Return the lines of one kind and accuracy in one panel."""
    return [
        line
        for line in figure.axes[axis].lines
        if line.get_gid() == gid and (epsilon is None or line.get_color() == COLOURS[epsilon])
    ]


def taken(frame, epsilon, p, algorithm="gradient_descent"):
    rows = frame[(frame["epsilon"] == epsilon) & (frame["p"] == p)]
    return rows.loc[rows["algorithm"] == algorithm, "iterations"].fillna(np.inf)


def test_points_are_medians_over_replicates_and_one_panel_is_one_algorithm(frame):
    figure = epsilon_curve(frame, CONTEXT)
    assert [axis.get_title() for axis in figure.axes[:2]] == ["Gradient descent", "Ours"]
    for epsilon in EPSILONS:
        (line,) = lines(figure, "median", epsilon)
        assert line.get_xdata().tolist() == [10, 40, 52, 400]
        expected = [np.median(taken(frame, epsilon, p)) for p in (10, 40, 52, 400)]
        np.testing.assert_array_equal(
            line.get_ydata(), np.where(np.isinf(expected), np.nan, expected)
        )
    assert figure.axes[0].get_xscale() == "log"
    assert "bands: smallest to largest" in figure.get_supxlabel().replace("\n", " ")


@pytest.mark.parametrize("accuracy", ["relative", "absolute"])
def test_the_colour_bar_says_of_what_the_accuracies_are(frame, accuracy):
    figure = epsilon_curve(frame, replace(CONTEXT, accuracy=accuracy))
    assert figure.axes[-1].get_ylabel() == rf"{accuracy} accuracy $\varepsilon$"


def iterations_needed(frame, keys):
    rows = records(frame, "epsilon", [*keys, "epsilon"])
    return medians_reached(rows, [*keys, "epsilon"], "iterations")


def test_bands_hold_all_of_few_replicates_and_half_of_many(frame):
    few = iterations_needed(frame, ["algorithm", "p"])
    assert few.loc[0, ["low", "high"]].tolist() == [
        taken(frame, 1e-8, 10).min(),
        taken(frame, 1e-8, 10).max(),
    ]

    def of(values):
        rows = [
            {"p": 5, "replicate": k, "algorithm": "a", "record": "epsilon", "epsilon": 1.0}
            | {"iterations": value}
            for k, value in enumerate(values)
        ]
        (point,) = iterations_needed(table(rows), ["p"]).to_dict("records")
        return [point[name] for name in ("estimate", "low", "high", "trials", "reached")]

    assert of([3, 1, 9, np.nan, 5]) == [5, 1, np.inf, 5, 4]
    # Sorted 1 3 5 7 9 11 inf inf: the quartiles lie at places 1.75 and 5.25.
    assert of([3, 1, 9, 7, 5, 11, np.nan, np.nan]) == [8, 3, np.inf, 8, 6]


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_what_was_not_reached_has_a_mark_above_the_budget(frame, scale):
    figure = epsilon_curve(frame, CONTEXT, scale=scale, budget=10_000)
    lost = {
        (panel, epsilon, p): np.isinf(values).mean()
        for panel, label in enumerate(("gradient_descent", "ours"))
        for epsilon in EPSILONS
        for p in (10, 40, 52, 400)
        if np.isinf(values := taken(frame, epsilon, p, label)).any()
    }
    assert any(share == 1 for share in lost.values())
    assert any(share < 1 for share in lost.values())
    drawn = {}
    for panel in (0, 1):
        for epsilon in EPSILONS:
            for mark in lines(figure, "unreached", epsilon, panel):
                share_is_one = mark.get_fillstyle() == "full"
                drawn |= {(panel, epsilon, p): share_is_one for p in mark.get_xdata()}
                assert min(mark.get_ydata()) > 10_000
                assert max(mark.get_ydata()) < figure.axes[panel].get_ylim()[1]
                assert matplotlib.colors.same_color(
                    mark.get_markerfacecolor(), "white" if share_is_one else COLOURS[epsilon]
                )
    assert drawn == {place: share == 1 for place, share in lost.items()}
    texts = legend_texts(figure)
    assert "not reached within 10000 iterations" in texts
    assert "not reached by some replicates" in texts


def test_a_band_ends_with_its_line_and_a_single_point_has_a_bar():
    numbers = {10: (3, 4, 5), 40: (np.nan, np.nan, 6), 52: (7, 8, 9), 400: (np.nan,) * 3}
    rows = [
        {"p": p, "replicate": k, "algorithm": "ours", "record": "epsilon", "epsilon": 1.0}
        | {"iterations": value}
        for p, values in numbers.items()
        for k, value in enumerate(values)
    ]
    figure = epsilon_curve(table(rows), CONTEXT)
    areas = [path for band in figure.axes[0].collections for path in band.get_paths()]
    assert all(np.ptp(area.vertices[:, 0]) == 0 for area in areas)
    bars = [tuple(bar.get_ydata()) for bar in lines(figure, "interval")]
    assert bars == [(3, 5), (7, 9)]


def test_the_budget_is_the_last_iteration_that_was_recorded(frame):
    last = frame.iloc[[0]].assign(record="iteration", epsilon=np.nan, iterations=np.nan)
    ended = pd.concat([frame.assign(iteration=np.nan), last.assign(iteration=20_000)])
    for table_, words, height in (
        (ended, "not reached within 20000 iterations", 20_000),
        (frame, "not reached", frame["iterations"].max()),
    ):
        figure = epsilon_curve(table_, CONTEXT)
        assert words in legend_texts(figure)
        assert lines(figure, "budget")[0].get_ydata()[0] == height


def test_marks_of_two_accuracies_do_not_hide_one_another(frame):
    figure = epsilon_curve(frame, CONTEXT)
    heights = [lines(figure, "unreached", e, 1)[0].get_ydata()[0] for e in EPSILONS[1:]]
    assert heights[0] < heights[1]
    assert all(tick <= 10_000 for tick in figure.axes[1].get_yticks())


def test_an_accuracy_that_the_start_has_takes_no_iteration(frame):
    easy = table(epsilon_rows((10, 400), epsilons=EPSILONS, gap=0.5))
    figure = epsilon_curve(easy, CONTEXT)
    assert lines(figure, "median", 1.0)[0].get_ydata().tolist() == [0, 0]
    assert figure.axes[0].get_ylim()[0] < 0
    assert "0" in [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert epsilon_curve(frame, CONTEXT).axes[0].get_ylim()[0] > 0


def swept(lams=(0.0, 1e-3, 0.1), algorithms=("rmp",)):
    rows = [
        {"replicate": k, "algorithm": f"{name} (lam={lam})", "lam": lam, "status": "ok"}
        | {"record": "epsilon", "epsilon": epsilon, "iterations": 10.0 + k + 100 * lam}
        for lam in lams
        for k in range(2)
        for name in algorithms
        for epsilon in EPSILONS
    ]
    return pd.DataFrame(rows)


def test_zero_stands_apart_on_a_logarithmic_axis():
    # A run's context has the labels of a sweep beside that of its entry.
    algorithms = dict.fromkeys(("rmp", *swept()["algorithm"]), "rmp")
    variants = {label: Variant("rmp", ("lam",), label[3:]) for label in swept()["algorithm"]}
    context = replace(CONTEXT, algorithms=algorithms, titles={"rmp": "Pursuit"}, variants=variants)
    figure = epsilon_curve(swept(), context, x="lam")
    axis = figure.axes[0]
    assert axis.get_title() == "Pursuit", "a value along the axis does not make another algorithm"
    (line,), (zero,) = lines(figure, "median", 1.0), lines(figure, "zero", 1.0)
    assert line.get_xdata().tolist() == [1e-3, 0.1]
    (place,) = zero.get_xdata()
    assert axis.get_xlim()[0] < place < 1e-3
    labels = dict(zip(axis.get_xticks(), axis.get_xticklabels(), strict=True))
    assert labels[place].get_text() == "0"
    assert lines(figure, "break")
    without = epsilon_curve(swept((1e-3, 0.1)), context, x="lam")
    assert not lines(without, "break")
    plain = epsilon_curve(swept(), context, x="lam", scale="linear")
    assert lines(plain, "median", 1.0)[0].get_xdata().tolist() == [0, 1e-3, 0.1]


def test_a_line_is_drawn_where_there_are_as_many_features_as_samples(frame):
    both = pd.concat([frame, frame.assign(n_samples=72)], ignore_index=True)
    figure = epsilon_curve(both, CONTEXT, panel="n_samples", mark="n_samples")
    assert [lines(figure, "mark", axis=k)[0].get_xdata()[0] for k in range(4)] == [50, 72, 50, 72]
    assert "p = n" in legend_texts(figure)
    assert lines(epsilon_curve(frame, CONTEXT, mark=33.0), "mark")[0].get_xdata()[0] == 33
    with pytest.raises(ConfigError, match="average over the values of 'n_samples'"):
        epsilon_curve(both, CONTEXT, mark="n_samples")


def test_a_failed_replicate_is_left_out_and_counted_once(frame):
    lost = (frame["algorithm"] == "ours") & (frame["replicate"] == 1) & (frame["p"] == 10)
    failed = frame[lost].drop_duplicates("algorithm").assign(status="timeout")
    failed[["record", "epsilon", "iterations"]] = np.nan
    broken = pd.concat([frame[~lost], failed], ignore_index=True)
    note = epsilon_curve(broken, CONTEXT).get_supxlabel()
    assert len(replicates(broken)) == 24
    assert f"failed (left out): {1 / 24:.2%}" in note
    assert "medians of 2 to 3 replicates" in note
    assert iterations_needed(broken, ["algorithm", "p"])["trials"].sum() == 24 * 3 - 3
    with pytest.raises(ConfigError, match="every replicate failed"):
        epsilon_curve(failed, CONTEXT)


def test_every_accuracy_is_named_beside_the_panels(frame):
    figure = epsilon_curve(frame, CONTEXT)
    bar = figure.axes[-1]
    texts = [label.get_text() for label in bar.get_yticklabels()]
    assert texts == ["$10^{-8}$", "$10^{-4}$", "1"]


def test_bad_columns_are_refused_with_a_sentence(frame):
    with pytest.raises(ConfigError, match=r"no column 'n_sample'. Did you mean 'n_samples'"):
        epsilon_curve(frame, CONTEXT, panel="n_sample")
    with pytest.raises(ConfigError, match="'message' is not a number in every row"):
        epsilon_curve(frame, CONTEXT, x="message")
    with pytest.raises(ConfigError, match="no rows of record 'epsilon'"):
        epsilon_curve(frame.assign(record="iteration"), CONTEXT)
    with pytest.raises(ConfigError, match="'p' has empty cells"):
        epsilon_curve(frame.assign(p=np.nan), CONTEXT)
    with pytest.raises(ConfigError, match="needs positive values of 'p'"):
        epsilon_curve(frame.assign(p=-frame["p"]), CONTEXT)
    with pytest.raises(ConfigError, match=r"the budget is 100, but \d+ iterations were made"):
        epsilon_curve(frame, CONTEXT, budget=100)


def test_the_columns_are_told_before_any_work_starts():
    columns_of = registry.find("figure", "epsilon_curve").columns
    needed = columns_of(x="lam", panel="data", row="algorithm", mark="n_samples")
    assert needed == ["lam", "data", "algorithm", "n_samples", "record", "epsilon", "iterations"]
    assert "33" not in map(str, columns_of(x="p", panel=None, row=None, mark=33.0))
