"""Leukemia classes regressed on gene expression."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.core.registry import generator
from greedyexp.datasets.leukemia import N_GENES, N_SAMPLES
from greedyexp.generators._leukemia import LabelNoise, Samples, draw, reads, shape
from greedyexp.problems.problem import Problem


@generator(
    "leukemia",
    title="Leukemia gene expression",
    paper="Moucer, Taylor & Bach 2024, section 2.3; data of Golub et al. 1999",
    shape=shape,
    reads=reads,
)
def leukemia(
    rng: np.random.Generator,
    *,
    n_samples: Samples = N_SAMPLES,
    p: Annotated[
        int, Field(ge=1, le=N_GENES, description="number of features, the first so many genes")
    ] = 200,
    noise_std: LabelNoise = 0.1,
) -> Problem:
    """The first p genes of 72 samples; 1 for lymphoblastic, -1 for myeloid, plus noise.

    The data are Golub's (`greedyexp data fetch leukemia`). Each gene, and the response once each
    replicate has added its own N(0, noise_std^2) noise, is centred and scaled to mean square 1 on
    the rows of the problem: all 72, or fewer that each replicate draws.

    Centring makes the rank of the design at most n_samples - 1, also when p is larger: the
    smallest eigenvalue of X X^T is then zero, and what matters is the smallest that is not. The
    paper writes P for the design and d for p.
    """
    X, y = draw(rng, n_samples, p, noise_std)
    return Problem((X,), (y,))
