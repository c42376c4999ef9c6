"""Grids of panels: order, titles of rows and columns, notes."""

import itertools

import matplotlib
import numpy as np
import pandas as pd
import pytest
import yaml
from figure_frames import legend_texts, outcomes, style  # noqa: F401 (an autouse fixture)
from trajectory_frames import CONTEXT, iteration_rows, table

from greedyexp.figures._plot import Panels, legend_entry, log_ticks
from greedyexp.figures.constants import constants
from greedyexp.figures.phase_transition.phase_transition import phase_transition
from greedyexp.figures.trajectory.convergence import convergence
from greedyexp.results.context import Context
from greedyexp.results.words import axis_label
from greedyexp.runner.run_contents import read_run

LAWS = ["identity", "harmonic", "one_small", "one_large"]


def titles(figure):
    return [axis.get_title() for axis in figure.axes]


def beside(figure):
    """Return the text at the left of each panel."""
    return [[text.get_text() for text in axis.texts] for axis in figure.axes]


@pytest.fixture
def grid():
    sizes = (10, 20, 30, 40)
    parts = [table(iteration_rows(sizes, marks=(0, 5, 10)), data=name) for name in ("wide", "even")]
    return convergence(
        pd.concat(parts, ignore_index=True), CONTEXT, panel="p", row="data", twice=["ours"]
    )


def test_a_grid_names_its_columns_above_and_its_rows_at_the_left(grid):
    assert titles(grid) == [*(f"p = {p}" for p in (10, 20, 30, 40)), *[""] * 4]
    assert beside(grid) == [["wide"], *[[]] * 3, ["even"], *[[]] * 3]
    grid.canvas.draw()
    for axis in (grid.axes[0], grid.axes[4]):
        name, label = axis.texts[0].get_window_extent(), axis.yaxis.label.get_window_extent()
        assert 0 < name.x0 < name.x1 <= label.x0
        assert np.mean([name.y0, name.y1]) == pytest.approx(axis.bbox.y0 + axis.bbox.height / 2)


def test_many_columns_are_narrow_rather_than_words_small(grid):
    assert grid.get_figwidth() <= 9
    grid.canvas.draw()
    for axis in grid.axes[4:]:
        boxes = [
            text.get_window_extent()
            for text, at in zip(axis.get_xticklabels(), axis.get_xticks(), strict=True)
            if axis.get_xlim()[0] <= at <= axis.get_xlim()[1]
        ]
        assert len(boxes) > 2
        assert all(one.x1 < other.x0 for one, other in itertools.pairwise(boxes))


def constants_rows(sizes, **data):
    return [
        {**data, "covariance": law, "p": p, "replicate": k, "algorithm": label, "status": "ok"}
        | {"value": scale / p * (1 + 0.01 * k), "lower": 0.0, "upper": 1.0}
        for law in sorted(LAWS)
        for p in sizes
        for k in range(3)
        for label, scale in (("mu1_sdp", 0.1), ("mu2", 1.0))
    ]


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_constants_share_the_sizes_of_a_row_only(scale):
    rows = [*constants_rows((5, 50), data="b"), *constants_rows((2000, 9000), data="a")]
    figure = constants(pd.DataFrame(rows), CONTEXT, panel="covariance", row="data", scale=scale)
    assert beside(figure)[::4] == [["b"], ["a"]]
    figure.canvas.draw()
    for axes, (low, high) in ((figure.axes[:4], (5, 50)), (figure.axes[4:], (2000, 9000))):
        assert len({axis.get_xlim() for axis in axes}) == 1
        left, right = axes[0].get_xlim()
        assert low / 2 < left < low < high < right < 1.3 * high
        # Points set beside one another stay near their size.
        at = {x for axis in axes for line in axis.lines for x in line.get_xdata()}
        assert all(min(abs(x / low - 1), abs(x / high - 1)) < 0.08 for x in at)
        assert any(label.get_text() for label in axes[0].get_xticklabels())
    one_method = pd.DataFrame(rows).query("algorithm == 'mu2'")
    alone = constants(one_method, CONTEXT, panel="data", line=["covariance"], scale=scale)
    for one, other in ((alone.axes[0], figure.axes[0]), (alone.axes[1], figure.axes[4])):
        np.testing.assert_allclose(one.get_xlim(), other.get_xlim(), rtol=0.1)


def run(tmp_path, frame, **config):
    folder = tmp_path / "t" / "paper"
    folder.mkdir(parents=True)
    frame.to_csv(folder / "t.csv", index=False)
    (folder / "config.yaml").write_text(yaml.safe_dump({"name": "t", "trials": 3, **config}))
    return read_run(folder)


def test_words_stand_as_the_sweep_lists_them(tmp_path):
    source = run(
        tmp_path,
        pd.DataFrame([*constants_rows((5,), data="b"), *constants_rows((5,), data="a")]),
        data=[
            {"generator": "gaussian_cov", "label": label, "sweep": {"covariance": LAWS, "p": [5]}}
            for label in ("b", "a")
        ],
        metrics=[],
        algorithms=["mu2", "mu1_sdp"],
    )
    figure = constants(source.frame, source.context, panel="covariance", row="data")
    words = ["identity", "harmonic", "one small", "one large"]
    assert titles(figure)[:4] == [f"covariance: {word}" for word in words]
    assert beside(figure)[::4] == [["b"], ["a"]]
    one = source.frame[source.frame["data"] == "a"]
    figure = constants(one, source.context, panel="algorithm", line=["covariance"])
    assert titles(figure) == list(map(source.context.titles.get, ("mu2", "mu1_sdp")))


def test_swept_algorithms_stand_with_their_entry(tmp_path):
    labels = ["lasso", "omp (n_atoms=1)", "omp (n_atoms=2)"]
    parts = [outcomes((0, 1, 2, 3), trials=3, algorithm=label) for label in labels]
    source = run(
        tmp_path,
        pd.concat(parts, ignore_index=True),
        data={"generator": "multitask_overlap"},
        metrics=["sign_support"],
        algorithms=[{"omp": {"sweep": {"n_atoms": [1, 2]}}}, "lasso"],
    )
    figure = phase_transition(source.frame, source.context, panel="algorithm", line=["p"])
    expected = [source.context.titles[label] for label in (*labels[1:], labels[0])]
    assert titles(figure) == expected


def test_lines_of_data_blocks_are_in_the_order_of_the_file(tmp_path):
    blocks = ["small", "large", "medium"]
    parts = [outcomes((0, 1, 2, 3), trials=3).assign(data=label) for label in sorted(blocks)]
    source = run(
        tmp_path,
        pd.concat(parts, ignore_index=True),
        data=[{"generator": "multitask_overlap", "label": label} for label in blocks],
        metrics=["sign_support"],
        algorithms=[{"greedy_dirty": {"label": "ours"}}],
    )
    figure = phase_transition(source.frame, source.context, line=["data"])
    assert legend_texts(figure) == blocks


def test_words_that_the_file_does_not_list_follow_as_they_come():
    context = Context("t", "paper", 3, "", {"b": "b", "a": "a"}, {}, words={"law": ["z", "y", "z"]})
    assert context.in_order("law", ["c", "y", "a", "z"]) == ["z", "y", "c", "a"]
    assert context.in_order("algorithm", ["c", "a", "b"]) == ["b", "a", "c"]
    assert context.in_order("data", ["q", "p"]) == ["q", "p"]


def noted(*lines):
    """Return the note below two panels, which has room for 128 characters."""
    return Panels([[{}, {}]]).finish(note=lines).get_supxlabel().split("\n")


def test_a_note_is_broken_between_clauses():
    origin = "Someone & Another 2024, Corollaries 6 and 10 | rates, profile paper: medians of 20"
    first, second = f"{origin} replicates of each point,", "bands hold the middle half of them"
    assert noted(f"{first} {second}", "", "short, and whole") == [
        first,
        f"{second}.",
        "short, and whole.",
    ]
    assert noted(f"{origin}, {second}") == [f"{origin}, {second}."], "it fits"


def test_a_clause_too_long_for_a_line_is_broken_between_words():
    long = " ".join(f"word-{k}" for k in range(30))
    lines = noted(f"As follows: {long}; end.")
    assert " ".join(lines) == f"As follows: {long}; end."
    assert lines[0] == "As follows:"
    assert lines[-1].endswith("; end.")
    assert all(len(line) <= 128 for line in lines)
    assert not any(line.endswith("-") for line in lines)


@pytest.mark.parametrize("words", range(20, 40))
def test_a_word_with_a_colon_stays_with_what_follows(words):
    lines = noted(f"{'word ' * words}end, bands: interquartile range.")
    assert not any(line.endswith("bands:") for line in lines)
    assert " ".join(lines).endswith("end, bands: interquartile range.")


@pytest.mark.parametrize(("width", "columns"), [(9.0, 3), (6.0, 2), (3.3, 1)])
def test_rows_of_panels_are_broken_to_the_width_and_text_keeps_its_size(width, columns):
    matplotlib.rcParams["figure.figsize"] = (width, 6.0)
    panels = Panels([[{"k": k} for k in range(6)]])
    panels.label("x", "y")
    figure = panels.finish([legend_entry(f"line {k}") for k in range(5)], title="title")
    assert panels.axes.shape == (6 // columns, columns)
    assert figure.get_figwidth() <= width + 1e-9
    figure.canvas.draw()
    (legend,) = figure.legends
    assert {text.get_fontsize() for text in legend.get_texts()} == {9.0}
    box = legend.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width
    assert max(axis.get_tightbbox().y1 for axis in panels.axes.flat) < box.y0
    assert box.y1 < figure._suptitle.get_window_extent().y0


def test_one_legend_for_each_encoding():
    panels = Panels([[{}]])
    figure = panels.finish([legend_entry("a"), legend_entry("b")], [], [legend_entry("p = 5")])
    figure.canvas.draw()
    assert [len(legend.get_texts()) for legend in figure.legends] == [2, 1]
    first, second = (legend.get_window_extent() for legend in figure.legends)
    assert second.y1 <= first.y0 + 1e-6


def test_a_legend_of_several_rows_is_read_row_by_row():
    names = [f"a method with a long title {k}" for k in range(7)]
    figure = Panels([[{}, {}, {}]]).finish(list(map(legend_entry, names)))
    figure.canvas.draw()
    (legend,) = figure.legends
    boxes = {text.get_text(): text.get_window_extent() for text in legend.get_texts()}
    assert len({round(box.y0) for box in boxes.values()}) > 1
    assert sorted(names, key=lambda name: (-round(boxes[name].y0), boxes[name].x0)) == names


@pytest.mark.parametrize(("count", "rows"), [(7, [4, 3]), (8, [4, 4]), (5, [5])])
def test_rows_of_a_legend_are_filled_evenly(count, rows):
    names = [f"a method of {k}" for k in range(count)]
    figure = Panels([[{}, {}, {}]]).finish(list(map(legend_entry, names)))
    figure.canvas.draw()
    (legend,) = figure.legends
    heights = [round(text.get_window_extent().y0) for text in legend.get_texts()]
    assert [heights.count(height) for height in sorted(set(heights), reverse=True)] == rows


def test_long_labels_are_broken_between_words_but_not_in_formulas():
    panels = Panels([[{}, {}, {}]])
    panels.label(axis_label("theta"), axis_label("iterations"))
    assert panels.axes[0, 0].get_xlabel().split("\n")[0] == "control parameter"
    assert panels.axes[0, 0].get_ylabel() == "iterations to reach\nthe accuracy, $k(\\varepsilon)$"
    panels.label("iteration $k$", "gap")
    assert panels.axes[0, 0].get_xlabel() == "iteration $k$"


def test_ticks_of_a_short_logarithmic_axis_are_closer():
    assert log_ticks(0.09, 0.42) == [0.1, 0.15, 0.2, 0.3, 0.4]
    assert log_ticks(0.055, 0.55) == [0.06, 0.08, 0.1, 0.2, 0.3, 0.4]
    assert log_ticks(0.09, 2.0) == [0.1, 0.2, 0.5, 1.0, 2.0]
