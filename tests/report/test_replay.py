"""``greedyexp replay``: rows of a run computed again, and the run that a figure names."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest
import yaml
from cli_process import refused, write_toy
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import greedyexp
from greedyexp import report
from greedyexp.core.errors import ConfigError, StorageError
from greedyexp.report.figure_notes import read_note
from greedyexp.report.rows_again import DIFFERS, EQUAL, ROUNDING, compare_cells
from greedyexp.report.where import as_text, parse
from greedyexp.runner import manifest

SETTINGS = {
    "name": "small",
    "data": {
        "generator": "gaussian",
        "n_samples": 30,
        "p": 12,
        "noise_std": 0.5,
        "sweep": {"sparsity": [1, 3]},
    },
    "trials": 3,
    "algorithms": ["omp", {"lasso": {"tuning": "cv", "sweep": {"n_lams": [20, 30]}}}],
    "metrics": ["support", "support_size", "training_error"],
    "figures": [{"comparison": {"row": "sparsity", "metrics": ["support_size"]}}],
}
WHERE = "sparsity=3, replicate=2, algorithm=lasso (n_lams=20)"


@pytest.fixture(scope="module", autouse=True)
def commit():
    """A commit without changes, whatever the state of this checkout."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest, "git_state", lambda *_: {"commit": "c" * 40, "dirty": False})
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("replay") / "results"
    greedyexp.run(SETTINGS, out=out, engine="serial", progress=False)
    folder = out / "small" / "quick"
    report.draw(folder)
    return folder


@pytest.fixture
def run(made, tmp_path):
    """A copy of the run, to change."""
    folder = tmp_path / "results" / "small" / "quick"
    shutil.copytree(made, folder)
    return folder


def rewrite(run, column: str, change) -> None:
    """Change a cell of the row that WHERE chooses; the table is then that of no manifest."""
    table = pd.read_csv(run / "small.csv", dtype=str, keep_default_na=False)
    row = table.index[
        (table["sparsity"] == "3")
        & (table["replicate"] == "2")
        & (table["algorithm"] == "lasso (n_lams=20)")
    ][0]
    table.loc[row, column] = change(table.loc[row, column])
    table.to_csv(run / "small.csv", index=False)
    (run / "manifest.json").unlink()


def test_every_row_of_a_run_comes_out_again(made):
    table = greedyexp.open(made).rows
    assert len(table) == 18
    for _, row in table.iloc[::7].iterrows():
        where = {name: row[name] for name in ("sparsity", "replicate", "algorithm")}
        again = greedyexp.replay(made, where)
        assert set(again.values["verdict"]) == {EQUAL}
        assert again.row.index.tolist() == [row.name]
        assert again.row["training_error"].item() == row["training_error"]
        assert again.message[0] == again.message[1]
        assert again.changes == []


def test_problem_and_path_are_those_of_the_row(made):
    again = greedyexp.replay(made, WHERE)
    assert again.problem.truth.shape == (12, 1)
    assert np.count_nonzero(again.problem.truth) == 3
    assert len(again.path) == 20
    # Some point of the path is the one that cross-validation chose.
    X, y = again.problem.X[0], again.problem.y[0]
    errors = ((y[:, None] - X @ again.path.coef[:, :, 0].T) ** 2).mean(axis=0)
    assert np.isclose(errors, again.row["training_error"].item(), rtol=1e-12).any()


def test_the_printed_python_computes_the_row(call, made, capsys):
    done = call("replay", made, "--where", WHERE, cwd=made.parent)
    assert done.returncode == 0, done.stderr
    assert "6 values: 6 equal, 0 equal up to rounding, 0 different." in done.stdout
    code = done.stdout[done.stdout.index("import greedyexp") :]
    found: dict = {}
    exec(code, found)
    assert found["again"].same
    assert len(found["path"]) == 20
    assert found["problem"].n_features == 12
    assert "training_error" in capsys.readouterr().out


def test_a_wrong_decision_is_found(call, run):
    rewrite(run, "support", lambda old: str(1 - int(old)))
    done = call("replay", run, "--where", WHERE, cwd=run)
    assert done.returncode == 1
    assert "1 different" in done.stdout
    assert "note: the run has no manifest.json" in done.stdout
    (wrong,) = [line for line in done.stdout.splitlines() if "differs" in line]
    assert " support " in wrong


def first_digit(cell: str) -> str:
    place = next(place for place, digit in enumerate(cell) if digit in "123456789")
    return f"{cell[:place]}{int(cell[place]) % 9 + 1}{cell[place + 1 :]}"


def last_digit(cell: str) -> str:
    return f"{cell[:-1]}{(int(cell[-1]) + 1) % 10}"


@pytest.mark.parametrize(
    ("column", "change", "verdict"),
    [
        ("training_error", first_digit, DIFFERS),
        ("training_error", last_digit, ROUNDING),
        ("training_error", lambda old: f"-{old}", DIFFERS),
        ("training_error", lambda old: "", DIFFERS),
        ("training_error", lambda old: repr(float(old) * (1 + 1.01e-6)), DIFFERS),
        ("training_error", lambda old: repr(float(old) * (1 + 0.99e-6)), ROUNDING),
        ("support_size", first_digit, DIFFERS),
        ("support_size", last_digit, DIFFERS),
        ("support_size", lambda old: f"{old}0", DIFFERS),
        ("support", lambda old: str(1 - int(old)), DIFFERS),
        ("tuning", lambda old: "end", DIFFERS),
        ("tuning", lambda old: f"{old}x", DIFFERS),
        ("status", lambda old: "not_converged", DIFFERS),
        ("status", lambda old: "error", DIFFERS),
    ],
)
def test_one_changed_cell_is_found(run, column, change, verdict):
    rewrite(run, column, change)
    again = greedyexp.replay(run, WHERE)
    verdicts = again.values.set_index("column")["verdict"].to_dict()
    assert verdicts.pop(column) == verdict
    assert set(verdicts.values()) == {EQUAL}
    assert again.same == (verdict != DIFFERS)


def test_a_table_without_messages_is_refused(run):
    table = pd.read_csv(run / "small.csv")
    table.rename(columns={"message": "messages"}).to_csv(run / "small.csv", index=False)
    (run / "manifest.json").unlink()
    with pytest.raises(StorageError, match="the table has no column 'message'"):
        greedyexp.replay(run, WHERE)


@pytest.mark.parametrize("column", ["noise_std", "p", "algorithm"])
def test_a_row_with_a_changed_parameter_is_refused(run, column):
    rewrite(run, column, lambda old: "other" if column == "algorithm" else last_digit(old))
    where = WHERE.replace("lasso (n_lams=20)", "other") if column == "algorithm" else WHERE
    with pytest.raises(StorageError, match=f"'{column}' .* which the settings do not have"):
        greedyexp.replay(run, where)


def test_last_digits_are_rounding_and_others_are_not(call, run):
    rewrite(run, "training_error", lambda old: repr(float(old) * (1 + 1e-9)))
    done = call("replay", run, "--where", WHERE, cwd=run)
    assert done.returncode == 0
    assert "equal up to rounding (relative difference 1e-09)" in done.stdout


@pytest.mark.parametrize(
    ("stored", "computed", "kind", "verdict"),
    [
        ("0.25", "0.25", "number", EQUAL),
        ("0.25", "0.2500001", "number", ROUNDING),
        ("0.25", "0.250001", "number", DIFFERS),
        ("1.1e-16", "-3.3e-17", "number", ROUNDING),
        ("1e-11", "3e-11", "number", DIFFERS),
        ("999998", "999999", "number", DIFFERS),
        ("23881234", "23881211", "number", ROUNDING),
        ("100000000", "100000001", "key", DIFFERS),
        ("1.0", "1", "number", ROUNDING),
        ("0", "1", "success", DIFFERS),
        ("0.1", "0.10000000000000002", "key", DIFFERS),
        ("a; b", "a", "text", DIFFERS),
        ("", "0.0", "number", DIFFERS),
        ("nan", "0.0", "number", DIFFERS),
        ("inf", "1e308", "number", DIFFERS),
    ],
)
def test_what_counts_as_rounding(stored, computed, kind, verdict):
    assert compare_cells(stored, computed, kind)[1] == verdict
    assert compare_cells(computed, stored, kind)[1] == verdict


def test_rows_of_another_number_differ(made, run):
    table = (run / "small.csv").read_text().splitlines(keepends=True)
    first = greedyexp.open(made).rows.iloc[0]
    (run / "small.csv").write_text("".join([*table[:2], table[1], *table[2:]]))
    (run / "manifest.json").unlink()
    where = {"sparsity": 1, "replicate": 0, "algorithm": first["algorithm"]}
    again = greedyexp.replay(run, where)
    (counts,) = again.values[again.values["column"] == "number of rows"].to_dict("records")
    assert (counts["stored"], counts["computed"], counts["verdict"]) == ("2", "1", DIFFERS)


def test_versions_other_than_those_of_the_run_are_named(run):
    of_run = json.loads((run / "manifest.json").read_text())
    of_run["packages"]["numpy"] = "0.0.1"
    of_run["git"] = {"commit": "f" * 40, "dirty": True}
    (run / "manifest.json").write_text(json.dumps(of_run))
    assert greedyexp.replay(run, WHERE).changes == [
        "commit ffffffffffff with uncommitted changes -> cccccccccccc",
        f"numpy 0.0.1 -> {np.__version__}",
    ]


def test_packages_of_other_algorithms_are_no_change(tmp_path):
    other = {"estimator": {"class": "sklearn.linear_model.Lasso", "label": "other"}}
    settings = {**SETTINGS, "algorithms": ["omp", other], "figures": []}
    greedyexp.run(settings, out=tmp_path, engine="serial", progress=False)
    folder = tmp_path / "small" / "quick"
    packages = json.loads((folder / "manifest.json").read_text())["packages"]
    assert "scikit-learn" in packages
    assert greedyexp.replay(folder, WHERE.replace("lasso (n_lams=20)", "omp")).changes == []


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("sparsity=2", "no row has sparsity = 2. The nearest are 1 and 3."),
        ("sparsity=.nan", "no row has sparsity = nan. Write null for an empty cell."),
        ("sparsity=3,replicate=9", "no row with sparsity = 3 has replicate = 9. The nearest is 2."),
        ("replicate=true", "no row has replicate = true. Its values are numbers, 0 to 2."),
        ("sparsity=true", "no row has sparsity = true. Its values are numbers, 1 to 3."),
        ("algorithm=lassso (n_lams=20)", "Did you mean 'lasso (n_lams=20)'?"),
        ("sparsty=3", "the table has no column 'sparsty'. Did you mean 'sparsity'?"),
        (
            "replicate=0,algorithm=omp",
            "2 replicates have these values. Choose one of each: sparsity (1, 3).",
        ),
        (
            "",
            "18 replicates have these values. Choose one of each: sparsity (1, 3);"
            " replicate (0, 1, 2); algorithm (lasso (n_lams=20), lasso (n_lams=30), omp).",
        ),
        ("sparsity", "'sparsity' is not COLUMN=VALUE"),
        ("sparsity=1,sparsity=3", "'sparsity' is given twice"),
    ],
)
def test_a_condition_that_chooses_no_single_row_is_refused(made, where, words):
    with pytest.raises(ConfigError) as error:
        greedyexp.replay(made, where)
    assert words in str(error.value)


def test_conditions_are_split_outside_of_labels():
    label = "greedy (nu=0.5, w=[1.2, 1.5])"
    assert parse(f"theta=1, algorithm={label},data=few, wide") == {
        "theta": 1,
        "algorithm": label,
        "data": "few, wide",
    }
    assert parse("w=[1, 2],n=null") == {"w": [1, 2], "n": None}


@pytest.mark.parametrize(
    "where",
    [
        {"kappa": None, "flag": True, "p": 3, "theta": 0.5},
        {"name": "1", "other": "true", "third": "null"},
        {"name": "x: y", "other": "a,b=2", "p": 1},
        {"algorithm": "rmp (lam=0.1, w=2)", "data": "few, wide"},
        {"name": "it's", "algorithm": "'quoted'"},
        {"name": "it's, p=3", "other": "a='b", "p": 1},
        {"name": "a(b", "other": "a)", "third": ""},
        {"n": float("inf"), "m": -float("inf"), "w": [1, None, "a, b=2"]},
    ],
)
def test_a_condition_is_read_as_it_was_written(where):
    assert parse(as_text(where)) == where


def test_one_record_of_a_trajectory_is_chosen(tmp_path):
    settings = {
        "name": "steps",
        "data": {"generator": "gaussian", "n_samples": 20, "p": 6, "sparsity": 2},
        "protocol": {"trajectory": {"iterations": 20, "epsilons": [0.1], "points": 4}},
        "trials": 1,
        "algorithms": [{"rmp": {"lam": 0.1}}],
        "figures": [],
    }
    greedyexp.run(settings, out=tmp_path, engine="serial", progress=False)
    folder = tmp_path / "steps" / "quick"
    whole = greedyexp.replay(folder)
    assert whole.same
    assert len(whole.row) == len(greedyexp.open(folder).rows) > 3
    one = greedyexp.replay(folder, {"record": "iteration", "iteration": 20})
    assert one.row["iteration"].tolist() == [20]
    assert one.row.equals(whole.row.loc[one.row.index])
    assert type(one.path).__name__ != "Path"


def test_a_failure_comes_out_again_and_tracebacks_are_printed(call, tmp_path):
    config = write_toy(tmp_path, algorithms="[toy_broken]")
    call("run", config, "--profile", "smoke", "--engine", "serial", cwd=tmp_path)
    where = ("--where", "n_samples=6,replicate=1")
    done = call("replay", "results/toy/smoke", *where, "--traceback", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "toy_broken cannot do this" in done.stderr
    assert "1 value: 1 equal" in done.stdout


def test_the_debugger_stops_in_the_plugin(call, tmp_path, monkeypatch):
    config = write_toy(tmp_path, algorithms="[toy_broken]")
    call("run", config, "--profile", "smoke", "--engine", "serial", cwd=tmp_path)
    typed = iter(["p problem.sparsity + 40", "q"])
    monkeypatch.setattr("builtins.input", lambda prompt="": next(typed))
    where = ("--where", "n_samples=6,replicate=1")
    done = call("replay", "results/toy/smoke", *where, "--pdb", cwd=tmp_path)
    assert "41" in done.stdout
    assert done.returncode == 130


@pytest.mark.parametrize("suffix", ["png", "pdf", "PNG"])
def test_a_figure_finds_its_run(call, run, tmp_path, suffix):
    figure = run / "figures" / f"comparison.{suffix.lower()}"
    note = read_note(figure)
    assert note["name"] == "small"
    assert note["profile"] == "quick"
    assert note["seed"] == 0
    assert note["rows"] == json.loads((run / "manifest.json").read_text())["digests"]["table"]
    assert note["commit"] == json.loads((run / "manifest.json").read_text())["git"]["commit"]
    assert note["command"] == "greedyexp plot small/quick"
    copied = shutil.copy(figure, tmp_path / f"slide.{suffix}")
    said = call("replay", copied, cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert "folder   results/small/quick" in said.stdout
    # The command draws the figure from here.
    assert "command  greedyexp plot results/small/quick\n" in said.stdout
    assert note["rows"] in said.stdout
    done = call("replay", copied, "--where", WHERE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "6 values: 6 equal" in done.stdout


def test_a_figure_of_other_rows_is_refused(call, run):
    rewrite(run, "support", lambda old: str(1 - int(old)))
    figure = run / "figures" / "comparison.png"
    refused(call("replay", figure, cwd=run), "are not those of this figure")


def test_a_file_that_names_no_rows_is_refused(call, tmp_path):
    Image.new("RGB", (2, 2)).save(tmp_path / "other.png")
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "text.pdf").write_text("no picture")
    refused(call("replay", "other.png", cwd=tmp_path), "does not say from which rows")
    refused(call("replay", "text.png", cwd=tmp_path), "not a PNG picture")
    refused(call("replay", "text.pdf", cwd=tmp_path), "does not say from which rows")
    for note in ('{"name": 1, "profile": 2, "rows": 3}', "[" * 100_000):
        (tmp_path / "text.pdf").write_text(f"/Subject (greedyexp {note})")
        refused(call("replay", "text.pdf", cwd=tmp_path), "does not say from which rows")
    for name in ("missing.png", "missing.PDF"):
        done = call("replay", name, cwd=tmp_path)
        refused(done, f"{name}: this figure cannot be read: No such file", "Name a figure that")
        with pytest.raises(StorageError, match="this figure cannot be read"):
            greedyexp.replay(tmp_path / name)
    about = PngInfo()
    note = {"name": "small", "profile": "quick", "rows": "f" * 64}
    about.add_text("Description", f"greedyexp {json.dumps(note)}")
    Image.new("RGB", (2, 2)).save(tmp_path / "lost.png", pnginfo=about)
    refused(call("replay", "lost.png", cwd=tmp_path), "no run here has the rows", "small, quick")


def test_a_figure_drawn_again_has_the_same_bytes(run):
    files = sorted((run / "figures").iterdir())
    before = [file.read_bytes() for file in files]
    report.draw(run)
    assert [file.read_bytes() for file in files] == before


def test_a_table_without_rows_is_refused(call, run):
    table = run / "small.csv"
    table.write_text(table.read_text().splitlines(keepends=True)[0])
    (run / "manifest.json").unlink()
    for command in (("replay", run), ("compare", run, run)):
        refused(call(*command, cwd=run), "the table of this run has no rows. Run the experiment")


def test_a_damaged_journal_does_not_matter(made, run):
    (run / "journal.sqlite").write_bytes(b"not a database" * 100)
    assert greedyexp.replay(run, WHERE).values.equals(greedyexp.replay(made, WHERE).values)


def test_errors_in_the_settings_of_a_run_name_its_file(call, run):
    config = run / "config.yaml"
    config.write_text(config.read_text() + "klaims: []\n")
    for command in (("replay", run, "--where", WHERE), ("explain", run)):
        refused(call(*command, cwd=run), f"{config}: klaims: unknown key")


def test_a_run_without_a_table_is_refused(call, run):
    (run / ".next").mkdir()
    (run / "config.yaml").rename(run / ".next" / "config.yaml")
    for name in ("manifest.json", "small.csv", "journal.sqlite"):
        (run / name).unlink()
    refused(call("replay", run, cwd=run), "the run of this folder has no table yet", "Run the")


def test_a_folder_above_runs_is_refused_with_the_runs(call, run):
    above = run.parent
    refused(call("replay", above, "--where", WHERE, cwd=above), "Open ", "quick")


def test_changed_data_files_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((20, 3))
    np.savez(tmp_path / "mine.npz", X=X, y=X[:, 0])
    settings = {
        "name": "own",
        "data": {"generator": "file", "path": "mine.npz"},
        "trials": 1,
        "algorithms": ["omp"],
        "metrics": ["training_error"],
    }
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(settings))
    greedyexp.run("own.yaml", out="results", engine="serial", progress=False)
    assert greedyexp.replay("results/own/quick").changes == []
    np.savez(tmp_path / "mine.npz", X=X, y=X[:, 1] + 1e-3 * X[:, 2])
    assert greedyexp.replay("results/own/quick").changes == [
        "data file mine.npz has changed since the run"
    ]
