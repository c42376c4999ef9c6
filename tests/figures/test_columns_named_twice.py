"""A column cannot serve two purposes in one figure."""

from __future__ import annotations

import pandas as pd
import pytest
from figure_frames import style  # noqa: F401 (an autouse fixture)

from greedyexp.core.errors import ConfigError
from greedyexp.figures.phase_transition.phase_diagram import phase_diagram
from greedyexp.figures.phase_transition.phase_transition import phase_transition
from greedyexp.results.context import Context

CONTEXT = Context("demo", "smoke", 2, "A paper", {"lasso": "lasso"}, {"lasso": "Lasso"})


@pytest.mark.parametrize(
    ("figure", "params", "column"),
    [
        (phase_transition, {"x": "n", "panel": "n"}, "n"),
        (phase_transition, {"x": "n", "panel": "s", "row": "s"}, "s"),
        (phase_transition, {"x": "n", "line": ["algorithm", "n"]}, "n"),
        (phase_diagram, {"of": "s", "against": "s"}, "s"),
        (phase_diagram, {"of": "p", "against": "s"}, "p"),
        (phase_diagram, {"of": "n", "against": "n"}, "n"),
    ],
)
def test_a_column_named_for_two_purposes_is_refused(figure, params, column):
    rows = [(n, s, k, float(n > s)) for n in (1, 2, 3) for s in (1, 2) for k in range(2)]
    frame = pd.DataFrame(rows, columns=["n", "s", "replicate", "support"])
    frame = frame.assign(p=9, algorithm="lasso", status="ok", message="")
    success = {"default": "support"}
    with pytest.raises(ConfigError, match=f"'{column}' is named for two purposes"):
        figure(frame, CONTEXT, success=success, **params)
