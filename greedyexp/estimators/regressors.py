"""Sparse regressors."""

from __future__ import annotations

from greedyexp.estimators._kinds import Regressor


class OMP(Regressor, algorithms="omp", multi_output=True):
    """Orthogonal matching pursuit: add the best correlated feature, refit, repeat.

    Each response has its own pursuit; they share the number of features.
    """


class OMPCV(OMP, tuning="cv"):
    """Orthogonal matching pursuit with a cross-validated number of features."""


class GroupOMP(Regressor, algorithms="group_omp", multi_output=True):
    """Group OMP: all responses take the same features."""


class GroupOMPCV(GroupOMP, tuning="cv"):
    """Group OMP with a cross-validated number of features."""


class GreedyDirtyModel(Regressor, algorithms="greedy_dirty", multi_output=True):
    """Greedy dirty model: features for single responses and for all, with backward steps."""


class GreedyDirtyModelCV(GreedyDirtyModel, tuning="cv"):
    """Greedy dirty model with cross-validated stopping threshold and weight of rows."""


class DirtyModel(Regressor, algorithms="dirty_lasso", multi_output=True):
    """Dirty model: least squares with an l1 penalty plus an l1/linf penalty."""


class DirtyModelCV(DirtyModel, tuning="cv"):
    """Dirty model with cross-validated penalties."""


class Lasso(Regressor, algorithms="lasso", multi_output=True):
    """Lasso: least squares with an l1 penalty, for each response."""


class LassoCV(Lasso, tuning="cv"):
    """Lasso with a cross-validated penalty, the same for all responses."""


class GroupLasso(
    Regressor,
    algorithms={"linf": "group_lasso", "l2": "group_lasso_l2"},
    choice="norm",
    multi_output=True,
):
    """Group lasso: the coefficients of a feature enter together for all responses."""


class GroupLassoCV(GroupLasso, tuning="cv"):
    """Group lasso with a cross-validated penalty."""


class L1PathRegressor(Regressor, algorithms="l1_path"):
    """Least squares, or another loss, with an l1 penalty and a ridge."""


class L1PathRegressorCV(L1PathRegressor, tuning="cv"):
    """Least squares, or another loss, with a cross-validated l1 penalty and a ridge."""


class FoBaRegressor(
    Regressor,
    algorithms={"gradient": "foba_gdt", "gain": "foba_obj"},
    choice="select",
):
    """Forward-backward greedy selection of features for least squares or another loss."""


class FoBaRegressorCV(FoBaRegressor, tuning="cv"):
    """Forward-backward greedy selection with a cross-validated number of features."""


class ForwardSelectionRegressor(
    Regressor,
    algorithms={"gradient": "forward_gdt", "gain": "forward_obj"},
    choice="select",
):
    """Forward selection of features for least squares or another loss."""


class ForwardSelectionRegressorCV(ForwardSelectionRegressor, tuning="cv"):
    """Forward selection with a cross-validated number of features."""


class ForwardGreedyRegressor(
    Regressor, algorithms="forward_greedy", fixed={"loss": "squared"}, initial={"radius": 1.0}
):
    """Least squares over an l1 ball by forward greedy steps (Frank-Wolfe)."""


class FullyCorrectiveRegressor(Regressor, algorithms="fully_corrective", fixed={"loss": "squared"}):
    """Fully corrective greedy selection for least squares."""


class FullyCorrectiveRegressorCV(FullyCorrectiveRegressor, tuning="cv"):
    """Fully corrective greedy selection with a cross-validated number of steps."""


class SmoothedForwardGreedyRegressor(
    Regressor,
    algorithms="smoothed_forward_greedy",
    fixed={"loss": "absolute"},
    initial={"radius": 1.0},
):
    """Least absolute deviations over an l1 ball by forward greedy steps on a smoothed loss.

    There is no intercept.
    """


class RMP(Regressor, algorithms="rmp", initial={"lam": 0.1}):
    """Regularised matching pursuit: the Lasso by steps in the geometry of the l1 norm."""
