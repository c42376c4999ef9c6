"""Regressors, classifiers and their cross-validated variants, without their algorithms."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from greedyexp.estimators._base import Estimator, table_errors


class Regressor(RegressorMixin, Estimator):
    """Base class of the regressors."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Regressor:
        """Fit the response.

        Parameters
        ----------
        X : array, DataFrame or, for some algorithms, sparse array (n, p)
        y : array (n,), or (n, r) if the estimator takes several responses
        sample_weight : array (n,), optional
            Weights >= 0 of the rows, for the squared loss. Only their ratios matter. A row of
            weight 0 counts as absent. An intercept for weighted rows needs a dense X.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or the data are invalid.

        Warns
        -----
        ConvergenceWarning
            If the estimate lacks the certificate of its algorithm.
        """
        with table_errors(X, y):
            design, response = self._checked(X, y, multi_output=self.multi_output, y_numeric=True)
            self._learn(design, response, weights=sample_weight)
        coef, intercept = self.solution_.coef, self.solution_.intercept
        if response.ndim == 1:
            self.coef_, self.intercept_ = coef, intercept
        else:
            self.coef_ = coef.reshape(len(coef), -1).T
            self.intercept_ = np.full(response.shape[1], intercept)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return predictions (n,), or (n, r) for r responses, for X (n, p).

        For the loss ``poisson`` they are the expected counts exp(X coef + intercept).
        """
        predicted, kind = self._linear(X), self._kind
        return kind.expected(predicted) if kind and kind.expected else predicted


class Classifier(ClassifierMixin, Estimator):
    """Base class of the classifiers.

    They tell two classes apart; those with the logistic loss of their own choice, several.
    """

    def fit(self, X: Any, y: Any) -> Classifier:
        """Fit the classes.

        Parameters
        ----------
        X : array, DataFrame or, for some algorithms, sparse array (n, p)
        y : array (n,)
            Labels of two classes, or of more if the loss is ``logistic`` and the estimator has a
            parameter ``loss``. The model is then multinomial.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or the data are invalid, or the number of classes is not possible.

        Warns
        -----
        ConvergenceWarning
            If the estimate lacks the certificate of its algorithm.
        """
        with table_errors(X):
            design, labels = self._checked(X, y)
            check_classification_targets(labels)
            self.classes_, codes = np.unique(labels, return_inverse=True)
            count = len(self.classes_)
            if count > 2 and getattr(self, "loss", None) not in self.several:
                raise ValueError(
                    "Only binary classification is supported"
                    f"{f' with loss={self.loss!r}' if self.several else ''}. The type of the target"
                    f" is {type_of_target(labels)}."
                )
            if count < 2:
                raise ValueError("Classifier can't train when only one class is present.")
            response = 2.0 * codes - 1.0 if count == 2 else np.eye(count)[codes]
            self._learn(design, response, classes=codes)
        self.coef_ = self.solution_.coef.reshape(design.shape[1], -1).T
        self.intercept_ = np.broadcast_to(self.solution_.intercept, len(self.coef_)).copy()
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return X coef + intercept, (n,) and positive for the second of two classes.

        For r > 2 classes the shape is (n, r).
        """
        scores = self._linear(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels (n,) for X (n, p)."""
        scores = self.decision_function(X)
        return self.classes_[
            (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = bool(self.several)
        return tags


class LogisticClassifier(Classifier, fixed={"loss": "logistic"}):
    """Base class of the classifiers that minimise the logistic loss."""

    def _tells_probabilities(self) -> bool:
        return self._kind is not None and self._kind.expected is not None

    @available_if(_tells_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities (n, r) of the classes in the order of ``classes_``."""
        return np.exp(self.predict_log_proba(X))

    @available_if(_tells_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms (n, r) of the probabilities."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.stack([np.zeros_like(scores), scores], axis=1)
        return log_softmax(scores, axis=1)


class AnyLossClassifier(
    LogisticClassifier,
    fixed={},
    initial={"loss": "logistic"},
    several={"logistic": "multinomial"},
):
    """Base class of the classifiers with a parameter ``loss``."""
