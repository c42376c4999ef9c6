"""The checks of scikit-learn pass for all estimators, but for three.

One constructor makes all classes, so one class of each kind gets all checks. The others get those
whose outcome depends on the algorithm.
"""

import pytest
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from greedyexp import estimators

# One class for each combination of regressor or classifier, of several responses or one, of sparse
# matrices or dense ones, and of cross-validated or not.
OF_EACH_KIND = (
    *("OMP", "OMPCV", "RMP", "FoBaRegressor", "FoBaRegressorCV", "FullyCorrectiveRegressorCV"),
    *("FoBaClassifier", "ForwardGreedyClassifier", "L1PathClassifierCV"),
)
OF_THE_ALGORITHM = (
    *("check_fit2d_1sample", "check_fit2d_1feature", "check_estimators_dtypes"),
    *("check_estimators_nan_inf", "check_fit_idempotent", "check_regressors_train"),
    *(
        "check_classifiers_train",
        "check_estimators_pickle",
        "check_methods_sample_order_invariance",
    ),
)
# A path of few points saves seconds.
FEW = {name: {"n_lams": 5} for name in ("L1PathClassifierCV", "L1PathRegressorCV")}
# By default a selection takes at most half of the features.
SELECTIONS = {f"{name}Classifier{cv}" for name in ("FoBa", "ForwardSelection") for cv in ("", "CV")}


def made(name):
    return getattr(estimators, name)(**FEW.get(name, {}))


def kind(name):
    tags = made(name).__sklearn_tags__()
    target = tags.target_tags.multi_output
    return tags.estimator_type, target, tags.input_tags.sparse, name.endswith("CV")


# The coder needs a dictionary with as many columns as the data of a check.
NAMES = [name for name in estimators.__all__ if name != "OMPCoder"]


def test_each_kind_has_a_class_with_all_checks():
    assert {kind(name) for name in NAMES} == {kind(name) for name in OF_EACH_KIND}


def fails(estimator):
    """Return the checks that cannot pass, with the reasons."""
    name, same = type(estimator).__name__, "check_sample_weight_equivalence_on"
    failed = {}
    if name in ("OMP", "FoBaRegressor"):
        failed[f"{same}_dense_data"] = "the default end of a path depends on the number of rows"
    if name in ("FoBaRegressor", "FoBaRegressorCV"):
        failed[f"{same}_sparse_data"] = "an intercept for weighted rows needs a dense design"
    if name in SELECTIONS:
        failed["check_classifiers_train"] = "the three classes need both of the two features"
    return failed


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([made(name) for name in OF_EACH_KIND], expected_failed_checks=fails)
def test_a_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted({*NAMES} - {*OF_EACH_KIND}))
def test_the_checks_that_depend_on_the_algorithm_pass(name):
    passed = set()
    for estimator, check in estimator_checks_generator(made(name)):
        if check.func.__name__ in OF_THE_ALGORITHM:
            if check.func.__name__ not in fails(estimator):
                check(estimator)
            passed.add(check.func.__name__)
    assert len(passed) == len(OF_THE_ALGORITHM) - 1


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", sorted(SELECTIONS))
def test_selections_learn_the_classes_of_that_check(name, classes):
    X, y = make_blobs(n_samples=300, random_state=0)
    X, y = StandardScaler().fit_transform(X)[y < classes], y[y < classes]
    fitted = getattr(estimators, name)(max_features=classes - 1, ridge=0.01).fit(X, y)
    assert fitted.score(X, y) > 0.83
