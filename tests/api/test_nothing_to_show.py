"""What figures and tables say when rows that they want are not there."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from selection_frames import context, failed, selection

from greedyexp.core.errors import ConfigError
from greedyexp.figures.class_errors import class_errors
from greedyexp.figures.comparison import comparison as drawn
from greedyexp.results.records import AllFailed
from greedyexp.tables.comparison import comparison as tabled
from greedyexp.tables.comparison import timing
from greedyexp.tables.features import used_features


@pytest.fixture
def broken():
    """Of two data sets one cannot be read, so that all its replicates failed."""
    frame = selection(data=("a1a", "w1a"), trials=2)
    whole, lost = frame[frame["data"] == "a1a"], frame[frame["data"] == "w1a"]
    for label in ("gdt", "obj"):
        for replicate in range(2):
            lost = failed(lost, label, replicate)
    frame = whole.merge(lost, how="outer")
    return frame.assign(fit_seconds=np.where(frame["status"] == "ok", 1.0, np.nan))


SHOWN = {"row": "size", "metrics": ["error"]}
PARTS = [
    (drawn, SHOWN),
    (tabled, SHOWN),
    (timing, {"row": "n", "base": "gdt"}),
    (class_errors, {}),
    (used_features, {}),
]


@pytest.mark.parametrize(("part", "params"), PARTS)
@pytest.mark.parametrize("where", [{"data": "w1a"}, {"data": "w1a", "size": 2}])
def test_failures_alone_are_said_to_be_that(broken, part, params, where):
    with pytest.raises(AllFailed, match="every replicate failed"):
        part(broken, context(2), where=where, **params)
    part(broken, context(2), where={"data": "a1a"}, **params)
    plt.close("all")


@pytest.mark.parametrize("part", [drawn, tabled])
def test_rows_of_another_kind_have_no_such_metric(part):
    frame = selection(trials=2)
    for where, row in (({"record": "class"}, "size"), ({}, "class"), ({"record": "class"}, "n")):
        with pytest.raises(ConfigError, match=rf"no row here has both {row} and error\."):
            part(frame, context(2), row=row, metrics=["error"], where=where)


def test_an_empty_list_chooses_nothing():
    with pytest.raises(ConfigError, match="the list for 'size' is empty") as caught:
        tabled(selection(trials=2), context(2), **SHOWN, where={"size": []})
    assert caught.value.remedy == "Remove it."


def test_what_no_algorithm_tells_leaves_its_panel_empty_and_the_others_whole():
    frame = selection(trials=2).assign(removals=np.nan)
    figure = drawn(frame, context(2), row="size", metrics=["error", "removals"])
    marks = {
        axis.get_ylabel(): np.isfinite(np.concatenate([line.get_ydata() for line in axis.lines]))
        for axis in figure.axes
        if axis.get_ylabel()
    }
    figure.canvas.draw()
    assert marks["error"].any()
    assert not marks["features removed"].any()
    plt.close(figure)
    cells = tabled(frame, context(2), row="size", metrics=["error", "removals"])["FoBa-gdt"]
    assert [str(cell) == "none" for cell in cells] == [False, True] * 3
