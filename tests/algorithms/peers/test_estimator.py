"""Estimators named by their import path give what their own package gives when called by hand."""

import warnings

import numpy as np
import pytest
import yaml
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, MultiTaskLasso
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import greedyexp
from greedyexp import config
from greedyexp.algorithms.peers import _construction as construction
from greedyexp.algorithms.peers.estimator import estimator, prepare
from greedyexp.core import packages, registry
from greedyexp.core.errors import ConfigError, DataError, PluginError, UserError
from greedyexp.problems.problem import as_problem
from greedyexp.protocols import fitting
from greedyexp.runner.fingerprint import Fingerprints

RNG = np.random.default_rng(7)
X = RNG.standard_normal((60, 8)) * np.array([1, 2, 5, 0.1, 1, 1, 3, 1]) + 0.3
TRUTH = np.array([2.0, 0, 0.5, 0, -1.0, 0, 0, 0])
Y = X @ TRUTH + 0.5 * RNG.standard_normal(60)
Y2 = np.column_stack([Y, X @ TRUTH[::-1] + 0.5 * RNG.standard_normal(60)])
ALPHAS = [1.0, 0.3, 0.1]


class DrawsFromTheGlobalState(BaseEstimator):
    def fit(self, X, y):
        self.coef_ = np.random.standard_normal(X.shape[1])  # noqa: NPY002
        return self

    def predict(self, X):
        return X @ self.coef_


class Squares(DrawsFromTheGlobalState):
    def predict(self, X):
        return (X @ self.coef_) ** 2


class WritesIntoTheData(DrawsFromTheGlobalState):
    def fit(self, X, y):
        self.coef_ = X[0].copy()
        X[:], y[:] = 0, 0
        return self


class Mean(DrawsFromTheGlobalState):
    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros(len(X))


def fit(path, y=Y, *, rng=0, grid=None, **given):
    given = {"class_": path, **given}
    return estimator(as_problem(X, y), grid=grid, rng=np.random.default_rng(rng), **given)


def named(cls, **params):
    return {"class": f"{cls.__module__}.{cls.__name__}", "params": params}


def own(cls):
    return f"{__name__}.{cls.__name__}"


@pytest.fixture
def installed(monkeypatch):
    """This file counts as an installed package that requires scikit-learn."""
    real = construction.distribution_for
    monkeypatch.setattr(
        construction,
        "distribution_for",
        lambda path: "own" if path.startswith(__name__) else real(path),
    )


def test_each_point_is_a_fit_by_hand():
    tune = {"l1_ratio": [1.0, 0.5], "alpha": ALPHAS}
    path = fit("sklearn.linear_model.ElasticNet", tune=tune)
    points = [(ratio, alpha) for ratio in (1.0, 0.5) for alpha in ALPHAS]
    for index, (ratio, alpha) in enumerate(points):
        hand = ElasticNet(alpha=alpha, l1_ratio=ratio, fit_intercept=False).fit(X, Y)
        np.testing.assert_array_equal(path.coef[index, :, 0], hand.coef_)
        assert path.objective[index] == pytest.approx(((Y - hand.predict(X)) ** 2).mean() / 2)
    assert [*zip(path.facts["l1_ratio"], path.facts["alpha"], strict=True)] == points
    assert path.converged.all()
    assert path.loss is None
    some = fit("sklearn.linear_model.ElasticNet", tune=tune, grid={"point": np.array([4, 1])})
    np.testing.assert_array_equal(some.coef, path.coef[[4, 1]])


def test_tasks_are_fitted_one_by_one_or_together():
    path = fit("sklearn.linear_model.Lasso", Y2, params={"alpha": 0.3})
    for j in range(2):
        hand = Lasso(0.3, fit_intercept=False).fit(X, Y2[:, j])
        np.testing.assert_array_equal(path.coef[0, :, j], hand.coef_)
    path = fit("sklearn.linear_model.MultiTaskLasso", Y2, params={"alpha": 0.3}, tasks="together")
    hand = MultiTaskLasso(0.3, fit_intercept=False).fit(X, Y2)
    np.testing.assert_allclose(path.coef[0], hand.coef_.T, rtol=1e-12)
    assert path.objective[0] == pytest.approx(((Y2 - hand.predict(X)) ** 2).mean(axis=0).sum() / 2)


def test_a_pipeline_has_coefficients_in_units_of_the_data():
    steps = [["scale", named(StandardScaler)], ["lasso", named(Lasso)]]
    path = fit(
        "sklearn.pipeline.Pipeline", params={"steps": steps}, tune={"lasso__alpha": [0.5, 0.01]}
    )
    for index, alpha in enumerate([0.5, 0.01]):
        hand = make_pipeline(StandardScaler(), Lasso(alpha, fit_intercept=False)).fit(X, Y)
        coef = path.coef[index, :, 0]
        np.testing.assert_allclose(X @ coef + path.dense[index], hand.predict(X), atol=1e-12)
        np.testing.assert_array_equal(coef != 0, hand[-1].coef_ != 0)
    assert 0 < path.sparse.sizes[0] < path.sparse.sizes[1]


def test_a_search_has_the_coefficients_of_its_best_estimator():
    params = {
        "estimator": named(Lasso),
        "param_grid": {"alpha": ALPHAS},
        "cv": named(KFold, n_splits=4),
    }
    path = fit("sklearn.model_selection.GridSearchCV", params=params)
    hand = GridSearchCV(Lasso(fit_intercept=False), {"alpha": ALPHAS}, cv=KFold(4)).fit(X, Y)
    np.testing.assert_array_equal(path.coef[0, :, 0], hand.best_estimator_.coef_)


def test_an_intercept_counts_in_cross_validation():
    shifted, part = Y + 100, registry.find("algorithm", "estimator")
    params = {
        "class": "sklearn.linear_model.Lasso",
        "params": {"fit_intercept": True},
        "tune": {"alpha": [10.0, *ALPHAS, 0.01]},
    }
    problem, rng = as_problem(X, shifted), np.random.default_rng(3)
    path, chosen = fitting.cross_validated(part, problem, params, folds=5, rng=rng)
    rng = np.random.default_rng(3)
    rng.integers(2**31 - 1)
    folds = np.array_split(rng.permutation(60), 5)
    errors = []
    for alpha in params["tune"]["alpha"]:
        hand = Lasso(alpha).fit(X, shifted)
        np.testing.assert_allclose(path.dense[len(errors)], hand.intercept_, rtol=1e-9)
        parts = []
        for fold in folds:
            rest = np.setdiff1d(np.arange(60), fold)
            hand = Lasso(alpha).fit(X[rest], shifted[rest])
            parts.append(((hand.predict(X[fold]) - shifted[fold]) ** 2).mean())
        errors.append(np.mean(parts))
    assert chosen == np.argmin(errors)
    assert chosen > 0


def test_a_classifier_has_the_logistic_loss():
    signs = np.where(Y > 0, 1.0, -1.0)
    params = {
        "C": 0.5,
        "l1_ratio": 1.0,
        "solver": "liblinear",
        "fit_intercept": True,
        "random_state": 0,
    }
    path = fit("sklearn.linear_model.LogisticRegression", signs, params=params)
    hand = LogisticRegression(**params).fit(X, signs)
    np.testing.assert_allclose(path.coef[0, :, 0], hand.coef_[0], rtol=1e-6)
    expected = log_loss(signs, hand.predict_proba(X))
    assert path.objective[0] == pytest.approx(expected, rel=1e-6)
    with pytest.raises(ConfigError, match=r"is a classifier, and the data have 2 tasks"):
        fit("sklearn.linear_model.LogisticRegression", np.sign(Y2))


def test_small_coefficients_are_zero_only_if_asked():
    dense = fit("sklearn.linear_model.Ridge").coef[0, :, 0]
    assert np.count_nonzero(dense) == 8
    least = np.sort(np.abs(dense))[3]
    cut = fit("sklearn.linear_model.Ridge", zero=float(least)).coef[0, :, 0]
    np.testing.assert_array_equal(cut, np.where(np.abs(dense) <= least, 0, dense))


@pytest.mark.usefixtures("installed")
def test_randomness_comes_from_the_stream():
    random = {"params": {"selection": "random", "tol": 1e-2}, "tune": {"alpha": [0.1]}}
    for path, given in (
        ("sklearn.linear_model.Lasso", random),
        (own(DrawsFromTheGlobalState), {}),
    ):
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        first, again, other = (fit(path, rng=seed, **given).coef for seed in (1, 1, 2))
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()
        np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_a_convergence_warning_is_recorded():
    path = fit("sklearn.linear_model.Lasso", params={"max_iter": 2}, tune={"alpha": [1e3, 1e-3]})
    assert path.converged.tolist() == [True, False]
    assert path.message.startswith("Lasso: Objective did not converge")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        Lasso(1e-3, max_iter=2, fit_intercept=False).fit(X, Y)
    assert issubclass(seen[0].category, ConvergenceWarning)


@pytest.mark.usefixtures("installed")
def test_an_estimator_cannot_change_the_data():
    kept = X.copy(), Y.copy()
    path = fit(own(WritesIntoTheData), Y2)
    np.testing.assert_array_equal(path.coef[0], np.column_stack([kept[0][0]] * 2))
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(Y, kept[1])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"class": "sklearn.linear_model.Laso"}, "has no class 'Laso'. Did you mean 'Lasso'?"),
        ({"class": "Lasso"}, "class 'Lasso' has no module. Give its import path"),
        ({"class": "not_there.Lasso"}, "nor of an installed package that requires scikit-learn"),
        ({"class": "sklearn.not_there.Lasso"}, "there is no module 'sklearn.not_there'"),
        ({"class": "sklearn.linear_model.lasso_path"}, "is not a class"),
        ({"class": "sklearn.utils.Bunch"}, "has no method 'fit', so it is not an estimator"),
        ({"params": {"alph": 1}}, "has no parameter 'alph'. Did you mean 'alpha'?"),
        ({"tune": {"alph": [1]}}, "no parameter 'alph' to tune. Did you mean 'alpha'?"),
        (
            {"tune": {"alpha": [*range(1, 2001)], "max_iter": [*range(1, 2001)]}},
            "tune has 4000000 combinations; at most 10000 are fitted",
        ),
        ({"tune": {"alpha": []}}, "alpha must be a list of at least 1 item"),
        ({"class": "sklearn.model_selection.GridSearchCV"}, "does not accept its parameters"),
        ({"class": "greedyexp.estimators.OMP"}, "is part of greedyexp. Use its algorithm by name"),
        ({"class": own(Mean)}, "neither of scikit-learn nor of an installed package"),
        ({"tasks": "together"}, "tasks: together needs the same design for all tasks"),
    ],
)
def test_mistakes_are_found_when_a_file_is_read(tmp_path, given, words):
    settings = settings_of({"class": "sklearn.linear_model.Lasso"} | given)
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump(settings))
    with pytest.raises(ConfigError) as caught:
        config.load(file)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{file}:")


# Programs that a file could start or modules that it could import, and where in an entry.
HOSTILE = {
    "popen": {"class": "subprocess.Popen", "params": {"args": ["touch", "MARK"]}},
    "private": {"class": "_io.FileIO", "params": {"file": "MARK", "mode": "w"}},
    "reexported": {"class": "sklearn.datasets._base.Path", "params": {"file": "MARK"}},
    "numpy": {"class": "numpy.memmap", "params": {"filename": "MARK", "shape": [1], "mode": "w+"}},
    "joblib": {"class": "joblib.Memory", "params": {"location": "MARK"}},
    "module": {"class": "evil.Lasso"},
    "dotted": {"class": "evil.inner.Lasso"},
    "program": {"class": "pytest.__main__.Lasso"},
    "shadow": {"class": "celer.Evil"},
    "metadata": {"class": "disguised.Lasso"},
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("where", ["outside", "step", "tune", "cv"])
def test_only_estimators_are_called_and_only_their_packages_imported(
    tmp_path, monkeypatch, name, where
):
    """``check`` of a file that somebody else has written, in the folder where it lies."""
    mark = tmp_path / "mark"
    code = f"open({str(mark)!r}, 'w')\nfrom sklearn.linear_model import Lasso\n"
    for file in ("evil.py", "disguised.py"):
        (tmp_path / file).write_text(code)
    about = tmp_path / "disguised-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: disguised\nVersion: 1\nRequires-Dist: scikit-learn\n"
    )
    (about / "RECORD").write_text("disguised.py,,\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    bad = yaml.safe_load(yaml.safe_dump(HOSTILE[name]).replace("MARK", str(mark)))
    search = {"class": "sklearn.model_selection.GridSearchCV"}
    good = named(Lasso)
    entry = {
        "outside": bad,
        "step": {"class": "sklearn.pipeline.Pipeline", "params": {"steps": [["a", bad]]}},
        "tune": {"class": "sklearn.linear_model.Lasso", "tune": {"alpha": [1.0, bad]}},
        "cv": search | {"params": {"estimator": good, "param_grid": {"alpha": [1.0]}, "cv": bad}},
    }[where]
    with pytest.raises(ConfigError, match=r"scikit-learn|no class") as caught:
        config.load(settings_of(entry))
    assert not mark.exists(), caught.value


def test_a_class_counts_by_the_module_that_defines_it():
    with pytest.raises(ConfigError, match=r"'pathlib\.Path' is neither"):
        config.load(settings_of({"class": "sklearn.datasets._base.Path"}))


def test_pickled_objects_are_not_read():
    steps = {"steps": [["lasso", named(Lasso)]], "memory": "somewhere"}
    with pytest.raises(ConfigError, match="'memory' would read pickled objects"):
        config.load(settings_of({"class": "sklearn.pipeline.Pipeline", "params": steps}))


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (Mean, "has no coefficients: 'Mean' sets no coef_"),
        (Squares, "are not X b + b_0 with its coefficients b"),
    ],
)
@pytest.mark.usefixtures("installed")
def test_an_estimator_without_a_linear_model_ends_a_run_before_it_begins(cls, words):
    with pytest.raises(PluginError, match="estimator") as caught:
        prepare(params={}, tune={}, tasks="separate", **{"class": own(cls)})
    assert words in str(caught.value)
    with pytest.raises(UserError):
        fit(own(cls))


def test_several_tasks_have_intercepts_of_their_own():
    y = Y2 + np.array([5.0, -3.0])
    path = fit("sklearn.linear_model.Lasso", y, params={"alpha": 0.1, "fit_intercept": True})
    peer = Lasso(alpha=0.1).fit(X, y)
    np.testing.assert_allclose(path.intercepts, [peer.intercept_], atol=1e-6)
    for task in range(2):
        np.testing.assert_allclose(
            path.predictions(X, task)[0], peer.predict(X)[:, task], atol=1e-3
        )


@pytest.mark.parametrize(
    ("path", "y", "given", "words"),
    [
        ("sklearn.linear_model.Lasso", Y, {"params": {"alpha": -1}}, "'alpha' parameter of Lasso"),
        ("sklearn.linear_model.LogisticRegression", Y, {}, "the responses have 60 values"),
        ("sklearn.linear_model.LogisticRegression", 0 * Y + 1, {}, "all responses are 1"),
    ],
)
def test_a_fit_that_fails_is_one_sentence(path, y, given, words):
    with pytest.raises(DataError, match=words):
        fit(path, y, **given)


def test_labels_of_a_classifier_may_be_any_two_numbers():
    signs = np.where(Y > 0, 1.0, -1.0)
    one, other = (fit("sklearn.linear_model.LogisticRegression", y) for y in (signs, 3 * signs + 7))
    np.testing.assert_array_equal(one.coef, other.coef)


def test_an_intercept_of_an_estimator_is_added_to_that_of_centring():
    huber = {"class": "sklearn.linear_model.HuberRegressor"}
    params = {"fit_intercept": True, "tol": 1e-10, "max_iter": 10_000}
    skewed = Y + 40 + 20 * (np.arange(60) % 7 == 0)
    own = greedyexp.solve("estimator", X, skewed, params=params, **huber)
    for tuning in ("end", "cv"):
        both = greedyexp.solve(
            "estimator", X, skewed, params=params, intercept=True, tuning=tuning, **huber
        )
        np.testing.assert_allclose(both.coef, own.coef, atol=2e-3)
        assert both.intercept == pytest.approx(own.intercept, abs=2e-3)
    assert "No intercept is fitted" not in own.message


def test_a_classifier_is_not_centred():
    signs = np.where(Y > 0, 1.0, -1.0)
    with pytest.raises(ConfigError, match="no intercept by centring") as caught:
        greedyexp.solve(
            "estimator",
            X,
            signs,
            intercept=True,
            **{"class": "sklearn.linear_model.LogisticRegression"},
        )
    assert "Ask for the intercept in its own parameters" in str(caught.value)


def settings_of(*entries):
    return {
        "name": "mine",
        "seed": 1,
        "trials": 2,
        "data": {
            "generator": "multitask_overlap",
            "kappa": 0.5,
            "theta": 3.0,
            "p": 16,
            "noise_std": 0.1,
        },
        "protocol": "recovery",
        "algorithms": [{"estimator": entry} for entry in entries],
        "metrics": ["support_size", "frobenius_error"],
    }


def test_several_estimators_stand_in_one_table(tmp_path, monkeypatch):
    lasso = {"class": "sklearn.linear_model.Lasso", "tune": {"alpha": ALPHAS}}
    settings = settings_of(
        {"label": "oracle", **lasso},
        {"label": "end", "tuning": "end", **lasso},
        {"label": "cv", "tuning": "cv", "folds": 3, **lasso},
    )
    frame = greedyexp.run(settings, out=tmp_path, engine="serial")
    assert (frame.status == "ok").all()
    by_label = frame.pivot(index="replicate", columns="algorithm", values="frobenius_error")
    assert (by_label.oracle <= by_label[["end", "cv"]].min(axis=1)).all()
    manifest = yaml.safe_load((tmp_path / "mine/quick/manifest.json").read_text())
    version = packages.versions(["scikit-learn"], "")["scikit-learn"]
    assert manifest["packages"]["scikit-learn"] == version
    # The same settings with another version of the package are other rows.
    loaded = config.load(settings)
    before = Fingerprints(loaded).key(0, 0, 0)
    assert Fingerprints(loaded).key(0, 0, 0) == before
    monkeypatch.setattr(packages, "version_of", lambda name: "0.0")
    assert Fingerprints(loaded).key(0, 0, 0) != before


def test_solve_takes_the_import_path():
    with pytest.warns(UserWarning, match="No intercept is fitted"):
        found = greedyexp.solve(
            "estimator", X, Y, params={"alpha": 0.3}, **{"class": "sklearn.linear_model.Lasso"}
        )
    hand = Lasso(0.3, fit_intercept=False).fit(X, Y)
    np.testing.assert_array_equal(found.coef, hand.coef_)
