"""Columns of a user's own file: what is read as what, what is refused, which were selected."""

import sys

import numpy as np
import pandas as pd
import pytest
from coef_paths import path_of_coef

import greedyexp
from greedyexp import report
from greedyexp.config import load
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.generators._tables import read_problem
from greedyexp.generators.file import file
from greedyexp.metrics.support import selected_features, selected_of
from greedyexp.problems.problem import as_problem
from greedyexp.report import read_frame
from greedyexp.runner.evaluator import Evaluator
from greedyexp.runner.work import Item, work_of

# The package has a function of the same name as the module.
reading = sys.modules[file.__module__]
NAMES = ["age", "dose; mg", 'the "d"', "d|e", "none"]


@pytest.fixture
def table():
    """Responses made of columns 0 and 1, with a column of texts."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.standard_normal((60, 5)), columns=NAMES)
    data["y"] = data["age"] - 2 * data["dose; mg"] + 0.01 * rng.standard_normal(60)
    data["id"] = [f"p{i}" for i in range(60)]
    return data


@pytest.fixture
def own(tmp_path, monkeypatch):
    """``own(text or frame, **data)``: the experiment on such a file."""
    monkeypatch.chdir(tmp_path)

    def experiment(content, **data):
        if isinstance(content, pd.DataFrame):
            content = content.to_csv(index=False)
        (tmp_path / "d.csv").write_text(content)
        return {
            "name": "own",
            "data": {"generator": "file", "path": "d.csv", **data},
            "trials": 1,
            "seed": 7,
            "algorithms": ["omp"],
            "metrics": ["support_size", "selected_features"],
        }

    return experiment


def problem_of(experiment):
    loaded = load(experiment)
    return Evaluator(work_of(loaded)).problem("file", loaded.points[0].params, 0)


def refused(experiment):
    with pytest.raises((DataError, ConfigError)) as error:
        load(experiment)
    return str(error.value)


def test_ignored_columns_need_not_be_numbers(own, table):
    problem = problem_of(own(table, ignore=["id"]))
    assert problem.feature_names == tuple(NAMES)
    assert problem.class_names == ("y",)
    assert "column 'id' holds 'p0'" in refused(own(table))
    assert "`ignore: [id]`" in refused(own(table))
    assert "there is no column 'x'" in refused(own(table, ignore=["id"], response=["x"]))
    assert "a column 'idd', which does not exist. Did you mean 'id'?" in refused(
        own(table, ignore=["idd"])
    )
    assert "`response` and `ignore` both name 'y'" in refused(
        own(table, ignore=["id", "y"], response=["y"])
    )


@pytest.mark.parametrize("standardize", [True, False])
def test_losses_of_two_classes_take_responses_of_two_values(own, table, standardize):
    table["two"] = np.where(table["y"] > 0, 7.0, 3.0)
    losses = {"algorithms": [{"foba_gdt": {"loss": "logistic", "max_features": 2}}]}
    settings = {"standardize": standardize, "test_fraction": 0.5}
    numbers = own(table, response=["y"], ignore=["id", "two"], **settings) | losses
    assert "needs responses of two values but generator 'file' gives none" in refused(numbers)
    classes = own(table, response=["two"], ignore=["id", "y"], **settings) | losses
    assert np.unique(problem_of(classes).y).size == 2


def test_counts_are_counts_unless_they_are_centred(own, table):
    table["y"] = np.arange(len(table)) % 4
    centred = own(table, response=["y"], ignore=["id"])
    assert problem_of(centred).y[0].mean() == pytest.approx(0.0, abs=1e-12)
    losses = {"algorithms": [{"foba_gdt": {"loss": "poisson", "max_features": 2}}]}
    message = refused(centred | losses)
    assert "needs counts as responses but generator 'file' gives none" in message
    assert "such as standardize: false" in message
    counts = own(table, response=["y"], ignore=["id"], standardize=False) | losses
    np.testing.assert_array_equal(problem_of(counts).y[0], table["y"])


def test_the_index_of_pandas_is_refused_and_can_be_ignored(own, table):
    table = table.drop(columns="id")
    for text in (table.to_csv(), "Unnamed: 0" + table.to_csv()):
        message = refused(own(text))
        assert "d.csv:1: column 1 has no name; pandas writes its index like this." in message
        assert "`ignore: ['Unnamed: 0']`" in message
        assert problem_of(own(text, ignore=["Unnamed: 0"])).feature_names == tuple(NAMES)


def test_columns_of_one_name_are_refused_unless_ignored(own):
    text = "a,b,a,y\n" + "".join(f"{i},{i * i % 7},{i % 3},{i % 5}\n" for i in range(20))
    assert "2 columns are named 'a'. Rename them, or leave them out with `ignore: [a]`" in refused(
        own(text)
    )
    assert problem_of(own(text, ignore=["a"])).feature_names == ("b",)
    # What pandas would call the second one.
    assert problem_of(own(text.replace("a,b,a,", "a,b,a.1,"))).feature_names == ("a", "b", "a.1")


def test_a_column_that_may_be_a_response_is_asked_about(own, table):
    table = table.drop(columns="id").rename(columns={"age": "y_lag"})
    message = refused(own(table))
    assert "'y' is a response, but it is not clear what 'y_lag' is" in message
    assert "`response: [y]` or `response: [y, y_lag]`" in message
    assert "`ignore: [y_lag]`" in message
    assert "y_lag" in problem_of(own(table, response=["y"])).feature_names
    assert problem_of(own(table, response=["y", "y_lag"])).class_names == ("y", "y_lag")
    assert "y_lag" not in problem_of(own(table, ignore=["y_lag"])).feature_names
    without = table.rename(columns={"y": "y_now"})
    assert problem_of(own(without)).class_names == ("y_lag", "y_now")


@pytest.mark.parametrize(
    ("mark", "name", "written"),
    [(";", "semicolons", "';'"), ("\t", "tabs", '"\\t"'), ("|", "vertical bars", "'|'")],
)
def test_other_delimiters_are_named_and_can_be_given(own, table, mark, name, written):
    table = table[["age", "y"]]
    text = table.to_csv(index=False, sep=mark)
    message = refused(own(text))
    assert message.endswith(
        f"the columns are separated by {name}, not by commas. Give `delimiter: {written}`."
    )
    read = problem_of(own(text, delimiter=mark, standardize=False))
    assert np.array_equal(np.sort(read.X[0][:, 0]), np.sort(table["age"]))
    assert "delimiter" in refused(own(text, delimiter=";;"))


def test_settings_of_a_csv_are_refused_for_arrays(own, tmp_path):
    np.savez(tmp_path / "d.npz", X=np.eye(6), y=np.arange(6.0))
    for given in ({"ignore": ["a"]}, {"delimiter": ";"}, {"response": ["y"]}, {"truth": "t.csv"}):
        (tmp_path / "t.csv").write_text("b\n1\n")
        message = refused(
            {**own("a,y\n1,2\n"), "data": {"generator": "file", "path": "d.npz", **given}}
        )
        kinds = ".csv files" if "delimiter" in given else "tables"
        assert f"`{next(iter(given))}` is for {kinds}, but this is a .npz file" in message


def test_the_rows_held_out_do_not_depend_on_how_a_file_is_read_or_named(own, tmp_path):
    features = np.arange(40.0).reshape(20, 2) ** 2 % 17
    y = features[:, 0] - features[:, 1] + np.arange(20) % 3
    frame = pd.DataFrame({"a": features[:, 0], "b": features[:, 1], "y": y})
    rows = []
    (tmp_path / "elsewhere").mkdir()
    frame.to_csv(tmp_path / "elsewhere" / "copy.csv", index=False)
    elsewhere = str(tmp_path / "elsewhere" / "copy.csv")
    for given in ({}, {"ignore": ["c"]}, {"path": elsewhere}, {"response": ["y"]}):
        content = frame.assign(c="text") if "ignore" in given else frame
        experiment = own(content, standardize=False, test_fraction=0.25, **given)
        loaded = load({**experiment, "algorithms": ["lasso"], "metrics": ["test_error"]})
        evaluator, params = Evaluator(work_of(loaded)), loaded.points[0].params
        for replicate in (0, 1):
            problem = evaluator.problem("file", params, replicate)
            _, evaluated = evaluator.evaluate(Item(0, "file", params, replicate, (0,)))
            error = evaluated.outcome.rows[0]["test_error"]
            rows.append((problem.y_test[0].tolist(), error))
    assert rows == rows[:2] * 4
    assert rows[0] != rows[1]


def test_how_a_file_is_read_is_part_of_what_determines_a_result(own, table, tmp_path):
    two = [{"omp": {"n_atoms": 2}}]
    first = own(table, ignore=["id"]) | {"algorithms": two}
    first = greedyexp.run(first, out=tmp_path, engine="serial")
    assert first["selected_features"].tolist() == ['age; "dose; mg"']
    again = own(table, ignore=["id", "age"]) | {"algorithms": two}
    assert "age" not in " ".join(
        greedyexp.run(again, out=tmp_path, engine="serial")["selected_features"]
    )


def test_names_survive_the_csv(own, table, tmp_path):
    written = own(table, ignore=["id"])
    table = greedyexp.run({**written, "algorithms": ["omp"]}, out=tmp_path, engine="serial")
    again = read_frame(tmp_path / "own" / "quick" / "own.csv")
    assert again["selected_features"].tolist() == table["selected_features"].tolist()
    for text in again["selected_features"]:
        assert set(selected_of(text)) <= set(NAMES)
        assert set(selected_of(text)) >= {"age", "dose; mg"}


def test_selected_features_are_named_for_each_task_and_each_estimate():
    problem = as_problem(np.eye(5), np.eye(5)[:, :2], feature_names=NAMES)
    coef = np.zeros((3, 5, 2))
    coef[1, [0, 1], 0] = 1.0
    coef[2, :, 1] = 1.0
    texts = selected_features(problem, path_of_coef(coef))
    assert texts.tolist() == [
        "task 0: none | task 1: none",
        'task 0: age; "dose; mg" | task 1: none',
        'task 0: none | task 1: age; "dose; mg"; "the ""d"""; "d|e"; "none"',
    ]
    assert [selected_of(text) for text in texts] == [[], NAMES[:2], NAMES]
    unnamed = as_problem(np.eye(5), np.arange(5.0))
    assert selected_features(unnamed, path_of_coef(coef[1, :, :1])).item() == "x0; x1"
    assert selected_of("x0; x1") == ["x0", "x1"]


def test_selected_features_stand_where_the_first_metric_with_a_direction_is_best(tmp_path):
    experiment = {
        "name": "best",
        "data": {"generator": "gaussian", "n_samples": 40, "p": 12, "sparsity": 2},
        "trials": 2,
        "algorithms": [{"omp": {"tuning": "oracle"}}],
        "metrics": ["support", "selected_features"],
    }
    table = greedyexp.run(experiment, out=tmp_path, engine="serial")
    assert (table["support"] == 1).all()
    assert all(len(selected_of(text)) == 2 for text in table["selected_features"])


def test_selection_has_texts_at_each_size(tmp_path):
    experiment = {
        "name": "sizes",
        "data": {"generator": "gaussian", "n_samples": 40, "p": 12, "sparsity": 2},
        "protocol": {"selection": {"sizes": [1, 3]}},
        "trials": 1,
        "algorithms": ["foba_obj"],
        "metrics": ["selected_features"],
    }
    table = greedyexp.run(experiment, out=tmp_path, engine="serial")
    assert [len(selected_of(text)) for text in table["selected_features"]] == [1, 3]


@pytest.mark.parametrize(
    ("added", "words"),
    [
        (
            {"figures": [{"comparison": {"row": "p", "metrics": ["selected_features"]}}]},
            "figure 'comparison' cannot show 'selected_features', whose values are texts",
        ),
        (
            {"tables": [{"comparison": {"row": "p", "metrics": ["selected_features"]}}]},
            "table 'comparison' cannot show 'selected_features', whose values are texts",
        ),
        (
            {"claims": [{"id": "a", "quote": "b", "test": "mean(omp, selected_features) > 1"}]},
            "there is no metric 'selected_features' with numeric values in the experiment",
        ),
    ],
)
def test_texts_are_refused_where_numbers_are_needed(added, words):
    experiment = {
        "name": "texts",
        "data": {"generator": "gaussian", "sweep": {"p": [10, 12]}, "n_samples": 30, "sparsity": 2},
        "algorithms": ["omp"],
        "metrics": ["support", "selected_features"],
        **added,
    }
    with pytest.raises(ConfigError, match=words):
        load(experiment)


def test_the_table_counts_how_often_each_column_is_selected(own, table, tmp_path):
    experiment = own(table, ignore=["id"], sweep={"test_fraction": [0.1, 0.2]})
    experiment |= {"trials": 4, "tables": ["selected_features"]}
    experiment["algorithms"] = [{"omp": {"n_atoms": 2, "tuning": "cv"}}]
    greedyexp.run(experiment, out=tmp_path, engine="serial")
    report.draw(tmp_path / "own" / "quick")
    drawn = pd.read_csv(tmp_path / "own" / "quick" / "tables" / "selected_features.csv")
    assert drawn["feature"].tolist() == ["age", "dose; mg"] * 2
    assert drawn.iloc[:, 0].tolist() == [0.1, 0.1, 0.2, 0.2]
    assert (drawn["OMP"] == 1.0).all()


def test_check_and_run_say_which_columns_are_which(call, own, table, tmp_path):
    own(table)
    (tmp_path / "e.yaml").write_text(
        "name: own\ndata: {generator: file, path: d.csv, ignore: [id]}\ntrials: 1\n"
        "algorithms: [omp]\nmetrics: [support_size]\n"
    )
    lines = [
        "d.csv: responses (1): y",
        f"d.csv: features (5): {', '.join(NAMES)}",
        "d.csv: ignored (1): id",
    ]
    for arguments in (("check",), ("run", "-n"), ("run", "--engine", "serial"), ("run", "-v")):
        said = call(*arguments, "e.yaml", cwd=tmp_path).stdout
        assert [said.count(line) for line in lines] == [1, 1, 1], arguments
    assert call("run", "-q", "e.yaml", cwd=tmp_path).stdout == ""


def test_uncentred_columns_are_noted_where_they_stay(call, own, table, tmp_path):
    own(table.drop(columns="id").assign(y=table["y"] + 100))
    written = "name: own\ndata: {generator: file, path: d.csv, standardize: STANDARDIZE}\n"
    written += "algorithms: [omp]\nmetrics: [support_size]\n"
    (tmp_path / "e.yaml").write_text(written.replace("STANDARDIZE", "false"))
    said = call("check", "e.yaml", cwd=tmp_path).stdout
    assert "note: the response has mean 1" in said
    assert "Algorithms that fit no intercept need `standardize: true`." in said
    (tmp_path / "e.yaml").write_text(written.replace("STANDARDIZE", "true"))
    assert "note:" not in call("check", "e.yaml", cwd=tmp_path).stdout


def test_a_profile_that_the_file_does_not_define_is_said(call, own, table, tmp_path):
    own(table)
    text = "name: own\ndata: {generator: gaussian}\nalgorithms: [omp]\nmetrics: [support]\n"
    (tmp_path / "e.yaml").write_text(text)
    said = "note: e.yaml defines no profile 'smoke', so it runs in full."
    assert said in call("check", "e.yaml", "--profile", "smoke", cwd=tmp_path).stdout
    assert said in call("run", "-n", "e.yaml", "--profile", "smoke", cwd=tmp_path).stderr
    for arguments in ((), ("--profile", "quick")):
        assert "note" not in call("check", "e.yaml", *arguments, cwd=tmp_path).stdout
    (tmp_path / "e.yaml").write_text(text + "profiles: {smoke: {trials: 1}}\n")
    assert "note" not in call("check", "e.yaml", "--profile", "smoke", cwd=tmp_path).stdout


def test_a_sweep_over_files_reads_each_of_them_once(tmp_path, monkeypatch):
    read = []
    monkeypatch.setattr(reading, "_kept", {})
    monkeypatch.setattr(
        reading,
        "read_problem",
        lambda path, **settings: read.append(path.name) or read_problem(path, **settings),
    )
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        table = pd.DataFrame(rng.standard_normal((6, 3)), columns=["u", "v", "y"])
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    for _ in range(3):
        for name in ("a", "b"):
            file(rng, path=str(tmp_path / f"{name}.csv"))
    assert read == ["a.csv", "b.csv"]
    # What is kept is bounded, and a changed file is read again.
    monkeypatch.setattr(reading, "_MOST_KEPT", 1)
    table.to_csv(tmp_path / "a.csv", index=False, float_format="%.2f")
    for name in ("a", "b"):
        file(rng, path=str(tmp_path / f"{name}.csv"))
    assert read == ["a.csv", "b.csv", "a.csv", "b.csv"]
    assert len(reading._kept) == 1
