"""Figure ``final_excess``: the excess at the end of a run over the accuracy it was asked for."""

import numpy as np
import pandas as pd
import pytest
from figure_frames import style  # noqa: F401 (an autouse fixture)
from tradeoff_frames import CONTEXT, accuracy_rows, table

from greedyexp.core.errors import ConfigError
from greedyexp.figures.tradeoff.final_excess import final_excess

EPSILONS = (1.0, 0.1, 0.01)
# Excess over accuracy of each replicate.
RATIOS = {"forward": (0.2, 0.5, 1.1), "corrective": (0.3, 0.3, 0.9)}


def ended(*algorithms):
    """Return rows of runs that end at ``RATIOS`` times epsilon, for two theorems each."""
    rows = [
        one for name in algorithms for one in accuracy_rows(name, ("T2", "T3"), epsilons=EPSILONS)
    ]
    for one in rows:
        one["excess_at_end"] = RATIOS[one["algorithm"]][one["replicate"]] * one["epsilon"]
    return table(rows)


def lines(axis, name):
    return [line for line in axis.lines if line.get_gid() == name]


def test_medians_and_extremes_are_multiples_of_the_accuracy():
    picture = final_excess(ended("forward", "corrective"), CONTEXT)
    (axis,) = picture.axes
    for line, ratios in zip(
        lines(axis, "measured"), (RATIOS["corrective"], RATIOS["forward"]), strict=True
    ):
        assert list(line.get_xdata()) == sorted(EPSILONS)
        np.testing.assert_allclose(line.get_ydata(), np.median(ratios))
    bars = {tuple(np.round(line.get_ydata(), 12)) for line in lines(axis, "interval")}
    assert bars == {(0.3, 0.9), (0.2, 1.1)}
    (promise,) = lines(axis, "promise")
    assert list(promise.get_ydata()) == [1, 1]
    assert axis.get_xlim()[0] > axis.get_xlim()[1]
    said = picture.get_supxlabel().replace("\n", " ")
    assert "medians of 3 replicates, bars: smallest to largest" in said


def test_bars_of_several_algorithms_stand_side_by_side():
    picture = final_excess(ended("forward", "corrective"), CONTEXT)
    picture.canvas.draw()
    (axis,) = picture.axes
    bars = [bar for bar in lines(axis, "interval") if bar.get_xdata()[0] == 0.1]
    places = sorted(bar.get_window_extent().x0 for bar in bars)
    assert places[1] - places[0] > bars[0].get_linewidth() * picture.dpi / 72


def test_runs_that_did_not_end_are_left_out_and_counted():
    frame = ended("forward")
    frame.loc[(frame["replicate"] == 2) & (frame["epsilon"] == 0.01), "excess_at_end"] = np.nan
    picture = final_excess(frame, CONTEXT)
    (line,) = lines(picture.axes[0], "measured")
    np.testing.assert_allclose(line.get_ydata(), [0.35, 0.5, 0.5])
    assert "Runs that did not end, left out: 1." in picture.get_supxlabel()
    with pytest.raises(ConfigError, match="no run ended"):
        final_excess(frame.assign(excess_at_end=np.nan), CONTEXT)


def test_a_line_has_one_reference():
    other = ended("forward").assign(reference="support")
    with pytest.raises(ConfigError, match="reference"):
        final_excess(pd.concat([ended("forward"), other]), CONTEXT)
