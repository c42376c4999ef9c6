"""Table ``timing``: seconds and their ratios, on made-up times."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from selection_frames import context

from greedyexp.config import load
from greedyexp.core.errors import ConfigError
from greedyexp.experiment.variants import Variant
from greedyexp.tables._output import table_files
from greedyexp.tables.comparison import timing

PUBLISHED = {"gdt": {"5": 1.96e-2, "8": 1.16e-2}, "obj": {"5": 12.5}}


@pytest.fixture
def frame():
    """Return times of data sets that are slow for both algorithms or fast for both."""
    rng = np.random.default_rng(5)
    rows = []
    for sparsity in (5, 8):
        for k in range(12):
            hard = 1 + rng.random()
            for label, seconds in (("gdt", 0.002), ("obj", 0.8)):
                spent = sparsity * seconds * hard * (1 + 0.05 * rng.random())
                rows.append((sparsity, k, label, "ok", spent))
    return pd.DataFrame(
        rows, columns=["sparsity", "replicate", "algorithm", "status", "fit_seconds"]
    )


def sample(frame, label, sparsity=5):
    keep = (frame["algorithm"] == label) & (frame["sparsity"] == sparsity)
    return frame.loc[keep, "fit_seconds"].to_numpy()


def test_seconds_are_means_with_t_intervals_beside_the_printed_ones(frame):
    table = timing(frame, context(), row="sparsity", base="gdt", published=PUBLISHED)
    assert list(table.columns) == [
        "sparsity",
        "FoBa-gdt (s)",
        "FoBa-obj (s)",
        "FoBa-obj / FoBa-gdt",
    ]
    assert table["sparsity"].tolist() == ["5", "8"]
    for place, sparsity in enumerate((5, 8)):
        cell, values = table.loc[place, "FoBa-gdt (s)"], sample(frame, "gdt", sparsity)
        ends = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
        np.testing.assert_allclose([cell.value, cell.low, cell.high], [values.mean(), *ends])
    assert table.loc[0, "FoBa-gdt (s)"].published == 1.96e-2
    assert table.loc[0, "FoBa-obj / FoBa-gdt"].published == 638
    assert np.isnan(table.loc[1, "FoBa-obj / FoBa-gdt"].published)


def test_a_ratio_holds_what_the_paired_t_test_does_not_reject(frame):
    cell = timing(frame, context(), row="sparsity", base="gdt").loc[0, "FoBa-obj / FoBa-gdt"]
    top, bottom = sample(frame, "obj"), sample(frame, "gdt")
    assert cell.value == pytest.approx(top.mean() / bottom.mean())
    for ratio in (cell.low, cell.high):
        assert stats.ttest_1samp(top - ratio * bottom, 0).pvalue == pytest.approx(0.05, abs=1e-6)
    # Means taken apart would say far less.
    apart = sum((stats.sem(x) / x.mean()) ** 2 for x in (top, bottom)) ** 0.5 * cell.value
    assert (cell.high - cell.low) / 2 < 0.3 * apart * stats.t.ppf(0.975, 11)


def test_ratios_pair_data_sets_and_not_rows(frame):
    expected = timing(frame, context(), row="sparsity", base="gdt")
    lost = (frame["algorithm"] == "obj") & (frame["replicate"] == 3)
    shuffled = frame[~lost].sample(frac=1, random_state=1)
    found = timing(shuffled, context(), row="sparsity", base="gdt")
    assert found.loc[0, "FoBa-gdt (s)"].value == expected.loc[0, "FoBa-gdt (s)"].value
    top, bottom = np.delete(sample(frame, "obj"), 3), np.delete(sample(frame, "gdt"), 3)
    cell = found.loc[0, "FoBa-obj / FoBa-gdt"]
    assert cell.value == pytest.approx(top.mean() / bottom.mean())
    assert stats.ttest_1samp(top - cell.low * bottom, 0).pvalue == pytest.approx(0.05, abs=1e-6)


def test_failures_are_counted_and_have_no_seconds(frame):
    lost = (frame["algorithm"] == "obj") & (frame["replicate"] < 2)
    frame.loc[lost, ["status", "fit_seconds"]] = ["timeout", np.nan]
    table = timing(frame, context(), row="sparsity", base="gdt")
    assert table.loc[0, "FoBa-obj (s)"].value == pytest.approx(sample(frame, "obj")[2:].mean())
    assert "FoBa-obj 4 of 24" in " ".join(table.attrs["notes"])


def test_one_replicate_has_numbers_alone(frame):
    table = timing(frame[frame["replicate"] == 0], context(trials=1), row="sparsity", base="gdt")
    assert not any("±" in str(cell) for cell in table.iloc[0])


def test_values_of_all_sizes_show_three_digits(frame):
    table = timing(frame, context(), row="sparsity", base="gdt", published=PUBLISHED)
    assert str(table.loc[0, "FoBa-gdt (s)"]).startswith(f"{sample(frame, 'gdt').mean():.4f} ± ")
    ratio = table.loc[0, "FoBa-obj / FoBa-gdt"]
    assert str(ratio) == f"{ratio.value:.0f} ± {(ratio.high - ratio.low) / 2:.0f} (638)"
    numbers, readable, latex = table_files(table, table.attrs["title"]).values()
    assert "FoBa-obj / FoBa-gdt published" in numbers.decode().partition("\n")[0]
    assert "Wall-clock seconds of the fit alone" in readable.decode()
    assert r"\pm" in latex.decode()


def test_an_algorithm_swept_along_the_rows_is_one_column(frame):
    swept = frame.rename(columns={"sparsity": "max_features"})
    swept = swept[["replicate", "algorithm", "max_features", "status", "fit_seconds"]]
    entries = swept["algorithm"].tolist()
    swept["algorithm"] += " (max_features=" + swept["max_features"].astype(str) + ")"
    known = context()
    for label, entry in zip(swept["algorithm"], entries, strict=True):
        known.variants[label] = Variant(entry, ("max_features",))
    known.algorithms.update(dict.fromkeys(swept["algorithm"], "foba"))
    found = timing(swept, known, row="max_features", base="gdt")
    expected = timing(frame, context(), row="sparsity", base="gdt")
    for name in expected.columns[1:]:
        assert list(map(repr, found[name])) == list(map(repr, expected[name]))


def test_an_unknown_base_and_a_run_without_seconds_are_told(frame):
    with pytest.raises(ConfigError, match="`base` names 'gtd'"):
        timing(frame, context(), row="sparsity", base="gtd")
    with pytest.raises(ConfigError, match=r"timings\.csv"):
        timing(frame.drop(columns="fit_seconds"), context(), row="sparsity", base="gdt")


def test_it_is_refused_before_any_work_where_nothing_is_timed():
    settings = {
        "name": "made",
        "data": {"generator": "gaussian", "n_samples": 20, "p": 5, "sparsity": 2},
        "protocol": {"trajectory": {"iterations": 5}},
        "algorithms": ["gradient_descent"],
        "tables": [{"timing": {"row": "p", "base": "gradient_descent"}}],
    }
    with pytest.raises(ConfigError, match="reads a column 'fit_seconds'"):
        load(settings)
