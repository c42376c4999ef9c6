"""A solution predicts, prints and draws itself."""

import matplotlib

matplotlib.use("agg")

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from matplotlib.figure import Figure

from greedyexp import solve
from greedyexp.core.errors import ConfigError, DataError

RNG = np.random.default_rng(11)
X = RNG.standard_normal((60, 5))
Y = np.stack([2.0 * X[:, 0] + 1.0, X[:, 0] - X[:, 3] - 4.0], axis=1)
FRAME = pd.DataFrame(X, columns=["age", "dose", "<b>", "sex", "rate"])


def test_predictions_of_an_exact_model_are_the_responses():
    one = solve("omp", X, Y[:, 0], intercept=True, n_atoms=1)
    both = solve("omp", FRAME, Y, intercept=True, n_atoms=2)
    np.testing.assert_allclose(one.predict(X), Y[:, 0], atol=1e-12)
    np.testing.assert_allclose(one.predict(scipy.sparse.csr_array(X)), Y[:, 0], atol=1e-12)
    np.testing.assert_allclose(both.predict(FRAME), Y, atol=1e-12)
    first, second = both.predict([X[:7], X])
    np.testing.assert_allclose(first, Y[:7, 0], atol=1e-12)
    np.testing.assert_allclose(second, Y[:, 1], atol=1e-12)


def test_predictions_without_an_intercept_are_products():
    found = solve("lasso", [X, X[:30]], [Y[:, 0] - 1.0, Y[:30, 1] + 4.0], lam=0.1)
    for j, predicted in enumerate(found.predict([X, X])):
        np.testing.assert_allclose(predicted, X @ found.coef[:, j])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (X[:, :4], "X has 4 features but the fit has 5"),
        ([X, X, X], "X has 3 tasks but the solution has 2"),
        (np.where(X > 2, np.nan, X), "X holds nan at index"),
        (FRAME[FRAME.columns[::-1]], "the columns of X are not those of the fit. Give them in"),
        (FRAME.assign(sex="f"), "column 'sex' of X holds the text 'f' in row 0"),
    ],
)
def test_other_features_are_refused(given, words):
    found = solve("omp", FRAME, Y, intercept=True)
    with pytest.raises(DataError, match=words):
        found.predict(given)


def test_a_model_of_chains_predicts_no_single_words():
    labels = np.where(X[:, 0] > 0, "a", "b")
    found = solve("foba_gdt", X, labels, loss="crf", chains=[30, 30], max_features=2, ridge=0.1)
    with pytest.raises(ConfigError, match="labels whole chains"):
        found.predict(X)


def test_it_prints_the_coefficients_by_name():
    lines = repr(solve("omp", FRAME, Y[:, 0], intercept=True, n_atoms=1)).splitlines()
    assert lines[0].startswith("Solution: 1 of 5 features, objective ")
    assert lines[0].endswith(", converged")
    assert [line.split() for line in lines[1:3]] == [["age", "2"], ["intercept", "1"]]


def test_it_prints_a_column_for_each_task_and_the_number_of_further_rows():
    design = RNG.standard_normal((60, 30))
    found = solve("group_omp", design, design[:, :12] @ RNG.standard_normal((12, 2)), n_rows=12)
    text = repr(found)
    assert "task 0" in text
    assert "task 1" in text
    assert "  and 2 more" in text
    assert len(text.splitlines()) == 1 + 1 + 10 + 1


def test_the_table_in_a_notebook_escapes_names():
    found = solve("omp", FRAME, FRAME["<b>"], n_atoms=1)
    assert "<th>&lt;b&gt;</th><td>1</td>" in found._repr_html_()
    assert found.selected == ["<b>"]
    assert solve("omp", X, Y[:, 0], n_atoms=1).selected == ["0"]


def test_the_profiles_are_the_coefficients_of_the_path():
    grid = [0.5, 0.1, 0.02]
    found = solve("lasso", FRAME, Y[:, 0] - 1.0, lam=grid)
    axes = found.plot(Figure().subplots())
    assert axes.get_xlabel() == "lam"
    assert axes.get_xscale() == "log"
    for line in axes.get_lines():
        if line.get_label() in FRAME.columns:
            feature = list(FRAME.columns).index(line.get_label())
            ends = [solve("lasso", X, Y[:, 0] - 1.0, lam=lam).coef[feature] for lam in sorted(grid)]
            np.testing.assert_allclose(line.get_ydata(), ends, atol=1e-9)


def test_points_of_another_weight_are_left_out():
    found = solve("greedy_dirty", FRAME, Y, intercept=True, w=[1.0, 1.5, 2.0])
    axes = found.plot(Figure().subplots())
    history = found.history
    weight = history["w"][history["chosen"]].item()
    epsilon = np.sort(history["epsilon"][history["w"] == weight])
    drawn = [line.get_xdata() for line in axes.get_lines() if line.get_label() == "age, task 0"]
    np.testing.assert_array_equal(drawn, [epsilon])


@pytest.mark.parametrize("name", ["rmp", "l1_ball"])
def test_solutions_without_a_path_are_drawn(name):
    params = {"lam": 0.1} if name == "rmp" else {"radius": 1.0}
    found = solve(name, X, Y[:, 0], intercept=True, **params)
    assert found.plot(Figure().subplots()).get_xlabel() in ("iteration", "point")
    assert found.plot().get_lines()
