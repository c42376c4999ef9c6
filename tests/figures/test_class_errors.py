"""Figure ``class_errors``, and means against sizes, on made-up selections."""

import itertools

import numpy as np
import pytest
from figure_frames import style  # noqa: F401 (an autouse fixture)
from scipy import stats
from selection_frames import CLASSES, context, failed, selection

from greedyexp.config import load
from greedyexp.core.errors import ConfigError
from greedyexp.figures.class_errors import class_errors
from greedyexp.figures.comparison import comparison
from greedyexp.results.comparisons import MetricStyle


def marks(axis, size):
    (found,) = [line for line in axis.lines if line.get_gid() == f"size {size}"]
    return found.get_xdata(), found.get_ydata()


def bars(axis):
    return [tuple(line.get_xdata()) for line in axis.lines if line.get_gid() == "interval"]


def test_each_class_has_its_mean_error_at_each_size_and_an_interval():
    frame = selection()
    picture = class_errors(frame, context())
    left, right = [axis for axis in picture.axes if axis.get_visible()]
    assert [left.get_title(), right.get_title()] == ["FoBa-gdt", "FoBa-obj"]
    assert [text.get_text() for text in left.get_yticklabels()] == list(CLASSES)
    for axis, label in ((left, "gdt"), (right, "obj")):
        drawn = bars(axis)
        for at, size in enumerate((2, 3)):
            x, y = marks(axis, size)
            assert np.round(y).tolist() == [0, 1, 2]
            for place, word in enumerate(CLASSES):
                keep = (frame["class"] == word) & (frame["size"] == size)
                sample = frame.loc[keep & (frame["algorithm"] == label), "class_error"]
                assert x[place] == pytest.approx(sample.mean())
                ends = stats.t.interval(0.95, 3, sample.mean(), stats.sem(sample))
                np.testing.assert_allclose(drawn[3 * at + place], np.clip(ends, 0, 1))
    assert "means over 4 replicates" in picture.get_supxlabel()


def test_sizes_and_rows_can_be_chosen():
    frame = selection(data=("a1a", "w1a"))
    picture = class_errors(frame, context(), sizes=[3], where={"data": "w1a"})
    x, _ = marks(picture.axes[0], 3)
    keep = (frame["class"] == "cooking") & (frame["size"] == 3) & (frame["data"] == "w1a")
    assert x[1] == pytest.approx(
        frame.loc[keep & (frame["algorithm"] == "gdt"), "class_error"].mean()
    )
    assert not any(line.get_gid() == "size 2" for line in picture.axes[0].lines)
    assert picture.get_suptitle() == "w1a"


def test_fixed_data_have_no_bars_and_the_note_says_why():
    picture = class_errors(selection(trials=1), context(trials=1))
    assert bars(picture.axes[0]) == []
    assert "one replicate" in picture.get_supxlabel()


def test_shares_stand_behind_the_names_of_classes():
    frame = selection()
    frame["class_share"] = frame["class"].map({"sleeping": 0.5, "cooking": 0.125, "leaving": 0.375})
    labels = class_errors(frame, context()).axes[0].get_yticklabels()
    assert [text.get_text() for text in labels] == [
        "sleeping (50.0%)",
        "cooking (12.5%)",
        "leaving (37.5%)",
    ]


def test_fourteen_long_names_leave_room_for_every_word():
    classes = {f"preparing meal {k} of fourteen, unlabelled": 0.3 for k in range(14)}
    frame = selection(classes=classes).assign(class_share=1 / 14)
    picture = class_errors(frame, context())
    picture.canvas.draw()
    left, right = [axis for axis in picture.axes if axis.get_visible()]
    assert len(left.get_yticklabels()) == 14
    below = [axis.xaxis.label.get_window_extent() for axis in (left, right)]
    assert below[0].x1 < below[1].x0
    assert below[1].x1 < picture.bbox.x1
    names = [text.get_window_extent() for text in left.get_yticklabels()]
    assert min(box.x0 for box in names) > 0
    assert all(one.y0 > other.y1 for one, other in itertools.pairwise(names))
    assert left.get_window_extent().width > 1.5 * picture.dpi


def test_a_class_without_rows_and_a_failed_replicate_are_left_out():
    frame = failed(selection(), "gdt", 2)
    frame.loc[frame["class"] == "cooking", "class_error"] = np.nan
    picture = class_errors(frame, context())
    x, _ = marks(picture.axes[0], 2)
    assert np.isnan(x).tolist() == [False, True, False]
    assert "Failed replicates, left out: 1 of 8." in picture.get_supxlabel()


def test_a_size_that_was_not_asked_for_is_refused():
    with pytest.raises(ConfigError, match="of size 7"):
        class_errors(selection(), context(), sizes=[7])
    without = selection().query("record != 'class'")
    with pytest.raises(ConfigError, match="no rows of record 'class'"):
        class_errors(without, context())


def test_only_a_selection_with_classes_has_the_columns():
    settings = {
        "name": "made",
        "data": {"generator": "gaussian", "n_samples": 20, "p": 5, "sparsity": 2},
        "algorithms": ["omp"],
        "metrics": ["support"],
        "figures": ["class_errors"],
    }
    with pytest.raises(ConfigError, match="reads a column 'class_error'"):
        load(settings)


SHOWN = ["error", "objective"]


def lines(axis):
    return [
        line for line in axis.lines if line.get_gid() is None and line.get_linestyle() != "None"
    ]


def test_means_stand_against_sizes_and_fixed_data_have_no_bars():
    frame = selection(sizes=tuple(range(1, 31)), trials=1)
    picture = comparison(frame, context(trials=1), row="size", metrics=SHOWN)
    axis = picture.axes[0]
    sizes = frame[frame["record"] == "size"]
    expected = sizes.loc[sizes["algorithm"] == "gdt", "error"].tolist()
    assert lines(axis)[0].get_ydata().tolist() == expected
    assert lines(axis)[0].get_xdata().tolist() == list(range(30))
    assert not [line for line in axis.lines if line.get_gid() == "interval"]
    said = picture.get_supxlabel()
    assert "one replicate, no intervals" in said
    ticks = [text.get_text() for text in axis.get_xticklabels()]
    assert ticks == ["5", "10", "15", "20", "25", "30"]


def test_replicates_of_a_selection_have_bars_and_failures_are_counted_once():
    frame = failed(selection(), "obj", 1)
    picture = comparison(frame, context(), row="size", metrics=SHOWN)
    assert len([line for line in picture.axes[0].lines if line.get_gid() == "interval"]) == 6
    assert "FoBa-obj 1 of 4" in picture.get_supxlabel()
    assert "means over 3 to 4 replicates" in picture.get_supxlabel()


def test_a_logarithmic_axis_holds_all_means_and_refuses_what_it_cannot():
    frame = selection()
    frame["objective"] *= np.where(frame["algorithm"] == "obj", 1e4, 1.0)
    shown = {"objective": MetricStyle(axis="log"), "error": MetricStyle()}
    picture = comparison(frame, context(), row="size", metrics=shown)
    assert [axis.get_yscale() for axis in picture.axes] == ["log", "linear"]
    low, high = picture.axes[0].get_ylim()
    sizes = frame.loc[frame["record"] == "size", "objective"]
    assert 0 < low < sizes.min()
    assert high > sizes.max()
    assert high / low < 1e9
    frame["objective"] -= frame["objective"].max()
    with pytest.raises(ConfigError, match="positive means"):
        comparison(frame, context(), row="size", metrics=shown)
