"""Regressors, classifiers and their cross-validated variants, without their algorithms."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin, RegressorMixin
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
        """Return predictions (n,), or (n, r) for r responses, for X (n, p)."""
        return self._linear(X)


class Classifier(ClassifierMixin, Estimator):
    """Base class of the classifiers, which tell two classes apart."""

    def fit(self, X: Any, y: Any) -> Classifier:
        """Fit the classes.

        Parameters
        ----------
        X : array, DataFrame or, for some algorithms, sparse array (n, p)
        y : array (n,)
            Labels of two classes.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or the data are invalid, or there are not two classes.

        Warns
        -----
        ConvergenceWarning
            If the estimate lacks the certificate of its algorithm.
        """
        with table_errors(X):
            design, labels = self._checked(X, y)
            check_classification_targets(labels)
            self.classes_, codes = np.unique(labels, return_inverse=True)
            if len(self.classes_) > 2:
                raise ValueError(
                    "Only binary classification is supported. The type of the target is"
                    f" {type_of_target(labels)}."
                )
            if len(self.classes_) < 2:
                raise ValueError("Classifier can't train when only one class is present.")
            self._learn(design, 2.0 * codes - 1.0, classes=codes)
        self.coef_ = self.solution_.coef[None]
        self.intercept_ = np.array([self.solution_.intercept])
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return X coef + intercept (n,), positive for the second class."""
        return self._linear(X)[:, 0]

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels (n,) for X (n, p)."""
        second = self.decision_function(X) > 0
        return self.classes_[second.astype(int)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class LogisticClassifier(Classifier, fixed={"loss": "logistic"}):
    """Base class of the classifiers that minimise the logistic loss."""

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities (n, 2) of the classes in the order of ``classes_``."""
        score = self.decision_function(X)
        return np.stack([expit(-score), expit(score)], axis=1)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms (n, 2) of the probabilities."""
        score = self.decision_function(X)
        return -np.stack([np.logaddexp(0.0, score), np.logaddexp(0.0, -score)], axis=1)
