"""Sparse classifiers."""

from __future__ import annotations

from greedyexp.estimators._kinds import AnyLossClassifier, Classifier, LogisticClassifier


class L1PathClassifier(AnyLossClassifier, algorithms="l1_path"):
    """Logistic regression, or another loss, with an l1 penalty and a ridge."""


class L1PathClassifierCV(L1PathClassifier, tuning="cv"):
    """Logistic regression, or another loss, with a cross-validated l1 penalty and a ridge."""


class FoBaClassifier(
    AnyLossClassifier, algorithms={"gradient": "foba_gdt", "gain": "foba_obj"}, choice="select"
):
    """Forward-backward greedy selection of features for logistic regression or another loss."""


class FoBaClassifierCV(FoBaClassifier, tuning="cv"):
    """Forward-backward greedy selection with a cross-validated number of features."""


class ForwardSelectionClassifier(
    AnyLossClassifier,
    algorithms={"gradient": "forward_gdt", "gain": "forward_obj"},
    choice="select",
):
    """Forward selection of features for logistic regression or another loss."""


class ForwardSelectionClassifierCV(ForwardSelectionClassifier, tuning="cv"):
    """Forward selection with a cross-validated number of features."""


class ForwardGreedyClassifier(
    LogisticClassifier, algorithms="forward_greedy", initial={"radius": 1.0}
):
    """Logistic regression over an l1 ball by forward greedy steps (Frank-Wolfe).

    There is no intercept.
    """


class FullyCorrectiveClassifier(LogisticClassifier, algorithms="fully_corrective"):
    """Fully corrective greedy selection for logistic regression. There is no intercept."""


class FullyCorrectiveClassifierCV(FullyCorrectiveClassifier, tuning="cv"):
    """Fully corrective greedy selection with a cross-validated number of steps."""


class SmoothedForwardGreedyClassifier(
    Classifier,
    algorithms="smoothed_forward_greedy",
    fixed={"loss": "hinge"},
    initial={"radius": 1.0},
):
    """Support vector machine over an l1 ball by forward greedy steps on a smoothed hinge loss.

    There is no intercept.
    """
