"""Rows of trials for the tests of figures, and the style that figures are drawn in."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from greedyexp.figures._plot.style import use_style

THETAS = (0.5, 1.0, 1.5, 2.0)


@pytest.fixture(autouse=True)
def style():
    """The package's style for one test, and no figure left open."""
    use_style()
    yield
    plt.close("all")


def legend_handles(figure):
    """Return the entries of all legends of a figure."""
    return [one for legend in figure.legends for one in legend.legend_handles]


def legend_texts(figure):
    """Return the texts of all legends of a figure."""
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def outcomes(
    wins, *, thetas=THETAS, trials=20, algorithm="ours", p=64, kappa=0.5, values="sign"
) -> pd.DataFrame:
    """One row per trial of two tasks; ``wins`` of them succeed at each theta."""
    rows = [
        (theta, k, float(k < won))
        for theta, won in zip(thetas, wins, strict=True)
        for k in range(trials)
    ]
    frame = pd.DataFrame(rows, columns=["theta", "replicate", "sign_support"])
    return frame.assign(
        p=p, n_tasks=2, kappa=kappa, values=values, algorithm=algorithm, status="ok"
    )
