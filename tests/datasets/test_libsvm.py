"""LIBSVM's binary sets: rows as published, pinned by values, fetched file by file, left sparse."""

from __future__ import annotations

import gzip
import hashlib
import io
from collections import Counter
from dataclasses import replace

import data_sets
import numpy as np
import pytest
from cli_process import refused
from kept_registry import kept_registry
from sklearn.datasets import load_svmlight_file

from greedyexp import config as experiment
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.datasets import catalogue, fetching, places
from greedyexp.datasets.catalogue import Member
from greedyexp.datasets.libsvm_binary import DATASET, load, of
from greedyexp.generators import libsvm_binary as module
from greedyexp.runner.evaluator import Evaluator
from greedyexp.runner.work import Work

# Of the six files with line feeds alone at the ends of lines.
PUBLISHED = {
    "a1a": "eb54c45f1bdb51286f803dd092eb8202b44637a858fc6c4e533a2d64a0d94b4e",
    "a1a.t": "0212d0c4a3996fe6fb6a0ab54033d9f4fa4b60369b6e3bb141821d9ffc40c04d",
    "a2a": "535782f1be62e60938d8accb1573043542b3ac11265522927574dcbb28360a2f",
    "a2a.t": "5b4cd01725b4c364acda943067b4b859a48f1b9c43207f828b8e15e1e0f09767",
    "w1a": "0ae2b1c40f6a99061d1c6f4a1f3b50eea58a2f3b8bf851a337c25c2a65a49d32",
    "w1a.t": "c5e489a499286d69c8c2035cb04bc48e2ea1f73e56153c72cc50b29732a9316a",
}
# Rows, rows of class 1 and rows without a feature, first for training and then for testing.
COUNTS = {
    "a1a": ((1605, 395, 0), (30956, 7446, 0)),
    "a2a": ((2265, 572, 0), (30296, 7269, 0)),
    "w1a": ((2477, 72, 207), (47272, 1407, 3996)),
}
# Seven features; the last one does not occur in the training rows.
FITTED = "-1 2:1 5:1\n+1 1:1 2:1 6:1\n-1\n+1 3:1\n"
HELD = "+1 7:1\n-1 1:1 2:1 3:1\n-1 6:1\n"

real = pytest.mark.skipif(
    places.find(DATASET) is None, reason="libsvm_binary is neither in GREEDYEXP_DATA nor fetched"
)


def files(fitted: str = FITTED, held: str = HELD, end: str = " \n") -> dict[str, bytes]:
    """The two files of a1a, with LIBSVM's space at the ends of lines."""
    texts = {"a1a": fitted, "a1a.t": held}
    return {name: text.replace("\n", end).encode() for name, text in texts.items()}


def record(contents: dict[str, bytes], **changed):
    """The data set with the pins of these contents."""
    members = tuple(
        Member(name, hashlib.sha256(places.canonical(content)).hexdigest(), (rows, 7))
        for (name, content), rows in zip(contents.items(), (4, 3), strict=True)
    )
    return replace(DATASET, members=members, **changed)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A machine with an empty cache and no folder of data sets."""
    monkeypatch.delenv(places.VARIABLE, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(places, "cache", lambda: tmp_path / "cache")
    return tmp_path


@pytest.fixture
def server():
    with data_sets.serving() as running:
        yield running


# --- reading ----------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("end", ["\n", " \n", " \r\n", "  \r\n\r\n"])
def test_rows_are_read_as_scikit_learn_reads_them(home, packed, end):
    stored = files(end=end)
    if packed:
        stored = {f"{name}.gz": gzip.compress(text) for name, text in stored.items()}
    data_sets.write(home / "cache" / "libsvm", stored)
    read = load("a1a", record(files()))
    for text, X, labels in (
        (FITTED, read.X, read.labels),
        (HELD, read.X_test, read.labels_test),
    ):
        expected, classes = load_svmlight_file(io.BytesIO(text.encode()), n_features=7)
        assert np.array_equal(X.toarray(), expected.toarray())
        assert np.array_equal(labels, classes)
        assert X.has_canonical_format
        assert X.dtype == labels.dtype == np.float64
        assert not any(a.flags.writeable for a in (X.data, X.indices, X.indptr, labels))
    assert read.X.shape == (4, 7)
    assert np.diff(read.X.indptr).tolist() == [2, 3, 0, 1]
    assert load("a1a", record(files())) is read


@pytest.mark.parametrize(
    "fitted",
    [
        FITTED.replace("-1 2:1", "+1 2:1"),
        FITTED.replace("6:1", "7:1"),
        FITTED.replace("-1\n", ""),
        FITTED.replace("2:1 5:1", "5:1 2:1"),
        "",
    ],
)
def test_any_other_value_is_refused(home, fitted):
    data_sets.write(home / "cache" / "libsvm", files(fitted))
    with pytest.raises(DataError, match="a1a: the values in this file are not those") as caught:
        load("a1a", record(files()))
    remedy = "Run `greedyexp data fetch libsvm_binary` to download it again."
    assert str(caught.value).endswith(remedy)


# --- where it is ------------------------------------------------------------------------------


def test_one_set_is_enough_for_its_own_experiments(home):
    data_sets.write(home / "cache" / "libsvm", files())
    assert load("a1a", record(files())).X.shape == (4, 7)
    with pytest.raises(DataError, match="'libsvm_binary' is not in the cache") as caught:
        load("a2a")
    assert "greedyexp data fetch libsvm_binary" in str(caught.value)
    assert "libsvm/a2a, ..." in str(caught.value)
    assert [member.name for member in of("w1a").members] == ["w1a", "w1a.t"]


def test_the_commands_know_the_data_set(home, server, call, monkeypatch):
    assert list(catalogue.known()) == sorted(catalogue.known())
    assert catalogue.known()["libsvm_binary"] is DATASET
    contents = files(end=" \r\n")
    for name, content in contents.items():
        server.offer(f"/binary/{name}", content)
    known = record(files(), urls=(server.address + "/binary/",))
    monkeypatch.setattr(catalogue, "known", lambda: {"libsvm_binary": known})
    refused(call("data", "where", "libsvm_binary", cwd=home), "data fetch libsvm_binary")
    folder = str(home / "cache" / "libsvm")
    assert call("data", "fetch", "libsvm_binary", cwd=home).stdout == folder + "\n"
    assert call("data", "where", "libsvm_binary", cwd=home).stdout == folder + "\n"
    assert folder in call("data", "list", cwd=home).stdout
    shown = call("show", "libsvm_binary", cwd=home).stdout
    assert "a1a, a1a.t" in shown
    assert "generator libsvm_binary" in shown
    assert server.asked == ["/binary/a1a", "/binary/a1a.t"]
    assert load("a1a", known).labels_test.tolist() == [1, -1, -1]


def test_the_addresses_are_of_the_files_themselves():
    assert DATASET.urls[0].endswith("/datasets/binary/")
    assert [member.name for member in DATASET.members] == list(PUBLISHED)


def test_a_changed_file_is_not_kept(home, server):
    contents = files(HELD, FITTED)
    for name, content in contents.items():
        server.offer(f"/binary/{name}", content)
    with pytest.raises(DataError, match="cannot be downloaded"):
        fetching.fetch(record(files(), urls=(server.address + "/binary/",)))
    assert list((home / "cache").iterdir()) == []


# --- as a problem -----------------------------------------------------------------------------


def test_the_problem_is_the_published_split(home, monkeypatch):
    data_sets.write(home / "cache" / "libsvm", files())
    known = record(files())
    read = load("a1a", known)
    monkeypatch.setattr(module, "load", lambda name: load(name, known))
    work = Work(1, ("libsvm_binary",), "recovery", {}, ("support_size",), (), ())
    bench = Evaluator(work)
    first, second = (bench.problem("libsvm_binary", {"dataset": "a1a"}, i) for i in (0, 1))
    for problem in (first, second):
        assert problem.X[0] is read.X
        assert problem.X_test[0] is read.X_test
        assert np.array_equal(problem.y[0], [-1, 1, -1, 1])
        assert np.array_equal(problem.y_test[0], [1, -1, -1])
        assert problem.facts == {"n_samples": 4, "n_test": 3, "n_features": 7}
        assert problem.truth is None


def source(**changed) -> dict:
    return {
        "name": "trial",
        "paper": {"key": "liu2014", "figure": "Table 4"},
        "seed": 1,
        "data": {"generator": "libsvm_binary"},
        "trials": 1,
        "algorithms": ["adaptive_lasso"],
        "metrics": ["support_size"],
    } | changed


def test_dense_algorithms_and_metrics_of_the_truth_are_refused():
    with pytest.raises(
        ConfigError,
        match="'adaptive_lasso' does not accept a sparse design but generator 'lib",
    ):
        experiment.load(source())
    with kept_registry():

        @registry.algorithm("t_any", takes_sparse=True)
        def t_any(problem):
            """Takes every design."""

        experiment.load(source(algorithms=["t_any"]))
        with pytest.raises(ConfigError, match="'frobenius_error' needs the true coefficients"):
            experiment.load(source(algorithms=["t_any"], metrics=["frobenius_error"]))
    with pytest.raises(ConfigError, match="one of 'a1a', 'a2a' or 'w1a', but is 'a9a'"):
        experiment.load(source(data={"generator": "libsvm_binary", "dataset": "a9a"}))


def test_the_shape_is_known_before_the_data_are_read():
    shape = registry.find("generator", "libsvm_binary").shape
    for name, p in (("a1a", 123), ("a2a", 123), ("w1a", 300)):
        assert shape(dataset=name)["n_samples"] == COUNTS[name][0][0]
        assert shape(dataset=name)["n_features"] == p


# --- the real data ----------------------------------------------------------------------------


@real
def test_the_text_is_that_of_libsvm():
    folder = places.located(DATASET)
    for member, text in zip(DATASET.members, places.texts(DATASET, folder), strict=True):
        written = text.replace(b"\n", b" \n")
        assert hashlib.sha256(written).hexdigest() == PUBLISHED[member.name]
        assert text.count(b"\n") == member.shape[0]


@real
@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_the_published_ones(name):
    data = load(name)
    for X, labels, (rows, positive, empty) in (
        (data.X, data.labels, COUNTS[name][0]),
        (data.X_test, data.labels_test, COUNTS[name][1]),
    ):
        assert X.shape == (rows, 300 if name == "w1a" else 123)
        assert (np.sum(labels == 1), np.sum(labels == -1)) == (positive, rows - positive)
        assert np.sum(np.diff(X.indptr) == 0) == empty
        assert set(X.data) == {1.0}
        assert X.has_canonical_format


@real
@pytest.mark.parametrize("name", COUNTS)
def test_the_rows_are_those_that_scikit_learn_reads(name):
    data = load(name)
    wanted = of(name)
    paths = places.files(wanted, places.located(wanted))
    for path, X, labels in zip(
        paths, (data.X, data.X_test), (data.labels, data.labels_test), strict=True
    ):
        expected, classes = load_svmlight_file(str(path), n_features=X.shape[1])
        assert (expected != X).nnz == 0
        assert np.array_equal(labels, classes)


@real
def test_both_sets_of_incomes_split_the_same_rows():
    texts = dict(zip(PUBLISHED, places.texts(DATASET, places.located(DATASET)), strict=True))
    halves = [Counter((texts[name] + texts[f"{name}.t"]).splitlines()) for name in ("a1a", "a2a")]
    assert halves[0] == halves[1]
    assert sum(halves[0].values()) == 32561


@real
def test_the_files_read_are_those_of_the_set():
    reads = registry.find("generator", "libsvm_binary").reads
    names = [path.rsplit("/", 1)[1].removesuffix(".gz") for path in reads(dataset="w1a")]
    assert names == ["w1a", "w1a.t"]
