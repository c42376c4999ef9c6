"""The algorithms as estimators of scikit-learn.

An estimator fits by the core of ``greedyexp.solve`` and has the parameters of its algorithm.

regressors   for one or several responses
classifiers  for two or more classes
coder        sparse codes in a given dictionary
_kinds       fit and predict of regressors and classifiers
_base        the constructor, made from the algorithm, and the call of the core
"""

from importlib import import_module
from importlib.util import find_spec

from greedyexp.core.errors import InstallationError

# scikit-learn has this function since version 1.6.
if not (
    find_spec("sklearn") and hasattr(import_module("sklearn.utils.validation"), "validate_data")
):
    raise InstallationError(
        "the estimators need scikit-learn 1.6 or later.",
        remedy="Install it by 'pip install greedyexp[sklearn]'.",
    )

from greedyexp.estimators.classifiers import (
    FoBaClassifier,
    FoBaClassifierCV,
    ForwardGreedyClassifier,
    ForwardSelectionClassifier,
    ForwardSelectionClassifierCV,
    FullyCorrectiveClassifier,
    FullyCorrectiveClassifierCV,
    L1PathClassifier,
    L1PathClassifierCV,
    SmoothedForwardGreedyClassifier,
)
from greedyexp.estimators.coder import OMPCoder
from greedyexp.estimators.regressors import (
    OMP,
    OMPCV,
    RMP,
    DirtyModel,
    DirtyModelCV,
    FoBaRegressor,
    FoBaRegressorCV,
    ForwardGreedyRegressor,
    ForwardSelectionRegressor,
    ForwardSelectionRegressorCV,
    FullyCorrectiveRegressor,
    FullyCorrectiveRegressorCV,
    GreedyDirtyModel,
    GreedyDirtyModelCV,
    GroupLasso,
    GroupLassoCV,
    GroupOMP,
    GroupOMPCV,
    L1PathRegressor,
    L1PathRegressorCV,
    Lasso,
    LassoCV,
    SmoothedForwardGreedyRegressor,
)

__all__ = [
    "OMP",
    "OMPCV",
    "RMP",
    "DirtyModel",
    "DirtyModelCV",
    "FoBaClassifier",
    "FoBaClassifierCV",
    "FoBaRegressor",
    "FoBaRegressorCV",
    "ForwardGreedyClassifier",
    "ForwardGreedyRegressor",
    "ForwardSelectionClassifier",
    "ForwardSelectionClassifierCV",
    "ForwardSelectionRegressor",
    "ForwardSelectionRegressorCV",
    "FullyCorrectiveClassifier",
    "FullyCorrectiveClassifierCV",
    "FullyCorrectiveRegressor",
    "FullyCorrectiveRegressorCV",
    "GreedyDirtyModel",
    "GreedyDirtyModelCV",
    "GroupLasso",
    "GroupLassoCV",
    "GroupOMP",
    "GroupOMPCV",
    "L1PathClassifier",
    "L1PathClassifierCV",
    "L1PathRegressor",
    "L1PathRegressorCV",
    "Lasso",
    "LassoCV",
    "OMPCoder",
    "SmoothedForwardGreedyClassifier",
    "SmoothedForwardGreedyRegressor",
]
