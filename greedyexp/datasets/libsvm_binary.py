"""Sparse binary features of two classes: LIBSVM's a1a, a2a (Adult) and w1a (web pages).

Each set has a file of training rows and one of test rows. A line is a row: its label and
``index:1`` for each of its features, counted from 1. The last features of a set do not occur among
the training rows, and many pages have no features; both are kept.

The hashes are those of canonical text, which has no space at the end of a line. LIBSVM's own text
has one, and its lines end in line feeds for a1a and also in carriage returns for the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from greedyexp.datasets import places
from greedyexp.datasets.catalogue import Dataset, Member

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_array

# Name, sha256 of the canonical text, rows and columns.
_MEMBERS = (
    ("a1a", "740f16ebaee4597b2f8f5286686d77fc297b1ceb2f67ed9510362b7cf6101166", (1605, 123)),
    ("a1a.t", "9d54e4270f2e4cf6b4a788e989f3b92d272a8da0f6a48a36286e01e86f87d9ff", (30956, 123)),
    ("a2a", "083f671516c88094266c04f2487d205c0ef83dbaeac0064d675212704b5d707f", (2265, 123)),
    ("a2a.t", "d31c4863d23eac97de5a1b76f650c708bc1581179476ef914f3d59d32121735a", (30296, 123)),
    ("w1a", "f17b66acbf9cea176fe1a0e1fe97fdaa7e916a6d7e26e19ae1061f9e0dcf99b0", (2477, 300)),
    ("w1a.t", "869ff145bbbdf2a759c6cd7c580bde33b684f5489b424b40dd0ce5a36365fe0a", (47272, 300)),
)

DATASET = Dataset(
    name="libsvm_binary",
    title="Incomes and web pages, LIBSVM's a1a, a2a and w1a",
    page="https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html",
    licence="none stated by LIBSVM; Adult, of which a1a and a2a are parts, is CC BY 4.0",
    citation="C. Chang and C. Lin, LIBSVM, ACM TIST 2 (2011), 27; J. Platt, Fast training of"
    " support vector machines using sequential minimal optimization, 1998; B. Becker and R. Kohavi,"
    " Adult, UCI Machine Learning Repository, doi:10.24432/C5XW20",
    urls=("https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/",),
    folder="libsvm",
    members=tuple(Member(*row) for row in _MEMBERS),
)


@dataclass(frozen=True)
class Split:
    """A published set: training rows and test rows.

    Parameters
    ----------
    X, X_test : CSR arrays (n, p) and (n_test, p) in canonical form, read-only
        1 if a row has a feature.
    labels, labels_test : arrays (n,) and (n_test,), read-only
        1 or -1.
    """

    X: csr_array
    labels: np.ndarray
    X_test: csr_array
    labels_test: np.ndarray


def of(name: str, dataset: Dataset = DATASET) -> Dataset:
    """Return the record of one set: its file of training rows and its file of test rows."""
    members = {member.name: member for member in dataset.members}
    return replace(dataset, members=(members[name], members[f"{name}.t"]))


def load(name: str, dataset: Dataset = DATASET) -> Split:
    """Return one of the sets.

    Parameters
    ----------
    name : {"a1a", "a2a", "w1a"}
    dataset : Dataset
        A data set with LIBSVM's layout.

    Raises
    ------
    DataError
        If the set is not found, or a file does not have the published values.
    """
    wanted = of(name, dataset)
    return _loaded(wanted, *places.stamped(wanted))


@lru_cache(maxsize=len(DATASET.members) // 2)
def _loaded(dataset: Dataset, folder: Path, _stamps) -> Split:
    texts = places.texts(dataset, folder)
    fitted, held = (_rows(*pair) for pair in zip(texts, dataset.members, strict=True))
    return Split(*fitted, *held)


def _rows(text: bytes, member: Member) -> tuple[csr_array, np.ndarray]:
    """Features and labels of a file whose hash has been checked."""
    import numpy as np
    from scipy.sparse import csr_array

    features = np.array([line.count(b":") for line in text.splitlines()])
    numbers = np.array(text.replace(b":", b" ").split(), dtype="S").astype(float)
    # Each row has a label, then index and value of each feature.
    begins = np.concatenate([[0], np.cumsum(1 + 2 * features)])[:-1]
    labels = numbers[begins]
    pairs = np.delete(numbers, begins).reshape(-1, 2)
    columns = pairs[:, 0].astype(np.int32) - 1
    rows = np.concatenate([[0], np.cumsum(features)]).astype(np.int32)
    X = csr_array((pairs[:, 1].copy(), columns, rows), shape=member.shape)
    X.sum_duplicates()
    places.freeze(X.data, X.indices, X.indptr, labels)
    return X, labels
