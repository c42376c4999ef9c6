"""Entries of a configuration: which one a row is from, and what it succeeds by."""

from __future__ import annotations

import pytest

from greedyexp.results.entries import entries, entry_of, success_metric


def test_entries_are_pairs_of_name_and_parameters():
    config = {"algorithms": ["lasso", {"omp": None}, {"lasso": {"label": "loose"}}]}
    found = [("lasso", {}), ("omp", {}), ("lasso", {"label": "loose"})]
    assert entries(config, "algorithms") == found
    assert entries(config, "figures") == []


@pytest.mark.parametrize(
    ("label", "entry"),
    [
        ("lasso", "lasso"),
        ("lasso (tol=0.1)", "lasso"),
        ("lasso (loose)", "lasso (loose)"),
        ("lasso (loose) (tol=0.1)", "lasso (loose)"),
        ("lassos", None),
        ("dirty (tol=0.1)", None),
    ],
)
def test_the_longest_entry_that_fits_owns_a_row(label, entry):
    assert entry_of(label, ["lasso", "lasso (loose)", "omp"]) == entry


def test_a_label_goes_before_a_name_and_both_before_the_default():
    success = {"default": "a", "lasso": "b", "loose": "c"}
    assert success_metric(success, "loose", "lasso") == "c"
    assert success_metric(success, "other", "lasso") == "b"
    assert success_metric(success, "omp", "omp") == "a"
    assert success_metric({"lasso": "b"}, "omp", "omp") is None
