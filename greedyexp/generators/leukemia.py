"""Problems from the gene expression of two leukemias: regression, classes, random features."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.core.errors import DataError
from greedyexp.core.registry import generator
from greedyexp.datasets import places
from greedyexp.datasets.leukemia import DATASET, N_GENES, N_SAMPLES, load
from greedyexp.generators._regression import shape
from greedyexp.problems.problem import Problem
from greedyexp.problems.scaling import standardised

Samples = Annotated[
    int,
    Field(
        ge=2,
        le=N_SAMPLES,
        description="number of rows n, drawn without replacement in each replicate",
    ),
]
FirstGenes = Annotated[
    int, Field(ge=1, le=N_GENES, description="number of features: the first p genes")
]
LabelNoise = Annotated[
    float, Field(ge=0, description="standard deviation of the noise on the labels +-1")
]


def _reads(**_) -> list[str]:
    return places.paths(DATASET)


def _left_out(*, n_samples: int, noise_std: float = 0.0, **_) -> float | None:
    # With all rows, replicates of a design that is fixed differ by independent noise.
    return None if n_samples == N_SAMPLES and noise_std > 0 else 1 - n_samples / N_SAMPLES


def _left_out_of_features(*, n_samples: int, **_) -> float | None:
    # With all rows, replicates differ by independent features.
    return None if n_samples == N_SAMPLES else 1 - n_samples / N_SAMPLES


@generator(
    "leukemia",
    title="Leukemia gene expression",
    paper="Moucer, Taylor & Bach 2024, section 2.3; data of Golub et al. 1999",
    shape=shape,
    reads=_reads,
    left_out=_left_out,
)
def leukemia(
    rng: np.random.Generator,
    *,
    n_samples: Samples = N_SAMPLES,
    p: FirstGenes = 200,
    noise_std: LabelNoise = 0.1,
) -> Problem:
    """The first p genes of 72 samples; 1 for lymphoblastic, -1 for myeloid, plus noise.

    The data are Golub's (`greedyexp data fetch leukemia`). Each replicate adds its own N(0,
    noise_std^2) noise to the response. Genes and response are centred and scaled to mean square 1
    on the rows of the problem, which are all 72 samples or fewer that each replicate draws.

    Centring makes the rank of the design at most n_samples - 1, even if p is larger. The smallest
    eigenvalue of X X^T is then zero, and the smallest positive one determines the rates. The paper
    writes P for the design and d for p.
    """
    X, y = draw(rng, n_samples, p, noise_std)
    return Problem((X,), (y,))


@generator(
    "leukemia_classes",
    title="Leukemia classes",
    paper="data of Golub et al. 1999",
    provides=("labels",),
    shape=shape,
    reads=_reads,
    left_out=_left_out,
)
def leukemia_classes(
    rng: np.random.Generator,
    *,
    n_samples: Samples = N_SAMPLES,
    p: FirstGenes = N_GENES,
) -> Problem:
    """The first p genes of 72 samples; label 1 for lymphoblastic, -1 for myeloid leukemia.

    The data are Golub's (`greedyexp data fetch leukemia`). Each gene is centred and scaled to mean
    square 1 on the rows of the problem: all 72, or fewer that each replicate draws. No noise is
    added to the labels, and with all rows nothing is drawn.
    """
    genes, labels = _drawn(rng, n_samples, p)
    if np.ptp(labels) == 0:
        raise DataError(
            f"the {n_samples} samples drawn are all of one class.", remedy="Raise n_samples."
        )
    return Problem((genes,), (labels,))


@generator(
    "random_features",
    title="Random features of leukemia gene expression",
    paper="Moucer, Taylor & Bach 2024, section 2.3; data of Golub et al. 1999",
    shape=shape,
    reads=_reads,
    left_out=_left_out_of_features,
)
def random_features(
    rng: np.random.Generator,
    *,
    n_samples: Samples = N_SAMPLES,
    p: Annotated[int, Field(ge=1, description="number of random features")] = 200,
    n_genes: Annotated[
        int,
        Field(ge=1, le=N_GENES, description="number of genes behind the features, the first ones"),
    ] = 200,
    feature_variance: Annotated[
        float, Field(gt=0, description="variance of the weights of a feature")
    ] = 0.5,
    noise_std: LabelNoise = 0.1,
) -> Problem:
    """max(0, B theta) for p random theta ~ N(0, feature_variance I), B the genes of leukemia.

    B and the response are those of the generator ``leukemia`` with n_genes features; the weights
    theta are drawn anew in each replicate. Features are neither centred nor scaled, so the design
    has rank min(n_samples, p) unless there are few genes. No feature is zero on all rows: the
    columns of B have mean 0, so B theta has mean 0 and is positive somewhere.

    The paper writes P for the design, d for p, m for n_genes and nu^2 for feature_variance.
    """
    genes, y = draw(rng, n_samples, n_genes, noise_std)
    theta = np.sqrt(feature_variance) * rng.standard_normal((n_genes, p))
    return Problem((np.maximum(0.0, genes @ theta),), (y,))


def draw(
    rng: np.random.Generator, n_samples: int, n_genes: int, noise_std: float
) -> tuple[np.ndarray, np.ndarray]:
    """Draw samples: their first genes and noisy labels, both standardised on these samples.

    Returns
    -------
    genes : array (n_samples, n_genes)
    response : array (n_samples,)

    Raises
    ------
    DataError
        If the response is constant on the rows.
    """
    genes, labels = _drawn(rng, n_samples, n_genes)
    response = labels + noise_std * rng.standard_normal(n_samples)
    if np.ptp(response) == 0:
        raise DataError(
            f"the {n_samples} samples drawn are all of one class: without noise there is nothing"
            " to fit.",
            remedy="Raise n_samples or noise_std.",
        )
    return genes, (response - response.mean()) / response.std()


def _drawn(rng: np.random.Generator, n_samples: int, n_genes: int) -> tuple[np.ndarray, np.ndarray]:
    """Standardised genes and labels of all samples, or of fewer drawn without replacement."""
    data = load()
    rows: slice | np.ndarray = slice(None)
    if n_samples < len(data.X):
        rows = np.sort(rng.choice(len(data.X), size=n_samples, replace=False))
    genes = data.X[rows, :n_genes]
    return standardised(genes, genes[:0]).fitted, data.labels[rows].copy()
