"""Data of geometry-dependent matching pursuit: laws in closed form, scaling, ranks, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from cli_process import refused
from scipy import stats
from sklearn.preprocessing import StandardScaler

from greedyexp.core import registry
from greedyexp.core.errors import DataError
from greedyexp.datasets import leukemia as dataset
from greedyexp.datasets import places
from greedyexp.generators import leukemia as _leukemia
from greedyexp.generators.gaussian import gaussian, gaussian_cov
from greedyexp.generators.leukemia import leukemia, random_features

real = pytest.mark.skipif(
    places.find(dataset.DATASET) is None, reason="leukemia is neither in GREEDYEXP_DATA nor fetched"
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def expression(seed: int = 5, genes: int = 300) -> dataset.Expression:
    """Samples and classes as the real ones, numbers of the same size."""
    labels = np.where(np.isin(np.arange(1, 73), dataset.AML), -1.0, 1.0)
    X = np.round(rng(seed).normal(800.0, 5000.0, (72, genes)) + 900 * labels[:, None])
    return dataset.Expression(X, labels, tuple(f"G{j}_at" for j in range(1, genes + 1)))


@pytest.fixture
def stub(monkeypatch):
    """Data in place of the real ones; returns how to put other data there."""

    def put(data: dataset.Expression) -> dataset.Expression:
        monkeypatch.setattr(_leukemia, "load", lambda: data)
        return data

    put(expression())
    return put


# --- Gaussian designs -------------------------------------------------------------------------


def test_the_spectrum_is_that_of_marchenko_and_pastur():
    problem = gaussian(rng(1), n_samples=2000, aspect_ratio=0.25, sparsity=8)
    X = problem.X[0]
    assert X.shape == (2000, 500)
    values = np.linalg.eigvalsh(X.T @ X / 2000)
    assert values[0] == pytest.approx(0.25, abs=0.03)
    assert values[-1] == pytest.approx(2.25, abs=0.05)
    # Moments of the law: 1 and 1 + r; standard deviations of their estimates are below 0.005.
    assert values.mean() == pytest.approx(1.0, abs=0.01)
    assert (values**2).mean() == pytest.approx(1.25, abs=0.02)


def test_the_response_is_the_signal_plus_noise_and_entries_are_normal():
    problem = gaussian(rng(2), n_samples=3000, p=40, sparsity=8, noise_std=0.5)
    X, y = problem.X[0], problem.y[0]
    assert set(np.unique(problem.truth)) == {-1.0, 0.0, 1.0}
    assert np.count_nonzero(problem.truth) == 8
    assert stats.kstest((y - X @ problem.truth[:, 0]) / 0.5, "norm").pvalue > 1e-3
    assert stats.kstest(X.ravel(), "norm").pvalue > 1e-3


@pytest.mark.parametrize("name", ["gaussian", "gaussian_cov"])
@pytest.mark.parametrize(
    ("given", "p"),
    [
        ({}, 200),
        ({"p": 17}, 17),
        ({"n_samples": 50, "aspect_ratio": 20}, 1000),
        ({"n_samples": 50, "aspect_ratio": 0.25}, 13),
        ({"n_samples": 50, "aspect_ratio": 0.209}, 10),
    ],
)
def test_the_number_of_features_is_given_or_follows_from_the_aspect_ratio(name, given, p):
    part = registry.find("generator", name)
    params = part.parameters(**given).model_dump()
    part.check(**params)
    problem = part.function(rng(), **params)
    declared = part.shape(**params)
    assert declared == {key: problem.shape[key] for key in declared}
    assert problem.n_features == p
    assert problem.facts == {"n_features": p}
    assert part.traits(params) == {"truth", "noise_std"}


def test_a_gaussian_start_is_drawn_after_the_data():
    one, other = (gaussian(rng(3), p=800, start=start) for start in ("zero", "gaussian"))
    assert one.start is None
    assert np.array_equal(one.X[0], other.X[0])
    assert np.array_equal(one.y[0], other.y[0])
    assert np.array_equal(one.truth, other.truth)
    assert other.start.shape == (800, 1)
    assert stats.kstest(other.start[:, 0], "norm").pvalue > 1e-3


VARIANCES = {
    "identity": [1, 1, 1, 1, 1],
    "harmonic": [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5],
    "one_small": [1, 1, 1, 1, 1 / 100],
    "one_large": [1, 1, 1, 1, 100],
}


@pytest.mark.parametrize("covariance", VARIANCES)
def test_features_have_the_stated_variances_and_no_correlation(covariance):
    n = 20_000
    problem = gaussian_cov(rng(4), covariance=covariance, n_samples=n, p=5, sparsity=3)
    X = problem.X[0] / np.sqrt(VARIANCES[covariance])
    # Sums of squares are chi square with n degrees of freedom; products are nearly normal.
    assert np.all(np.abs((X**2).sum(axis=0) - n) < 4.5 * np.sqrt(2 * n))
    products = (X.T @ X)[np.triu_indices(5, 1)]
    assert np.all(np.abs(products) < 4.5 * np.sqrt(n))
    assert stats.kstest(X[:, -1], "norm").pvalue > 1e-3
    noise = problem.y[0] - problem.X[0] @ problem.truth[:, 0]
    assert stats.kstest(noise / 0.5, "norm").pvalue > 1e-3
    assert np.abs(problem.truth).sum() == 3


# --- leukemia ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [72, 20])
def test_genes_and_response_have_mean_zero_and_mean_square_one(stub, n):
    data = stub(expression())
    problem = leukemia(rng(6), n_samples=n, p=120)
    X, y = problem.X[0], problem.y[0]
    assert X.flags.c_contiguous
    for values in (X, y):
        assert np.abs(values.mean(axis=0)).max() < 1e-12
        assert np.abs((values**2).mean(axis=0) - 1).max() < 1e-12
    assert np.linalg.matrix_rank(X) == min(n - 1, 120)
    raw = data.X[:, :120]
    if n == 72:
        assert np.allclose(X, StandardScaler().fit_transform(raw), rtol=0, atol=1e-12)
    assert problem.truth is None
    assert problem.noise_std is None


def test_without_noise_the_response_is_the_standardised_class(stub):
    data = stub(expression())
    y = leukemia(rng(), p=3, noise_std=0.0).y[0]
    # 47 of +1 and 25 of -1 with mean 0 and mean square 1.
    assert np.allclose(y[data.labels == 1], np.sqrt(25 / 47))
    assert np.allclose(y[data.labels == -1], -np.sqrt(47 / 25))


def test_with_all_samples_only_the_noise_is_drawn(stub):
    data = stub(expression())
    noisy = data.labels + 0.1 * rng(8).standard_normal(72)
    expected = (noisy - noisy.mean()) / noisy.std()
    assert np.allclose(leukemia(rng(8), p=3).y[0], expected, rtol=0, atol=1e-12)


def test_each_replicate_has_its_own_noise_of_the_stated_size(stub):
    data = stub(expression())
    within = []
    for seed in range(200):
        y = leukemia(rng(seed), p=1, noise_std=0.3).y[0]
        groups = [y[data.labels == label] for label in (1, -1)]
        # The classes are two apart before scaling.
        scale = (groups[0].mean() - groups[1].mean()) / 2
        within.append(np.concatenate([group - group.mean() for group in groups]) / scale)
    squares = np.sum(np.square(within), axis=1)
    # 70 degrees of freedom each; the estimated scale adds a relative error of about 0.04.
    assert np.mean(squares) / 70 == pytest.approx(0.09, rel=0.03)
    assert stats.kstest(np.ravel(within) / np.sqrt(0.09 * 70 / 72), "norm").pvalue > 1e-3
    assert len(np.unique(np.round(np.ravel(within), 12))) == 200 * 72


def test_fewer_samples_are_drawn_uniformly_and_scaled_by_themselves(stub, monkeypatch):
    data = expression()
    data.X[:, 0] = np.arange(72)
    stub(data)
    scale, given = _leukemia.standardised, []
    monkeypatch.setattr(_leukemia, "standardised", lambda *v: given.append(v[0]) or scale(*v))
    counts = np.zeros(72)
    for seed in range(900):
        problem = leukemia(rng(seed), n_samples=20, p=2, noise_std=0.0)
        genes = given[-1]
        rows = genes[:, 0].astype(int)
        response = data.labels[rows]
        assert np.all(np.diff(rows) > 0)
        counts[rows] += 1
        assert np.array_equal(genes, data.X[rows, :2])
        assert np.allclose(problem.y[0], (response - response.mean()) / response.std())
    # 20 of 72 without replacement in each of 900 draws.
    z = (counts - 250) / np.sqrt(250 * (1 - 20 / 72))
    assert np.abs(z).max() < 4.5
    assert 0.75 < z.std() < 1.25


@pytest.mark.parametrize("constant", [0.0, 0.1])
def test_a_constant_gene_is_zero(stub, constant):
    data = expression()
    X = data.X.copy()
    X[:, 6] = constant
    stub(dataset.Expression(X, data.labels, data.genes))
    problem = leukemia(rng(), p=9)
    assert np.flatnonzero(~problem.X[0].any(axis=0)).tolist() == [6]
    assert np.isfinite(random_features(rng(), n_genes=50).X[0]).all()
    # Constant on the two rows that this replicate draws, and on no others.
    rows = np.sort(rng(4).choice(72, size=2, replace=False))
    X = data.X.copy()
    X[rows, 2] = X[rows[0], 2]
    stub(dataset.Expression(X, data.labels, data.genes))
    assert not leukemia(rng(4), n_samples=2, p=9, noise_std=0.2).X[0][:, 2].any()


def test_one_class_without_noise_is_refused(stub):
    data = expression()
    one = dataset.Expression(data.X, np.ones(72), data.genes)
    stub(one)
    with pytest.raises(DataError, match="the 30 samples drawn are all of one class"):
        leukemia(rng(), n_samples=30, p=4, noise_std=0.0)
    assert leukemia(rng(), n_samples=30, p=4, noise_std=0.1).y[0].std() == pytest.approx(1)


# --- random features --------------------------------------------------------------------------


def test_random_features_have_the_moments_of_rectified_normals(stub):
    data = stub(expression())
    p = 40_000
    problem = random_features(rng(9), n_samples=72, p=p, n_genes=60, feature_variance=0.5)
    genes = StandardScaler().fit_transform(data.X[:, :60])
    covariance = 0.5 * genes @ genes.T
    std = np.sqrt(np.diag(covariance))
    X = problem.X[0]
    assert X.min() == 0.0
    # Over the features each row is max(0, N(0, std^2)), 4.5 standard errors allowed.
    assert np.all(np.abs(X.mean(axis=1) / std - 0.39894) < 4.5 * 0.5838 / np.sqrt(p))
    assert np.all(np.abs((X > 0).mean(axis=1) - 0.5) < 4.5 * 0.5 / np.sqrt(p))
    # The arc-cosine kernel of Cho & Saul, E max(0, u) max(0, v) for jointly normal u, v.
    cosine = np.clip(covariance / np.outer(std, std), -1, 1)
    angle = np.arccos(cosine)
    kernel = np.outer(std, std) * (np.sin(angle) + (np.pi - angle) * cosine) / (2 * np.pi)
    error = (X @ X.T / p - kernel) / np.outer(std, std)
    # A product of two has standard deviation at most sqrt(3/2 - 1/4).
    assert np.abs(error).max() < 5.5 * 1.118 / np.sqrt(p)
    assert not np.allclose(kernel, kernel[0, 0])


@pytest.mark.parametrize("n", [3, 20, 72])
@pytest.mark.parametrize("n_genes", [1, 2, 200])
def test_no_random_feature_is_zero_on_all_rows(stub, n, n_genes):
    for seed in range(5):
        X = random_features(rng(seed), n_samples=n, p=500, n_genes=n_genes).X[0]
        assert X.shape == (n, 500)
        assert X.max(axis=0).min() > 1e-9


def test_random_features_share_rows_and_response_with_the_genes(stub):
    features, genes = (f(rng(10), n_samples=50) for f in (random_features, leukemia))
    assert np.array_equal(features.y[0], genes.y[0])
    theta = np.linalg.lstsq(genes.X[0], features.X[0], rcond=None)[0]
    positive = features.X[0] > 0
    # Not linear in the genes once rectified: the least squares fit misses what was cut off.
    assert np.allclose(genes.X[0] @ theta, features.X[0] - features.X[0].mean(axis=0))
    assert 0.4 < positive.mean() < 0.6


# --- all of them ------------------------------------------------------------------------------

SMALL = {
    "gaussian": {"aspect_ratio": 0.5, "start": "gaussian"},
    "gaussian_cov": {"covariance": "harmonic", "aspect_ratio": 2.0},
    "leukemia": {"n_samples": 30, "p": 40},
    "random_features": {"n_samples": 30, "p": 40},
}


@pytest.mark.parametrize("name", SMALL)
def test_one_stream_gives_one_problem(stub, name):
    part = registry.find("generator", name)
    params = part.parameters(**SMALL[name]).model_dump()
    one, same, other = (part.function(rng(seed), **params) for seed in (1, 1, 2))
    assert one.X[0].tobytes() == same.X[0].tobytes()
    assert one.y[0].tobytes() == same.y[0].tobytes()
    assert not np.array_equal(one.X[0], other.X[0])
    assert not np.array_equal(one.y[0], other.y[0])
    declared = part.shape(**params)
    assert declared == {key: one.shape[key] for key in declared}
    assert set(one.facts) == set(part.facts)
    assert (one.truth is not None) == ("truth" in part.traits(params))
    assert (one.noise_std is not None) == ("noise_std" in part.traits(params))


CONFIG = """\
name: one
data: {}
trials: 1
algorithms: [omp]
metrics: [support_size]
"""

REFUSED = {
    "{generator: gaussian, p: 10, aspect_ratio: 2}": "p and aspect_ratio both set the number",
    "{generator: gaussian_cov, p: 10, aspect_ratio: 2}": "give one of them",
    "{generator: gaussian, aspect_ratio: 0.001, sparsity: 0}": (
        "aspect_ratio = 0.001 gives p = 0 at n_samples = 100; at least one"
    ),
    "{generator: gaussian, n_samples: 50, aspect_ratio: 0.1, sparsity: 8}": (
        "aspect_ratio = 0.1 gives p = 5 at n_samples = 50, which is less than sparsity 8"
    ),
    "{generator: gaussian_cov, n_samples: 20, sweep: {aspect_ratio: [1, 0.2]}}": (
        "aspect_ratio = 0.2 gives p = 4 at n_samples = 20, which is less than sparsity 5"
    ),
    "{generator: gaussian_cov, p: 4}": "sparsity 5 is larger than p = 4",
    "{generator: gaussian, aspect_ratio: 0}": "aspect_ratio must be more than 0",
    "{generator: gaussian, aspect_ratio: -1}": "aspect_ratio must be more than 0",
    "{generator: gaussian, aspect_ratio: .inf}": "aspect_ratio must be finite",
    "{generator: gaussian, aspect_ratio: 1.0e+307}": "aspect_ratio must be at most 1e+09",
    "{generator: gaussian, start: gausian}": "Did you mean 'gaussian'",
    "{generator: gaussian_cov, covariance: harmonics}": "Did you mean 'harmonic'",
    "{generator: leukemia, p: 7130}": "7129",
    "{generator: leukemia, p: 0}": "p must be at least 1",
    "{generator: leukemia, n_samples: 73}": "72",
    "{generator: leukemia, n_samples: 1}": "n_samples must be at least 2",
    "{generator: leukemia, noise_std: -0.1}": "noise_std must be at least 0",
    "{generator: random_features, n_genes: 7130}": "7129",
    "{generator: random_features, feature_variance: 0}": "feature_variance must be more than 0",
    "{generator: random_features, aspect_ratio: 2}": "aspect_ratio",
}


@pytest.mark.parametrize("data", REFUSED)
def test_impossible_data_are_one_sentence_before_any_work(call, tmp_path, data):
    (tmp_path / "wrong.yaml").write_text(CONFIG.format(data))
    refused(call("check", "wrong.yaml", cwd=tmp_path), "wrong.yaml:2", REFUSED[data])


def test_data_that_were_not_fetched_are_one_sentence(call, tmp_path, monkeypatch):
    monkeypatch.delenv(places.VARIABLE, raising=False)
    monkeypatch.setattr(places, "cache", lambda: tmp_path / "cache")
    for name in ("leukemia", "random_features"):
        (tmp_path / "absent.yaml").write_text(CONFIG.format(f"{{generator: {name}}}"))
        answer = call("run", "absent.yaml", "--out", "out", cwd=tmp_path)
        refused(answer, "'leukemia' is not in the cache", "greedyexp data fetch leukemia")


# --- the real data ----------------------------------------------------------------------------


@real
@pytest.mark.parametrize(("p", "rank"), [(50, 50), (71, 71), (72, 71), (1000, 71)])
def test_real_genes_have_rank_at_most_71(p, rank):
    X = leukemia(rng(), p=p).X[0]
    assert X.shape == (72, p)
    assert np.linalg.matrix_rank(X) == rank
    assert np.abs(X.mean(axis=0)).max() < 1e-12
    assert np.abs((X**2).mean(axis=0) - 1).max() < 1e-12


@real
@pytest.mark.parametrize(("n", "p"), [(50, 5), (50, 50), (20, 200), (72, 1000)])
def test_random_features_of_real_genes_have_full_rank(n, p):
    X = random_features(rng(), n_samples=n, p=p).X[0]
    assert np.linalg.matrix_rank(X) == min(n, p)


@real
def test_every_real_gene_can_be_scaled():
    assert np.isfinite(leukemia(rng(), p=7129).X[0]).all()
    files = registry.find("generator", "random_features").reads(p=5)
    assert len(files) == 2
