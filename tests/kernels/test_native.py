"""The compiled kernels: the same bits on every processor, and never older than their sources."""

import importlib
import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

import greedyexp.kernels
from greedyexp.core.errors import InstallationError
from greedyexp.kernels import (
    chain_moments,
    chain_pass,
    gauge_step,
    greedy_dirty,
    l2_path,
    logistic_columns,
    max_cut,
    native,
    newton_path,
    omp,
    row_path,
    source_digest,
    ultimate_inner,
)
from greedyexp.solvers.gauge import gauge_coordinates


@pytest.fixture(params=range(3))
def moments(request):
    rng = np.random.default_rng(request.param)
    X = rng.standard_normal((2, 30, 37))
    y = X[:, :, :4].sum(axis=2) + rng.standard_normal((2, 30))
    gram = np.einsum("jna,jnb->jab", X, X) / 30
    return gram, np.einsum("jna,jn->ja", X, y) / 30, (y**2).sum(axis=1) / 30


@pytest.mark.skipif(
    not native.__name__.endswith("_avx2"), reason="the processor has a single variant"
)
def test_both_variants_give_the_same_bits(moments, monkeypatch):
    gram, correlation, power = moments
    capacity = np.full(2, 30)

    def results():
        yield from omp.pursuits(
            gram,
            [correlation],
            power,
            np.full(2, -1.0),
            capacity,
            *(False, True, True, np.array([5, 20]), False, 1),
        )
        yield from greedy_dirty.path(
            gram, correlation, power, capacity, 1.5, 0.5, False, 1e-6, 0.0, 10**6
        )
        lams, limit, total = np.geomspace(1.0, 0.01, 5), np.full(5, 74), power.sum()
        prices = lams, 1.5 * lams
        found = row_path.row_path(gram, correlation, total, *prices, 60, 1e-7, 1000, limit)
        yield from found
        yield from row_path.row_path(
            gram, correlation, total, *prices, 60, 1e-7, 1000, limit, found[0][2]
        )
        found = l2_path.l2_path(gram, correlation, total, lams, 1e-7, 1000, limit)
        yield from found
        scale = np.linalg.norm(found[0][2], axis=1) / lams[2]
        yield from l2_path.l2_path(gram, correlation, total, lams, 1e-7, 1000, limit, scale)

    fast = list(results())
    plain = importlib.import_module("greedyexp.kernels._native")
    for kernel in (omp, greedy_dirty, row_path, l2_path):
        monkeypatch.setattr(kernel, "native", plain)
    for one, other in zip(fast, results(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.skipif(
    not native.__name__.endswith("_avx2"), reason="the processor has a single variant"
)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_both_variants_give_the_same_bits_for_newton_paths(kind, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((203, 57)) * (rng.random((203, 57)) < 0.5)
    signs = np.sign(X[:, 0] - X[:, 1] + rng.standard_normal(203))
    design = X if kind == "dense" else scipy.sparse.csc_array(X)

    def results():
        columns = logistic_columns.Columns(design, signs, None if kind == "dense" else X.mean(0))
        path = newton_path.NewtonPath(columns, signs[None], 0.01, np.zeros(58))
        for lam in (0.1, 0.03, 0.01):
            assert path.follow(lam, 1e-10, 50)
            yield path.coef.copy()

    fast = list(results())
    assert np.count_nonzero(fast[-1]) > 20
    plain = importlib.import_module("greedyexp.kernels._native")
    for kernel in (logistic_columns, newton_path):
        monkeypatch.setattr(kernel, "native", plain)
    for one, other in zip(fast, results(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.skipif(
    not native.__name__.endswith("_avx2"), reason="the processor has a single variant"
)
@pytest.mark.parametrize("size", [1.0, 400.0])
def test_both_variants_give_the_same_bits_for_chains(size, monkeypatch):
    rng = np.random.default_rng(0)
    scores = np.zeros((30, 8))
    scores[:, :6] = size * rng.standard_normal((30, 6))
    weights = [rng.standard_normal(shape) for shape in (6, 6, (6, 6))]
    offsets, column, steps = np.array([0, 1, 12, 30]), rng.random(30), rng.standard_normal(4)

    def results():
        yield from chain_pass.forward_backward(scores.copy(), *weights, offsets)
        chains = chain_moments.Chains(scores, *weights, offsets)
        yield from chains.minima_of_feature(column, np.ones(6), np.zeros(6), 0.1, 1e-9)
        yield chains.changes(column[:, None], np.zeros(4, int), np.arange(4), steps)

    fast = list(results())
    plain = importlib.import_module("greedyexp.kernels._native")
    for kernel in (chain_pass, chain_moments):
        monkeypatch.setattr(kernel, "native", plain)
    for one, other in zip(fast, results(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.skipif(
    not native.__name__.endswith("_avx2"), reason="the processor has a single variant"
)
@pytest.mark.parametrize("seed", range(3))
def test_both_variants_give_the_same_bits_for_steps_of_the_ultimate_method(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    P = rng.standard_normal((12, 30))
    space, start = gauge_coordinates(P, P[:, :3].sum(axis=1)), np.zeros(30)
    x = space.point(start)
    c, most = space.gradient(x), 500
    choices = rng.random(40) < 0.5

    def results():
        yield from gauge_step.gauge_step(
            space.atoms, x, c, 0.01, space.smoothness, x, np.zeros(0, int), most
        )
        slope = space.atoms @ c
        for run in (lambda loop: loop.alternate(40), lambda loop: loop.random_blocks(choices)):
            yield from run(
                ultimate_inner.InnerLoop(space.atoms, start, slope, 0.01, space.smoothness)
            )
        C, V = P.T @ P + np.eye(30), np.linalg.qr(P.T)[0].T.copy()
        yield from max_cut.ascend(C, V / np.linalg.norm(V, axis=0), 1e-6, 0.0, 50)
        yield from max_cut.largest_form(C[:9, :9])

    fast = list(results())
    plain = importlib.import_module("greedyexp.kernels._native")
    for kernel in (gauge_step, max_cut, ultimate_inner):
        monkeypatch.setattr(kernel, "native", plain)
    for one, other in zip(fast, results(), strict=True):
        np.testing.assert_array_equal(one, other)


def modules(monkeypatch, **supports):
    """Let these variants be the compiled ones, with what they say of the processor."""
    present = {
        f"greedyexp.kernels.{name}": SimpleNamespace(
            SUPPORTS_AVX2=avx2, SOURCES=native.SOURCES, name=name
        )
        for name, avx2 in supports.items()
    }
    monkeypatch.setattr(importlib.util, "find_spec", present.get)
    monkeypatch.setattr(importlib, "import_module", present.__getitem__)


@pytest.mark.parametrize(
    ("supports", "chosen"),
    [
        ({"_native": True, "_native_avx2": True}, "_native_avx2"),
        ({"_native": False, "_native_avx2": False}, "_native"),
        ({"_native": False}, "_native"),
        ({"_native": True}, "_native"),
        ({"_native_avx2": True}, "_native_avx2"),
    ],
)
def test_the_variant_for_the_processor_is_loaded(monkeypatch, supports, chosen):
    modules(monkeypatch, **supports)
    assert greedyexp.kernels._load().name == chosen


@pytest.mark.parametrize(
    ("supports", "words"),
    [({}, "kernels are missing"), ({"_native_avx2": False}, "for another processor")],
)
def test_missing_kernels_are_reported(monkeypatch, supports, words):
    modules(monkeypatch, **supports)
    with pytest.raises(InstallationError, match=words):
        greedyexp.kernels._load()


def test_kernels_older_than_their_sources_are_refused(monkeypatch):
    monkeypatch.setattr(greedyexp.kernels, "source_digest", lambda folder: "edited")
    with pytest.raises(InstallationError, match="older than their sources"):
        greedyexp.kernels._load()


def test_every_cpp_file_counts_as_a_source(tmp_path):
    (tmp_path / "a.cpp").write_text("int a;")
    before = source_digest(tmp_path)
    (tmp_path / "b.hpp").write_text("")
    added = source_digest(tmp_path)
    (tmp_path / "a.cpp").write_text("int b;")
    assert len({before, added, source_digest(tmp_path)}) == 3


def test_an_output_of_another_layout_is_refused(moments):
    gram, correlation, power = moments
    coef = np.zeros((37, 2, 1)).transpose(2, 0, 1)[:, :, ::-1]
    with pytest.raises(TypeError):
        native.omp.pursuits(
            gram, correlation, power, np.full(2, 5), False, True, False, np.array([2]), coef,
            np.zeros(1), np.zeros(1, int),
        )  # fmt: skip
