"""Generator ``file``: halves and bootstrap samples, and changes of a table that change no fit."""

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from algorithm_cases import peer_marks
from scipy import stats

from greedyexp.config import load
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.problems.problem import as_problem
from greedyexp.problems.scaling import standardised, without_lost_columns
from greedyexp.protocols import fitting

file = registry.find("generator", "file").function


def drawn(path, seed=0, **given):
    return file(np.random.default_rng(seed), path=str(path), **given)


@pytest.fixture
def six(tmp_path):
    """A table with six distinct rows whose features are equally good."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"a": rng.standard_normal(6), "b": rng.standard_normal(6)})
    frame["y"] = frame["a"] + frame["b"] + rng.standard_normal(6)
    frame.to_csv(tmp_path / "six.csv", index=False)
    return tmp_path / "six.csv"


def test_halves_are_all_equally_likely(six):
    values = pd.read_csv(six)["y"].tolist()
    seen = Counter()
    for seed in range(2000):
        problem = drawn(six, seed, resample="halves", standardize=False)
        assert problem.facts["n_samples"] == 3
        assert not problem.X_test
        rows = tuple(values.index(value) for value in problem.y[0].tolist())
        assert len(set(rows)) == 3
        seen[tuple(sorted(rows))] += 1
    assert len(seen) == 20
    assert stats.chisquare(list(seen.values())).pvalue > 1e-3


def test_a_bootstrap_sample_has_as_many_rows_drawn_with_replacement(six):
    values = pd.read_csv(six)["y"].tolist()
    counts, distinct = np.zeros(6), []
    for seed in range(2000):
        problem = drawn(six, seed, resample="bootstrap", standardize=False)
        rows = [values.index(value) for value in problem.y[0].tolist()]
        assert len(rows) == 6
        counts += np.bincount(rows, minlength=6)
        distinct.append(len(set(rows)))
    assert stats.chisquare(counts).pvalue > 1e-3
    # Each row is left out with probability (5/6)^6.
    assert np.mean(distinct) == pytest.approx(6 * (1 - (5 / 6) ** 6), abs=0.08)


def test_frequencies_of_halves_are_those_of_all_halves(six):
    frame = pd.read_csv(six)
    omp = registry.find("algorithm", "omp").function

    def first(problem):
        return int(np.flatnonzero(omp(problem, n_atoms=1).coef[-1][:, 0])[0])

    exact = []
    for rows in itertools.combinations(range(6), 3):
        part = frame.iloc[list(rows)]
        centred = part - part.mean()
        correlation = centred[["a", "b"]].T @ centred["y"] / np.sqrt((centred**2).sum()[["a", "b"]])
        exact.append(int(abs(correlation["b"]) > abs(correlation["a"])))
    chosen = [first(drawn(six, seed, resample="halves")) for seed in range(1000)]
    assert 0 < np.mean(exact) < 1
    assert stats.binomtest(sum(chosen), 1000, np.mean(exact)).pvalue > 1e-3


def test_resampling_and_held_out_rows_are_refused_together(six):
    settings = {
        "name": "own",
        "data": {"generator": "file", "path": str(six), "resample": "halves", "test_fraction": 0.5},
        "algorithms": ["omp"],
        "metrics": ["support_size"],
    }
    with pytest.raises(ConfigError, match="resample and test_fraction both choose"):
        load(settings)


def test_cross_validation_needs_distinct_rows(six):
    settings = {
        "name": "own",
        "data": {"generator": "file", "path": str(six), "resample": "bootstrap"},
        "algorithms": [{"lasso": {"tuning": "cv", "folds": 2}}],
        "metrics": ["support_size"],
    }
    with pytest.raises(ConfigError, match="cross-validation needs distinct rows"):
        load(settings)
    settings["data"]["resample"] = "halves"
    assert load(settings).trials == 1


def test_a_rule_for_trials_needs_independent_data_sets(six):
    truth = six.with_name("truth.csv")
    truth.write_text("y\n1\n1\n")
    settings = {
        "name": "own",
        "trials": {"until": {"half_width": 0.1}},
        "data": {
            "generator": "file",
            "path": str(six),
            "truth": str(truth),
            "resample": "halves",
        },
        "algorithms": [{"omp": {"n_atoms": 1, "tuning": "end"}}],
        "metrics": ["sign_support"],
    }
    with pytest.raises(ConfigError, match="a rule for trials needs independent data sets"):
        load(settings)


# --- changes of a table that change no fit ----------------------------------------------------


def _path(part, problem, values):
    rng = np.random.default_rng(0) if part.takes_rng else None
    return fitting.fit(part, problem, values, rng=rng)


def _algorithms():
    """The algorithms that return estimates of one response from rows alone."""
    for name, part in registry.parts("algorithm").items():
        if part.shipped and part.yields == "estimates" and not part.takes_rng:
            yield name


CHANGES = {
    "constant column": lambda frame: frame.assign(constant=14.62),
    "column of zeros": lambda frame: frame.assign(constant=0.0),
    "duplicated rows": lambda frame: pd.concat([frame, frame], ignore_index=True),
    "permuted rows": lambda frame: frame.sample(frac=1, random_state=1),
    "other units": lambda frame: frame.assign(b=1000 * frame["b"], c=frame["c"] / 64),
    "shifted features": lambda frame: frame.assign(a=frame["a"] + 40.0),
    "shifted response": lambda frame: frame.assign(y=frame["y"] - 7.0),
}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(21)
    frame = pd.DataFrame(rng.standard_normal((40, 5)), columns=list("abcde"))
    frame["y"] = 3 * frame["a"] - 2 * frame["b"] + 0.5 * rng.standard_normal(40)
    return frame, tmp_path_factory.mktemp("tables")


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=peer_marks(name)) for name in sorted(_algorithms())]
)
def test_standardised_fits_do_not_change(table, name, change):
    if (name, change) == ("adaptive_lasso", "duplicated rows"):
        pytest.skip("its ridge is chosen by leaving out single rows")
    frame, folder = table
    problems = []
    for number, content in enumerate((frame, CHANGES[change](frame))):
        path = folder / f"{name}-{change.replace(' ', '')}-{number}.csv"
        content.to_csv(path, index=False)
        problems.append(drawn(path))
    part = registry.find("algorithm", name)
    fields = part.parameters.model_fields
    if any(one.is_required() for one in fields.values()):
        pytest.skip("it has parameters without defaults")
    values = {key: one.default for key, one in fields.items()}
    try:
        before, after = (_path(part, problem, values) for problem in problems)
    except (DataError, ConfigError) as error:
        pytest.skip(f"it does not take this problem: {error}")
    if len(before) != len(after):
        pytest.skip("its path has a grid of the number of rows")
    found = after.coef[:, :5] if after.coef.shape[1] > 5 else after.coef
    np.testing.assert_allclose(found, before.coef, atol=2e-5)
    if after.coef.shape[1] > 5:
        assert not after.coef[:, 5].any()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=peer_marks(name)) for name in sorted(_algorithms())]
)
def test_a_truth_beside_the_table_changes_no_fit(table, name):
    frame, folder = table
    rows, truth = folder / f"{name}-rows.csv", folder / f"{name}-truth.csv"
    frame.assign(y=1e-3 * frame["y"]).to_csv(rows, index=False)
    pd.DataFrame({"y": [0.003, -0.002, 0, 0, 0]}).to_csv(truth, index=False)
    part = registry.find("algorithm", name)
    fields = part.parameters.model_fields
    if any(declared.is_required() for declared in fields.values()):
        pytest.skip("it has parameters without defaults")
    values = {key: declared.default for key, declared in fields.items()}
    try:
        plain = _path(part, drawn(rows), values)
    except (DataError, ConfigError) as error:
        pytest.skip(f"it does not take this problem: {error}")
    np.testing.assert_array_equal(
        _path(part, drawn(rows, truth=str(truth)), values).coef, plain.coef
    )


# --- folds ------------------------------------------------------------------------------------


@pytest.mark.parametrize("common", [0.1, -0.3, 98.6])
def test_a_column_that_is_constant_without_a_fold_is_not_selected_there(monkeypatch, common):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((30, 3))
    X[:, 2] = common
    X[7, 2] = common + 5.0
    y = X[:, 0] + 2.0
    part, seen = registry.find("algorithm", "omp"), []
    plain = fitting.fit

    def spy(part, problem, *args, **given):
        path = plain(part, problem, *args, **given)
        if problem.n_samples[0] < 30:
            seen.append((np.ptp(problem.X[0][:, 2]), path.coef))
        return path

    monkeypatch.setattr(fitting, "fit", spy)
    values = {key: one.default for key, one in part.parameters.model_fields.items()}
    fitting.cross_validated(part, as_problem(X, y), values, folds=5, rng=np.random.default_rng(0))
    (without,) = (coef for spread, coef in seen if spread == 0)
    assert not without[:, 2].any()
    assert len(seen) == 5


def test_a_column_that_is_constant_on_all_rows_is_kept():
    X = np.column_stack([np.ones(10), np.arange(10.0), np.arange(10.0) == 3])
    whole = as_problem(X, np.arange(10.0))
    part = whole.rows([np.arange(5, 10)])
    kept = without_lost_columns(part, whole)
    np.testing.assert_array_equal(kept.X[0], X[5:])
    moved = as_problem(X + np.array([0.0, 0.0, 1.0]), np.arange(10.0))
    lost = without_lost_columns(moved.rows([np.arange(5, 10)]), moved)
    np.testing.assert_array_equal(lost.X[0], X[5:] * [1.0, 1.0, 0.0])


@pytest.mark.parametrize("value", [0.1, 14.62, 1e9, -3.3e-7])
def test_constant_columns_have_scale_one_and_are_zero(value):
    rng = np.random.default_rng(0)
    fitted, held = rng.standard_normal((2, 17, 3))
    fitted[:, 1] = value
    made = standardised(fitted, held)
    assert made.constant.tolist() == [1]
    assert made.scales[1] == 1.0
    assert not made.fitted[:, 1].any()
    assert not made.held[:, 1].any()
    for column in (0, 2):
        z = stats.zscore(fitted[:, column])
        np.testing.assert_allclose(made.fitted[:, column], z)
        np.testing.assert_allclose(
            made.held[:, column],
            (held[:, column] - fitted[:, column].mean()) / fitted[:, column].std(),
        )
