"""Figure ``phase_diagram``: cells, contour, and the curve of l1 minimisation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from figure_frames import legend_texts, style  # noqa: F401 (an autouse fixture)

from greedyexp.core.errors import ConfigError
from greedyexp.figures.phase_transition.phase_diagram import phase_diagram
from greedyexp.results.context import Context
from greedyexp.theory.donoho_tanner import donoho_tanner

CONTEXT = Context("demo", "smoke", 20, "A paper", {"lasso": "lasso"}, {"lasso": "Lasso"})
SAMPLES = (10, 20, 30, 40, 50)
# Successes of 20 trials at each number of samples, by sparsity; symmetric around the level.
WINS = {5: (0, 10, 20, 20, 20), 10: (0, 2, 10, 18, 20), 15: (0, 0, 2, 10, 18)}
CROSSINGS = {5: 20, 10: 30, 15: 40}


def trials(**columns) -> pd.DataFrame:
    rows = [
        (s, n, k, float(k < won))
        for s, several in WINS.items()
        for n, won in zip(SAMPLES, several, strict=True)
        for k in range(20)
    ]
    frame = pd.DataFrame(rows, columns=["sparsity", "n_samples", "replicate", "recovered"])
    return frame.assign(**{"p": 100, "algorithm": "lasso", "status": "ok"} | columns)


def line(figure, gid):
    return [one for one in figure.axes[0].lines if one.get_gid() == gid]


def cells(figure) -> dict[tuple[float, float], float]:
    """Return the share of successes by the centre of each cell in the plane of n and s."""
    (mesh,) = figure.axes[0].collections
    found = {}
    for path, share in zip(mesh.get_paths(), mesh.get_array(), strict=True):
        delta, rho = path.vertices[:4].T
        found[round(100 * delta.mean(), 6), round((100 * delta * rho).mean(), 6)] = share
    return found


def test_each_cell_has_the_share_of_its_point():
    found = cells(phase_diagram(trials(), CONTEXT))
    assert len(found) == 15
    # The lowest row of cells reaches as far below 5 as above.
    assert found[20, 5] == 0.5
    assert found[40, 10] == 0.9
    assert found[50, 15] == 0.9


def test_points_without_trials_have_no_cell():
    frame = trials()
    some = frame[(frame["sparsity"] != 10) | frame["n_samples"].isin([20, 30])]
    assert len(cells(phase_diagram(some, CONTEXT))) == 12


def test_the_contour_goes_through_the_crossings():
    figure = phase_diagram(trials(), CONTEXT)
    (contour,) = [one for one in figure.axes[0].lines if one.get_marker() == "o"]
    delta, rho = contour.get_data()
    assert 100 * np.asarray(delta) == pytest.approx(list(CROSSINGS.values()), abs=0.5)
    assert np.asarray(delta) * rho * 100 == pytest.approx(list(CROSSINGS))
    (band,) = figure.axes[0].patches
    assert band.contains_point(figure.axes[0].transData.transform((0.3, 10 / 30)))
    assert "50% success, with its 95% interval" in legend_texts(figure)


def test_the_curve_of_l1_minimisation():
    (curve,) = line(phase_diagram(trials(noise_std=0.0), CONTEXT), "theory")
    delta, rho = (np.asarray(values) for values in curve.get_data())
    assert delta == pytest.approx(donoho_tanner(delta * rho))


@pytest.mark.parametrize(
    "columns", [{"noise_std": 0.1}, {"correlation": 0.5}, {"n_tasks": 2}, {"theory": False}]
)
def test_the_curve_is_drawn_only_where_it_is_stated(columns):
    theory = columns.pop("theory", True)
    figure = phase_diagram(trials(**columns), CONTEXT, theory=theory)
    assert line(figure, "theory") == []
    assert len(legend_texts(figure)) == 1


def test_several_sizes_are_refused_in_a_panel_and_drawn_side_by_side():
    frame = pd.concat([trials(), trials(p=200)])
    with pytest.raises(ConfigError, match="several values of 'p'"):
        phase_diagram(frame, CONTEXT)
    figure = phase_diagram(frame, CONTEXT, row="p")
    # Two panels and the colour bar.
    assert len(figure.axes) == 3


def test_crossings_outside_the_tested_range_leave_a_gap():
    frame = trials()
    frame.loc[frame["sparsity"] == 15, "recovered"] = 0.0
    figure = phase_diagram(frame, CONTEXT)
    (contour,) = [one for one in figure.axes[0].lines if one.get_marker() == "o"]
    assert np.isnan(contour.get_xdata()).tolist() == [False, False, True]
    assert "Not crossed in the tested range: Lasso at sparsity = 15, p = 100." in (
        " ".join(figure.get_supxlabel().split())
    )


def test_without_ratios_the_axes_are_the_columns():
    figure = phase_diagram(trials(noise_std=0.0), CONTEXT, ratios=None)
    (contour,) = [one for one in figure.axes[0].lines if one.get_marker() == "o"]
    assert list(contour.get_xdata()) == list(CROSSINGS)
    assert np.asarray(contour.get_ydata()) == pytest.approx(list(CROSSINGS.values()), abs=0.5)
    assert figure.axes[0].get_xlim()[1] > 15
    assert figure.axes[0].get_xlabel() == "nonzero true coefficients $s$"
    assert line(figure, "theory") == []
