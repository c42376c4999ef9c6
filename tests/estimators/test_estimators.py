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
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
)
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
# The coder is no regressor or classifier; it has tests of its own.
ALL = [getattr(estimators, name) for name in estimators.__all__ if name != "OMPCoder"]


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
        if cls.tuning == "cv" and is_classifier(made):
            # The folds of solve() do not keep the shares of the classes.
            rng = np.random.default_rng(given["seed"])
            parts = [np.sort(part) for part in np.array_split(rng.permutation(90), 3)]
            made.set_params(cv=[(np.setdiff1d(np.arange(90), part), part) for part in parts])
            given["folds"] = 3
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
        (estimators.LassoCV(cv=None, random_state="no"), "'no' cannot be used to seed"),
        (estimators.LassoCV(random_state=-1), "random_state must be at least 0"),
        (estimators.LassoCV(cv="five"), "cv.? as an integer"),
        (estimators.LassoCV(cv=[(range(80), [90])]), "cv: split 1 must be training rows"),
        (estimators.LassoCV(cv=[(range(80), [85]), 3]), "cv: split 2 must be training rows"),
        (estimators.LassoCV(cv=[([3], [4, 5])]), "cv: split 1 has 1 training rows"),
        (estimators.LassoCV(cv=[(np.eye(3, dtype=int), [5])]), "cv: split 1 must be training rows"),
        (estimators.LassoCV(cv=[(7, [5])]), "cv: split 1 must be training rows"),
        (estimators.LassoCV(cv=[]), "cv has no splits"),
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
        def __init__(self, n_atoms=2, fit_intercept=True):
            super().__init__(n_atoms=n_atoms, fit_intercept=fit_intercept)

    class Same(estimators.OMP):
        """The same."""

    assert clone(Few()).get_params() == {"n_atoms": 2, "fit_intercept": True}
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


@pytest.mark.parametrize(
    "cv",
    [
        KFold(4, shuffle=True, random_state=3),
        ShuffleSplit(3, test_size=0.3, random_state=1),
        TimeSeriesSplit(3),
        [(np.arange(90) < 60, np.arange(90) >= 60)],
    ],
    ids=str,
)
def test_a_splitter_decides_the_folds(cv):
    made = estimators.LassoCV(cv=cv, n_lams=8).fit(X, Y)
    lams = made.path_["lam"].to_numpy()
    errors = np.zeros(8)
    for train, held in cv.split(X) if hasattr(cv, "split") else cv:
        for j, lam in enumerate(lams):
            fitted = estimators.Lasso(lam=lam).fit(X[train], Y[train])
            errors[j] += ((Y[held] - fitted.predict(X[held])) ** 2).mean()
    assert made.path_["chosen"].to_numpy().argmax() == errors.argmin()
    np.testing.assert_allclose(
        made.coef_, estimators.Lasso(lam=lams[errors.argmin()]).fit(X, Y).coef_
    )


def test_folds_of_classes_keep_their_shares():
    few = np.where(np.arange(90) < 6, "yes", "no")
    X_few = X + 2.0 * (few == "yes")[:, None] * (np.arange(12) == 1)
    same = StratifiedKFold(5, shuffle=True, random_state=2)
    by_number, by_splitter = (
        estimators.L1PathClassifierCV(cv=cv, n_lams=10, ridge=0.01, random_state=2).fit(X_few, few)
        for cv in (5, same)
    )
    np.testing.assert_array_equal(by_number.coef_, by_splitter.coef_)
    labels = np.concatenate([np.unique(few[held]) for _, held in same.split(X_few, few)])
    assert (labels == "yes").sum() == (labels == "no").sum() == 5


def test_random_states_may_be_those_of_numpy_or_none():
    assert estimators.LassoCV(n_lams=5, random_state=None).fit(X, Y).solution_.converged
    by_state, by_number = (
        estimators.LassoCV(n_lams=30, random_state=state).fit(X, Y)
        for state in (np.random.RandomState(5), np.random.RandomState(5).randint(2**31))
    )
    np.testing.assert_array_equal(by_state.coef_, by_number.coef_)


# The steps of forward greedy depend on the largest entry of X, which weights change. The smoothed
# one has another loss.
UNLIKE = (estimators.ForwardGreedyRegressor, estimators.SmoothedForwardGreedyRegressor)
WEIGHTED = [cls for cls in ALL if not is_classifier(cls()) and cls not in UNLIKE]
WEIGHTS = RNG.integers(0, 4, 90).astype(float)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", WEIGHTED, ids=lambda cls: cls.__name__)
def test_whole_weights_count_rows(cls):
    made = with_params(cls)
    y = Y if made.multi_output else Y[:, 0]
    repeated = np.repeat(np.arange(90), WEIGHTS.astype(int))
    if cls.tuning == "cv":
        folds = np.arange(90) % 3
        made.set_params(cv=PredefinedSplit(folds))
    weighted = clone(made).fit(X, y, sample_weight=WEIGHTS)
    if cls.tuning == "cv":
        made.set_params(cv=PredefinedSplit(folds[repeated]))
    counted = made.fit(X[repeated], y[repeated])
    np.testing.assert_array_equal(weighted.support_, counted.support_)
    np.testing.assert_allclose(weighted.coef_, counted.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(weighted.intercept_, counted.intercept_, rtol=1e-6)
    # Only ratios of weights matter.
    again = clone(weighted).fit(X, y, sample_weight=7.5 * WEIGHTS)
    np.testing.assert_allclose(again.coef_, weighted.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weighted_fits_are_those_of_scikit_learn(fit_intercept):
    weights = RNG.uniform(0.0, 3.0, 90)
    ours = estimators.Lasso(lam=0.1, fit_intercept=fit_intercept)
    theirs = linear_model.Lasso(0.1, fit_intercept=fit_intercept, tol=1e-12)
    for form in (X, scipy.sparse.csr_array(X)) if not fit_intercept else (X,):
        ours.fit(form, Y[:, 0], sample_weight=weights)
        theirs.fit(X, Y[:, 0], sample_weight=weights)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
        assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-8)
    plain = linear_model.LinearRegression(fit_intercept=fit_intercept)
    plain.fit(X[:, :3], Y[:, 0], sample_weight=weights)
    for cls in (estimators.OMP, estimators.FoBaRegressor, estimators.ForwardSelectionRegressor):
        limit = {"n_atoms": 3} if cls is estimators.OMP else {"max_features": 3}
        made = cls(**limit, fit_intercept=fit_intercept)
        made.fit(X[:, :3], Y[:, 0], sample_weight=weights)
        np.testing.assert_allclose(made.coef_, plain.coef_, atol=1e-9)
        assert made.intercept_ == pytest.approx(plain.intercept_, abs=1e-8)


@pytest.mark.parametrize(
    "weights", [np.ones(89), -np.ones(90), np.eye(90)[0], np.ones((90, 1)), "none", [np.nan] * 90]
)
def test_weights_that_fit_no_rows_are_refused(weights):
    with pytest.raises(ValueError, match=r"sample_weight|could not convert"):
        estimators.Lasso(lam=0.1).fit(X, Y[:, 0], sample_weight=weights)


def test_weights_are_for_the_squared_loss():
    made = estimators.SmoothedForwardGreedyRegressor(radius=1.0)
    with pytest.raises(ValueError, match="takes no weights with loss 'absolute'"):
        made.fit(X, Y[:, 0], sample_weight=np.arange(90.0))


CROSS_VALIDATED = [cls for cls in WEIGHTED if cls.tuning == "cv"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", CROSS_VALIDATED, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_rows_without_weight_count_as_absent(cls, fit_intercept):
    made = with_params(cls)
    y = Y if made.multi_output else Y[:, 0]
    weights, kept = np.where(np.arange(90) % 4, 2.0, 0.0), np.flatnonzero(np.arange(90) % 4)
    design = X.copy()
    # A column that is constant on the rows that count.
    design[kept, 7] = 1.0
    made.set_params(fit_intercept=fit_intercept)
    folds = np.arange(90) % 3
    made.set_params(cv=PredefinedSplit(folds)).fit(design, y, sample_weight=weights)
    fewer = clone(made).set_params(cv=PredefinedSplit(folds[kept])).fit(design[kept], y[kept])
    np.testing.assert_array_equal(made.support_, fewer.support_)
    np.testing.assert_allclose(made.coef_, fewer.coef_, rtol=1e-9, atol=1e-12)
    # Folds of equal size are those of the rows that count.
    made.set_params(cv=3).fit(design, y, sample_weight=weights)
    fewer.set_params(cv=3).fit(design[kept], y[kept])
    np.testing.assert_allclose(made.coef_, fewer.coef_, rtol=1e-9, atol=1e-12)
    split = [(np.arange(0, 88, 4), np.arange(1, 90))]
    with pytest.raises(ValueError, match=r"has 0 training rows .* of positive weight"):
        made.set_params(cv=split).fit(design, y, sample_weight=weights)


@pytest.mark.parametrize("size", [1e307, 1e-300])
def test_only_ratios_of_weights_matter(size):
    weights = RNG.uniform(0.1, 1.0, 90)
    one = estimators.Lasso(lam=0.1).fit(X, Y, sample_weight=weights)
    other = estimators.Lasso(lam=0.1).fit(X, Y, sample_weight=size * weights)
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-9)


def test_without_a_number_of_folds_classes_keep_their_shares():
    few = np.where(np.arange(90) < 6, "yes", "no")
    some = {"n_lams": 5, "ridge": 0.01, "random_state": 2**32 + 5}
    by_none, by_number = (
        estimators.L1PathClassifierCV(cv=cv, **some).fit(X, few) for cv in (None, 5)
    )
    np.testing.assert_array_equal(by_none.coef_, by_number.coef_)
