"""solve and run from Python."""

import pickle
import signal

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso, orthogonal_mp

import greedyexp
from greedyexp import algorithm
from greedyexp.core.errors import ConfigError, DataError, PluginError
from greedyexp.estimates.path import Path


@pytest.fixture
def tasks():
    rng = np.random.default_rng(0)
    truth = np.zeros((30, 2))
    truth[:3] = 1.0
    truth[7, 1] = -2.0
    X = [rng.standard_normal((50, 30)) for _ in range(2)]
    return X, [X[j] @ truth[:, j] + 0.05 * rng.standard_normal(50) for j in range(2)], truth


def test_single_task_matches_scikit_learn(tasks):
    X, y, _ = tasks
    fit = greedyexp.solve("omp", X[0], y[0], n_atoms=3)
    assert fit.support.tolist() == [0, 1, 2]
    assert np.allclose(fit.coef, orthogonal_mp(X[0], y[0], n_nonzero_coefs=3))
    fit = greedyexp.solve("lasso", X[0], y[0], lam=0.1)
    reference = Lasso(alpha=0.1, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X[0], y[0])
    assert np.allclose(fit.coef, reference.coef_, atol=1e-6)
    assert fit.converged


def test_several_tasks_by_cross_validation(tasks):
    X, y, truth = tasks
    fit = greedyexp.solve("greedy_dirty", X, y, tuning="cv", seed=1)
    assert fit.coef.shape == (30, 2)
    assert np.array_equal(fit.support, np.argwhere(fit.coef))
    assert {(i, j) for i, j in fit.support} >= {(0, 0), (0, 1), (7, 1)}
    assert np.abs(fit.coef - truth).max() < 0.1
    assert fit.history["chosen"].sum() == 1
    chosen = fit.history[fit.history["chosen"]].iloc[0]
    assert chosen["support_size"] == len(fit.support)
    assert chosen["objective"] == fit.objective
    again = greedyexp.solve("greedy_dirty", X, y, tuning="cv", seed=1)
    assert np.array_equal(again.coef, fit.coef)


def test_a_solution_can_be_pickled_before_and_after_its_table_is_made():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 8)), rng.standard_normal(30)
    fit = greedyexp.solve("omp", X, y, n_atoms=3)
    copies = [pickle.loads(pickle.dumps(fit))]
    table = fit.history
    assert fit.history is table
    copies.append(pickle.loads(pickle.dumps(fit)))
    expected = ["n_atoms", "support_size", "objective", "converged", "chosen"]
    assert table.columns.tolist() == expected
    assert table["support_size"].tolist() == [0, 1, 2, 3]
    for copy in copies:
        pd.testing.assert_frame_equal(copy.history, table)
        assert np.array_equal(copy.coef, fit.coef)


def test_theory_recovers_at_a_known_noise_level():
    # Far more samples than any of the guarantees asks for.
    rng = np.random.default_rng(4)
    X = [rng.standard_normal((2000, 40)) for _ in range(2)]
    truth = np.zeros((40, 2))
    truth[:3] = 1.0
    truth[7, 1] = -2.0
    y = [X[j] @ truth[:, j] + 0.5 * rng.standard_normal(2000) for j in range(2)]
    for name in ("greedy_dirty", "lasso", "dirty_lasso"):
        fit = greedyexp.solve(name, X, y, tuning="theory", noise_std=0.5)
        assert len(fit.history) == 1
        assert np.array_equal(np.sign(fit.coef), np.sign(truth)), name


def test_tasks_may_come_as_columns(tasks):
    X, y, _ = tasks
    one = greedyexp.solve("group_omp", X[0], np.column_stack(y), n_rows=2)
    two = greedyexp.solve("group_omp", [X[0], X[0]], y, n_rows=2)
    assert np.array_equal(one.coef, two.coef)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda X, y: greedyexp.solve("laso", X, y), ConfigError, "Did you mean 'lasso'"),
        (lambda X, y: greedyexp.solve(3, X, y), ConfigError, "^the algorithm must be given by its"),
        (lambda X, y: greedyexp.run("ultimate", out=None), ConfigError, "^out must be the path of"),
        (lambda X, y: greedyexp.solve("lasso", X, y, lamb=1), ConfigError, "no parameter 'lamb'"),
        (
            lambda X, y: greedyexp.solve("omp", X, y, n_atoms=-1),
            ConfigError,
            "^algorithm 'omp': n_atoms must be at least 1, but is -1.$",
        ),
        (
            lambda X, y: greedyexp.solve("lasso", X, y, lam=0.0),
            ConfigError,
            "^algorithm 'lasso': lam must be more than 0, but is 0.",
        ),
        (
            lambda X, y: greedyexp.solve("lasso", X, y, tuning="best"),
            ConfigError,
            "^there is no tuning 'best'. Known: cv, ebic_robust, end, theory.$",
        ),
        (
            lambda X, y: greedyexp.solve("lasso", X, y, tuning="CV"),
            ConfigError,
            "^there is no tuning 'CV'. Did you mean 'cv'.$",
        ),
        (
            lambda X, y: greedyexp.solve("lasso", X, y, tuning="oracle"),
            ConfigError,
            "^tuning 'oracle' needs the true coefficients, which solve.. does not accept",
        ),
        (
            lambda X, y: greedyexp.solve("lasso", X, y, tuning="cv", folds=1),
            ConfigError,
            "^folds must be at least 2, but is 1.$",
        ),
        (lambda X, y: greedyexp.solve("lasso", X, y, tuning="cv", folds=2.5), ConfigError, "folds"),
        (
            lambda X, y: greedyexp.solve("lasso", X, y, tuning="cv", folds=1j),
            ConfigError,
            "^folds must be a whole number, but is 1j",
        ),
        (lambda X, y: greedyexp.solve("lasso", X, y, tuning="cv", seed=-1), ConfigError, "seed"),
        (lambda X, y: greedyexp.solve("lasso", X, y, seed=None), ConfigError, "seed"),
        (lambda X, y: greedyexp.solve("lasso", X, y, noise_std=-1), ConfigError, "noise_std"),
        (lambda X, y: greedyexp.solve("greedy_dirty", X, y), DataError, "needs several tasks"),
        (lambda X, y: greedyexp.solve("lasso", X[:-1], y), DataError, "49 rows but y has 50"),
        (lambda X, y: greedyexp.solve("lasso", X, y * np.inf), DataError, "y holds"),
        (lambda X, y: greedyexp.solve("lasso", X, y, tuning="theory"), DataError, "noise"),
        (lambda X, y: greedyexp.solve("lasso", [X, X], [y]), DataError, "2 tasks but y has 1"),
        (lambda X, y: greedyexp.run("foba_uci", shard="5/4"), ConfigError, "^shard='5/4': there"),
        (lambda X, y: greedyexp.run("foba_uci", shard=3), ConfigError, "^shard='3': a shard is"),
    ],
)
def test_bad_calls_get_a_sentence(tasks, call, error, words):
    X, y, _ = tasks
    with pytest.raises(error, match=words):
        call(X[0], y[0])


def test_run_returns_the_table_and_resumes(tmp_path):
    experiment = {
        "name": "tiny",
        "data": {"generator": "gaussian", "n_samples": 40, "p": 20, "sparsity": 2},
        "trials": 3,
        "algorithms": ["omp", "lasso"],
        "metrics": ["sign_support", "frobenius_error"],
    }
    table = greedyexp.run(experiment, out=tmp_path, jobs=1)
    assert len(table) == 6
    assert (table["status"] == "ok").all()
    assert table["sign_support"].mean() == 1.0
    more = greedyexp.run(experiment, out=tmp_path, engine="serial", trials=5)
    assert more[more["replicate"] < 3].reset_index(drop=True).equals(table)
    assert (tmp_path / "tiny" / "quick" / "tiny.csv").is_file()


@pytest.fixture
def parts():
    """Small algorithms."""

    @algorithm("api_mean")
    def mean(problem, *, scale: float = 1.0):
        return np.full((problem.n_features, problem.n_tasks), scale * problem.y[0].mean())

    @algorithm("api_path")
    def path(problem, *, grid=None):
        coef = np.zeros((1, problem.n_features, problem.n_tasks))
        return Path(coef, {"lam": np.ones(1)}, np.zeros(1), np.ones(1, bool))

    @algorithm("api_flat")
    def flat(problem):
        return np.zeros(3)

    @algorithm("api_truth", requires=("truth",))
    def known(problem):
        return problem.truth

    @algorithm("api_noise", requires=("noise_std",))
    def noisy(problem):
        return np.full((problem.n_features, problem.n_tasks), problem.noise_std)


@pytest.mark.parametrize(
    ("name", "how", "words"),
    [
        ("api_mean", {"tuning": "cv"}, "^algorithm 'api_mean' has no path to tune. Use"),
        ("api_mean", {"tuning": "theory"}, "^algorithm 'api_mean' has no path to tune. Use"),
        ("api_mean", {"scale": "x"}, "^algorithm 'api_mean': scale must be a number"),
        (
            "api_path",
            {"tuning": "theory"},
            "^algorithm 'api_path' has no tuning rule from th",
        ),
        ("api_truth", {}, "^algorithm 'api_truth' needs data with the trait 'truth'"),
        ("api_noise", {}, "^algorithm 'api_noise' needs the noise level. Give noise_std.$"),
    ],
)
def test_algorithms_without_a_path_or_with_needs_get_a_sentence(tasks, parts, name, how, words):
    X, y, _ = tasks
    with pytest.raises(ConfigError, match=words):
        greedyexp.solve(name, X[0], y[0], **how)


def test_an_estimate_of_another_shape_is_a_mistake_of_the_plugin(tasks, parts):
    X, y, _ = tasks
    with pytest.raises(PluginError, match=r"'api_flat' returned an estimate of shape \(3,\)"):
        greedyexp.solve("api_flat", X[0], y[0])


def test_one_estimate_has_no_objective_and_takes_scalars_of_numpy(tasks, parts):
    X, y, _ = tasks
    fit = greedyexp.solve("api_mean", X[0], y[0], scale=np.float64(2.0))
    assert np.allclose(fit.coef, 2 * y[0].mean())
    assert np.isnan(fit.objective)
    assert (greedyexp.solve("api_noise", X[0], y[0], noise_std=0.5).coef == 0.5).all()
    three = greedyexp.solve("omp", X[0], y[0], n_atoms=np.int64(3))
    assert len(three.support) == 3


@pytest.fixture
def default_sigint():
    """Python's own handler, which is missing where a shell started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


STOPPING = """
import os
import signal
import pickle

import numpy as np
from greedyexp import algorithm

@algorithm("stopping")
def stopping(problem):
    if not os.path.exists("STOPPED"):
        open("STOPPED", "w").close()
        os.kill(os.getpid(), signal.SIGINT)
    return np.zeros((problem.n_features, problem.n_tasks))
"""


def test_ctrl_c_reaches_the_caller_of_run_and_the_same_call_goes_on(tmp_path, default_sigint):
    plugin = tmp_path / "stopping.py"
    plugin.write_text(STOPPING.replace("STOPPED", str(tmp_path / "pressed")))
    experiment = {
        "name": "stopped",
        "data": {"generator": "gaussian", "n_samples": 20, "p": 10, "sparsity": 2},
        "trials": 5,
        "algorithms": ["stopping"],
        "metrics": ["frobenius_error"],
        "plugins": [str(plugin)],
    }
    with pytest.raises(KeyboardInterrupt):
        greedyexp.run(experiment, out=tmp_path, engine="serial")
    kept = (tmp_path / "stopped" / "quick" / "stopped.csv").read_text().splitlines()
    assert len(kept) == 2
    assert len(greedyexp.run(experiment, out=tmp_path, engine="serial")) == 5


HOSTILE = """
from greedyexp import algorithm

@algorithm("hostile")
def hostile(problem):
    if problem.n_samples[0] % 2:
        raise ValueError("cannot use caf\\udce9")
    problem.X[0][:] = 0.0
"""


def test_no_algorithm_can_touch_the_data_of_another_or_end_the_run(tmp_path):
    (tmp_path / "hostile.py").write_text(HOSTILE)
    experiment = {
        "name": "hostile",
        "data": {"generator": "gaussian", "p": 10, "sparsity": 2, "sweep": {"n_samples": [20, 21]}},
        "algorithms": ["lasso"],
        "metrics": ["frobenius_error"],
    }
    alone = greedyexp.run(experiment, out=tmp_path / "a", engine="serial")
    experiment |= {"algorithms": ["hostile", "lasso"], "plugins": [str(tmp_path / "hostile.py")]}
    both = greedyexp.run(experiment, out=tmp_path / "b", engine="serial")
    failed = both[both["algorithm"] == "hostile"]
    assert failed["status"].tolist() == ["error", "error"]
    assert "read-only" in failed["message"].iloc[0]
    assert "cannot use caf" in failed["message"].iloc[1]
    assert both[both["algorithm"] == "lasso"].reset_index(drop=True).equals(alone)


def test_numbers_of_numpy_and_single_texts_are_taken_as_on_the_command_line(tmp_path):
    experiment = {
        "name": "numpy",
        "data": {
            "generator": "gaussian",
            "n_samples": np.int64(30),
            "p": np.float64(12.0),
            "sparsity": np.array(2),
            "sweep": {"noise_std": np.array([0.1, 0.2])},
        },
        "trials": np.int32(1),
        "seed": np.uint8(3),
        "algorithms": [{"omp": {"n_atoms": np.int64(2)}}],
        "metrics": np.array(["support"]),
    }

    def rows(out="one", **given):
        return len(greedyexp.run(experiment, out=tmp_path / out, engine="serial", **given))

    assert rows() == 2
    assert rows(trials=np.int64(2), seed=np.int64(5)) == 4
    assert rows(overrides="trials=3") == 6
    assert rows(out="other", overrides=["trials=3"], only="noise_std=0.1") == 3


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"trials": 0}, "trials=0: "),
        ({"seed": -1}, "seed=-1: "),
        ({"overrides": "trial=4"}, "overrides='trial=4': "),
        ({"overrides": ["p=1", "noise_std=-1"]}, "overrides='p=1': .* overrides='noise_std=-1': "),
        ({"only": "kapa"}, "only='kapa': .*only='algorithm=lasso'"),
        ({"tag": "a b"}, "tag: "),
        ({"max_trials": 99}, "max_trials: .* Add until_decided."),
        ({"until_decided": True, "max_trials": 1}, "max_trials=1: .* with trials."),
        ({"until_decided": True, "max_time": "2d"}, "max_time='2d': "),
        ({"max_time": "2h"}, "max_time='7200s': "),
        ({"engine": "dask", "scheduler": "x"}, "scheduler: "),
    ],
)
def test_errors_of_a_run_name_the_argument(tmp_path, given, place):
    with pytest.raises(ConfigError, match=f"^{place}"):
        greedyexp.run("phase_transition", profile="smoke", out=tmp_path, **given)
