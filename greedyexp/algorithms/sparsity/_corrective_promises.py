"""What Theorems 3 to 5 of the 2009 report promise of a run, with the constants that it met."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from greedyexp.algorithms.sparsity._corrective_settings import covered
from greedyexp.estimates.path import Path
from greedyexp.theory.sparsity_bounds import smoothness_of_risk, theorem3, theorem4, theorem5
from greedyexp.theory.theorems import Reference, RiskBound

# Constants of strong convexity that agree to this relative precision are equal.
EQUAL = 1e-9


def selection_promises(
    path: Path, reference: Reference, *, rule: str, risk: str, **_
) -> list[RiskBound]:
    """T3 and T4 of a path of ``fully_corrective``; none where the rule is not ``covered``.

    lam of T4 is that of R on the union of the supports of the estimates and of the reference, which
    are the only ones its proof looks at: the least eigenvalue there with the squared loss, beside
    which any other loss has its ridge alone.
    """
    loss = path.loss
    if not covered(rule, loss):
        return []
    beta = smoothness_of_risk(loss)
    lam, most = _strong_convexity(path, reference, risk)
    span = loss.value(np.zeros(loss.size)) - reference.value
    return [
        theorem3(beta, reference.l1_norm),
        theorem4(beta, lam, reference.n_features, span, most_steps=most),
    ]


def replacement_promises(
    path: Path, reference: Reference, *, rule: str, variant: str, **_
) -> list[RiskBound]:
    """T5 of a path of ``replacement_steps``; none of the simple variant.

    lam is the least of R on the sets F' of the run, each with the support of the reference. There
    must be as many features as the theorem asks for: it promises nothing otherwise.
    """
    loss, told = path.loss, path.history
    started = told["step"] == 0
    if variant == "simple" or not covered(rule, loss) or not started.any():
        return []
    known = np.flatnonzero(reference.params)
    lam = min(
        loss.strong_convexity(np.union1d(support, known).astype(np.int64))
        for support in _enlarged_supports(told)
    )
    return [
        theorem5(
            smoothness_of_risk(loss),
            lam,
            reference.n_features,
            features=int(started.sum()),
            first_gap=float(told["objective"][started][-1]) - reference.value,
            span=loss.value(np.zeros(loss.size)) - reference.value,
        )
    ]


def _strong_convexity(path: Path, reference: Reference, risk: str) -> tuple[float, float]:
    """lam, and the number of features up to which it serves."""
    loss, taken = path.loss, path.history["taken"]
    met = np.union1d(taken, np.flatnonzero(reference.params)).astype(np.int64)
    lam = loss.strong_convexity(met)
    if not len(met):
        # Nothing can be gained, and nothing is to be.
        return loss.ridge, np.inf
    ended = path.converged.all() and path.grid["steps"].max() > len(taken)
    if ended or lam <= loss.ridge:
        return lam, np.inf
    if risk == "population":
        # As with independent signs: no larger support has a smaller constant.
        least = loss.strong_convexity(range(loss.size))
        if least >= lam * (1.0 - EQUAL):
            return least, np.inf
    return lam, len(taken)


def _enlarged_supports(told: dict[str, np.ndarray]) -> Iterator[list[int]]:
    """F with the feature taken, of each replacement tried; the start where none was."""
    support = told["taken"][told["step"] == 0].tolist()
    tried = np.flatnonzero(told["step"] > 0)
    if not len(tried):
        yield support
    for at in tried:
        support = [*support, int(told["taken"][at])]
        yield support
        if told["accepted"][at]:
            support = [index for index in support if index != told["dropped"][at]]
