"""Leukemia classes regressed on random features of gene expression."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.core.registry import generator
from greedyexp.datasets.leukemia import N_GENES, N_SAMPLES
from greedyexp.generators._leukemia import LabelNoise, Samples, draw, reads, shape
from greedyexp.problems.problem import Problem


@generator(
    "random_features",
    title="Random features of leukemia gene expression",
    paper="Moucer, Taylor & Bach 2024, section 2.3; data of Golub et al. 1999",
    shape=shape,
    reads=reads,
)
def random_features(
    rng: np.random.Generator,
    *,
    n_samples: Samples = N_SAMPLES,
    p: Annotated[int, Field(ge=1, description="number of random features")] = 200,
    n_genes: Annotated[
        int, Field(ge=1, le=N_GENES, description="the features are made of the first so many genes")
    ] = 200,
    feature_variance: Annotated[
        float, Field(gt=0, description="variance of the weights of a feature")
    ] = 0.5,
    noise_std: LabelNoise = 0.1,
) -> Problem:
    """max(0, B theta) for p random theta ~ N(0, feature_variance I), B the genes of leukemia.

    B and the response are those of the generator ``leukemia`` with n_genes features; the weights
    theta are drawn anew in each replicate. Features are neither centred nor scaled, so that the
    design has rank min(n_samples, p) unless genes are few. No feature is zero on all rows: the
    columns of B have mean 0, and so has B theta, which is then positive somewhere.

    The paper writes P for the design, d for p, m for n_genes and nu^2 for feature_variance.
    """
    genes, y = draw(rng, n_samples, n_genes, noise_std)
    theta = np.sqrt(feature_variance) * rng.standard_normal((n_genes, p))
    return Problem((np.maximum(0.0, genes @ theta),), (y,))
