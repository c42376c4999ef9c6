"""The success that noise allows, against simulations and in figure ``phase_transition``."""

import numpy as np
import pandas as pd
import pytest
from figure_frames import legend_texts, style  # noqa: F401 (an autouse fixture)

from greedyexp.config import load
from greedyexp.core.errors import ConfigError
from greedyexp.figures._plot import shades
from greedyexp.figures.phase_transition.phase_transition import phase_transition
from greedyexp.results.context import Context
from greedyexp.stats.proportions import confidence_sequence, wilson
from greedyexp.theory.transitions import visible

CONTEXT = Context("demo", "quick", 10, "", {"ours": "greedy_dirty"}, {"ours": "Ours"})
SIZES = {"n_samples": 267, "n_features": 128, "n_tasks": 2, "sparsity": 13}


@pytest.mark.parametrize("noise_std", [0.0, 0.02, 0.1, 0.3])
def test_gaussian_values_against_simulation(noise_std):
    level = noise_std * np.sqrt(2 * np.log(128 * 2) / 267)
    draws = np.random.default_rng(3).standard_normal((40_000, 26))
    share = (np.abs(draws).min(axis=1) > level).mean()
    error = 4 * np.sqrt(max(share * (1 - share), 1e-9) / len(draws))
    assert visible("gaussian", noise_std, **SIZES) == pytest.approx(share, abs=error)


def test_values_of_one_size_are_visible_until_the_noise_exceeds_them():
    limit = 1 / np.sqrt(2 * np.log(256) / 267)
    assert visible("sign", 0.99 * limit, **SIZES) == 1
    assert visible("sign", 1.01 * limit, **SIZES) == 0
    with pytest.raises(ValueError, match="no prediction for values 'cauchy'"):
        visible("cauchy", 0.1, **SIZES)


@pytest.fixture
def frame():
    rows = [
        (128, 2, theta, values, noise, 13, int(60 * theta), k, "ours", "ok", float(k < 4 * theta))
        for theta in (0.5, 1.0, 2.0)
        for values in ("gaussian", "sign")
        for noise in (0.1, 0.3)
        for k in range(10)
    ]
    names = "p n_tasks theta values noise_std s n_samples replicate algorithm status sign_support"
    return pd.DataFrame(rows, columns=names.split())


def curves(figure, axis):
    lines = [line for line in figure.axes[axis].lines if line.get_gid() == "ceiling"]
    return {line.get_color(): np.array(line.get_ydata()) for line in lines}


def test_curves_have_the_colour_of_their_noise_level(frame):
    figure = phase_transition(frame, CONTEXT, panel="values", line=["noise_std"], ceiling=True)
    drawn = curves(figure, 0)
    for noise, colour in shades([0.1, 0.3]).items():
        expected = [
            visible("gaussian", noise, n_samples=n, n_features=128, n_tasks=2, sparsity=13)
            for n in (30, 60, 120)
        ]
        assert drawn[colour].tolist() == expected
    assert all((heights == 1).all() for heights in curves(figure, 1).values())
    assert "every nonzero value exceeds" in figure.get_supxlabel()
    assert "predicted from noise alone" in legend_texts(figure)
    plain = phase_transition(frame, CONTEXT, panel="values", line=["noise_std"])
    assert not curves(plain, 0)


def test_curves_have_small_markers_of_their_noise_level(frame):
    frame.loc[frame["noise_std"] == 0.3, "sign_support"] = 0.0
    figure = phase_transition(frame, CONTEXT, panel="values", line=["noise_std"], ceiling=True)
    lines = figure.axes[0].lines
    rates = {line.get_color(): line for line in lines if not line.get_label().startswith("_")}
    ceilings = [line for line in lines if line.get_gid() == "ceiling"]
    assert len(ceilings) == 2
    for line in ceilings:
        rate = rates[line.get_color()]
        assert line.get_marker() == rate.get_marker()
        assert line.get_markersize() < rate.get_markersize()


def test_algorithms_share_one_grey_curve(frame):
    both = pd.concat([frame, frame.assign(algorithm="other")])
    both = both[both["noise_std"] == 0.1]
    figure = phase_transition(both, CONTEXT, panel="values", ceiling=True)
    lines = [line for line in figure.axes[0].lines if line.get_gid() == "ceiling"]
    assert [line.get_color() for line in lines] == ["0.4"]


def test_a_line_of_several_settings_has_no_curve(frame):
    with pytest.raises(ConfigError, match="average over the values of 'noise_std'"):
        phase_transition(frame, CONTEXT, panel="values", ceiling=True)
    with pytest.raises(ConfigError, match="no column 's'"):
        phase_transition(
            frame.drop(columns="s"), CONTEXT, panel="values", line=["noise_std"], ceiling=True
        )


def test_values_without_a_prediction_are_refused_in_a_sentence(frame):
    other = frame[(frame["noise_std"] == 0.1) & (frame["values"] == "sign")]
    other = other.assign(values="uniform")
    with pytest.raises(ConfigError, match=r"no prediction for values 'uniform'\. Leave out"):
        phase_transition(other, CONTEXT, ceiling=True)


def test_columns_of_the_curve_are_asked_for_before_any_work():
    source = {
        "name": "t",
        "data": {"generator": "gaussian"},
        "algorithms": ["lasso"],
        "metrics": ["sign_support"],
        "figures": [{"phase_transition": {"x": "n_samples", "ceiling": True}}],
    }
    with pytest.raises(ConfigError, match="which the CSV will not have"):
        load(source, profile="quick")


@pytest.mark.parametrize(("adaptive", "interval"), [(False, wilson), (True, confidence_sequence)])
def test_bands_hold_at_any_stopping_time_when_trials_are_adaptive(frame, adaptive, interval):
    one = frame[(frame["values"] == "sign") & (frame["noise_std"] == 0.1)]
    uneven = one[(one["theta"] != 1.0) | (one["replicate"] < 6)]
    context = Context("demo", "quick", 10, "", {}, {}, adaptive=adaptive)
    figure = phase_transition(uneven, context)
    band = figure.axes[0].collections[0].get_paths()[0].vertices
    low, high = interval([2, 4, 8], [10, 6, 10])
    assert set(np.round(np.concatenate([low, high]), 9)) <= set(np.round(band[:, 1], 9))
    note = figure.get_supxlabel()
    assert "6 to 10 trials per point, 26 in all" in note
    assert ("valid at any stopping time" in note) is adaptive
