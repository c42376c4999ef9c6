"""Table ``thresholds``: a row for each setting, a column for each algorithm."""

import numpy as np
import pandas as pd
import pytest
from figure_frames import outcomes, style  # noqa: F401 (an autouse fixture)

from greedyexp.core.errors import ConfigError
from greedyexp.results.context import Context
from greedyexp.results.successes import thresholds as estimates
from greedyexp.tables._output import table_files
from greedyexp.tables.thresholds import thresholds

TITLES = {"lasso": "Lasso", "ours": "Ours"}
CONTEXT = Context("demo", "smoke", 20, "A paper", {"lasso": "lasso", "ours": "greedy"}, TITLES)
SUCCESS = {"default": "sign_support"}


@pytest.fixture
def frame():
    return pd.concat(
        [
            outcomes((2, 9, 15, 19), kappa=0.3, p=64),
            outcomes((5, 14, 18, 20), kappa=0.8, p=64),
            outcomes((0, 0, 0, 0), kappa=0.3, p=64, algorithm="lasso"),
            outcomes((0, 3, 9, 16), kappa=0.8, p=64, algorithm="lasso"),
        ],
        ignore_index=True,
    )


def test_cells_are_the_estimates_of_each_setting(frame):
    found = thresholds(frame, CONTEXT, rows=["kappa"])
    assert list(found.columns) == ["κ", "Lasso", "Ours"]
    expected = estimates(
        frame, CONTEXT, of="theta", success=SUCCESS, by=["kappa", "algorithm"]
    ).set_index(["kappa", "algorithm"])
    for row, kappa in enumerate((0.3, 0.8)):
        for label, title in TITLES.items():
            cell, one = found[title][row], expected.loc[(kappa, label)]
            assert (cell.value, cell.low, cell.high) == (one.estimate, one.low, one.high)


def test_a_cell_shows_both_ends_of_its_interval(frame):
    found = thresholds(frame, CONTEXT, rows=["kappa"], digits=1)
    cell = found["Ours"][0]
    assert str(cell) == f"{cell.value:.1f} [{cell.low:.1f}, {cell.high:.1f}]"
    never = found["Lasso"][0]
    assert never.value == np.inf
    assert str(never) == f"∞ [{never.low:.1f}, ∞]"
    assert "Not crossed in the tested range: Lasso at κ = 0.3" in " ".join(found.attrs["notes"])


def test_several_columns_of_settings_make_groups_of_rows(frame):
    more = pd.concat([frame, frame.assign(p=128)], ignore_index=True)
    found = thresholds(more, CONTEXT, rows=["p", "kappa"])
    assert found[["p", "κ"]].astype(str).to_numpy().tolist() == [
        ["64", "0.3"],
        ["64", "0.8"],
        ["128", "0.3"],
        ["128", "0.8"],
    ]
    assert found.attrs["group"] == "p"


def test_where_chooses_rows_and_the_caption_names_the_choice(frame):
    found = thresholds(frame, CONTEXT, rows=["kappa"], where={"kappa": 0.8, "algorithm": "ours"})
    assert list(found.columns) == ["κ", "Ours"]
    assert len(found) == 1
    assert found.attrs["title"] == "θ at 50% success, κ = 0.8"
    assert set(table_files(found, "Thresholds")) == {"csv", "md", "tex"}


def test_each_note_is_a_sentence(frame):
    origin, *_, last = thresholds(frame, CONTEXT, rows=["kappa"]).attrs["notes"]
    assert origin.endswith(".")
    assert last == "Not crossed in the tested range: Lasso at κ = 0.3."


def test_setting_without_an_algorithm_has_an_empty_cell(frame):
    lacking = frame[(frame["algorithm"] == "ours") | (frame["kappa"] == 0.8)]
    assert thresholds(lacking, CONTEXT, rows=["kappa"])["Lasso"][0] == ""


def test_failed_replicates_are_trials_without_success(frame):
    failed = frame["algorithm"].eq("ours") & frame["replicate"].ge(10)
    broken = frame.assign(status=np.where(failed, "error", "ok"))
    broken.loc[failed, "sign_support"] = np.nan
    found = thresholds(broken, CONTEXT, rows=["kappa"])
    assert found["Ours"][0].value > thresholds(frame, CONTEXT, rows=["kappa"])["Ours"][0].value


def test_unknown_column_is_refused(frame):
    with pytest.raises(ConfigError, match="noise"):
        thresholds(frame, CONTEXT, rows=["noise"])


def test_a_curve_without_a_direction_has_a_blank_cell_and_a_note(frame):
    falls = outcomes((20, 17, 6, 0), kappa=0.5, p=64)
    found = thresholds(pd.concat([frame, falls], ignore_index=True), CONTEXT, rows=["kappa"])
    blank = found["Ours"][1]
    assert np.isnan(blank.value)
    assert "Ours at κ = 0.5. Success falls, although it should rise." in " ".join(
        found.attrs["notes"]
    )
