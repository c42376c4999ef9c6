"""Seconds of fits: what is timed, where it is kept, and how figures and claims come by it."""

import csv
import gzip
import sqlite3
import zlib

import numpy as np
import pandas as pd
import pytest
import yaml
from runner_lab import Laboratory

from greedyexp import report
from greedyexp.cli import main
from greedyexp.config import load
from greedyexp.core.errors import ConfigError, StorageError
from greedyexp.core.parts import Algorithm, Metric
from greedyexp.problems.problem import Problem
from greedyexp.protocols.base import Outcome, Setup, Status
from greedyexp.protocols.recovery import recovery
from greedyexp.runner.journal import NAME, Journal, JournalEntry
from greedyexp.runner.run_contents import read_run

SLOW = '''

from greedyexp import metric


@metric("TAG_slow", better=None)
def slow(problem, coef):
    """Takes far longer than the fit."""
    time.sleep(0.3)
    return np.zeros(coef.shape[:-2])
'''


@pytest.fixture
def lab(tmp_path):
    made = Laboratory(tmp_path)
    made.plugin.write_text(made.plugin.read_text() + SLOW.replace("TAG", made.tag))
    return made


def timings(folder):
    with (folder / "timings.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


class Watch:
    """A clock that the parts move on themselves."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize("tuning", ["none", "cv", "theory"])
def test_the_fit_with_its_tuning_is_timed_and_nothing_else(tuning):
    watch = Watch()

    def fit(problem, grid=None):
        watch.now += 3.0
        return np.zeros((problem.n_features, 1))

    def judge(problem, coef):
        watch.now += 100.0
        return np.zeros(coef.shape[:-2])

    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 3))
    problem = Problem((X,), (X[:, 0],), np.eye(3)[:, :1], 0.0, 1, {})
    part = Algorithm("fit", fit, theory=lambda problem: None)
    metric = Metric("judge", judge, better=None, of="")
    setup = Setup(tuning, 2, (metric,), rng, watch)
    outcome = recovery(problem, part, {}, setup)
    assert outcome.status is Status.OK
    assert outcome.fit_seconds == (9.0 if tuning == "cv" else 3.0)
    assert watch.now == outcome.fit_seconds + 100.0


@pytest.mark.parametrize("engine", ["processes", "serial"])
def test_metrics_are_left_out(lab, engine):
    settings = {
        "algorithms": [{f"{lab.tag}_ridge": {"pause": 0.05}}],
        "metrics": [f"{lab.tag}_slow"],
        "data": {"sweep": {"n": [8]}},
        "trials": 2,
    }
    how = {"engine": engine} | ({"jobs": None} if engine == "serial" else {})
    made = lab.run(how=how, **settings)
    assert made.failed == 0
    rows = timings(lab.results)
    fits = [float(row["fit_seconds"]) for row in rows]
    assert min(fits) >= 0.05
    # The least is compared, as a busy machine lengthens some.
    assert min(fits) < 0.3
    for row in rows:
        assert float(row["seconds"]) > float(row["fit_seconds"]) + 0.3


def test_seconds_are_journaled_and_never_in_the_table(lab, tmp_path):
    ridge = [f"{lab.tag}_ridge", lab.trouble("raise", below=0.4)]
    lab.run(algorithms=ridge)
    first = timings(lab.results)
    failed = [row for row in first if row["algorithm"] == "trouble" and not row["fit_seconds"]]
    assert failed
    assert len(failed) < sum(row["algorithm"] == "trouble" for row in first)
    timed = [row for row in first if row not in failed]
    assert all(0 < float(row["fit_seconds"]) < float(row["seconds"]) for row in timed)
    again = lab.run(algorithms=ridge)
    assert again.computed == 0
    assert timings(lab.results) == first
    lab.run(algorithms=ridge, folder=tmp_path / "other")
    assert timings(tmp_path / "other") != first
    table = (lab.results / "lab.csv").read_bytes()
    assert (tmp_path / "other" / "lab.csv").read_bytes() == table
    assert b"seconds" not in table


def test_a_journal_from_before_is_read_and_brought_up(tmp_path):
    old = JournalEntry(b"k" * 32, Outcome(Status.OK, "", [{"error": 0.5}], 0.25), {}, 1.0)
    new = JournalEntry(b"n" * 32, Outcome(Status.OK, "", [{"error": 0.5}], 0.125), {}, 2.0)
    with Journal(tmp_path) as journal:
        journal.add([old])
    with sqlite3.connect(tmp_path / NAME) as other:
        other.execute("ALTER TABLE outcomes DROP COLUMN fit_seconds")
        texts = other.execute("SELECT status, message, facts, rows FROM outcomes").fetchone()
        other.execute("UPDATE outcomes SET checksum = ?", [zlib.crc32("\0".join(texts).encode())])
        other.execute("UPDATE meta SET value = '1' WHERE name = 'schema'")
    other.close()
    with Journal(tmp_path, read_only=True) as journal:
        assert journal.timings([old.key])[old.key] == (Status.OK, 1.0, None)
        assert journal.entries([old.key])[old.key] == old
    for _ in range(2):
        with Journal(tmp_path) as journal:
            journal.add([new])
    with Journal(tmp_path, read_only=True) as journal:
        found = journal.timings([old.key, new.key])
    assert found == {old.key: (Status.OK, 1.0, None), new.key: (Status.OK, 2.0, 0.125)}


def folder_of(tmp_path, seconds=True):
    """Two blocks of data, of which one has a parameter that the other has as a fact."""
    folder = tmp_path / "lab" / "quick"
    folder.mkdir(parents=True)
    config = {
        "name": "lab",
        "trials": 3,
        "data": [{"label": "one", "sweep": {"n": [10, 20]}}, {"label": "two"}],
        "algorithms": ["lasso", "omp"],
        "metrics": ["frobenius_error"],
        "claims": [
            {
                "id": "faster",
                "quote": "OMP is ten times faster.",
                "test": "mean(lasso, fit_seconds) >= 10 * mean(omp, fit_seconds)",
                "where": {"data": "two"},
            }
        ],
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    rng = np.random.default_rng(3)
    rows = [
        {"data": label, "n": n, "replicate": k, "algorithm": algorithm}
        for label, n in (("one", 10), ("one", 20), ("two", 5))
        for k in range(3)
        for algorithm in ("lasso", "omp")
    ]
    table = pd.DataFrame(rows).assign(status="ok", message="", tuning="none")
    table["frobenius_error"] = rng.random(len(table))
    table.to_csv(folder / "lab.csv", index=False)
    kept = pd.DataFrame(rows).assign(seconds=9.0)
    kept["fit_seconds"] = [0.5 if a == "lasso" else 0.01 for a in kept["algorithm"]]
    kept["fit_seconds"] *= 1 + 0.01 * rng.random(len(kept)) + 10 * (kept["data"] == "one")
    kept["n"] = kept["n"].where(kept["data"] == "one").astype("Int64")
    if seconds:
        kept.to_csv(folder / "timings.csv", index=False)
    return folder, kept


def frame_of(folder):
    return read_run(folder).frame


def test_seconds_are_joined_whatever_the_order_of_the_rows(tmp_path):
    folder, kept = folder_of(tmp_path)
    assert frame_of(folder)["fit_seconds"].tolist() == kept["fit_seconds"].tolist()
    kept[::-1].to_csv(folder / "timings.csv", index=False)
    assert frame_of(folder)["fit_seconds"].tolist() == kept["fit_seconds"].tolist()
    kept.drop(index=4).to_csv(folder / "timings.csv", index=False)
    assert frame_of(folder)["fit_seconds"].isna().to_numpy().nonzero()[0].tolist() == [4]
    text = (folder / "timings.csv").read_bytes()
    (folder / "timings.csv").unlink()
    (folder / "timings.csv.gz").write_bytes(gzip.compress(text))
    assert frame_of(folder)["fit_seconds"].notna().sum() == len(kept) - 1


def test_seconds_that_are_not_of_the_table_are_refused(tmp_path):
    folder, kept = folder_of(tmp_path)
    pd.concat([kept, kept[:1]]).to_csv(folder / "timings.csv", index=False)
    with pytest.raises(StorageError, match="two rows of one replicate"):
        frame_of(folder)
    kept.rename(columns={"n": "p"}).to_csv(folder / "timings.csv", index=False)
    with pytest.raises(StorageError, match="columns are not those"):
        frame_of(folder)


def test_claims_may_name_seconds_and_are_open_without_them(tmp_path):
    folder, _ = folder_of(tmp_path)
    (judged,) = report.verify(folder).judged
    assert str(judged.verdict) == "supported"
    (folder / "timings.csv").unlink()
    (judged,) = report.verify(folder).judged
    assert str(judged.verdict) == "inconclusive"
    assert "timings.csv" in judged.tests[0].reason


def test_other_verdicts_and_figures_do_not_feel_the_seconds(tmp_path):
    folder, _ = folder_of(tmp_path)
    config = yaml.safe_load((folder / "config.yaml").read_text())
    config["claims"][0]["test"] = "mean(lasso, frobenius_error) <= 1"
    config["figures"] = [{"comparison": {"row": "n", "metrics": ["frobenius_error"]}}]
    (folder / "config.yaml").write_text(yaml.safe_dump(config))

    def made():
        report.verify(folder)
        files = [folder / "claims.json", *report.draw(folder)]
        return [path.read_bytes() for path in files]

    with_seconds = made()
    (folder / "timings.csv").unlink()
    assert made() == with_seconds


@pytest.mark.usefixtures("impatient")
def test_plot_leaves_tables_of_seconds_as_they_are_if_there_are_none(tmp_path, capsys):
    folder, _ = folder_of(tmp_path)
    config = yaml.safe_load((folder / "config.yaml").read_text())
    config["figures"] = [{"comparison": {"row": "n", "metrics": ["frobenius_error"]}}]
    config["tables"] = [{"timing": {"where": {"data": "one"}, "row": "n", "base": "omp"}}]
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    assert main(["plot", str(folder)]) == 0
    table = folder / "tables/timing.csv"
    before = table.read_bytes()
    (folder / "timings.csv").unlink()
    capsys.readouterr()
    assert main(["plot", str(folder)]) == 0
    printed = capsys.readouterr()
    assert "figures/comparison.png" in printed.out
    assert "timing.csv" not in printed.out
    assert table.read_bytes() == before
    sentence = "tables[0].timing is left as it is: there are no seconds of fits"
    assert sentence in printed.err.replace("\n", " ")
    # In a run that measures them, it is an error.
    with pytest.raises(ConfigError, match="there are no seconds of fits"):
        report.draw(folder)


SETTINGS = {
    "name": "timed",
    "data": {"generator": "gaussian", "n_samples": 20, "p": 5, "sparsity": 2},
    "seed": 1,
    "trials": 2,
    "algorithms": [{"omp": {"tuning": "cv", "folds": 2}}, {"lasso": {"tuning": "cv", "folds": 2}}],
    "metrics": ["frobenius_error"],
    "claims": [
        {"id": "a", "quote": "b", "test": "mean(omp, fit_seconds) < mean(lasso, fit_seconds)"}
    ],
}


def test_an_experiment_whose_protocol_times_fits_may_name_them():
    drawn = {"comparison": {"row": "p", "metrics": ["fit_seconds"]}}
    experiment = load({**SETTINGS, "tables": [drawn], "figures": [drawn]})
    assert [claim.id for claim in experiment.claims] == ["a"]


def test_seconds_are_a_result_and_tell_nothing_apart():
    by_seconds = {"comparison": {"row": "fit_seconds", "metrics": ["frobenius_error"]}}
    with pytest.raises(ConfigError, match="result of the run"):
        load({**SETTINGS, "figures": [by_seconds]})


def test_a_protocol_that_times_nothing_has_no_seconds():
    untimed = {
        "protocol": {"trajectory": {"iterations": 5}},
        "algorithms": ["gradient_descent"],
        "metrics": [],
        "claims": [{"id": "a", "quote": "b", "test": "mean(gradient_descent, fit_seconds) < 1"}],
    }
    with pytest.raises(ConfigError, match="fit_seconds"):
        load({**SETTINGS, **untimed})
