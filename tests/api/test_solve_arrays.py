"""What counts as a design, as labels and as chains, and what is refused of them."""

import numpy as np
import pytest

from greedyexp import solve
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.problems.chains import as_chains
from greedyexp.problems.problem import as_problem

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
Y = X[:, 0] + 0.1 * RNG.standard_normal(60)
LABELS = RNG.integers(0, 3, 60)


@pytest.mark.parametrize("rows", [X.tolist(), tuple(X), [tuple(row) for row in X]])
def test_a_list_of_rows_is_one_design(rows):
    problem = as_problem(rows, Y.tolist())
    assert problem.n_tasks == 1
    np.testing.assert_array_equal(problem.X[0], X)
    several = as_problem(rows, np.stack([Y, -Y], axis=1))
    assert several.shared_design
    assert several.n_tasks == 2


def test_a_list_of_designs_is_one_for_each_task():
    for first, second in ((X, X[:30]), (X.tolist(), X[:30].tolist())):
        problem = as_problem([first, second], [Y, Y[:30]])
        assert problem.n_tasks == 2
        assert list(problem.n_samples) == [60, 30]


@pytest.mark.parametrize(
    ("design", "y", "words"),
    [
        ([[1, 2], [3]], [1, 2], "^X must contain only numbers in rows of equal length"),
        ([[[1, 2], [3]], X], [Y, Y], r"^X\[0\] must contain only numbers in rows of equal length"),
        ([1.0, 2.0], [1, 2], r"^X has 1 dimension\(s\); 2 expected"),
        ([], [1, 2], r"^X has 1 dimension\(s\); 2 expected"),
        (np.ma.masked_greater(X, 2), Y, "^X is an array with masked values. Remove or impute"),
        (X, np.ma.masked_greater(Y, 1), "^y is an array with masked values. Remove or impute"),
        ([X, X], [Y, np.ma.masked_greater(Y, 1)], r"^y\[1\] is an array with masked values"),
        (X * 1j, Y, "^X holds complex numbers"),
    ],
)
def test_what_is_no_design_or_response_is_refused(design, y, words):
    with pytest.raises(DataError, match=words):
        as_problem(design, y)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, object])
def test_columns_of_a_response_are_its_tasks(kind):
    Z = np.round(100 * np.stack([Y, -Y, 2 * Y], axis=1)).astype(kind)
    for order in "CF":
        problem = as_problem(X, np.array(Z, order=order))
        for j, y in enumerate(problem.y):
            assert y.dtype == np.float64
            assert y.flags.c_contiguous
            np.testing.assert_array_equal(y, Z[:, j].astype(float))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.nan, r"^y\[:, 1\] holds nan at index \(3,\)"),
        (-np.inf, r"^y\[:, 1\] holds -inf at index \(3,\)"),
        (1e100, r"^the largest absolute value of the responses is 1e\+100, too large"),
    ],
)
def test_a_wrong_entry_of_one_task_is_named(value, words):
    Z = np.stack([Y, Y, Y], axis=1)
    Z[3, 1] = value
    with pytest.raises(DataError, match=words):
        as_problem(X, Z)
    Z[:, 1] = 1e-100 * Y
    with pytest.raises(DataError, match="too small"):
        as_problem(X, Z)


def test_an_array_that_could_be_masked_but_is_not_is_taken():
    np.testing.assert_array_equal(as_problem(np.ma.masked_array(X), Y).X[0], X)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([1, "1", 2] * 20, "labels are of different kinds. Give texts or numbers"),
        (("a", 1.0, "b") * 20, "labels are of different kinds"),
        (np.array([1, "1", 2] * 20, dtype=object), "labels are of different kinds"),
        (Y, "a label is .*: labels are classes, whole numbers or texts. Give the class"),
        (np.where(LABELS == 0, np.inf, 1.0), "a label"),
        (np.where(LABELS == 0, 0.5, 1.0), "a label is 0.5"),
        (np.ma.masked_greater(LABELS, 1), "y is an array with masked values"),
    ],
)
def test_what_is_no_label_is_refused(labels, words):
    with pytest.raises(DataError, match=words):
        as_chains(X, labels, [30, 30])


@pytest.mark.parametrize(
    "labels",
    [LABELS.tolist(), LABELS.astype(float), LABELS.astype(str), tuple("abc"[k] for k in LABELS)],
)
def test_whole_numbers_and_texts_are_labels(labels):
    np.testing.assert_array_equal(np.argmax(as_chains(X, labels, [30, 30]).y, axis=0), LABELS)


@pytest.mark.parametrize(
    ("chains", "words"),
    [
        ([2**63 - 1, 2**63 - 1, 62], "chain 0 has 9223372036854775807 words, but X has 60 rows"),
        (np.array([61, 2**64 - 1], dtype=np.uint64), "chain 1 has 1844.* words, but X has 60 rows"),
        ([2**62] * 4 + [60], "chain 0 has 4611686018427387904 words, but X has 60 rows"),
        ([61], "chain 0 has 61 words, but X has 60 rows. Give the words of each chain"),
        ([30, 31], "the chains have 61 words in all, but X has 60 rows. Give the words"),
    ],
)
def test_lengths_that_do_not_fit_are_refused_however_large(chains, words):
    with pytest.raises(DataError, match=words):
        as_chains(X, LABELS, chains)


@pytest.mark.parametrize("name", ["l1_path", "foba_gdt", "forward_obj"])
@pytest.mark.parametrize("limit", ["max_features", "max_groups"])
def test_limits_beyond_the_data_are_refused_alike(name, limit):
    with pytest.raises((ConfigError, DataError), match=f"{limit} = 1000 is .*Give at most 4."):
        solve(name, X, Y, **{limit: 1000})
