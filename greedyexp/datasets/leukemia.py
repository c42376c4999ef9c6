"""Gene expression of acute leukemia: 72 samples of two classes, 7129 genes.

The two text files of the Broad Institute have a row for each gene and two columns for each sample:
the intensity, and a call that states whether the gene is present. Samples are not in order. In the
first file every row of a gene ends in a tab, but the header does not, so columns are identified by
their position.

The hashes are those of the canonical text of the sample numbers in the header and, for each gene,
its accession number and intensities as written. Descriptions of genes and calls are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from greedyexp.datasets import places
from greedyexp.datasets.catalogue import Dataset, Member

if TYPE_CHECKING:
    import numpy as np

N_SAMPLES = 72
N_GENES = 7129

# The samples of acute myeloid leukemia; all others are of acute lymphoblastic leukemia.
AML = (*range(28, 39), *range(50, 55), 57, 58, *range(60, 67))


def values(text: bytes) -> bytes:
    """Return the sample numbers, then accession number and intensities of each gene."""
    rows = [line.split(b"\t") for line in text.splitlines()]
    header = [row[2::2] for row in rows[:1]]
    genes = [[*row[1:2], *row[2::2]] for row in rows[1:]]
    return b"\n".join(b"\t".join(row) for row in header + genes)


# Part of the data, sha256 of the canonical text, number of samples.
_MEMBERS = (
    ("train", "0a700b78bac79ba4afc42e55c7728f2329cbb57156771417e39fa6dd8d14607e", 38),
    ("independent", "8b71362f653ed9227438b2d0d1f0950c13111b1599b263a52572d70c79de76d2", 34),
)

DATASET = Dataset(
    name="leukemia",
    title="Gene expression of two leukemias, Golub et al. 1999",
    page="https://portals.broadinstitute.org/cgi-bin/cancer/publications/view/43",
    licence="none stated; published with the paper, which is to be cited",
    citation="T. Golub et al., Molecular Classification of Cancer, Science 286 (1999), 531-537",
    urls=("https://pubs.broadinstitute.org/mpr/projects/Leukemia/",),
    folder="leukemia",
    members=tuple(
        Member(f"data_set_ALL_AML_{part}.txt", sha256, (N_GENES, samples), values)
        for part, sha256, samples in _MEMBERS
    ),
)


@dataclass(frozen=True)
class Expression:
    """Gene expression of samples.

    Parameters
    ----------
    X : array (72, 7129), read-only
        Intensities as published, whole numbers; row i is sample i + 1 of the paper.
    labels : array (72,), read-only
        1 for acute lymphoblastic leukemia (47 samples), -1 for acute myeloid leukemia (25).
    genes : tuple of 7129 str
        The accession number of each column.
    """

    X: np.ndarray
    labels: np.ndarray
    genes: tuple[str, ...]


def load(dataset: Dataset = DATASET) -> Expression:
    """Return the data of both files, with samples in the order of their numbers.

    Parameters
    ----------
    dataset : Dataset
        A data set with the layout of the Broad Institute's files, with the same genes in each.

    Raises
    ------
    DataError
        If the data set is not found, or a file does not have the published values.
    """
    return _loaded(dataset, *places.stamped(dataset))


@lru_cache(maxsize=1)
def _loaded(dataset: Dataset, folder: Path, _stamps) -> Expression:
    import numpy as np

    samples: list[int] = []
    columns: list[np.ndarray] = []
    genes: tuple[str, ...] = ()
    for text in places.texts(dataset, folder):
        header, *rows = [line.split() for line in text.splitlines()]
        samples += [int(number) for number in header]
        columns.append(np.array([row[1:] for row in rows]).astype(float))
        genes = tuple(row[0].decode() for row in rows)
    order = np.argsort(samples)
    X = np.ascontiguousarray(np.hstack(columns).T[order])
    labels = np.where(np.isin(np.sort(samples), AML), -1.0, 1.0)
    places.freeze(X, labels)
    return Expression(X, labels, genes)
