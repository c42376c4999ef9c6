"""Estimators give what ``solve`` gives, and behave as scikit-learn expects."""

import inspect
import pickle
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn import linear_model
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from greedyexp import estimators, solve
from greedyexp.core import registry
from greedyexp.core.errors import InstallationError

RNG = np.random.default_rng(3)
X = RNG.standard_normal((90, 12)) * np.linspace(0.5, 2.0, 12) + 3.0
TRUTH = np.zeros((12, 2))
TRUTH[[1, 4], :] = [[2.0, 1.0], [-1.0, 1.5]]
Y = X @ TRUTH + [5.0, -2.0] + 0.1 * RNG.standard_normal((90, 2))
LABELS = np.where(X[:, 1] - X[:, 4] + RNG.standard_normal(90) > 0, "yes", "no")
ALL = [getattr(estimators, name) for name in estimators.__all__]


def with_params(cls):
    """Return an estimator of the class with parameters that end its path early."""
    known = inspect.signature(cls).parameters
    few = {"n_atoms": 2, "n_rows": 2, "max_features": 2, "lam": 0.05, "ridge": 0.01, "steps": 5}
    if cls.tuning == "cv":
        few = {"n_lams": 6, "ridge": 0.01, "cv": 3, "random_state": 4}
    return cls(**{name: value for name, value in few.items() if name in known})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_an_estimator_gives_the_bits_of_solve(cls):
    made = with_params(cls)
    several = not is_classifier(made) and made.multi_output
    y = np.where(LABELS == "yes", 1.0, -1.0) if is_classifier(made) else Y if several else Y[:, 0]
    spelled = {"fit_intercept": "intercept", "cv": "folds", "random_state": "seed"}
    spelled["max_iter"] = "iterations"
    for value, name in cls.algorithms.items():
        if cls.choice:
            made.set_params(**{cls.choice: value})
        fields = registry.find("algorithm", name).parameters.model_fields
        known = {*fields, *spelled.values(), *(["tol"] if name == "rmp" else [])}
        given = {spelled.get(k, k): v for k, v in {**made.get_params(), **cls.fixed}.items()}
        given = {k: v for k, v in given.items() if k in known}
        wanted = solve(name, X, y, tuning=cls.tuning, **given)
        made.fit(X, LABELS if is_classifier(made) else y)
        coef = np.atleast_2d(wanted.coef.T if several else wanted.coef)
        np.testing.assert_array_equal(np.atleast_2d(made.coef_), coef)
        np.testing.assert_array_equal(np.ravel(made.intercept_), np.ravel(wanted.intercept))
        np.testing.assert_array_equal(made.support_, np.flatnonzero(coef.any(axis=0)))
        pd.testing.assert_frame_equal(made.path_, wanted.history)


def test_the_lasso_is_that_of_scikit_learn():
    ours = estimators.Lasso(lam=0.1).fit(X, Y)
    theirs = linear_model.Lasso(alpha=0.1, tol=1e-12, max_iter=100_000).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-7)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-7)


def test_group_lasso_in_l2_is_the_multi_task_lasso_of_scikit_learn():
    ours = estimators.GroupLasso(norm="l2", lam=0.1).fit(X, Y)
    theirs = linear_model.MultiTaskLasso(alpha=0.1, tol=1e-12, max_iter=100_000).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)


def test_omp_is_that_of_scikit_learn():
    ours = estimators.OMP(n_atoms=3, normalize=False).fit(X, Y[:, 0])
    theirs = linear_model.OrthogonalMatchingPursuit(n_nonzero_coefs=3).fit(X, Y[:, 0])
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-10)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-9)


def test_probabilities_are_those_of_logistic_regression_on_the_support():
    ours = estimators.FoBaClassifier(max_features=2, ridge=0.02).fit(X, LABELS)
    theirs = linear_model.LogisticRegression(C=1 / (0.02 * len(X)), tol=1e-10)
    theirs.fit(X[:, ours.support_], LABELS)
    expected = theirs.predict_proba(X[:, ours.support_])
    assert list(ours.classes_) == ["no", "yes"]
    np.testing.assert_allclose(ours.predict_proba(X), expected, atol=1e-5)
    np.testing.assert_allclose(np.exp(ours.predict_log_proba(X)), ours.predict_proba(X))
    assert (ours.predict(X) == theirs.predict(X[:, ours.support_])).all()


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_parameters_and_their_help_are_those_of_the_algorithms(cls):
    arguments = inspect.signature(cls).parameters
    for name in cls.algorithms.values():
        assert f"\n{registry.find('algorithm', name).paper}.\n" in cls.__doc__
        for key, field in registry.find("algorithm", name).parameters.model_fields.items():
            if key in arguments:
                assert field.description in cls.__doc__
                if key not in cls.initial:
                    assert arguments[key].default == field.default
    assert all(f"\n{name} : " in cls.__doc__ for name in arguments)
    assert cls.__doc__.partition("\n")[0]


def test_sparse_designs_give_the_same_where_they_are_taken():
    rng = np.random.default_rng(1)
    thin = scipy.sparse.csr_array(np.where(rng.random((90, 30)) < 0.2, rng.random((90, 30)), 0))
    y = thin @ np.r_[1.0, -2.0, np.zeros(28)] + 1.0
    for made in (estimators.FoBaRegressor(max_features=2), estimators.L1PathRegressor(lam=0.001)):
        on_sparse, on_dense = clone(made).fit(thin, y), clone(made).fit(thin.toarray(), y)
        np.testing.assert_allclose(on_sparse.coef_, on_dense.coef_, atol=1e-10)
        np.testing.assert_allclose(on_sparse.predict(thin), on_dense.predict(thin.toarray()))
    with pytest.raises(TypeError, match="dense data is required"):
        estimators.FullyCorrectiveRegressor().fit(thin, y)
    made = estimators.FullyCorrectiveRegressor(fit_intercept=False, steps=2).fit(thin, y - 1.0)
    assert list(made.support_) == [0, 1]


def test_a_pipeline_of_named_columns_is_searched_scored_copied_and_pickled():
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(12)])
    pipeline = make_pipeline(StandardScaler(), estimators.FoBaRegressor())
    pipeline.set_output(transform="pandas")
    search = GridSearchCV(pipeline, {"fobaregressor__max_features": [1, 2, 3]}, cv=3)
    search.fit(frame, pd.Series(Y[:, 0]))
    best = search.best_estimator_[-1]
    assert search.best_score_ > 0.99
    assert list(best.feature_names_in_) == list(frame.columns)
    assert {"x1", "x4"} <= set(best.feature_names_in_[best.support_])
    assert cross_val_score(search.best_estimator_, frame, Y[:, 0], cv=3).min() > 0.99
    copy = pickle.loads(pickle.dumps(best))
    np.testing.assert_array_equal(copy.coef_, best.coef_)
    assert clone(best).get_params() == best.get_params()


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (estimators.OMP(n_atoms=0), "algorithm 'omp': n_atoms must be at least 1"),
        (estimators.OMP(n_atoms=13), "n_atoms = 13 is more than the 12 features"),
        (estimators.LassoCV(cv=1), "cv must be at least 2"),
        (estimators.Lasso(fit_intercept="no"), "fit_intercept must be true or false"),
        (estimators.FoBaRegressor(fit_intercept=3), "fit_intercept must be true or false"),
        (estimators.FoBaRegressor(select="best"), "select must be one of 'gradient', 'gain'"),
        (estimators.FoBaRegressor(select=["gain"]), "select must be one of 'gradient', 'gain'"),
        (estimators.FoBaRegressor(delta=np.ones(2)), "delta is no parameter for select='gradient'"),
        (estimators.LassoCV(random_state=np.random.RandomState(0)), "random_state must be a whole"),
        (estimators.FoBaRegressor(delta=0.1), "delta is no parameter for select='gradient'"),
        (estimators.LassoCV(cv=91), "91-fold cross-validation needs at least 91 rows"),
    ],
)
def test_errors_are_value_errors_of_one_sentence(made, words):
    with pytest.raises(ValueError, match=words):
        made.fit(X, Y[:, 0])


def frame_with(value):
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(12)], index=np.arange(100, 190))
    return frame.astype({"x3": object}).assign(x3=[*X[:7, 3], value, *X[8:, 3]])


@pytest.mark.parametrize(
    ("design", "y", "words"),
    [
        (frame_with("high"), Y[:, 0], "column 'x3' of X holds the text 'high' in row 107"),
        (
            frame_with(1.0).assign(x5=pd.Timestamp("2020-01-01")),
            Y[:, 0],
            "column 'x5' of X holds 2020-01-01.* in row 100; a finite number is needed",
        ),
        (frame_with(None), Y[:, 0], "column 'x3' of X holds no value in row 107"),
        (frame_with(np.inf), Y[:, 0], "column 'x3' of X holds inf in row 107"),
        (np.where(X[7, 3] == X, np.nan, X), Y[:, 0], "X contains NaN in row 7, column 3"),
        (X, pd.Series([*Y[:-1, 0], None]), "y holds no value in row 89"),
        (X, pd.Series([*Y[:-1, 0].astype(str), "low"]), "y holds the text 'low' in row 89"),
    ],
)
def test_texts_and_missing_values_have_a_row_and_a_column(design, y, words):
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        estimators.OMP(n_atoms=2).fit(design, y)
    assert "\n" not in str(caught.value)
    if isinstance(y, np.ndarray):
        with pytest.raises(ValueError, match=words):
            estimators.FoBaClassifier().fit(design, LABELS)
    if isinstance(design, pd.DataFrame):
        fitted = estimators.OMP(n_atoms=2).fit(frame_with(1.0), Y[:, 0])
        with pytest.raises(ValueError, match=words):
            fitted.predict(design)


def test_an_unknown_parameter_is_refused_by_the_constructor():
    with pytest.raises(TypeError, match="unexpected keyword argument 'alpha'"):
        estimators.Lasso(alpha=1.0)


def test_a_subclass_keeps_its_own_constructor():
    class Few(estimators.OMP):
        def __init__(self, n_atoms=2, normalize=True, judge="coordinate", fit_intercept=True):
            super().__init__(
                n_atoms=n_atoms, normalize=normalize, judge=judge, fit_intercept=fit_intercept
            )

    class Same(estimators.OMP):
        """The same."""

    assert clone(Few()).get_params() == estimators.OMP(n_atoms=2).get_params()
    assert len(Few().fit(X, Y[:, 0]).support_) == 2
    assert clone(Same(n_atoms=3)).get_params() == estimators.OMP(n_atoms=3).get_params()


def test_an_estimate_without_certificate_warns():
    with pytest.warns(ConvergenceWarning, match="RMP: After 3 iterations the duality gap"):
        estimators.RMP(max_iter=3).fit(X, Y[:, 0])


def test_numbers_in_single_precision_are_taken():
    single = estimators.OMP(n_atoms=2).fit(X.astype(np.float32), Y[:, 0].astype(np.float32))
    double = estimators.OMP(n_atoms=2).fit(X, Y[:, 0])
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-5)


@pytest.mark.parametrize(
    "lacking",
    ["sys.modules['sklearn'] = None", "import sklearn.utils.validation as v; del v.validate_data"],
)
def test_without_a_recent_scikit_learn_one_sentence_says_what_to_install(lacking):
    code = (
        f"import sys\n{lacking}\n"
        "try:\n"
        "    import greedyexp.estimators\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        f"{InstallationError.__name__} the estimators need scikit-learn 1.6 or later. Install it by"
        " 'pip install greedyexp[sklearn]'."
    )


def test_greedyexp_does_not_import_scikit_learn():
    code = "import greedyexp, greedyexp.api, sys; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("shape", [(50, 10), (500, 200)])
def test_an_estimator_takes_at_most_a_millisecond_more_than_solve(shape):
    rng = np.random.default_rng(0)
    design, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    made = estimators.OMP(n_atoms=5)

    def seconds(fit):
        start = time.thread_time()
        fit()
        return time.thread_time() - start

    with threadpool_limits(1):
        pairs = [
            (
                seconds(lambda: made.fit(design, y)),
                seconds(lambda: solve("omp", design, y, n_atoms=5, intercept=True)),
            )
            for _ in range(50)
        ]
    ours, plain = zip(*pairs, strict=True)
    assert min(ours) - min(plain) < 1e-3
