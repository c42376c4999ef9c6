"""``greedyexp compare``: what differs between two runs, and whether beyond chance."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy
from cli_process import refused

import greedyexp
from greedyexp.core.errors import ConfigError
from greedyexp.experiment.design import design_of
from greedyexp.report.compare import success_curves, threshold_table
from greedyexp.runner.run_contents import read_run
from greedyexp.stats.multiplicity import holm
from greedyexp.stats.two_samples import difference_of_means, difference_of_proportions

SETTINGS = {
    "name": "small",
    "data": {
        "generator": "gaussian",
        "p": 12,
        "sparsity": 2,
        "noise_std": 0.5,
        "sweep": {"n_samples": [6, 12, 24]},
    },
    "trials": 12,
    "algorithms": [{"omp": {"label": "pursuit"}}, {"lasso": {"label": "penalty"}}],
    "metrics": ["support", "support_size", "training_error"],
    "figures": [
        {
            "phase_transition": {
                "x": "n_samples",
                "panel": None,
                "line": ["algorithm"],
                "success": {"default": "support"},
            }
        }
    ],
    "claims": [
        {
            "id": "small",
            "quote": "small",
            "test": "mean(penalty, training_error) < 1.12",
            "where": {"n_samples": 24},
        },
        {"id": "sparse", "quote": "sparse", "test": "mean(pursuit, support_size) < 12"},
    ],
}
OTHER = {**SETTINGS, "algorithms": [SETTINGS["algorithms"][0], {"lasso": {"label": "penalty"}}]}
OTHER["algorithms"][1]["lasso"] |= {"n_lams": 8}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run, one with another grid for the penalty, and one with another seed."""
    out = tmp_path_factory.mktemp("compare")
    found = {}
    for name, settings, seed in (("a", SETTINGS, 0), ("b", OTHER, 0), ("c", SETTINGS, 1)):
        settings = {**settings, "seed": seed}
        greedyexp.run(settings, out=out / name, engine="serial", progress=False)
        found[name] = out / name / "small" / "quick"
    return found


@pytest.fixture(scope="module")
def found(runs):
    return greedyexp.compare(runs["a"], runs["b"])


def line(found, column: str, **key):
    rows = found.differences[found.differences["column"] == column]
    for name, value in key.items():
        rows = rows[rows[name] == value]
    (row,) = rows.to_dict("records")
    return row


def samples(runs, column: str, n_samples: int, algorithm: str):
    tables = [pd.read_csv(runs[name] / "small.csv") for name in ("a", "b", "c")]
    return [
        t[(t["n_samples"] == n_samples) & (t["algorithm"] == algorithm)][column].to_numpy(float)
        for t in tables
    ]


def edited(run, folder, change, old="", new=""):
    """A copy of a run whose table and settings were changed, without digests in a manifest."""
    shutil.copytree(run, folder)
    settings = (folder / "config.yaml").read_text()
    assert old in settings
    (folder / "config.yaml").write_text(settings.replace(old, new) if old else settings)
    table = pd.read_csv(folder / "small.csv")
    change(table).to_csv(folder / "small.csv", index=False)
    (folder / "manifest.json").unlink()
    return folder


def test_a_run_does_not_differ_from_itself(call, runs):
    done = call("compare", runs["a"], runs["a"], cwd=runs["a"])
    assert done.returncode == 0, done.stderr
    assert "18 comparisons, paired: 0 beyond chance (Holm, 5%)." in done.stdout
    assert "changed values: 0" in done.stdout
    assert "settings that differ" not in done.stdout
    assert "verdicts that differ: 0 of 2" in done.stdout


def test_pairs_are_those_of_the_same_data(runs, found):
    assert found.paired
    assert found.settings == ["algorithms.penalty.lasso.n_lams: 50 -> 8"]
    a, b, _ = samples(runs, "training_error", 24, "penalty")
    row = line(found, "training_error", n_samples=24, algorithm="penalty")
    assert row["mean_a"] == pytest.approx(a.mean(), rel=1e-12)
    assert row["difference"] == pytest.approx((b - a).mean(), rel=1e-12)
    test = scipy.stats.ttest_rel(b, a)
    interval = test.confidence_interval(0.95)
    assert row["p_value"] == pytest.approx(test.pvalue, rel=1e-9)
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert row["n_a"] == row["n_b"] == 12
    adjusted = holm(found.differences["p_value"]).adjusted
    assert found.differences["p_adjusted"].tolist() == adjusted.tolist()


def test_runs_that_differ_exit_with_one(call, runs, found, tmp_path):
    assert found.differ
    assert set(found.beyond_chance["algorithm"]) == {"penalty"}
    files = [tmp_path / f"picture.{suffix}" for suffix in ("PNG", "pdf", "svg")]
    for file in files:
        table = ("--csv", tmp_path / "all.csv")
        done = call("compare", runs["a"], runs["b"], "--figure", file, *table, cwd=tmp_path)
        assert done.returncode == 1, done.stderr
        assert file.stat().st_size > 1000
    assert "algorithms.penalty.lasso.n_lams: 50 -> 8" in done.stdout
    assert len(pd.read_csv(tmp_path / "all.csv")) == len(found.differences) == 18
    assert b"dc:date" not in files[2].read_bytes()


def test_changed_values_are_those_of_the_tables(runs, found):
    tables = [pd.read_csv(runs[name] / "small.csv") for name in ("a", "b")]
    expected = sum(
        int((abs(tables[0][name] - tables[1][name]) > 1e-6).sum())
        for name in ("support", "support_size", "training_error")
    )
    assert len(found.changed) == expected > 0
    assert set(found.changed["algorithm"]) == {"penalty"}
    row = found.changed.iloc[0]
    both = [
        t[
            (t["n_samples"] == row["n_samples"])
            & (t["algorithm"] == "penalty")
            & (t["replicate"] == row["replicate"])
        ][row["column"]].item()
        for t in tables
    ]
    assert [row["value_a"], row["value_b"]] == both


def test_other_seeds_are_independent_samples(runs):
    found = greedyexp.compare(runs["a"], runs["c"])
    assert not found.paired
    assert found.settings == ["seed: 0 -> 1"]
    assert found.changed.empty
    assert not found.differ
    a, _, c = samples(runs, "training_error", 12, "penalty")
    row = line(found, "training_error", n_samples=12, algorithm="penalty")
    welch = scipy.stats.ttest_ind(a, c, equal_var=False)
    assert row["p_value"] == pytest.approx(welch.pvalue, rel=1e-9)
    a, _, c = samples(runs, "support", 12, "penalty")
    row = line(found, "support", n_samples=12, algorithm="penalty")
    table = [[int(v.sum()), int((1 - v).sum())] for v in (a, c)]
    assert row["p_value"] == pytest.approx(scipy.stats.fisher_exact(table).pvalue, rel=1e-9)


def test_thresholds_and_verdicts_stand_side_by_side(runs, found):
    both = found.thresholds.set_index("algorithm")
    assert set(both.index) == {"penalty", "pursuit"}
    # The pursuit is the same in both runs.
    pursuit = both.loc["pursuit"]
    assert pursuit["estimate_a"] == pursuit["estimate_b"]
    assert pursuit["low_a"] < pursuit["estimate_a"] < pursuit["high_a"]
    verdicts = found.verdicts.set_index("claim")
    for name, column in (("a", "a"), ("b", "b")):
        assert verdicts[column].to_dict() == greedyexp.open(runs[name]).claims["verdict"].to_dict()
    assert verdicts.loc["small"].tolist() == ["inconclusive", "supported"]


def test_last_digits_are_no_difference(runs, tmp_path):
    def last_digits(table):
        return table.assign(training_error=table["training_error"] * (1 + 1e-9))

    found = greedyexp.compare(runs["a"], edited(runs["a"], tmp_path / "run", last_digits))
    assert not found.differ
    assert found.changed.empty


@pytest.mark.parametrize("other", ["b", "c"])
def test_samples_are_the_finite_values_of_both_tables(runs, tmp_path, other):
    """Empty cells and missing rows are left out, in pairs if the runs are paired."""

    def thin(table):
        table["training_error"] = table["training_error"].mask(table["replicate"].isin((3, 5)))
        table = table[(table["replicate"] != 7) | (table["algorithm"] == "pursuit")]
        return table.sample(frac=1, random_state=0)

    folder = edited(runs[other], tmp_path / "run", thin)
    found = greedyexp.compare(runs["a"], folder)
    assert found.paired == (other == "b")
    tables = [pd.read_csv(path / "small.csv") for path in (runs["a"], folder)]
    for (n_samples, algorithm), a in tables[0].groupby(["n_samples", "algorithm"]):
        b = tables[1][(tables[1]["n_samples"] == n_samples) & (tables[1]["algorithm"] == algorithm)]
        x, y = (one.set_index("replicate")["training_error"] for one in (a, b))
        y = y[np.isfinite(y)]
        if found.paired:
            x, y = x[y.index.sort_values()], y.sort_index()
        row = line(found, "training_error", n_samples=n_samples, algorithm=algorithm)
        assert (row["n_a"], row["n_b"]) == (len(x), len(y))
        assert len(y) == (10 if algorithm == "pursuit" else 9)
        means = row["mean_a"], row["mean_b"], row["difference"]
        assert means == pytest.approx((x.mean(), y.mean(), y.mean() - x.mean()), abs=1e-12)


def test_changed_are_whole_numbers_that_are_close_and_large_ones(runs, tmp_path):
    def large(table):
        return table.assign(support_size=999_998)

    def one_more(table):
        table["training_error"] = [1e99, *table["training_error"][1:]]
        return table.assign(support_size=999_999)

    folders = [edited(runs["a"], tmp_path / f.__name__, f) for f in (large, one_more)]
    changed = greedyexp.compare(*folders).changed
    assert changed["column"].value_counts().to_dict() == {"support_size": 72, "training_error": 1}


def test_a_swept_parameter_that_a_run_lacks_has_its_default(runs, tmp_path):
    """An earlier version had no such column, and another generator has no such parameter."""
    settings = copy.deepcopy(SETTINGS)
    settings["data"]["sweep"]["correlation"] = [0, 0.5]
    out = tmp_path / "swept"
    greedyexp.run(settings, out=out, engine="serial", progress=False)
    one = edited(runs["a"], tmp_path / "one", lambda table: table.drop(columns="correlation"))
    (one / "timings.csv").unlink()
    found = greedyexp.compare(out / "small" / "quick", one)
    assert found.paired
    assert set(found.differences["correlation"]) == {0}
    assert (found.differences["p_value"] == 1).all()
    assert len(found.differences) == 18


def test_rounding_of_independent_runs_is_no_difference(runs, tmp_path):
    """Last digits that differ, without the variance of data, would have tiny p-values."""

    def set_to(value):
        def change(table):
            wiggle = 1e-15 * np.arange(len(table))
            return table.assign(training_error=value * (1 + wiggle))

        return change

    one = edited(runs["a"], tmp_path / "one", set_to(0.3))
    for value, beyond in ((0.3 * (1 + 1e-8), 0), (0.3 * (1 + 1e-4), 6)):
        found = greedyexp.compare(one, edited(runs["c"], tmp_path / str(value), set_to(value)))
        assert not found.paired
        assert (found.beyond_chance["column"] == "training_error").sum() == beyond


def test_failures_are_no_successes_and_are_compared(runs, tmp_path):
    def fail(table):
        rows = (table["algorithm"] == "pursuit") & (table["n_samples"] == 24)
        table.loc[rows, ["support", "support_size", "training_error"]] = np.nan
        table.loc[rows, "status"] = "error"
        return table

    found = greedyexp.compare(runs["a"], edited(runs["a"], tmp_path / "run", fail))
    failed = line(found, "failed", n_samples=24, algorithm="pursuit")
    assert (failed["mean_a"], failed["mean_b"]) == (0, 1)
    # McNemar's test on twelve pairs that all differ.
    assert failed["p_value"] == pytest.approx(2 * 0.5**12)
    support = line(found, "support", n_samples=24, algorithm="pursuit")
    assert support["mean_b"] == 0
    assert support["n_b"] == 12
    columns = found.differences[found.differences["n_samples"] == 24]
    sizes = columns[(columns["algorithm"] == "pursuit") & (columns["column"] == "support_size")]
    assert sizes.empty


def test_other_data_are_matched_point_by_point(runs, tmp_path):
    noise = ("noise_std: 0.5", "noise_std: 0.6")
    other = edited(runs["a"], tmp_path / "run", lambda table: table.assign(noise_std=0.6), *noise)
    found = greedyexp.compare(runs["a"], other)
    assert not found.paired
    assert "points are matched although noise_std differs" in found.notes
    assert len(found.differences) == 18


def test_points_of_one_run_only_are_counted(runs, tmp_path):
    fewer = edited(runs["a"], tmp_path / "run", lambda table: table[table["n_samples"] < 24])
    found = greedyexp.compare(runs["a"], fewer)
    assert f"2 combinations of point and algorithm are only in {runs['a']}" in found.notes
    label = ("pursuit", "other")
    none = edited(
        runs["a"], tmp_path / "none", lambda table: table.assign(algorithm="other"), *label
    )
    with pytest.raises(ConfigError, match="no point and algorithm in common"):
        greedyexp.compare(runs["a"], none)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("support", 2, "column 'support' of the table is not 0 or 1 in every row"),
        ("support", np.inf, "column 'support' of the table has the value inf"),
        ("support_size", "many", "column 'support_size' of the table is not a number in every row"),
        ("training_error", None, "the table has no column 'training_error'"),
    ],
)
def test_damaged_tables_are_refused(call, runs, tmp_path, column, value, words):
    def damage(table):
        if value is None:
            return table.drop(columns=column)
        return table.assign(**{column: [value, *table[column][1:]]})

    damaged = edited(runs["a"], tmp_path / "run", damage)
    refused(call("compare", runs["a"], damaged, cwd=tmp_path), words, "Run the experiment again")
    refused(call("verify", damaged, cwd=tmp_path), words, "Run the experiment again")


def test_equal_differences_of_few_pairs_are_chance():
    x = np.array([1.0, 2.0])
    assert difference_of_means(x, x + 1, paired=True)[3] == 0.5
    x = np.arange(10.0)
    assert difference_of_means(x, x + 1, paired=True)[3] == 2.0**-9
    assert difference_of_means(x, x, paired=True) == (0, 0, 0, 1)


def test_p_values_of_equal_methods_are_not_too_small():
    """Without a difference, at most about 5% of p-values are below 0.05."""
    rng = np.random.default_rng(0)
    small = np.zeros(4)
    for _ in range(400):
        x, y = rng.standard_normal((2, 15))
        wins = (rng.random((2, 15)) < 0.4).astype(float)
        pairs = enumerate((True, False))
        for place, paired in pairs:
            small[place] += difference_of_means(x, y, paired=paired)[3] < 0.05
            small[2 + place] += difference_of_proportions(*wins, paired=paired)[3] < 0.05
    # Four standard deviations above 5% of 400.
    assert (small <= 20 + 4 * np.sqrt(19)).all()


def test_wrong_input_is_refused(call, runs, tmp_path):
    a = runs["a"]
    refused(call("compare", a, tmp_path / "none", cwd=tmp_path), "there is no such folder")
    refused(call("compare", a, a, "--figure", "picture.gif", cwd=tmp_path), ".png, .pdf or .svg")
    for option, name in (("--csv", "small.csv"), ("--figure", "figures/new.png")):
        done = call("compare", a, a, option, a / name, cwd=tmp_path)
        refused(done, f"{option} {a / name}: this file would be in the folder of a run")
    for option, name, words in (
        ("--csv", "notes.md", "must be a .csv file"),
        ("--csv", "data.csv", "has other contents"),
        ("--figure", "mine.png", "has other contents"),
    ):
        (tmp_path / name).write_text("kept\n")
        refused(call("compare", a, a, option, name, cwd=tmp_path), f"{option} {name}", words)
        assert (tmp_path / name).read_text() == "kept\n"
    for suffix in ("svg", "svg"):
        given = ("--csv", "all.csv", "--figure", f"all.{suffix}")
        assert call("compare", a, a, *given, cwd=tmp_path).returncode == 0
    edited = (tmp_path / "all.csv").read_text() + "# my note\n"
    (tmp_path / "all.csv").write_text(edited)
    refused(call("compare", a, a, "--csv", "all.csv", cwd=tmp_path), "all.csv", "Move it away")
    assert (tmp_path / "all.csv").read_text() == edited
    assert not (tmp_path / "picture.gif").exists()
    done = call("compare", a, a, "--csv", tmp_path / "none" / "all.csv", cwd=tmp_path)
    refused(done, "this cannot be written: No such file or directory. Check", "to another folder.")
    assert "--out" not in done.stderr


def test_thresholds_in_samples_of_blocks_that_sweep_one_column():
    source = read_run(Path(__file__).parents[2] / "results/conjecture_growth/paper")
    table = threshold_table(source, "n_samples", {"default": "sign_support"})
    assert list(table.columns[:4]) == ["data", "p", "sparsity", "algorithm"]
    # One threshold for each size of each block, in numbers of samples.
    sizes = [("s = p / 10", 2**k) for k in range(8, 13)]
    sizes += [(law, 2**k) for law in ("s = sqrt(p)", "s = log(p)^2") for k in range(8, 14)]
    assert sorted(zip(table["data"], table["p"], strict=True)) == sorted(sizes)
    per_coefficient = table["estimate"] / table["sparsity"].fillna(table["p"] / 10)
    assert per_coefficient.between(3, 7).all()


def test_curves_have_the_direction_of_the_figure_that_gives_one():
    success = {"default": "support"}
    curves = {"x": "noise_std", "success": success}
    crossed = {"x": "p", "of": "noise_std", "success": success}
    figures = [{"phase_transition": curves}, {"transition_threshold": crossed}]
    given = {"transition_threshold": crossed | {"direction": "falling"}}
    sweep = {"noise_std": [1, 2], "p": [10, 20]}
    for drawn, direction in ((figures, None), ([*figures, given, given], "falling")):
        settings = {"data": {"generator": "gaussian", "sweep": sweep}, "figures": drawn}
        design = design_of({"name": "made", "algorithms": ["omp"], "trials": 5, **settings})
        source = SimpleNamespace(design=design, folder=Path())
        assert success_curves(source) == [("noise_std", success, direction)]
