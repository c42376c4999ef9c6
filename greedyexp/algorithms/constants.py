"""Constants of a design, as algorithms that the protocol ``constants`` evaluates.

Convergence depends on mu1 and mu2, which are max(mu, muL) of Propositions 4 and 7: the strong
convexity if the columns are independent, otherwise the constant of the Lojasiewicz inequality. Both
agree if both are defined (Lemma 3), so a single curve extends from p < n to p > n.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

import numpy as np
from pydantic import Field

from greedyexp.algorithms._parameters import enforce
from greedyexp.algorithms.matching_pursuit._descent import check_single_task, single_task
from greedyexp.core.registry import algorithm
from greedyexp.problems.problem import Problem
from greedyexp.theory import constants
from greedyexp.theory.constants import Constant, curvature_l1_upper, lojasiewicz_l2
from greedyexp.theory.l1_curvature import (
    MOST_RANK,
    curvature_l1,
    curvature_l1_sdp,
    enumeration_fits,
    relaxation_fits,
)

Function = TypeVar("Function", bound=Callable[..., Constant])


def _constant(
    name: str, title: str, place: str, check: Callable[..., None] = check_single_task
) -> Callable[[Function], Function]:
    """Return the decorator that registers a constant, with its place in the paper."""
    paper = f"Moucer, Taylor & Bach (2024), {place}"
    return algorithm(name, title=title, paper=paper, yields="constant", check=check)


def _design(problem: Problem, check: Callable[..., None] = check_single_task) -> np.ndarray:
    """Return the design of a problem that passes a check."""
    enforce(check, problem)
    return single_task(problem).design


@_constant("mu2", "mu2", "Proposition 4")
def mu2(problem: Problem) -> Constant:
    """Smallest nonzero eigenvalue of P^T P / n: curvature of least squares in the l2 norm.

    Eigenvalues as small as rounding errors of the data count as zero.
    """
    return lojasiewicz_l2(_design(problem))


@_constant("mu2_over_p", "mu2 / p", "Lemma 23")
def mu2_over_p(problem: Problem) -> Constant:
    """mu2 / p, a lower bound on the curvature in the l1 norm."""
    return lojasiewicz_l2(_design(problem)) / problem.n_features


def _check_relaxation(shape: dict, **_) -> None:
    check_single_task(shape)
    p = shape["n_features"]
    if not relaxation_fits(min(shape["n_samples"], p), p):
        raise ValueError(
            f"the relaxation for {shape['n_samples']} samples and {p} features needs too much"
            " memory."
        )


@_constant("mu1_sdp", "mu1, relaxation", "Proposition 8", check=_check_relaxation)
def mu1_sdp(
    problem: Problem,
    *,
    tol: Annotated[
        float, Field(ge=1e-10, lt=1, description="relative distance of the bounds to reach")
    ] = 1e-6,
) -> Constant:
    """Semidefinite relaxation of mu1, the curvature in the l1 norm; never above it.

    With independent columns mu1 is at most pi / 2 times as large. Dependent columns cost more: the
    rank must satisfy rank (rank + 1) / 2 + p <= 8000. This is checked from the shape if p > n,
    otherwise from the data.

    Raises
    ------
    ConfigError
        If the shape of the problem shows that it is too large.
    DataError
        If the problem is too large because its columns are linearly dependent.
    """
    return curvature_l1_sdp(_design(problem, _check_relaxation), tol=tol)


def _check_enumeration(shape: dict, **_) -> None:
    check_single_task(shape)
    p = shape["n_features"]
    if not enumeration_fits(min(shape["n_samples"], p), p):
        raise ValueError(
            f"{p} features and {shape['n_samples']} samples are too many for the exact mu1:"
            f" take at most {MOST_RANK} samples, or mu1_sdp."
        )


@_constant("mu1_exact", "mu1", "Proposition 7", check=_check_enumeration)
def mu1_exact(problem: Problem) -> Constant:
    """Curvature of least squares in the l1 norm, exactly, for few features or few samples.

    (1/n) min ||P z||^2 over ||z||_1 = 1 if the columns are independent: at most 20, all signs are
    enumerated. Otherwise (1/n) min ||P^T v||_inf^2 over unit v in the range of P, which is the
    squared inradius of the convex hull of the columns and their negatives, over n. With up to 6
    samples there may be a million features.

    Raises
    ------
    ConfigError
        If the shape of the problem shows that it is too large.
    DataError
        If the hull turns out to have too many facets, such as that of many columns of equal length.
    """
    return curvature_l1(_design(problem, _check_enumeration))


def _check_independent(shape: dict, **_) -> None:
    check_single_task(shape)
    if shape["n_features"] > shape["n_samples"]:
        raise ValueError(
            f"mu1_upper needs independent columns; {shape['n_features']} features of"
            f" {shape['n_samples']} samples are dependent."
        )


@_constant("mu1_upper", "mu1, upper bound", "Lemma 23", check=_check_independent)
def mu1_upper(problem: Problem) -> Constant:
    """1^T P^T P 1 / (n p^2), an upper bound on mu1 with independent columns."""
    return curvature_l1_upper(_design(problem, _check_independent))


@_constant("smoothness_l2", "L2", "section 2.1")
def smoothness_l2(problem: Problem) -> Constant:
    """L2, the largest eigenvalue of P^T P / n: smoothness of least squares in the l2 norm."""
    return constants.smoothness_l2(_design(problem))


@_constant("smoothness_l1", "L1", "equation (9)")
def smoothness_l1(problem: Problem) -> Constant:
    """L1, the largest squared norm of a column over n: smoothness in the l1 norm."""
    return constants.smoothness_l1(_design(problem))


@_constant("smoothness_l1_over_n", "L1 / n", "Lemma 23")
def smoothness_l1_over_n(problem: Problem) -> Constant:
    """L1 / n, an upper bound on mu1_sdp for designs of rank n.

    Lemma 23 states it for the exact constant, for which it fails: three unit columns at 120 degrees
    have mu1L = 3/8 and L1 / n = 1/4.
    """
    return constants.smoothness_l1(_design(problem)) / int(problem.n_samples[0])
