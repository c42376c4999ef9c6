"""What plugins return is checked where it comes in, with the file and line of the plugin."""

from __future__ import annotations

import random
import re
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cli_process import refused
from scipy import sparse

from greedyexp import Path, Problem
from greedyexp.core import registry
from greedyexp.core.errors import DataError, PluginError
from greedyexp.core.part import Part
from greedyexp.core.parts import KINDS
from greedyexp.estimates.iteration import SteppedIteration
from greedyexp.experiment.parameters import Parameters
from greedyexp.protocols import contracts
from greedyexp.protocols.problem_contract import _check_shape, check_problem, same_problem
from greedyexp.theory.constants import Constant

N, P = 6, 3
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, P))
Y = RNG.standard_normal(N)
TRUTH = np.ones((P, 1))
SOUND = Problem((X,), (Y,), TRUTH, 0.1, 1, {"signal": 2.0}, (X,), (Y,))
CLASSES = tuple(np.eye(2)[[0, 1, 0, 1, 1, 0]].T.copy())
CHAINS = Problem((X, X), CLASSES, chains=np.array([4, 2]))


def part(kind: str, **declared) -> Part:
    def mine(*_):
        """A function of this file."""

    return KINDS[kind]("mine", mine, **declared)


PLACE = re.compile(r"^tests/protocols/test_contracts\.py:\d+: |^/.*/test_contracts\.py:\d+: ")


def complaint(check, *arguments) -> str:
    """What is said of a broken contract, which must begin with file and line."""
    with pytest.raises(PluginError) as caught:
        check(*arguments)
    assert PLACE.match(str(caught.value))
    return str(caught.value)


def nan(values):
    """A copy whose first entry is not a number."""
    other = values.copy()
    other.flat[0] = np.nan
    return other


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (None, "generator 'mine' returned None, not a Problem. Return greedyexp.Problem"),
        ((X, Y), "returned a tuple, not a Problem"),
        (Problem(X, Y), "returned X as a ndarray, not as a tuple with one array for each task"),
        (Problem([X], (Y,)), "returned X as a list"),
        (Problem((), ()), "returned X as a tuple"),
        (Problem((X,), (Y, Y)), "returned y with 2 arrays, but 1 are needed"),
        (Problem((pd.DataFrame(X),), (Y,)), "returned X[0] as a DataFrame, not as a NumPy array"),
        (Problem((X.tolist(),), (Y,)), "returned X[0] as a list, not as a NumPy array"),
        (Problem((None,), (Y,)), "returned X[0] as None"),
        (Problem((X[:, 0],), (Y,)), "returned X[0] of shape (6,), not of shape (n, p)"),
        (Problem((X.astype(int),), (Y,)), "X[0] of dtype int64, not float64. Write X[0].astype"),
        (Problem((X.astype(np.float32),), (Y,)), "X[0] of dtype float32, not float64"),
        (Problem((X.astype(object),), (Y,)), "X[0] of dtype object, not float64"),
        (Problem((X * 1j,), (Y,)), "X[0] of dtype complex128, not float64"),
        (Problem((np.ma.masked_less(X, 0),), (Y,)), "returned X[0] as a MaskedArray"),
        (Problem((X[:, :0],), (Y,)), "returned X without columns"),
        (Problem((X,), (Y[:, None],)), "returned y[0] of shape (6, 1), not of shape (n,)"),
        (Problem((X,), (Y[:4],)), "returned y[0] with 4 entries, but 6 are needed"),
        (Problem((X,), ((Y > 0).astype(int),)), "Write y[0].astype(float)"),
        (Problem((X, X[:, :2]), (Y, Y)), "returned X[1] with 2 columns, but 3 are needed"),
        (Problem((X[:0],), (Y[:0],)), "X[0] without rows, but provides no trait 'population'"),
        (Problem((sparse.csc_array(X),), (Y,)), "as a sparse CSC array, not as a CSR array"),
        (Problem((sparse.csr_array(X > 0),), (Y,)), "X[0].data of dtype bool"),
        (replace(SOUND, truth=np.ones(P)), "truth of shape (3,), not of shape (3, 1)"),
        (replace(SOUND, truth=np.ones((P, 2))), "truth of shape (3, 2), not of shape (3, 1)"),
        (replace(SOUND, truth=np.ones((P, 1), int)), "truth of dtype int64"),
        (replace(SOUND, start=np.ones(P)), "start of shape (3,)"),
        (replace(SOUND, noise_std=-1.0), "noise_std = -1.0, not a number of at least 0"),
        (replace(SOUND, noise_std="0.1"), "noise_std = '0.1'"),
        (replace(SOUND, noise_std=np.inf), "noise_std = inf"),
        (replace(SOUND, sparsity=4), "sparsity = 4, not a whole number from 0 to 3"),
        (replace(SOUND, sparsity=1.0), "sparsity = 1.0, not a whole number"),
        (replace(SOUND, feature_names=("a",)), "feature_names with 1 entries, but 3 are needed"),
        (replace(SOUND, feature_names=["a"] * 3), "feature_names that are not a tuple of strings"),
        (replace(SOUND, class_names=("a", "b")), "class_names with 2 entries, but 1 are needed"),
        (replace(SOUND, moments=X), "returned moments as a ndarray"),
        (replace(SOUND, X_test=()), "returned y_test without X_test"),
        (replace(SOUND, X_test=X), "returned X_test as a ndarray"),
        (replace(SOUND, X_test=(X, X), y_test=(Y, Y)), "X_test with 2 tasks, but 1 are needed"),
        (replace(SOUND, X_test=(X[:, :2],)), "X_test[0] with 2 columns, but 3 are needed"),
        (replace(SOUND, y_test=(Y[:, None],)), "returned y_test[0] of shape (6, 1)"),
        (replace(SOUND, facts={"a": [1]}), "returned a fact 'a' that is a list"),
        (replace(SOUND, facts={"a": X}), "returned a fact 'a' that is a ndarray"),
        (replace(SOUND, facts=[1]), "returned facts as a list, not as a dict"),
        (replace(SOUND, facts={"status": 1}), "fact 'status', which names another column"),
        (replace(SOUND, facts={"p": 4}), "returned a fact 'p', which names another column"),
        (replace(CHAINS, chains=[4, 2]), "returned chains as a list"),
        (replace(CHAINS, chains=np.array([4, 1])), "wrong chains: the chains have 5 words"),
        (replace(CHAINS, y=(Y, Y)), "chains and y that do not give each word one class"),
        (replace(SOUND, chains=np.array([6])), "chains without one design that two classes"),
        (CHAINS, "a problem with the trait 'multi_task', but does not provide it. Add"),
        (Problem((sparse.csr_array(X),), (Y,)), "with the trait 'sparse', but does not provide"),
    ],
)  # fmt: skip
def test_a_problem_that_breaks_the_contract_is_refused(made, words):
    said = complaint(check_problem, part("generator"), {"p": 3}, made, ("status",))
    assert words in said


@pytest.mark.parametrize(
    ("trait", "made", "words"),
    [
        ("truth", replace(SOUND, truth=None), "provides the trait 'truth', but returned a problem"),
        ("noise_std", replace(SOUND, noise_std=None), "provides the trait 'noise_std'"),
        ("test_rows", replace(SOUND, X_test=(), y_test=()), "provides the trait 'test_rows'"),
        ("test_rows", replace(SOUND, X_test=(X[:0],), y_test=(Y[:0],)), "the trait 'test_rows'"),
        ("labels", SOUND, "provides the trait 'labels', but y[0] has more than two different"),
        ("two_values", SOUND, "the trait 'two_values', but y[0] has more than two different"),
        ("multi_task", SOUND, "provides the trait 'multi_task'"),
        ("chains", SOUND, "provides the trait 'chains'"),
        ("sparse", SOUND, "provides the trait 'sparse'"),
        ("moments", SOUND, "provides the trait 'moments'"),
        ("population", SOUND, "provides the trait 'population'"),
        ("spread_label", SOUND, "provides the trait 'spread_label'"),
    ],
)
def test_a_trait_that_is_promised_must_be_there(trait, made, words):
    generator = part("generator", provides=(trait,))
    assert words in complaint(check_problem, generator, {}, made)
    assert check_problem(part("generator"), {}, made) is made


def test_a_shape_that_is_promised_must_be_kept():
    sound = part("generator", shape=lambda **_: {"n_tasks": 1, "n_samples": N, "n_features": P})
    assert check_problem(sound, {}, SOUND) is SOUND
    wrong = part("generator", shape=lambda **_: {"n_features": 4})
    said = complaint(check_problem, wrong, {}, SOUND)
    assert "returned a problem with n_features = 3, but its shape= declares 4" in said


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (Problem((nan(X),), (Y,)), "X[0] holds nan at index (0, 0)."),
        (Problem((X,), (nan(Y),)), "y[0] holds nan at index 0."),
        (replace(SOUND, truth=nan(TRUTH)), "truth holds nan at index (0, 0)."),
        (Problem((sparse.csr_array(nan(X)),), (Y,)), "X[0].data holds nan at index 0."),
    ],
)
def test_values_that_are_not_finite_depend_on_the_data(made, words):
    """A row of the table holds the message, so that it names the file without its folder."""
    with pytest.raises(DataError) as caught:
        check_problem(part("generator", provides=("sparse",)), {}, made)
    assert re.fullmatch(rf"test_contracts\.py:\d+: {re.escape(words)}", str(caught.value))


@pytest.mark.parametrize(
    "name", ["gaussian", "multitask_overlap", "rademacher", "two_class_gaussian"]
)
def test_generators_of_the_package_keep_what_is_asked_of_plugins(name):
    generator = registry.find("generator", name)
    given = {"rademacher": {"p": 8, "sparsity": 2}, "multitask_overlap": {"theta": 1.0, "p": 32}}
    params = Parameters(generator).read_all(given.get(name, {}))
    made = generator.function(np.random.default_rng(1), **params)
    assert check_problem(generator, params, made) is made
    _check_shape(generator, params, made)
    again = generator.function(np.random.default_rng(1), **params)
    assert same_problem(made, again)
    assert not same_problem(made, generator.function(np.random.default_rng(2), **params))


COEF = np.zeros((2, P, 1))
LAM = np.array([1.0, 0.5])
PATH = Path(COEF, {"lam": LAM}, np.zeros(2), np.ones(2, bool))


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (None, "algorithm 'mine' returned None, not a NumPy array"),
        ([0.0] * P, "returned a list, not a NumPy array"),
        (pd.Series(np.zeros(P)), "returned a Series, not a NumPy array"),
        (np.zeros((1, P)), "returned an estimate of shape (1, 3); the problem needs (3, 1)"),
        (np.zeros(P) * 1j, "returned an array of dtype complex128, not of real numbers"),
        (np.full(P, None), "returned an array of dtype object"),
        (np.zeros(P, bool), "returned an array of dtype bool"),
        (
            replace(PATH, estimates=np.zeros((2, P))),
            "path.estimates of shape (2, 3), not of shape (m, 3, 1)",
        ),
        (replace(PATH, estimates=COEF.tolist()), "returned path.estimates as a list"),
        (replace(PATH, objective=np.zeros(3)), "path.objective of shape (3,), not of shape (2,)"),
        (replace(PATH, converged=[True, True]), "returned path.converged as a list"),
        (replace(PATH, converged=np.ones(2, int)), "path.converged of dtype int64, not bool"),
        (replace(PATH, grid={"lam": np.zeros(1)}), "path.lam of shape (1,), not of shape (2,)"),
        (replace(PATH, facts={"steps": np.zeros((2, 1))}), "path.steps of shape (2, 1)"),
        (replace(PATH, grid=LAM), "returned path.grid as a ndarray, not as a dict"),
        (replace(PATH, dense=np.zeros(2)), "path.dense of shape (2,), not of shape (2, d)"),
        (replace(PATH, message=None), "returned path.message as None, not as a text"),
    ],
)  # fmt: skip
def test_estimates_that_break_the_contract_are_refused(made, words):
    assert words in complaint(contracts.check_estimates, part("algorithm"), made, (P, 1))


def test_a_path_that_was_asked_for_must_have_the_points_of_the_grid():
    algorithm = part("algorithm")
    assert contracts.check_estimates(algorithm, PATH, (P, 1), {"lam": LAM}) is PATH
    for grid in ({"lam": LAM / 2}, {"epsilon": LAM}, {"lam": LAM[:1]}):
        said = complaint(contracts.check_estimates, algorithm, PATH, (P, 1), grid)
        assert "and returned other points" in said
    said = complaint(contracts.check_estimates, algorithm, np.zeros(P), (P, 1), {"lam": LAM})
    assert "was asked for a path and returned a ndarray" in said


@pytest.mark.parametrize("dtype", [float, np.float32, int])
def test_real_estimates_are_taken(dtype):
    made = contracts.check_estimates(part("algorithm"), np.ones(P, dtype), (P, 1))
    assert made.coef.dtype == np.float64
    assert made.coef.shape == (1, P, 1)


class Still(SteppedIteration):
    def step(self, coef):
        return coef


def test_iterations_and_constants_are_checked():
    algorithm = part("algorithm")
    begun = Still(X, Y)
    begun.advance(2)
    for made, words in (
        (COEF, "returned a ndarray, not an Iteration"),
        (begun, "returned an iteration at step 2, not at step 0"),
        (Still(X, Y, start=np.zeros(4)), "with coef of shape (4,), not of shape (3,)"),
        (Still(X, Y, lam=-1.0), "with lam = -1.0"),
    ):
        assert words in complaint(contracts.check_iteration, algorithm, made, P)
    assert contracts.check_iteration(algorithm, Still(X, Y), P).iteration == 0
    for made, words in (
        (1.0, "returned a float, not a Constant"),
        (Constant(1.0, "0", 2.0), "a constant whose lower is a str, not a number"),
    ):
        assert words in complaint(contracts.check_constant, algorithm, made)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (np.float64(1), "metric 'mine' returned a float64, not one number for each of the 2"),
        ([0.0, 1.0], "returned a list"),
        (None, "returned None"),
        (np.zeros((2, 1)), "returned an array of shape (2, 1)"),
        (np.zeros(3), "returned an array of shape (3,)"),
        (np.zeros(2) * 1j, "returned an array of dtype complex128"),
        (np.array([1.0, 0.5]), "is declared binary=True but returned 0.5; a success is 0 or 1"),
        (np.array([1, 2]), "is declared binary=True but returned 2"),
        (np.array([1.0, np.inf]), "is declared binary=True but returned inf"),
    ],
)
def test_metrics_that_break_the_contract_are_refused(made, words):
    assert words in complaint(contracts.check_metric, part("metric", binary=True), made, 2)


def test_sound_metrics_are_taken():
    for made in (np.array([0.0, 1.0]), np.array([True, False]), np.array([0.0, np.nan])):
        assert contracts.check_metric(part("metric", binary=True), made, 2) is made
    contracts.check_metric(part("metric"), np.array([0.5, -3.0]), 2)


def legacy(name: str, *arguments):
    """A call of the global functions of numpy.random."""
    return lambda: getattr(np.random, name)(*arguments)


# 312 uniform numbers leave the position within the state where it was.
@pytest.mark.parametrize(
    "draw", [legacy("rand"), legacy("rand", 312), legacy("seed", 3), random.random]
)
def test_global_randomness_is_refused_and_named(draw):
    def use():
        with contracts.own_randomness_only(part("algorithm")):
            draw()

    said = complaint(use)
    assert "algorithm 'mine' uses the global state of numpy.random or random" in said
    assert "Declare a keyword argument rng=None" in said
    with contracts.own_randomness_only(part("algorithm")):
        np.random.default_rng(0).random()


PLUGIN = """\
import itertools
import random

import numpy as np

from greedyexp import Problem, algorithm, generator, metric

calls = itertools.count()


@generator("g_parts", provides=("truth",))
def data(rng, *, mode: str = "", n: int = 8):
    X, truth = rng.standard_normal((n, 3)), np.ones((3, 1))
    if mode == "flat":
        truth = np.ones(3)
    if mode == "global":
        X = np.random.rand(n, 3)
    if mode == "entropy":
        X = np.random.default_rng().standard_normal((n, 3))
    if mode == "nan":
        X[0, 0] = np.nan
    if mode == "late" and n == 9:
        truth = None
    return Problem((X,), (X[:, 0].copy(),), truth)


@algorithm("a_parts")
def fit(problem, *, mode: str = ""):
    if mode == "global":
        random.random()
    if mode == "entropy":
        return np.random.default_rng().standard_normal(3)
    if mode == "raise":
        return helper(problem)
    return np.zeros(2) if mode == "short" else np.zeros(3)


def helper(problem):
    wanted = problem.X[0].shape[1] + 1
    return np.linalg.solve(np.zeros((3, 3)), np.ones(wanted))


@metric("m_parts", better="higher", binary=True)
def half(problem, coef):
    return np.full(len(coef), 0.5)
"""

CONFIG = """\
name: study
plugins: [parts.py]
data: {{generator: g_parts, mode: '{data}', sweep: {{n: [8, 9]}}}}
trials: 2
algorithms: [{{a_parts: {{mode: '{fit}'}}}}]
metrics: [{metric}]
figures: []
{more}
"""


def write(folder, *, data="", fit="", metric="frobenius_error", more=""):
    (folder / "parts.py").write_text(PLUGIN)
    text = CONFIG.format(data=data, fit=fit, metric=metric, more=more)
    (folder / "study.yaml").write_text(text)


def table(folder) -> pd.DataFrame:
    return pd.read_csv(folder / "results/study/quick/study.csv", keep_default_na=False)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"data": "flat"}, ("parts.py:11: ", "truth of shape (3,), not of shape (3, 1)")),
        ({"data": "global"}, ("parts.py:11: ", "global state", "Draw from the `rng` argument")),
        ({"data": "entropy"}, ("parts.py:11: ", "two different problems for the same seed")),
        ({"fit": "short"}, ("parts.py:27: ", "an estimate of shape (2,)")),
        ({"fit": "global"}, ("parts.py:27: ", "global state", "rng=None")),
        ({"metric": "m_parts"}, ("parts.py:43: ", "0.5")),
    ],
)
def test_a_plugin_that_breaks_its_contract_ends_the_run_with_one_sentence(
    call, tmp_path, wrong, words
):
    write(tmp_path, **wrong)
    refused(call("run", "study.yaml", "--engine", "serial", cwd=tmp_path), *words)


def test_a_worker_says_the_same_and_what_is_finished_is_kept(call, tmp_path):
    write(tmp_path, data="late")
    result = call("run", "study.yaml", "-j", "1", cwd=tmp_path)
    refused(result, "parts.py:11: ", "provides the trait 'truth'")
    write(tmp_path)
    (tmp_path / "parts.py").write_text(PLUGIN.replace("n == 9", "n == 0"))
    assert call("run", "study.yaml", "--engine", "serial", cwd=tmp_path).returncode == 0
    assert list(table(tmp_path)["status"]) == ["ok"] * 4


def test_what_depends_on_the_data_is_a_row(call, tmp_path):
    write(tmp_path, data="nan")
    assert call("run", "study.yaml", "--engine", "serial", cwd=tmp_path).returncode == 1
    assert set(table(tmp_path)["message"]) == {
        "no data: DataError: parts.py:11: X[0] holds nan at index (0, 0)."
    }


def test_an_algorithm_that_draws_without_a_seed_is_refused(call, tmp_path):
    write(tmp_path, fit="entropy")
    for dry in ([], ["-n"]):
        said = "two values of 'frobenius_error' for the same seed"
        refused(call("run", *dry, "study.yaml", cwd=tmp_path), "parts.py:27: ", said)
    write(tmp_path)
    assert call("run", "-n", "study.yaml", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_an_exception_names_the_line_of_the_plugin_and_shows_its_traceback_once(
    call, tmp_path, engine
):
    write(tmp_path, fit="raise")
    plain = call("run", "study.yaml", "--engine", engine, "-j", "1", cwd=tmp_path)
    assert plain.returncode == 1
    assert "Traceback" not in plain.stderr
    messages = set(table(tmp_path)["message"])
    assert len(messages) == 1
    assert messages.pop().startswith("parts.py:40: ValueError: solve")
    again = ("run", "study.yaml", "--engine", engine, "-j", "1", "--traceback", "--retry-failed")
    shown = call(*again, cwd=tmp_path)
    assert shown.returncode == 1
    assert shown.stderr.count("Traceback") == 1
    frames = re.findall(r'File "(.*?)", line (\d+)', shown.stderr)
    assert [(file.rpartition("/")[2], int(line)) for file, line in frames[:2]] == [
        ("parts.py", 34),
        ("parts.py", 40),
    ]


@pytest.mark.parametrize("options", [(), ("-n",)])
def test_the_debugger_stops_in_the_plugin(call, tmp_path, monkeypatch, options):
    write(tmp_path, fit="raise", more="time_limit: 5")
    monkeypatch.setattr("builtins.input", lambda prompt="": next(typed))
    typed = iter(["p wanted * 100", "up", "p mode", "q"])
    result = call("run", "study.yaml", "--pdb", *options, cwd=tmp_path)
    assert "400" in result.stdout
    assert "'raise'" in result.stdout
    assert result.returncode == 130
    warnings = [line for line in result.stderr.splitlines() if line.startswith("Warning")]
    assert warnings == ["Warning: the serial engine does not enforce the time limit of 5 s."]


def test_the_debugger_is_left_in_a_generator(call, tmp_path, monkeypatch):
    write(tmp_path)
    source = (tmp_path / "parts.py").read_text()
    (tmp_path / "parts.py").write_text(
        source.replace("    X, truth = rng", "    1 / 0\n    X, truth = rng")
    )
    monkeypatch.setattr("builtins.input", lambda prompt="": "q")
    result = call("run", "study.yaml", "--pdb", cwd=tmp_path)
    assert result.returncode == 130
    with closing(sqlite3.connect(tmp_path / "results/study/quick/journal.sqlite")) as journal:
        assert journal.execute("SELECT count(*) FROM outcomes").fetchone() == (0,)


def test_a_class_may_be_absent_from_the_rows_fitted_to():
    generator = part("generator", provides=("truth", "noise_std", "test_rows", "labels"))
    absent = replace(SOUND, y=(np.zeros(N),), y_test=(CLASSES[1],))
    assert check_problem(generator, {}, absent) is absent
    third = replace(absent, y_test=(CLASSES[1] * 2 - np.eye(N)[0],))
    assert "more than two different" in complaint(check_problem, generator, {}, third)


def test_facts_that_are_not_numbers_are_the_same_twice():
    made = replace(SOUND, facts={"signal": float("nan")})
    assert same_problem(made, replace(SOUND, facts={"signal": float("nan")}))
    assert not same_problem(made, SOUND)


def test_the_debugger_goes_on_when_told_to(call, tmp_path, monkeypatch):
    write(tmp_path, fit="raise")
    monkeypatch.setattr("builtins.input", lambda prompt="": "c")
    assert call("run", "study.yaml", "--pdb", cwd=tmp_path).returncode == 1
    assert len(table(tmp_path)) == 4
