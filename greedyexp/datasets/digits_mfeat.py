"""Handwritten digits: the Multiple Features data set of UCI, 2000 digits in 649 features.

The hashes are those of UCI's own text. The sha256 of each of the six files as distributed by UCI is
published. Padding the canonical text to UCI's column widths (fou 12, fac 5, kar 15, pix 3, zer 14,
mor 15, right-aligned, without other spaces) gives files with exactly these digests. The digest of
UCI's zip archive is unknown, so only the files are checked, not the archive.
"""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from greedyexp.datasets import places
from greedyexp.datasets.catalogue import Dataset, Member

if TYPE_CHECKING:
    import numpy as np

N_DIGITS = 10

# Name, sha256 of the canonical text, rows and columns.
_MEMBERS = (
    ("mfeat-fou", "7a67cfc60c756278a881ea0f3a211754bd50f4b69fbed3006880d8c4b47b6046", (2000, 76)),
    ("mfeat-fac", "45853e2ddbb690d9f82a043ab916ad95e160d4e7d0a2d5404ecf099d633e839f", (2000, 216)),
    ("mfeat-kar", "b340a39643bf6669e6e198ebba067f0f5b0e63ba472698aaea891188d5009b61", (2000, 64)),
    ("mfeat-pix", "a5ea6ccf4202175f3dd8e8c07fbec6a3975a6447e01b2c8612822b75411d1524", (2000, 240)),
    ("mfeat-zer", "f776abe00205a71a86a773f9087bbf223b1f8cd51e3074fa2e1e3d98dad51b77", (2000, 47)),
    ("mfeat-mor", "c0419b9c047a286aca7f1c98a3f0b76110ce31ae667bb3689fd274569be68c19", (2000, 6)),
)

DATASET = Dataset(
    name="digits_mfeat",
    title="Handwritten digits, UCI Multiple Features",
    page="https://archive.ics.uci.edu/dataset/72/multiple+features",
    licence="CC BY 4.0",
    citation="R. Duin, Multiple Features, UCI Machine Learning Repository, doi:10.24432/C5HC70",
    urls=(
        "https://archive.ics.uci.edu/static/public/72/multiple+features.zip",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/mfeat/mfeat.tar",
    ),
    folder="mfeat",
    members=tuple(Member(*row) for row in _MEMBERS),
)


def load(dataset: Dataset = DATASET) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels.

    Parameters
    ----------
    dataset : Dataset
        A data set with this layout: the same number of rows of each digit, in the order 0 to 9.

    Returns
    -------
    X : array (2000, 649), read-only
        Raw values of the six views side by side, in UCI's order: Fourier coefficients (76),
        profile correlations (216), Karhunen-Loeve coefficients (64), pixel averages (240), Zernike
        moments (47), morphological features (6).
    labels : array of int (2000,), read-only
        The digit of each row; there are 200 rows of each digit, in order.

    Raises
    ------
    DataError
        If the data set is not found, or a file does not have the published values.
    """
    return _loaded(dataset, *places.stamped(dataset))


@lru_cache(maxsize=1)
def _loaded(dataset: Dataset, folder: Path, _stamps) -> tuple[np.ndarray, np.ndarray]:
    import numpy as np

    texts = places.texts(dataset, folder)
    X = np.hstack([np.loadtxt(io.BytesIO(text), ndmin=2) for text in texts])
    labels = np.repeat(np.arange(N_DIGITS), len(X) // N_DIGITS)
    places.freeze(X, labels)
    return X, labels
