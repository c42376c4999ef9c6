"""What figures attach to the points of their lines, which interactive figures show."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from greedyexp.figures import _plot as plot
from greedyexp.figures._plot.style import use_style
from greedyexp.figures.phase_transition.phase_transition import phase_transition
from greedyexp.results.context import Context
from greedyexp.stats.proportions import wilson


def line_of(places):
    return Figure().subplots().plot(places, places)[0]


def test_keys_and_numbers_come_back_as_plain_values():
    line = line_of([1, 2])
    keys = pd.DataFrame({"p": np.array([8, 16]), "algorithm": ["a", "b"]}, index=[7, 3])
    plot.attach(line, keys, {"mean": pd.Series([0.5, np.nan]), "interval": ([0, 1], [2, 3])})
    found = plot.attached(line)
    assert found.keys == {"p": [8, 16], "algorithm": ["a", "b"]}
    assert found.facts["interval"] == [[0, 2], [1, 3]]
    assert found.facts["mean"][0] == 0.5
    assert type(found.keys["p"][0]) is int
    assert plot.attached(line_of([1])) is None


def test_each_point_has_its_values():
    with pytest.raises(ValueError, match="'mean' has 1 values for 2 points"):
        plot.attach(line_of([1, 2]), pd.DataFrame({"p": [1, 2]}), {"mean": [1.0]})


def test_a_phase_transition_knows_trials_failures_and_intervals():
    rows = [
        ("omp", theta, replicate, status, success)
        for theta, wins, failed in ((1.0, 3, 2), (2.0, 9, 0))
        for replicate in range(10)
        for status, success in [
            ("error", np.nan) if replicate >= 10 - failed else ("ok", float(replicate < wins))
        ]
    ]
    names = ["algorithm", "theta", "replicate", "status", "sign_support"]
    frame = pd.DataFrame(rows, columns=names)
    context = Context("x", "quick", 10, "", {"omp": "omp"}, {"omp": "OMP"})
    with matplotlib.rc_context():
        use_style()
        picture = phase_transition(frame, context, second_axis=None)
    (found,) = filter(None, map(plot.attached, picture.axes[0].lines))
    assert found.keys == {"algorithm": ["omp", "omp"], "theta": [1.0, 2.0]}
    low, high = wilson([3, 9], [10, 10])
    assert found.facts["probability of success"] == [0.3, 0.9]
    assert found.facts["95% interval"] == [[low[0], high[0]], [low[1], high[1]]]
    assert found.facts["trials"] == [10, 10]
    assert found.facts["failed"] == [2, 0]
