"""Table ``slopes``: growth of steps, measured and promised, and ratios."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tradeoff_frames import CONTEXT, accuracy_rows, size, step_rows, table

from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.experiment.parameters import Parameters
from greedyexp.tables._output import Cell
from greedyexp.tables.slopes import slopes

EPSILONS = (1e-1, 1e-2, 1e-3, 1e-4)


def both(**given):
    given = {"epsilons": EPSILONS} | given
    rows = accuracy_rows("forward", ("T2", "T2-termination"), **given)
    return table([*rows, *accuracy_rows("corrective", ("T3",), times=8.0, **given)])


def test_one_row_for_each_algorithm_and_theorem():
    found = slopes(both(), CONTEXT)
    assert found[["algorithm", "theorem"]].to_numpy().tolist() == [
        ["Forward greedy", "Theorem 2"],
        ["Forward greedy", "Theorem 2, until it ends"],
        ["Fully corrective", "Theorem 3"],
    ]
    assert "reference" not in found
    assert [cell.value for cell in found["promised"]] == pytest.approx([1, 1, 1])
    assert [cell.value for cell in found["growth"]] == pytest.approx([1, 1, 1])
    assert [str(cell) for cell in found["ratio"]] == ["0.250", "0.250", "0.125"]
    assert [str(cell) for cell in found["not reached (%)"]] == ["0.0"] * 3


def test_slopes_are_means_of_the_replicates_own_with_a_t_interval():
    frame = both()
    frame["steps"] = frame["steps"] ** np.where(frame["replicate"] == 1, 1.25, 1.0)
    cell = slopes(frame, CONTEXT)["growth"][0]
    own = [
        stats.linregress(-np.log10(one["epsilon"]), np.log10(one["steps"])).slope
        for _, one in frame[frame["theorem"] == "T2"].groupby("replicate")
    ]
    expected = (np.mean(own), *stats.t.interval(0.95, 2, np.mean(own), stats.sem(own)))
    np.testing.assert_allclose((cell.value, cell.low, cell.high), expected)


def test_a_law_of_factors_of_ten_and_a_limit_of_accuracies():
    frame = both()
    frame["steps"] = 5 - 7 * np.log10(frame["epsilon"])
    frame.loc[frame["epsilon"] == 0.1, "steps"] = 1
    found = slopes(frame, CONTEXT, law={"T3": "log"}, fit_below=0.01)
    assert found["law"].tolist() == ["power", "power", "log"]
    assert "Law log: steps for each factor of ten" in " ".join(found.attrs["notes"])
    alone = slopes(frame, CONTEXT)
    assert "law" not in alone
    assert "It is the power p of" in " ".join(alone.attrs["notes"])
    assert found["growth"][2].value == pytest.approx(7)
    bounds = [8 * size("corrective", 1) / epsilon for epsilon in EPSILONS[1:]]
    promised = stats.linregress([2, 3, 4], bounds).slope
    assert found["promised"][2].value == pytest.approx(promised)
    assert "over accuracies of at most 0.01" in " ".join(found.attrs["notes"])
    with pytest.raises(ConfigError, match="unknown theorem 'T33'"):
        slopes(frame, CONTEXT, law={"T33": "log"})


def test_the_worst_pair_and_what_was_not_reached():
    frame = both()
    worst = (frame["theorem"] == "T2") & (frame["replicate"] == 2) & (frame["epsilon"] == 1e-3)
    frame.loc[worst, "steps"] = 3 * frame.loc[worst, "steps_bound"]
    found = slopes(frame, CONTEXT)
    assert found["largest"][0].value == pytest.approx(3)
    assert found["ratio"][0].value == pytest.approx(0.25)
    lost = frame.assign(steps=frame["steps"].where(~worst))
    found = slopes(lost, CONTEXT)
    assert found["not reached (%)"][0].value == pytest.approx(100 / 12)
    assert found["largest"][0].value == pytest.approx(0.25), "nothing is known of the budget"


@pytest.mark.parametrize(("budget", "largest"), [(30_000, np.inf), (20_000, 0.25)])
def test_a_pair_not_reached_within_a_budget_of_all_promised_steps_refutes(budget, largest):
    bound = 4 * size("forward", 2) / 1e-3
    assert 20_000 < bound < 30_000
    frame = both(budget=5000)
    steps = table(step_rows("forward", marks=(0, budget)))
    found = slopes(pd.concat([frame, steps], ignore_index=True), CONTEXT)
    assert found["largest"][0].value == largest


def test_groups_and_references_have_columns():
    rows = [
        *accuracy_rows("forward", p=10),
        *accuracy_rows("forward", p=20, times=2.0),
        *accuracy_rows("corrective", ("T3",), p=10, reference="support"),
    ]
    found = slopes(table(rows), CONTEXT, row="p")
    assert found[["p", "algorithm", "reference"]].to_numpy().tolist() == [
        ["10", "Forward greedy", "l1 ball"],
        ["10", "Fully corrective", "support"],
        ["20", "Forward greedy", "l1 ball"],
    ]
    assert found.attrs["group"] == "p"
    assert str(found["ratio"][2]) == "0.500"


def test_what_nothing_is_promised_of_is_left_out():
    frame = pd.concat([both(), table(accuracy_rows("fixed", ("none",)))], ignore_index=True)
    found = slopes(frame, CONTEXT, where={"reference": "l1_ball", "theorem": ["T2", "T3"]})
    assert "Replacement" not in found["algorithm"].tolist()
    assert found.attrs["title"] == "Growth of steps, reference: best in the l1 ball"
    with pytest.raises(ConfigError, match="no theorem has a bound"):
        slopes(table(accuracy_rows("fixed", ("none",))), CONTEXT)


def test_columns_are_told_before_the_run():
    part = registry.find("table", "slopes")
    given = Parameters(part).read_all({"row": "p"})
    assert part.columns(**given)[:3] == ["p", "algorithm", "record"]
    assert part.apart(**given) == ["p", "algorithm"]


def test_rows_of_words_stand_as_the_file_lists_them():
    rows = [*accuracy_rows("forward", p="signs"), *accuracy_rows("forward", p="leukemia")]
    context = replace(CONTEXT, words={"p": ["signs", "leukemia"]})
    assert slopes(table(rows), context, row="p")["p"].tolist() == ["signs", "leukemia"]


def test_ratios_of_all_sizes_are_short():
    rows = [*accuracy_rows("forward"), *accuracy_rows("corrective", ("T3",), times=5e5)]
    assert [str(cell) for cell in slopes(table(rows), CONTEXT)["ratio"]] == ["0.250", "2.00e-06"]
    assert str(Cell(np.inf, np.nan, np.nan)) == "∞"
