"""Figure ``constants``: means with t intervals, counts of failures and zeros."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from figure_frames import legend_texts, style  # noqa: F401 (an autouse fixture)
from scipy import stats
from trajectory_frames import CONTEXT

from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.figures._plot import COLOURS, NUMBERS
from greedyexp.figures.constants import constants

SIZES = (5, 10, 20)
CONTEXT = replace(CONTEXT, algorithms={}, titles={"mu1_sdp": "Relaxation", "mu2": "Curvature"})


@pytest.fixture
def frame():
    rng = np.random.default_rng(3)
    rows = [
        {"covariance": law, "p": p, "replicate": k, "algorithm": label, "status": "ok"}
        | {"value": (value := scale / p * rng.uniform(0.9, 1.1))}
        | {"lower": value * (1 - 1e-6), "upper": value}
        for law in ("one_small", "identity")
        for p in SIZES
        for k in range(5)
        for label, scale in (("mu1_sdp", 0.1), ("mu2", 1.0))
    ]
    return pd.DataFrame(rows)


def lines(figure, gid, colour=None, axis=0):
    return [
        line
        for line in figure.axes[axis].lines
        if line.get_gid() == gid and colour in (None, line.get_color())
    ]


def sample(frame, label, p, law="one_small"):
    rows = (frame["algorithm"] == label) & (frame["p"] == p) & (frame["covariance"] == law)
    return frame.loc[rows, "value"]


def test_points_are_means_and_bars_are_t_intervals(frame):
    figure = constants(frame, CONTEXT, panel="covariance")
    assert [axis.get_title() for axis in figure.axes] == [
        "covariance: one small",
        "covariance: identity",
    ]
    assert figure.axes[0].get_yscale() == "log"
    for label, colour in (
        ("mu1_sdp", COLOURS[NUMBERS["mu1_sdp"]]),
        ("mu2", COLOURS[NUMBERS["mu2"]]),
    ):
        (line,) = lines(figure, "mean", colour)
        np.testing.assert_allclose(
            line.get_ydata(), [sample(frame, label, p).mean() for p in SIZES]
        )
        assert np.abs(line.get_xdata() - SIZES).max() < 1
        bars = [line.get_ydata() for line in lines(figure, "interval", colour)]
        for bar, p in zip(bars, SIZES, strict=True):
            values = sample(frame, label, p)
            expected = stats.t.interval(0.95, 4, values.mean(), stats.sem(values))
            np.testing.assert_allclose(bar, expected)
    assert legend_texts(figure) == [
        "Relaxation",
        "Curvature",
    ]
    said = figure.get_supxlabel()
    assert "means over 5 replicates with 95% t intervals" in said
    assert "Each value is certified with a relative error of at most 1e-06." in said


def test_an_interval_that_reaches_0_goes_on_below_the_axis(frame):
    wild = frame["replicate"].eq(0) & frame["p"].eq(20) & frame["algorithm"].eq("mu1_sdp")
    frame.loc[wild, "value"] *= 20
    figure = constants(frame, CONTEXT, panel="covariance")
    (arrow,) = lines(figure, "beyond", COLOURS[NUMBERS["mu1_sdp"]])
    low, high = figure.axes[0].get_ylim()
    assert arrow.get_ydata()[0] == low
    assert low > 0
    assert high > sample(frame, "mu2", 5).max()


def test_failed_replicates_are_out_of_the_means_and_counted(frame):
    lost = frame["replicate"].lt(2) & frame["p"].eq(10) & frame["algorithm"].eq("mu2")
    frame.loc[lost, "status"] = "timeout"
    frame.loc[lost, ["value", "lower", "upper"]] = np.nan
    figure = constants(frame, CONTEXT, panel="covariance")
    (line,) = lines(figure, "mean", COLOURS[NUMBERS["mu2"]])
    assert line.get_ydata()[1] == pytest.approx(sample(frame, "mu2", 10).dropna().mean())
    assert f"failed (not in the means): {4 / 60:.2%}" in figure.get_supxlabel()
    assert "means over 3 to 5 replicates" in figure.get_supxlabel()
    with pytest.raises(ConfigError, match="every replicate failed"):
        constants(frame.assign(status="error"), CONTEXT)


def test_ratios_are_those_of_each_design(frame):
    figure = constants(frame, CONTEXT, panel="covariance", relative_to="mu2")
    (line,) = lines(figure, "mean", COLOURS[NUMBERS["mu1_sdp"]])
    ratios = [
        (sample(frame, "mu1_sdp", p).to_numpy() / sample(frame, "mu2", p).to_numpy()).mean()
        for p in SIZES
    ]
    np.testing.assert_allclose(line.get_ydata(), ratios)
    (base,) = lines(figure, "mean", COLOURS[NUMBERS["mu2"]])
    np.testing.assert_allclose(base.get_ydata(), 1.0)
    label = figure.axes[0].get_ylabel().replace("\n", " ")
    assert label == "value of the constant, divided by Curvature"
    with pytest.raises(ConfigError, match=r"no constant 'mu3' in these rows.*mu1_sdp, mu2"):
        constants(frame, CONTEXT, relative_to="mu3")


def test_what_a_logarithm_cannot_show_is_counted(frame):
    frame.loc[frame["algorithm"].eq("mu2") & frame["p"].eq(20), ["value", "lower", "upper"]] = 0.0
    frame.loc[frame["algorithm"].eq("mu1_sdp") & frame["p"].eq(5), "value"] = np.inf
    figure = constants(frame, CONTEXT, panel="covariance")
    assert len(lines(figure, "mean", COLOURS[NUMBERS["mu2"]])[0].get_xdata()) == 2
    assert "Means of 0, not drawn: 2." in figure.get_supxlabel()
    assert "Points without a value: 2." in figure.get_supxlabel()


def test_the_relative_error_is_rounded_up(frame):
    frame["lower"] = frame["value"] * (1 - 1.2e-6)
    said = constants(frame, CONTEXT, panel="covariance").get_supxlabel().replace("\n", " ")
    assert "with a relative error of at most 2e-06." in said


def test_wide_enclosures_are_named(frame):
    frame.loc[frame["algorithm"] == "mu1_sdp", "lower"] *= 0.5
    said = constants(frame, CONTEXT, panel="covariance").get_supxlabel().replace("\n", " ")
    assert "Certified to 1% or better except for Relaxation (widest 0.5 of the upper end)." in said


def test_ticks_of_the_vertical_axis_are_plain_numbers(frame):
    figure = constants(frame, CONTEXT, panel="covariance")
    figure.canvas.draw()
    texts = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert len(texts) > 1
    assert not any("10^{0}" in text for text in texts)
    assert not len(figure.axes[0].yaxis.get_minorticklocs())


def test_intervals_at_one_size_are_shifted_by_points(frame):
    for scale in ("linear", "log"):
        figure = constants(frame, CONTEXT, panel="covariance", scale=scale)
        colours = (COLOURS[NUMBERS[name]] for name in ("mu1_sdp", "mu2"))
        one, other = (lines(figure, "mean", colour)[0].get_xdata() for colour in colours)
        assert one.tolist() == other.tolist(), "lines are at the true sizes"
        assert figure.axes[0].get_xscale() == scale
        means, bars = lines(figure, "mean"), lines(figure, "interval")
        for line, bar in zip(means, bars[:: len(one)], strict=True):
            assert line.get_transform() == bar.get_transform(), "a bar belongs to its marker"
        places = [bar.get_window_extent().x0 for bar in bars]
        apart = {round(72 * abs(a - b) / figure.dpi, 1) for a in places for b in places}
        assert 2.0 in apart


def test_bad_columns_are_refused(frame):
    with pytest.raises(ConfigError, match=r"no column 'covarance'. Did you mean 'covariance'"):
        constants(frame, CONTEXT, panel="covarance")
    with pytest.raises(ConfigError, match="'covariance' is not a number in every row"):
        constants(frame, CONTEXT, x="covariance")
    with pytest.raises(ConfigError, match="'value' is not a number in every row"):
        constants(frame.assign(value="big"), CONTEXT)
    columns_of = registry.find("figure", "constants").columns
    needed = columns_of(x="p", panel="data", row=None, line=["algorithm"], mark="n_samples")
    assert needed == ["p", "data", "algorithm", "n_samples", "value", "lower", "upper"]
