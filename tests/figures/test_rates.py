"""Figure ``rates``: the part of the gap that an iteration removes, and predictions."""

import numpy as np
import pandas as pd
import pytest
from figure_frames import legend_texts, style  # noqa: F401 (an autouse fixture)
from trajectory_frames import CONTEXT, contraction, table

from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.figures._plot import COLOURS, MARKERS
from greedyexp.figures.trajectory.rates import rates
from greedyexp.results.records import with_sizes

RATIOS = (0.1, 0.5, 1.0, 4.0)


@pytest.fixture
def frame():
    """Return rows in which each replicate removes 1 + replicate times as much as predicted."""
    rows = [
        {"p": int(r * n), "n_samples": n, "replicate": k, "algorithm": label, "record": "rate"}
        | {"rate": 1 - (1 - predicted) * (1 + k) / 4 - 1e-3 * (r == 1)}
        | {"predicted_rate": predicted}
        for n in (50, 100)
        for r in RATIOS
        for k in range(3)
        for label in ("gradient_descent", "ours")
        for predicted in [contraction(int(r * n), n, label)]
    ]
    return table(rows)


def lines(figure, gid, colour=None, axis=0):
    return [
        line
        for line in figure.axes[axis].lines
        if line.get_gid() == gid and colour in (None, line.get_color())
    ]


def test_lines_are_medians_of_what_an_iteration_takes_away(frame):
    figure = rates(frame, CONTEXT)
    axis = figure.axes[0]
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    drawn = {
        line.get_marker(): line
        for line in lines(figure, "rate")
        if "Gradient descent" in line.get_label()
    }
    assert set(drawn) == set(MARKERS[:2]), "two numbers of samples"
    for marker, n in zip(MARKERS, (50, 100), strict=False):
        line = drawn[marker]
        assert line.get_xdata().tolist() == list(RATIOS)
        ours = frame[(frame["algorithm"] == "gradient_descent") & (frame["n_samples"] == n)]
        expected = [1 - np.median(ours.loc[ours["p"] == int(r * n), "rate"]) for r in RATIOS]
        np.testing.assert_allclose(line.get_ydata(), expected)
    texts = legend_texts(figure)
    assert texts == [
        "Gradient descent",
        "Ours",
        "n = 50",
        "n = 100",
        "asymptotic prediction, not a bound",
        "p/n = 1",
    ]
    assert lines(figure, "mark")[0].get_xdata()[0] == 1


def test_predictions_are_dotted_and_broken_where_nothing_is_taken_away(frame):
    figure = rates(frame, CONTEXT)
    for line in lines(figure, "prediction", COLOURS[0]):
        heights = line.get_ydata()
        assert np.isnan(heights[2])
        expected = [1 - contraction(int(r * 50), 50) for r in RATIOS]
        np.testing.assert_allclose(heights[[0, 1, 3]], np.array(expected)[[0, 1, 3]])
        assert line.get_linestyle() != "-"
    low, _ = figure.axes[0].get_ylim()
    assert low > 0
    bare = rates(frame.assign(predicted_rate=np.nan), CONTEXT)
    assert not lines(bare, "prediction")
    assert "not a bound" not in str(legend_texts(bare))


def test_replicates_without_a_rate_are_counted(frame):
    frame.loc[[0, 1], "rate"] = np.nan
    frame.loc[[2, 3, 4], "rate"] = 1.0
    said = rates(frame, CONTEXT).get_supxlabel().replace("\n", " ")
    assert "rate could not be measured, left out: 2." in said
    assert "gap did not shrink, left out: 3." in said
    assert "medians of 1 to 3 replicates" in said
    with pytest.raises(ConfigError, match="no replicate has a rate below 1"):
        rates(frame.assign(rate=1.0), CONTEXT)


def test_sizes_are_filled_in_from_what_the_data_tell():
    frame = pd.DataFrame(
        {
            "n_samples": [10, 10, 10],
            "p": [np.nan, 20, np.nan],
            "aspect_ratio": [0.49, np.nan, np.nan],
            "n_features": [5, 20, np.nan],
            "replicate": [0, 0, 0],
        }
    )
    filled = with_sizes(frame)
    np.testing.assert_array_equal(filled["p"], [5, 20, np.nan])
    np.testing.assert_array_equal(filled["aspect_ratio"], [0.49, 2.0, np.nan])
    sized = with_sizes(frame[["n_samples", "n_features", "replicate"]])
    assert list(sized.columns).index("aspect_ratio") < list(sized.columns).index("replicate")
    assert with_sizes(frame[["replicate"]]).equals(frame[["replicate"]])


def test_bad_columns_are_refused_with_a_sentence(frame):
    with pytest.raises(ConfigError, match="no column 'ratio'"):
        rates(frame, CONTEXT, x="ratio")
    with pytest.raises(ConfigError, match="no column 'predicted_rate'"):
        rates(frame.drop(columns="predicted_rate"), CONTEXT)
    with pytest.raises(ConfigError, match="'rate' is not a number in every row"):
        rates(frame.assign(rate="fast"), CONTEXT)
    with pytest.raises(ConfigError, match="no rows of record 'rate'"):
        rates(frame.assign(record="epsilon"), CONTEXT)
    columns_of = registry.find("figure", "rates").columns
    needed = columns_of(x="aspect_ratio", panel=None, row=None, line=["algorithm"], mark=1.0)
    assert needed == ["aspect_ratio", "algorithm", "record", "rate", "predicted_rate"]
