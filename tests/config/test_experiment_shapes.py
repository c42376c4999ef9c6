"""Parameters that the shape of the data makes impossible are refused when a file is loaded."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest
from experiment_parts import message, registered  # noqa: F401 (an autouse fixture)

import greedyexp
from greedyexp.config import data as blocks
from greedyexp.config import load
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError, DataError, PluginError
from greedyexp.generators import digits_mfeat
from greedyexp.problems.problem import as_problem

FILE = """\
name: shapes
data:
  generator: multitask_overlap
  p: 40
  sweep: {{theta: [1, 2], n_tasks: [2, 3, 4]}}
metrics: [support]
algorithms:
  - lasso: {{label: first}}
  - {entry}
"""
# s = 4 and kappa = 0.5 at p = 40: the rows at theta = 1 with two and with four tasks, by hand.
ROWS, FEWEST = int(np.ceil(4 * np.log(40 - 1.5 * 4))), int(np.ceil(4 * np.log(40 - 2.5 * 4)))

# entry of line 9: (the entry, the first impossible point, what is said of it, points beside it)
REFUSED = {
    "weight": ("greedy_dirty: {w: 2.5}", 2, "'greedy_dirty' * w = 2.5 lies outside the int", 1),
    "one_weight": ("greedy_dirty: {w: [1.5, 3.5]}", 2, "w = 3.5 lies outside", 3),
    "swept_weight": (
        "greedy_dirty: {sweep: {w: [1.5, 4, 3]}}",
        2,
        "'greedy_dirty (w=4.0)' * w = 4 lies",
        3,
    ),
    "ratio": ("dirty_lasso: {ratio: 3.5}", 2, "number of tasks, 2, but is 3.5;", 3),
    "one_ratio": ("dirty_lasso: {ratio: [1, 4, 5]}", 2, "tasks, 2, but is 4;", 5),
    "range": ("greedy_dirty: {c: [1, 0.5]}", 2, "c = (1, 0.5) is not an increasing pair", 5),
    "atoms": ("omp: {n_atoms: 41}", 2, "n_atoms = 41 is more than the 40 features.", 5),
    "rows": ("group_omp: {n_rows: 41}", 2, "n_rows = 41 is more than the 40 features.", 5),
    "many_atoms": ("omp: {n_atoms: 1000000000000000000000000000000}", 2, "than the 40 feat", 5),
    "support": ("greedy_dirty: {max_support: 81}", 2, "coefficients, 80.", 1),
    "support_dirty": ("dirty_lasso: {max_support: 121}", 2, "coefficients, 80.", 3),
    "support_lasso": ("lasso: {max_support: 161}", 2, "coefficients, 80.", 5),
    "support_rows": ("group_lasso: {max_support: 81}", 2, "coefficients, 80.", 1),
    "support_l2": ("group_lasso_l2: {max_support: 81}", 2, "coefficients, 80.", 1),
    "folds": (
        f"omp: {{label: o, tuning: cv, folds: {ROWS + 1}}}",
        2,
        f"'o' * {ROWS + 1}-fold cross-validation needs at least {ROWS + 1} rows; a task has",
        2,
    ),
}
POSSIBLE = [
    "greedy_dirty: {w: [1, 2]}",
    "greedy_dirty",
    "dirty_lasso: {ratio: [1, 2]}",
    "dirty_lasso",
    "omp: {n_atoms: 40}",
    "group_omp: {n_rows: 40}",
    "greedy_dirty: {max_support: 80}",
    "group_lasso: {max_support: 80}",
    "omp: {tuning: oracle, folds: 1000}",
    "t_path: {max_steps: 1000}",
]


def written(folder, name: str, entry: str):
    path = folder / f"{name}.yaml"
    path.write_text(FILE.format(entry=entry))
    return path


def small(generator: dict | str, *algorithms, **changes) -> dict:
    data = {"generator": generator} if isinstance(generator, str) else generator
    return {
        "name": "small",
        "data": data,
        "algorithms": list(algorithms),
        "metrics": ["t_size"],
    } | (changes)


@pytest.mark.parametrize("name", REFUSED)
def test_the_impossible_is_refused_at_the_entry_with_the_point(tmp_path, name):
    entry, tasks, words, more = REFUSED[name]
    path = written(tmp_path, name, entry)
    error = message(path)
    assert error.startswith(f"{path}:9: impossible parameters of algorithm '")
    head, star, tail = words.partition(" * ")
    for part in (head, tail) if star else (words,):
        assert part in error
    assert f"at n_tasks = {tasks}, theta = 1.0: " in error
    assert error.endswith(f" ({more} more of the 6 points are impossible.)")


def test_the_command_line_says_each_in_one_sentence(call, tmp_path):
    names = list(REFUSED)
    for name in names:
        written(tmp_path, name, REFUSED[name][0])
    result = call("check", *(f"{name}.yaml" for name in names), cwd=tmp_path)
    assert result.returncode == 2
    lines = [line for line in result.stderr.splitlines() if line]
    assert len(lines) == len(names)
    for name, line in zip(names, lines, strict=True):
        assert line.startswith(f"Error: {name}.yaml:9: impossible parameters of algorithm ")
    assert result.stdout == ""


@pytest.mark.parametrize("entry", [*POSSIBLE, f"omp: {{tuning: cv, folds: {FEWEST}}}"])
def test_the_possible_is_loaded(tmp_path, entry):
    assert len(load(written(tmp_path, "good", entry)).points) == 6


def test_folds_count_against_the_fewest_rows_that_are_fitted_to(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {f"X_{j}": rng.standard_normal((n, 3)) for j, n in enumerate((20, 12))}
    arrays |= {f"y_{j}": rng.standard_normal(n) for j, n in enumerate((20, 12))}
    np.savez(tmp_path / "two.npz", **arrays)
    data = {"generator": "file", "path": str(tmp_path / "two.npz"), "test_fraction": 0.25}
    load(small(data, {"lasso": {"tuning": "cv", "folds": 9}}))
    error = message(small(data, {"lasso": {"tuning": "cv", "folds": 10}}))
    assert "10-fold cross-validation needs at least 10 rows; a task has 9." in error


def test_folds_have_a_default_and_tuning_too():
    error = message(small({"generator": "gaussian", "n_samples": 4}, {"omp": {"tuning": "cv"}}))
    assert "impossible parameters of algorithm 'omp': 5-fold cross-validation needs" in error
    assert "points" not in error
    load(small({"generator": "gaussian", "n_samples": 4}, "omp"))
    data = {"generator": "digits_mfeat", "samples_per_digit": 2}
    # Without the truth cross-validation is what tunes.
    load(small(data, {"omp": {"folds": 20}}))
    assert "needs at least 21 rows; a task has 20" in message(small(data, {"omp": {"folds": 21}}))


def test_one_mistake_for_an_entry_and_all_entries_are_read():
    error = message(
        small(
            "multitask_overlap",
            {"greedy_dirty": {"sweep": {"w": [2.5, 3, 4]}}},
            {"dirty_lasso": {"ratio": 3}},
            {"omp": {"n_atoms": 1000}},
        )
    )
    assert "w = 2.5" in error
    assert "Also: algorithms[1].dirty_lasso: impossible parameters" in error
    assert "algorithms[2].omp: impossible parameters of algorithm 'omp'" in error


@pytest.mark.parametrize("generator", ["gaussian", "multitask_overlap"])
def test_sizes_that_no_memory_holds_are_refused(call, tmp_path, generator):
    path = tmp_path / "huge.yaml"
    path.write_text(
        f"name: huge\ndata:\n  generator: {generator}\n  sweep:\n    p: [50, 100000000000,"
        " 200000000000]\nalgorithms: [omp]\nmetrics: [support]\n"
    )
    error = message(path)
    assert error.startswith(
        f"{path}:4: impossible data at p = 100000000000: the designs would take"
    )
    assert error.endswith("GB available. (1 more of the 3 points are impossible.)")
    result = call("check", "huge.yaml", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.startswith("Error: huge.yaml:4: impossible data at p = 100000000000: ")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("data", "needed"),
    [
        ({"generator": "gaussian", "n_samples": 10, "p": 30}, 10 * 30 * 8),
        ({"generator": "multitask_overlap", "p": 40, "n_tasks": 3, "kappa": 1.0}, 3 * 15 * 40 * 8),
        # One design for ten tasks.
        ({"generator": "digits_mfeat", "samples_per_digit": 7}, 70 * 649 * 8),
    ],
)
def test_memory_is_judged_by_the_byte_and_a_shared_design_counts_once(monkeypatch, data, needed):
    monkeypatch.setattr(blocks, "physical_memory", lambda: needed)
    load(small(data, "omp"))
    monkeypatch.setattr(blocks, "physical_memory", lambda: needed - 1)
    assert "impossible data: the designs would take" in message(small(data, "omp"))
    monkeypatch.setattr(blocks, "physical_memory", lambda: None)
    load(small(data, "omp"))


def test_a_system_that_does_not_tell_its_memory_refuses_nothing(monkeypatch):
    if hasattr(os, "sysconf"):
        assert blocks.physical_memory() > 2**26
    monkeypatch.delattr(os, "sysconf", raising=False)
    assert blocks.physical_memory() is None


def drawn(name: str, **params):
    part = registry.find("generator", name)
    full = {n: params.get(n, f.default) for n, f in part.parameters.model_fields.items()}
    return part.shape(**full), part.function(np.random.default_rng(3), **full).shape


@pytest.mark.parametrize(
    "params",
    [{}, {"n_tasks": 1}, {"p": 33, "theta": 0.7}, {"n_tasks": 3, "kappa": 1.0, "sparsity": 5}],
)
def test_multitask_overlap_tells_the_shape_it_draws(params):
    declared, shape = drawn("multitask_overlap", **params)
    assert declared == {key: shape[key] for key in blocks.COUNTS}


def test_gaussian_tells_the_shape_it_draws():
    declared, shape = drawn("gaussian", n_samples=17, p=23)
    assert declared == shape


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.37, 0.5])
@pytest.mark.parametrize("rows", [(21,), (21, 21), (21, 13, 40)])
def test_file_tells_the_shape_it_draws(tmp_path, rows, fraction):
    rng = np.random.default_rng(1)
    if len(set(rows)) == 1:
        X, y = rng.standard_normal((21, 4)), rng.standard_normal((21, len(rows)))
        np.savez(tmp_path / "d.npz", X=X, y=y)
    else:
        arrays = {f"X_{j}": rng.standard_normal((n, 4)) for j, n in enumerate(rows)}
        arrays |= {f"y_{j}": rng.standard_normal(n) for j, n in enumerate(rows)}
        np.savez(tmp_path / "d.npz", **arrays)
    declared, shape = drawn("file", path=str(tmp_path / "d.npz"), test_fraction=fraction)
    assert declared == shape


def test_digits_tell_the_shape_they_draw(monkeypatch):
    X = np.random.default_rng(2).standard_normal((2000, 649))
    monkeypatch.setattr(digits_mfeat, "load", lambda: (X, np.repeat(np.arange(10), 200)))
    declared, shape = drawn("digits_mfeat", samples_per_digit=6)
    assert declared == shape


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("greedy_dirty", {"w": 2.5}),
        ("greedy_dirty", {"w": [1.5, 3.0]}),
        ("greedy_dirty", {"c": (1.0, 0.5)}),
        ("greedy_dirty", {"max_support": 17}),
        ("dirty_lasso", {"ratio": 2.5}),
        ("dirty_lasso", {"max_support": 17}),
        ("lasso", {"max_support": 17}),
        ("group_lasso", {"max_support": 17}),
        ("group_lasso_l2", {"max_support": 17}),
        ("omp", {"n_atoms": 9}),
        ("group_omp", {"n_rows": 9}),
    ],
)
def test_an_algorithm_refuses_in_the_words_of_its_check(name, params):
    rng = np.random.default_rng(0)
    X, y = [list(rng.standard_normal((2, 12, *more))) for more in ((8,), ())]
    part = registry.find("algorithm", name)
    full = {n: f.default for n, f in part.parameters.model_fields.items()} | params
    with pytest.raises(ValueError, match=next(iter(params))) as checked:
        part.check(as_problem(X, y).shape, **full)
    with pytest.raises(ConfigError) as called:
        part.function(as_problem(X, y), **params)
    with pytest.raises(ConfigError) as solved:
        greedyexp.solve(name, X, y, **params)
    assert str(checked.value) == called.value.message == solved.value.message


def test_grids_obey_the_check_too():
    rng = np.random.default_rng(0)
    problem = as_problem(list(rng.standard_normal((2, 12, 8))), list(rng.standard_normal((2, 12))))
    for name, grid, words in (
        ("greedy_dirty", {"w": np.array([3.0]), "epsilon": np.array([0.1])}, "w = 3 lies"),
        ("dirty_lasso", {"ratio": np.array([3.0]), "lam": np.array([0.1])}, "but is 3;"),
    ):
        with pytest.raises(ConfigError, match=words):
            registry.find("algorithm", name).function(problem, grid=grid)


def two_tasks(rng, n: int):
    return as_problem(list(rng.standard_normal((2, n, 6))), list(rng.standard_normal((2, n))))


def test_without_a_shape_the_impossible_becomes_rows(tmp_path):
    @registry.generator("t_shapeless", provides=("multi_task",))
    def t_shapeless(rng, *, n: int = 9):
        """Two tasks of unknown shape."""
        return two_tasks(rng, n)

    plan = small(
        "t_shapeless",
        {"greedy_dirty": {"w": 3, "tuning": "cv"}},
        {"omp": {"tuning": "cv", "folds": 10}},
        {"omp": {"tuning": "cv", "folds": 9, "label": "possible"}},
        metrics=["support_size"],
    )
    table = greedyexp.run(plan, out=tmp_path, engine="serial").set_index("algorithm")
    assert table.status.to_dict() == {"greedy_dirty": "error", "omp": "error", "possible": "ok"}
    assert "w = 3 lies outside" in table.message["greedy_dirty"]
    assert "10-fold" in table.message["omp"]


def test_a_shape_may_tell_a_part_of_it():
    @registry.generator(
        "t_partly", provides=("multi_task", "truth"), shape=lambda **_: {"n_tasks": 3}
    )
    def t_partly(rng):
        """Three tasks; nothing else is known."""

    load(small("t_partly", {"omp": {"n_atoms": 10**6, "tuning": "cv", "folds": 10**6}}))
    load(small("t_partly", {"greedy_dirty": {"w": 3, "max_support": 10**9}}))
    assert "number of tasks, 3" in message(small("t_partly", {"greedy_dirty": {"w": 3.5}}))


@pytest.mark.parametrize(
    ("tell", "words"),
    [
        (lambda: 1 / 0, "the shape of generator 't_told' raised ZeroDivisionError: division by"),
        (lambda: int("many"), "raised ValueError: invalid literal"),
        (lambda: [3], "must be a dict with any of n_tasks, n_samples, n_features and shared"),
        (lambda: {"n_rows": 3}, "but is {'n_rows': 3}"),
        (lambda: {"n_tasks": 2.0}, "raised TypeError: 'float' object cannot be interpreted"),
        (lambda: {"n_samples": 0}, "has n_samples = 0; at least 1 is needed"),
    ],
)
def test_a_shape_that_is_none_is_a_mistake_of_the_plugin(tell, words):
    @registry.generator("t_told", shape=lambda **_: tell())
    def t_told(rng):
        """Data of an impossible shape."""

    with pytest.raises(PluginError) as caught:
        load(small("t_told", "t_lasso"))
    assert words in str(caught.value)
    assert caught.value.place == "data"


def test_a_shape_may_refuse_data_that_cannot_be_read():
    def tell(**_):
        raise DataError("the drive is gone.")

    @registry.generator("t_gone", shape=tell)
    def t_gone(rng):
        """Data on a drive."""

    with pytest.raises(ConfigError, match=r"^data: the drive is gone\.$"):
        load(small("t_gone", "t_lasso"))


def test_a_check_that_reads_what_no_shape_has_is_a_mistake_of_the_plugin():
    @registry.algorithm("t_misspelt", check=lambda shape, **_: shape["n_task"])
    def t_misspelt(problem):
        """Reads what there is not."""

    error = "algorithms[0]: the check of algorithm 't_misspelt' raised KeyError: 'n_task'."
    with pytest.raises(PluginError) as caught:
        load(small("gaussian", "t_misspelt"))
    assert str(caught.value) == error


def test_a_check_that_raises_is_a_mistake_of_the_plugin():
    @registry.algorithm("t_raises", check=lambda shape, *, k, **_: shape["n_tasks"] / k)
    def t_raises(problem, *, k: int = 0, grid=None):
        """Divides by zero."""

    with pytest.raises(PluginError) as caught:
        load(small("gaussian", "t_raises"))
    error = str(caught.value)
    assert "the check of algorithm 't_raises' raised ZeroDivisionError: division by zero" in error
    assert error.startswith("algorithms[0]: ")
    load(small("gaussian", {"t_raises": {"k": 1}}))


def test_twenty_thousand_points_load_in_seconds_and_each_shape_is_checked_once():
    seen = []

    @registry.algorithm("t_counts", check=lambda shape, **_: seen.append(tuple(shape.values())))
    def t_counts(problem):
        """Counts the checks."""

    data = {
        "generator": "multitask_overlap",
        "n_tasks": 2,
        "sweep": {
            "theta": {"from": 0.5, "to": 2.0, "num": 200},
            "noise_std": {"from": 0.0, "to": 1.0, "num": 100},
        },
    }
    start = time.perf_counter()
    error = message(small(data, "t_counts", "t_lasso", {"greedy_dirty": {"w": 2.5}}, "dirty_lasso"))
    assert time.perf_counter() - start < 5
    assert error.endswith("(19999 more of the 20000 points are impossible.)")
    assert len(seen) == len(set(seen)) > 50
