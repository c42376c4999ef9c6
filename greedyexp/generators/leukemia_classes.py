"""Leukemia classes as labels, by gene expression."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from greedyexp.core.registry import generator
from greedyexp.datasets.leukemia import N_GENES, N_SAMPLES
from greedyexp.generators._leukemia import Samples, draw_classes, reads, shape
from greedyexp.problems.problem import Problem


@generator(
    "leukemia_classes",
    title="Leukemia classes",
    paper="data of Golub et al. 1999",
    provides=("labels",),
    shape=shape,
    reads=reads,
)
def leukemia_classes(
    rng: np.random.Generator,
    *,
    n_samples: Samples = N_SAMPLES,
    p: Annotated[
        int, Field(ge=1, le=N_GENES, description="number of features, the first so many genes")
    ] = N_GENES,
) -> Problem:
    """The first p genes of 72 samples; label 1 for lymphoblastic, -1 for myeloid leukemia.

    The data are Golub's (`greedyexp data fetch leukemia`). Each gene is centred and scaled to mean
    square 1 on the rows of the problem: all 72, or fewer that each replicate draws. Labels are as
    they are: no noise is added, and with all rows nothing is drawn.
    """
    X, y = draw_classes(rng, n_samples, p)
    return Problem((X,), (y,))
