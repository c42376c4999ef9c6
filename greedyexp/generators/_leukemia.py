"""What the problems made of the leukemia data share: rows, scaling, response."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.core.errors import DataError
from greedyexp.datasets import places
from greedyexp.datasets.leukemia import DATASET, N_SAMPLES, load

Samples = Annotated[
    int,
    Field(ge=2, le=N_SAMPLES, description="rows drawn without replacement in each replicate, n"),
]
LabelNoise = Annotated[
    float, Field(ge=0, description="standard deviation of the noise on the labels +-1")
]


def reads(**_) -> list[str]:
    """The files that the data come from."""
    return [str(path) for path in places.files(DATASET, places.located(DATASET))]


def shape(*, n_samples, p, **_) -> dict:
    """What is known of the problem before it is drawn."""
    return {"n_tasks": 1, "n_samples": n_samples, "n_features": p}


def draw(
    rng: np.random.Generator, n_samples: int, n_genes: int, noise_std: float
) -> tuple[np.ndarray, np.ndarray]:
    """The first genes and the noisy labels of some samples, both standardised on these.

    Returns
    -------
    genes : array (n_samples, n_genes)
    response : array (n_samples,)

    Raises
    ------
    DataError
        When a gene or the response is constant on the rows.
    """
    genes, labels = _drawn(rng, n_samples, n_genes)
    response = labels + noise_std * rng.standard_normal(n_samples)
    if np.ptp(response) == 0:
        raise DataError(
            f"the {n_samples} samples that were drawn are of one class: without noise there is"
            " nothing to fit.",
            remedy="Raise n_samples or noise_std.",
        )
    return genes, standardised(response)


def draw_classes(
    rng: np.random.Generator, n_samples: int, n_genes: int
) -> tuple[np.ndarray, np.ndarray]:
    """The first genes of some samples, standardised on these, and the labels 1 and -1.

    Returns
    -------
    genes : array (n_samples, n_genes)
    labels : array (n_samples,)

    Raises
    ------
    DataError
        When a gene is constant on the rows, or all are of one class.
    """
    genes, labels = _drawn(rng, n_samples, n_genes)
    if np.ptp(labels) == 0:
        raise DataError(
            f"the {n_samples} samples that were drawn are of one class.", remedy="Raise n_samples."
        )
    return genes, labels


def _drawn(rng: np.random.Generator, n_samples: int, n_genes: int) -> tuple[np.ndarray, np.ndarray]:
    """Standardised genes and labels of all samples, or of fewer drawn without replacement."""
    data = load()
    rows = slice(None)
    if n_samples < len(data.X):
        rows = np.sort(rng.choice(len(data.X), size=n_samples, replace=False))
    genes = data.X[rows, :n_genes]
    # Compared exactly: the rounded mean of a constant can differ from it.
    constant = np.flatnonzero(np.ptp(genes, axis=0) == 0)
    if constant.size:
        first = constant[0]
        raise DataError(
            f"gene {first + 1}, {data.genes[first]}, is constant on the {n_samples} samples that"
            f" were drawn ({constant.size} such in all) and cannot be scaled.",
            remedy="Raise n_samples.",
        )
    return standardised(genes), data.labels[rows].copy()


def standardised(values: np.ndarray) -> np.ndarray:
    """Columns, or one vector, with mean 0 and mean square 1 (the population variance)."""
    centred = values - values.mean(axis=0)
    return centred / np.sqrt((centred**2).mean(axis=0))
