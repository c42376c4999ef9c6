"""Linear-chain conditional random fields."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from greedyexp.core.errors import DataError
from greedyexp.core.registry import loss
from greedyexp.losses.crf_fit import CrfFit, minimum_without_features
from greedyexp.losses.crf_likelihood import CrfLikelihood, NullFit
from greedyexp.losses.loss import Fit, Restricted
from greedyexp.problems.chains import classes_of
from greedyexp.problems.checks import Indices
from greedyexp.problems.problem import Problem


class CrfLoss(CrfLikelihood):
    """The loss of a conditional random field, with its minimisers; see ``CrfLikelihood``.

    References
    ----------
    Lafferty, McCallum & Pereira (2001), "Conditional random fields"; Liu, Fujimaki & Ye (2014),
    section 4.2.
    """

    @cached_property
    def null(self) -> NullFit:
        """The fit over the dense parameters alone."""
        return minimum_without_features(self)

    def minimise(self, support: Indices, start: np.ndarray | None = None) -> Restricted:
        fit = CrfFit(self)
        fit.begin(support, start)
        return Restricted.of(fit)

    def fit(self) -> Fit:
        return CrfFit(self)


@loss(
    "crf",
    title="Conditional random field",
    requires=("chains",),
    intercept=False,
    per_class=True,
)
def crf(problem: Problem, *, ridge: float, intercept: bool) -> CrfLoss:
    """Negative log-likelihood of the labels of chains, per word."""
    labels, chains = _labelled_chains(problem)
    return CrfLoss(problem.X[0], labels, chains, n_classes=problem.n_tasks, ridge=ridge)


def _labelled_chains(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return the class of each word and the lengths of the chains."""
    if problem.chains is None:
        raise DataError(
            "the crf loss needs sequences of labelled words.",
            remedy="Give the lengths of the chains, or use another loss.",
        )
    indicators = np.stack(problem.y) if len(set(problem.n_samples)) == 1 else None
    if indicators is None or not problem.shared_design:
        raise DataError(
            "the classes of the words in chains must share one design.",
            remedy="Give every class the same array as X.",
        )
    if not (np.isin(indicators, (0.0, 1.0)).all() and (indicators.sum(axis=0) == 1.0).all()):
        raise DataError(
            "each word must be of exactly one class.",
            remedy="Give responses that are 1 where a word is of the class and 0 elsewhere.",
        )
    return classes_of(problem.y), problem.chains
