"""Figure ``threshold_limit``: the line and its intercept against numpy, and the notes."""

import numpy as np
import pandas as pd
import pytest
from figure_frames import outcomes, style  # noqa: F401 (an autouse fixture)
from scipy.special import expit, ndtri

from greedyexp.claims.entries import compile_claim
from greedyexp.claims.judging import evaluate_claims
from greedyexp.claims.setting import setting_of
from greedyexp.core.errors import ConfigError
from greedyexp.experiment.design import design_of
from greedyexp.figures._plot import shades
from greedyexp.figures.phase_transition.threshold_limit import threshold_limit
from greedyexp.protocols.base import Measured
from greedyexp.results.context import Context
from greedyexp.results.successes import thresholds
from greedyexp.stats.limits import limit_at_zero

CONTEXT = Context(
    "conjecture", "paper", 30, "", {"greedy_dirty": "greedy_dirty"}, {"greedy_dirty": "Greedy"}
)
SIZES = (128, 256, 512, 1024)
Z = ndtri(0.975)


def transition(p, kappa, centre, *, values="sign", trials=400):
    """Return deterministic successes along a logistic curve."""
    thetas = np.round(np.arange(0.3, 1.6, 0.1), 10)
    wins = np.round(trials * expit(12 * (thetas - centre)))
    return outcomes(
        wins,
        thetas=thetas,
        trials=trials,
        algorithm="greedy_dirty",
        p=p,
        kappa=kappa,
        values=values,
    )


@pytest.fixture(scope="module")
def frame():
    return pd.concat(
        [
            transition(p, kappa, limit + 1.5 / np.log(p))
            for p in SIZES
            for kappa, limit in ((0.3, 0.6), (0.8, 0.4))
        ],
        ignore_index=True,
    )


def drawn(figure, gid, axis=0):
    return [line for line in figure.axes[axis].lines if line.get_gid() == gid]


def test_symmetric_intervals_give_the_classical_fit():
    place = np.array([0.21, 0.18, 0.16, 0.14])
    estimate = np.array([0.81, 0.74, 0.73, 0.69])
    error = np.array([0.02, 0.01, 0.03, 0.01])
    fit = limit_at_zero(place, estimate, estimate - Z * error, estimate + Z * error)
    slope, intercept = np.polyfit(place, estimate, 1)
    assert (fit.estimate, fit.slope) == pytest.approx((intercept, slope))
    made = np.linalg.pinv(np.column_stack([np.ones(4), place]))[0]
    half = Z * np.sqrt(made**2 @ error**2)
    assert (fit.low, fit.high) == pytest.approx((intercept - half, intercept + half))
    assert fit.points == 4


def test_of_equal_intervals_the_misfit_is_chi_square_per_degree_of_freedom():
    place = np.array([0.21, 0.18, 0.16, 0.14])
    estimate = np.array([0.81, 0.74, 0.73, 0.69])
    fit = limit_at_zero(place, estimate, estimate - 0.02 * Z, estimate + 0.02 * Z)
    _, (squares,), *_ = np.polyfit(place, estimate, 1, full=True)
    assert fit.misfit == pytest.approx(squares / 0.02**2 / 2)


def test_interval_and_misfit_are_as_they_say():
    rng = np.random.default_rng(11)
    place, error = 1 / np.log(SIZES), np.array([0.01, 0.02, 0.02, 0.04])
    hits, misfits = 0, []
    for _ in range(2000):
        estimate = 0.6 + 1.5 * place + error * rng.standard_normal(4)
        fit = limit_at_zero(place, estimate, estimate - Z * error, estimate + Z * error)
        hits += fit.low <= 0.6 <= fit.high
        misfits.append(fit.misfit)
    assert abs(hits / 2000 - 0.95) < 0.02
    # Its standard deviation is about 1.2.
    assert abs(np.mean(misfits) - 1) < 0.12


def test_a_limit_stands_on_its_bar(frame):
    figure = threshold_limit(frame, CONTEXT)
    bars = [bar.get_window_extent().x0 for bar in drawn(figure, "interval")]
    for limit in drawn(figure, "limit"):
        box = limit.get_window_extent()
        assert min(abs((box.x0 + box.x1) / 2 - bar) for bar in bars) < 0.01


def test_the_limit_is_that_of_a_claim(frame):
    config = {
        "name": "limit",
        "data": {"sweep": {"p": [], "kappa": [], "theta": []}},
        "algorithms": ["greedy_dirty"],
        "trials": 30,
    }
    setting = setting_of(design_of(config), [Measured("sign_support", "success")], frame.columns)
    claim = {"id": "a", "quote": "b", "test": "limit(threshold(greedy_dirty), 1 / log(p)) > 0.9"}
    (judged,) = evaluate_claims([compile_claim(claim, setting, "")], frame, setting).judged
    by_kappa = {test.group["kappa"]: test for test in judged.tests}
    success = {"default": "sign_support"}
    table = thresholds(frame, CONTEXT, of="theta", success=success, by=["kappa", "p"])
    for kappa, points in table.groupby("kappa"):
        known = (points[column] for column in ("estimate", "low", "high"))
        fit = limit_at_zero(1 / np.log(points["p"]), *known)
        assert by_kappa[kappa].estimate == pytest.approx(fit.estimate)


def test_an_interval_without_length_has_no_misfit():
    place = np.array([0.3, 0.2, 0.1])
    assert np.isnan(limit_at_zero(place, 2 * place, 2 * place, 2 * place).misfit)


def test_points_without_a_bounded_interval_are_not_fitted():
    place, estimate = np.array([0.3, 0.2, 0.1, 0.05]), np.array([1.3, 1.2, 1.1, np.inf])
    low, high = estimate - 0.1, np.array([1.4, np.inf, 1.2, np.inf])
    fit = limit_at_zero(place, estimate, low, high)
    assert fit.points == 2
    assert fit.estimate == pytest.approx(1.0)
    assert np.isnan(fit.misfit)
    none = limit_at_zero(place[1:2], estimate[1:2], low[1:2], high[1:2])
    assert np.isnan(none.estimate)
    assert (none.low, none.high, none.points) == (-np.inf, np.inf, 0)


def test_points_lines_and_diamonds_are_the_tables(frame):
    figure = threshold_limit(frame, CONTEXT)
    table = thresholds(
        frame, CONTEXT, of="theta", success={"default": "sign_support"}, by=["kappa", "p"]
    )
    looks = shades(sorted(frame["kappa"].unique()))
    shifts: set[float] = set()
    for colour, (_, points) in zip(looks.values(), table.groupby("kappa"), strict=True):
        (line,) = [one for one in drawn(figure, "thresholds") if one.get_color() == colour]
        assert line.get_ydata().tolist() == points["estimate"].tolist()
        np.testing.assert_allclose(line.get_xdata(), 1 / np.log(SIZES), atol=0.0015)
        bars = {tuple(one.get_ydata()) for one in drawn(figure, "interval")}
        assert set(zip(points["low"], points["high"], strict=True)) <= bars
        place = 1 / np.log(points["p"])
        fit = limit_at_zero(place, points["estimate"], points["low"], points["high"])
        (diamond,) = [one for one in drawn(figure, "limit") if one.get_color() == colour]
        assert diamond.get_ydata()[0] == fit.estimate
        assert diamond.get_xdata()[0] == 0
        assert (fit.low, fit.high) in bars
        (bar,) = [
            b for b in drawn(figure, "interval") if tuple(b.get_ydata()) == (fit.low, fit.high)
        ]
        assert bar.get_xdata()[0] == 0
        shifts.add(round(bar.get_window_extent().x0, 1))
        (straight,) = [one for one in drawn(figure, "fit") if one.get_color() == colour]
        assert straight.get_ydata()[0] == fit.estimate
    assert len(shifts) == len(looks), "intervals are beside each other"


def test_the_true_limit_is_recovered(frame):
    figure = threshold_limit(frame, CONTEXT)
    heights = [line.get_ydata()[0] for line in drawn(figure, "limit")]
    assert heights == pytest.approx([0.6, 0.4], abs=0.1)


def test_conjectured_limits_stand_at_the_left_edge(frame):
    figure = threshold_limit(frame, CONTEXT)
    marks = drawn(figure, "prediction")
    assert [line.get_ydata()[0] for line in marks] == pytest.approx([0.85, 0.6])
    assert [line.get_color() for line in marks] == [*shades([0.3, 0.8]).values()]
    assert all(line.get_xdata()[0] == figure.axes[0].get_xlim()[0] for line in marks)
    assert not drawn(threshold_limit(frame, CONTEXT, theory=False), "prediction")
    assert not drawn(threshold_limit(frame.assign(n_tasks=3), CONTEXT), "prediction")
    two = pd.concat([frame, frame.assign(algorithm="lasso")])
    with pytest.raises(ConfigError, match="average over the values of 'algorithm'"):
        threshold_limit(two, CONTEXT)


def test_note_says_what_is_assumed_and_how_well_it_fits(frame):
    note = threshold_limit(frame, CONTEXT).get_supxlabel().replace("\n", " ")
    assert "Limits assume that thresholds are linear in 1/log(p)." in note
    assert "χ² of the lines over its expectation: " in note
    assert "400 trials per point" in note
    assert "Success: exact sign support." in note
    two = frame[frame["p"] <= 256]
    note = threshold_limit(two, CONTEXT).get_supxlabel().replace("\n", " ")
    assert "Too few points to see whether they are." in note
    bent = pd.concat([frame, transition(2048, 0.8, 1.2)])
    note = threshold_limit(bent, CONTEXT).get_supxlabel().replace("\n", " ")
    assert "largest for κ = 0.8" in note
    never = frame.assign(sign_support=frame["sign_support"].where(frame["p"] > 128, 0.0))
    note = threshold_limit(never, CONTEXT).get_supxlabel().replace("\n", " ")
    assert "(2 without a bounded interval left out)" in note
    assert "Not crossed in the tested range: κ = 0.3, p = 128; κ = 0.8, p = 128." in note


def test_sizes_are_written_along_the_top(frame):
    figure = threshold_limit(frame, CONTEXT)
    figure.canvas.draw()
    top = figure.axes[0].child_axes[0]
    shown = {t.get_text(): t.get_position()[0] for t in top.get_xticklabels()}
    assert shown == pytest.approx({"p = ∞": 0.0, **{str(p): 1 / np.log(p) for p in SIZES}})


def test_one_size_has_no_limit_but_is_drawn(frame):
    figure = threshold_limit(frame[frame["p"] == 128], CONTEXT, transform="1/sqrt(x)")
    assert not drawn(figure, "limit")
    assert len(drawn(figure, "thresholds")) == 2
    assert figure.axes[0].get_xlabel() == "1/sqrt(p)"


def test_sizes_that_have_no_transform_are_refused(frame):
    with pytest.raises(ConfigError, match="needs values of 'kappa' above 1"):
        threshold_limit(frame, CONTEXT, x="kappa", line=["p"])
    assert threshold_limit(frame, CONTEXT, x="kappa", line=["p"], transform="1/x")
    with pytest.raises(ConfigError, match="needs values of 'zero' above 0"):
        threshold_limit(frame.assign(zero=0.0), CONTEXT, x="zero", transform="1/sqrt(x)")
    with pytest.raises(ConfigError, match="'values' is not a number"):
        threshold_limit(frame, CONTEXT, x="values")
    with pytest.raises(ConfigError, match=r"no column 'kapa'. Did you mean 'kappa'"):
        threshold_limit(frame, CONTEXT, line=["kapa"])
