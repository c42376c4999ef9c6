"""Generators make what they say: supports, overlaps, sample sizes, laws, readable refusals."""

import io
import math
import os
import struct
import zipfile

import numpy as np
import pytest
from scipy import stats

from greedyexp.core.errors import DataError
from greedyexp.core.registry import find
from greedyexp.generators.file import file
from greedyexp.generators.gaussian import gaussian
from greedyexp.generators.multitask_overlap import multitask_overlap


def overlap(seed=0, **params):
    return multitask_overlap(np.random.default_rng(seed), **params)


def defaults(name, **given):
    return find("generator", name).parameters(**given).model_dump()


@pytest.mark.parametrize("p", [64, 128, 256, 512])
@pytest.mark.parametrize("kappa", [0.0, 0.3, 2 / 3, 0.8, 1.0])
def test_overlapping_supports_have_the_stated_sizes(p, kappa):
    problem = overlap(p=p, kappa=kappa, theta=1.0)
    nonzero = problem.truth != 0
    s = {64: 6, 128: 13, 256: 26, 512: 51}[p]
    assert nonzero.sum(axis=0).tolist() == [s, s]
    assert abs(nonzero.all(axis=1).sum() - kappa * s) <= 0.5
    assert len(problem.y[0]) == math.ceil(s * math.log(p - (2 - kappa) * s))
    assert problem.facts["n_samples"] == len(problem.y[0])


def test_columns_have_the_stated_correlation_in_every_task():
    problem = overlap(p=10, sparsity=2, theta=2000.0, correlation=0.6)
    expected = 0.6 ** np.abs(np.subtract.outer(range(10), range(10)))
    for X in problem.X:
        np.testing.assert_allclose(X.T @ X / len(X), expected, atol=0.1)
    plain, none = overlap(theta=1.0), overlap(theta=1.0, correlation=0.0)
    np.testing.assert_array_equal(plain.X[0], none.X[0])


def test_decaying_values_have_every_size_once_in_each_task():
    problem = overlap(p=100, sparsity=5, kappa=0.4, values="decaying", theta=1.0)
    for column in problem.truth.T:
        sizes = np.sort(np.abs(column[column != 0]))
        np.testing.assert_allclose(sizes, np.geomspace(0.3, 1.0, 5))
    one = gaussian(np.random.default_rng(0), p=50, sparsity=1, values="decaying")
    assert np.abs(one.truth).sum() == 1.0


def test_values_away_from_zero_are_normal_values_without_the_small_ones():
    truth = overlap(p=3000, sparsity=1400, kappa=0, values="away_from_zero", theta=0.01).truth
    values = truth[truth != 0]
    assert np.abs(values).min() >= 0.2
    normal = np.random.default_rng(1).standard_normal(10_000)
    assert stats.ks_2samp(values, normal[np.abs(normal) >= 0.2]).pvalue > 0.01


def test_decaying_values_are_as_large_in_shared_rows_as_in_others():
    shared = []
    for seed in range(300):
        truth = overlap(seed, p=40, sparsity=4, kappa=0.5, values="decaying", theta=1.0).truth
        shared.append(np.abs(truth[(truth != 0).all(axis=1)]).mean())
    expected = np.geomspace(0.3, 1.0, 4)
    spread = expected.std() / np.sqrt(4 * 300 / 2)
    assert abs(np.mean(shared) - expected.mean()) < 4 * spread


def test_three_tasks_share_rows_in_all_or_in_one():
    problem = overlap(p=100, n_tasks=3, sparsity=10, kappa=0.4, theta=2.0)
    tasks_per_row = (problem.truth != 0).sum(axis=1)
    assert (tasks_per_row == 3).sum() == 4
    assert (tasks_per_row == 1).sum() == 18
    assert (tasks_per_row == 2).sum() == 0


def test_support_positions_are_uniform():
    counts = sum(
        (overlap(seed, p=20, sparsity=4, kappa=0.5, theta=1.0).truth != 0).any(axis=1)
        for seed in range(600)
    )
    assert stats.chisquare(counts).pvalue > 1e-3


def test_responses_are_the_signal_plus_noise_of_the_stated_size():
    problem = overlap(p=256, theta=20.0, noise_std=0.3)
    for j, (X, y) in enumerate(zip(problem.X, problem.y, strict=True)):
        noise = y - X @ problem.truth[:, j]
        assert stats.kstest(noise / 0.3, "norm").pvalue > 1e-3
        assert stats.kstest(X.ravel()[:5000], "norm").pvalue > 1e-3
    assert not np.array_equal(problem.X[0], problem.X[1])


def test_value_laws():
    signs = overlap(p=512, theta=0.5, values="sign").truth
    assert set(np.unique(signs)) == {-1.0, 0.0, 1.0}
    normal = overlap(p=512, theta=0.5, values="gaussian").truth
    assert stats.kstest(normal[normal != 0], "norm").pvalue > 1e-3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"p": 10, "sparsity": 11}, "sparsity 11 is larger than p = 10"),
        ({"p": 20, "sparsity": 15, "kappa": 0.1}, "need 28 rows but p = 20"),
        ({"p": 128, "theta": 1e-6}, "gives n = 1 samples"),
        ({"p": 20, "sparsity": 10, "kappa": 0.0}, "gives n = 0 samples"),
        ({"p": 4}, "gives sparsity 0"),
    ],
)
def test_impossible_combinations_are_refused_before_any_work(given, words):
    check = find("generator", "multitask_overlap").check
    with pytest.raises(ValueError, match=words):
        check(**defaults("multitask_overlap", **given))


def test_correlated_design_has_the_stated_covariance():
    problem = gaussian(
        np.random.default_rng(1), n_samples=40_000, p=5, sparsity=2, correlation=-0.6
    )
    lags = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    sample = problem.X[0].T @ problem.X[0] / 40_000
    assert np.abs(sample - (-0.6) ** lags.astype(float)).max() < 0.03


# --- files ------------------------------------------------------------------------------------


def load(path, seed=0, **given):
    params = defaults("file", path=str(path), **given)
    find("generator", "file").check(**params)
    return file(np.random.default_rng(seed), **params)


@pytest.fixture
def arrays():
    rng = np.random.default_rng(3)
    X = rng.normal(2.0, 5.0, (30, 4))
    truth = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, -2.0], [3.0, 0.0]])
    return X, X @ truth + 7.0, truth


def test_npz_is_standardised_and_its_truth_rescaled(tmp_path, arrays):
    X, y, truth = arrays
    np.savez(tmp_path / "d.npz", X=X, y=y, truth=truth)
    problem = load(tmp_path / "d.npz")
    assert problem.shared_design
    assert np.allclose(problem.X[0].mean(axis=0), 0)
    assert np.allclose((problem.X[0] ** 2).mean(axis=0), 1)
    for j in range(2):
        assert np.allclose(problem.X[j] @ problem.truth[:, j], problem.y[j])
    raw = load(tmp_path / "d.npz", standardize=False)
    assert np.array_equal(raw.X[0], X)
    assert np.array_equal(raw.truth, truth)


def test_held_out_rows_do_not_touch_the_scaling(tmp_path, arrays):
    X, y, _ = arrays
    np.savez(tmp_path / "a.npz", X=X, y=y)
    first = load(tmp_path / "a.npz", seed=5, test_fraction=0.3)
    held = {tuple(row) for row in np.round(first.y_test[0] - first.y_test[0].mean(), 9)[:, None]}
    assert len(first.y[0]) == 21
    assert len(first.y_test[0]) == 9
    # Changing only the held-out responses must leave what is fitted to as it was.
    order = np.random.default_rng(5).permutation(30)
    changed = y.copy()
    changed[order[:9]] += 1000.0
    np.savez(tmp_path / "b.npz", X=X, y=changed)
    second = load(tmp_path / "b.npz", seed=5, test_fraction=0.3)
    assert np.array_equal(first.X[0], second.X[0])
    assert np.array_equal(first.y[0], second.y[0])
    assert held
    assert np.allclose(second.y_test[0] - first.y_test[0], 1000.0)


def test_csv_with_truth_and_several_designs(tmp_path, arrays):
    X, y, truth = arrays
    table = np.column_stack([X, y])
    header = "a,b,c,d,y_1,y_2"
    np.savetxt(tmp_path / "d.csv", table, delimiter=",", header=header, comments="", fmt="%.17g")
    np.savetxt(tmp_path / "t.csv", truth, delimiter=",", header="one,two", comments="")
    problem = load(tmp_path / "d.csv", truth=str(tmp_path / "t.csv"), standardize=False)
    assert np.array_equal(problem.X[0], X)
    assert np.array_equal(problem.y[1], y[:, 1])
    assert np.array_equal(problem.truth, truth)
    only = load(tmp_path / "d.csv", response=["y_2"], standardize=False)
    assert only.n_tasks == 1
    assert only.n_features == 5
    np.savez(tmp_path / "m.npz", X_0=X, y_0=y[:, 0], X_1=X[:20], y_1=y[:20, 1])
    assert load(tmp_path / "m.npz").n_samples.tolist() == [30, 20]


BAD_ARRAYS = {
    "holds nan at index": lambda X, y: (np.where(np.arange(4) == 1, np.nan, X), y),
    "holds inf at index": lambda X, y: (np.where(np.arange(4) == 1, np.inf, X), y),
    "is empty": lambda X, y: (X[:0], y[:0]),
    "1 row": lambda X, y: (X[:1], y[:1]),
    "the response of task 0 is constant": lambda X, y: (X, np.ones(len(X))),
    "X has 30 rows but y has 29": lambda X, y: (X, y[:29]),
    "must contain only numbers": lambda X, y: (X.astype(str), np.full(30, "cat")),
    "X must contain only numbers": lambda X, y: (X.astype(str), y),
    "y must contain only numbers": lambda X, y: (X, y.astype("datetime64[s]")),
}


@pytest.mark.parametrize("words", BAD_ARRAYS)
def test_unusable_arrays_are_refused_with_the_file_named(tmp_path, arrays, words):
    X, y, _ = arrays
    X, y = BAD_ARRAYS[words](X, y[:, 0])
    np.savez(tmp_path / "bad.npz", X=X, y=y)
    with pytest.raises(DataError, match=words) as caught:
        load(tmp_path / "bad.npz")
    assert "bad.npz" in str(caught.value)


def archive(**members):
    """Return a zip archive of files, which are given as bytes or as arrays."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as file:
        for name, content in members.items():
            if not isinstance(content, bytes):
                np.save(stream := io.BytesIO(), content)
                content = stream.getvalue()
            file.writestr(f"{name}.npy", content)
    return whole.getvalue()


def with_header(text):
    """An array of NumPy with this header."""
    return b"\x93NUMPY\x02\0" + struct.pack("<I", len(text)) + text.encode()


SIDE = 10**30
ODD_ARCHIVES = {
    "'X' is another file": archive(X=b"hello", y=np.arange(30.0)),
    "too large": archive(
        X=with_header(f"{{'descr':'f8','fortran_order':False,'shape':({SIDE},)}}")
    ),
    "EOF in multi": archive(X=with_header("{'descr':" + "[" * 20)),
    "arrays 'X' and 'X_0'": archive(X=np.eye(3), y=np.arange(3.0), X_0=np.eye(3), y_0=np.ones(3)),
}


@pytest.mark.parametrize("words", ODD_ARCHIVES)
def test_odd_archives_are_refused_with_the_file_named(tmp_path, words):
    (tmp_path / "bad.npz").write_bytes(ODD_ARCHIVES[words])
    with pytest.raises(DataError, match=words) as caught:
        load(tmp_path / "bad.npz")
    assert "bad.npz" in str(caught.value)


@pytest.mark.parametrize("constant", [0.0, 0.1, 14.62, 98.6, -1e6])
def test_constant_columns_are_zero_where_columns_are_centred(tmp_path, arrays, constant):
    X, y, _ = arrays
    wide = np.column_stack([np.full(len(X), constant), X])
    np.savez(tmp_path / "plain.npz", X=X, y=y[:, 0])
    np.savez(tmp_path / "wide.npz", X=wide, y=y[:, 0])
    assert np.array_equal(load(tmp_path / "wide.npz", standardize=False).X[0], wide)
    for seed in range(4):
        plain, made = (
            load(tmp_path / f"{n}.npz", seed, test_fraction=0.4) for n in ("plain", "wide")
        )
        for few, more in ((plain.X, made.X), (plain.X_test, made.X_test)):
            assert not more[0][:, 0].any()
            np.testing.assert_array_equal(more[0][:, 1:], few[0])


@pytest.mark.parametrize("scale", [1e-200, 1e200])
@pytest.mark.parametrize("standardize", [True, False])
def test_values_whose_squares_are_out_of_range_are_refused(tmp_path, arrays, scale, standardize):
    X, y, _ = arrays
    sized = X * [1.0, 1.0, scale, 1.0]
    np.savez(tmp_path / "d.npz", X=sized, y=y[:, 0])
    table = np.column_stack([sized, y[:, 0]])
    np.savetxt(tmp_path / "d.csv", table, delimiter=",", header="a,b,c,d,y", comments="")
    np.savez(tmp_path / "r.npz", X=X, y=y[:, 0] * scale)
    for name, what in (
        ("d.npz", "feature 2"),
        ("d.csv", "feature 'c'"),
        ("r.npz", "the responses"),
    ):
        with pytest.raises(DataError, match=f"largest absolute value of {what} is .* too "):
            load(tmp_path / name, standardize=standardize)
    np.savez(tmp_path / "small.npz", X=X * 1e-70, y=y[:, 0])
    assert np.isfinite(load(tmp_path / "small.npz", standardize=standardize).X[0]).all()


@pytest.mark.parametrize("constant", [0.0, 14.62])
def test_a_column_that_is_constant_on_the_training_rows_is_zero(tmp_path, constant):
    rows = "\n".join(f"{constant + (i == 0)},{i},{i % 3}" for i in range(12))
    (tmp_path / "d.csv").write_text(f"rare,time,y\n{rows}\n")
    varies = []
    for seed in range(8):
        problem = load(tmp_path / "d.csv", seed, test_fraction=0.5)
        varies.append(bool(problem.X[0][:, 0].any()))
        if not varies[-1]:
            assert not problem.X_test[0][:, 0].any()
        assert np.abs(problem.X_test[0]).max() < 1e3
    assert 0 < sum(varies) < 8


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a readable table"),
        ("x,y\n", "has no rows"),
        ("x,y\n1,2\n,4\n5,6\n", r"bad.csv:3: column 'x' holds nothing"),
        ("x,y\n1,2\n3,oops\n5,6\n", r"bad.csv:3: column 'y' holds 'oops'"),
        ("x,z\n1,2\n3,4\n", "no response column"),
        ("y\n1\n2\n", "no feature left"),
        ("x,y\n1,2\n3,4,5\n", "not a readable table"),
        ("x,y\n1,2,3\n3,4,5\n", "more fields than the header"),
        ("x,y\n1,2\n3,inf\n", "bad.csv:3: column 'y' holds 'inf'"),
    ],
)
def test_unusable_tables_are_refused_with_the_line(tmp_path, text, words):
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(DataError, match=words):
        load(tmp_path / "bad.csv")


def test_a_truth_that_is_not_finite_is_refused(tmp_path, arrays):
    X, y, truth = arrays
    np.savez(tmp_path / "bad.npz", X=X, y=y, truth=np.where(truth == 3.0, np.nan, truth))
    with pytest.raises(DataError, match="truth holds nan"):
        load(tmp_path / "bad.npz")
    np.savez(tmp_path / "bad.npz", X=X + 1j, y=y)
    with pytest.raises(DataError, match="complex"):
        load(tmp_path / "bad.npz")


def test_only_files_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "device.npz").symlink_to("/dev/zero")
    (tmp_path / "folder.parquet").mkdir()
    for path in tmp_path.iterdir():
        with pytest.raises(DataError, match=f"{path.name}: this is a folder, a pipe or a device"):
            load(path)


def test_missing_or_foreign_files(tmp_path):
    with pytest.raises(DataError, match="no such data file"):
        load(tmp_path / "absent.npz")
    np.save(tmp_path / "single.npy", np.eye(3))
    (tmp_path / "single.npy").rename(tmp_path / "single.npz")
    with pytest.raises(DataError, match="it holds a single array"):
        load(tmp_path / "single.npz")
    (tmp_path / "text.npz").write_bytes(b"PK\x03\x04 not an archive")
    with pytest.raises(DataError, match="not a readable"):
        load(tmp_path / "text.npz")
    np.savez(tmp_path / "names.npz", A=np.eye(3), y=np.arange(3.0))
    with pytest.raises(DataError, match="no array 'X'"):
        load(tmp_path / "names.npz")
