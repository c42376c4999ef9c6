"""The checks of scikit-learn pass for all estimators; there are no expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from greedyexp import estimators

# A path of few points saves seconds.
FEW = {name: {"n_lams": 5} for name in ("L1PathClassifierCV", "L1PathRegressorCV")}
ALL = [getattr(estimators, name)(**FEW.get(name, {})) for name in estimators.__all__]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ALL)
def test_a_check_of_scikit_learn_passes(estimator, check):
    check(estimator)
