"""Samples of Gaussian variables whose conditional dependences form a graph."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import scipy
from pydantic import Field

from greedyexp.core.registry import generator
from greedyexp.generators._regression import Rows
from greedyexp.problems.pairs import pair_problem
from greedyexp.problems.problem import Problem, shared_design_shape

_DEGREE = 2.0


def check(*, p: int, graph: str, degree: float | None, **_) -> None:
    """Raise ValueError if there is no such graph of p variables."""
    if graph in ("chain", "grid") and degree is not None:
        raise ValueError(f"a {graph} has degrees of its own: omit degree.")
    if graph == "grid" and round(p**0.5) ** 2 != p:
        raise ValueError(f"p = {p} is not a square, which a grid needs.")
    if degree is not None and degree > p - 1:
        raise ValueError(f"degree = {degree:g} is more than p - 1 = {p - 1} other variables.")
    if graph == "star" and degree is not None and degree % 1:
        raise ValueError(f"degree = {degree:g} is not a whole number of leaves.")


def shape(*, p: int, **_) -> dict:
    """Return the shape of the problem: pairs of variables as features, and no rows."""
    return shared_design_shape(p * (p - 1) // 2, n_tasks=1, n_samples=0)


@generator(
    "gaussian_graph",
    title="Gaussian graphical model",
    paper="Johnson, Jalali & Ravikumar 2012",
    provides=("truth", "covariance", "population"),
    check=check,
    shape=shape,
    facts=("edges", "max_degree"),
)
def gaussian_graph(
    rng: np.random.Generator,
    *,
    n_samples: Rows = 200,
    p: Annotated[int, Field(ge=2, le=2000, description="number of variables")] = 36,
    graph: Annotated[
        Literal["chain", "star", "grid", "random"],
        Field(description="a path, one hub with leaves, a square lattice, or independent edges"),
    ] = "chain",
    degree: Annotated[
        float | None,
        Field(
            gt=0,
            description=f"leaves of the star (default p - 1) or mean degree of random edges"
            f" (default {_DEGREE:g})",
        ),
    ] = None,
    strength: Annotated[
        float, Field(gt=0, lt=1, description="largest eigenvalue of I minus the precision matrix")
    ] = 0.8,
) -> Problem:
    """Rows N(0, T^-1) of p variables with T = I - strength A / ||A||, A the matrix of a graph.

    A is 1 at the edges of the graph, and ||A|| is its largest eigenvalue, so that T is positive
    definite with a condition number of at most (1 + strength) / (1 - strength). An edge is a
    partial correlation of strength / ||A||. This is about strength / 2 in a chain, strength / 4 in
    a grid, and strength / k^(1/2) in a star with k leaves. In a star or a random graph some
    variables may have no edge. Without edges T is the identity.

    The features are the pairs of variables, and the true coefficients the entries of T beside the
    diagonal. Problems hold the covariance of the sample and no rows.

    Columns
    -------
    edges
        Number of edges of the graph.
    max_degree
        Largest number of edges of a variable.
    """
    adjacency = _adjacency(rng, p, graph, degree)
    largest = float(np.linalg.eigvalsh(adjacency)[-1])
    precision = np.eye(p) - (strength / largest * adjacency if largest > 0 else 0.0)
    # With T = L L^T, rows L^-T z have the covariance T^-1.
    factor = np.linalg.cholesky(precision)
    noise = rng.standard_normal((p, n_samples))
    rows = scipy.linalg.solve_triangular(factor, noise, lower=True, trans="T").T
    degrees = adjacency.sum(axis=0).astype(int)
    facts = {"edges": int(degrees.sum()) // 2, "max_degree": int(degrees.max())}
    return pair_problem(rows, truth=precision, facts=facts)


def _adjacency(rng: np.random.Generator, p: int, graph: str, degree: float | None) -> np.ndarray:
    """Return the symmetric matrix (p, p) of zeros and ones of a graph."""
    half = np.zeros((p, p))
    if graph == "chain":
        half += np.eye(p, k=1)
    elif graph == "star":
        half[0, 1 : 1 + int(degree or p - 1)] = 1.0
    elif graph == "grid":
        side = round(p**0.5)
        path = np.eye(side, k=1)
        half += np.kron(np.eye(side), path) + np.kron(path, np.eye(side))
    else:
        drawn = rng.random((p, p)) < (degree or min(_DEGREE, p - 1)) / (p - 1)
        half += np.triu(drawn, 1)
    return half + half.T
