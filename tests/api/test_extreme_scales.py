"""Data whose squares overflow or vanish, and data far from centred: refused or said, not fitted."""

import warnings

import numpy as np
import pytest

import greedyexp
from greedyexp.core import registry
from greedyexp.core.errors import DataError
from greedyexp.problems.problem import as_problem

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 12))
TRUTH = np.zeros((12, 2))
TRUTH[:3] = [[1.0, 1.0], [-1.0, -1.0], [0.0, 2.0]]
Y = X @ TRUTH + 0.1 * RNG.standard_normal((60, 2))
NEEDED = {
    "estimator": {"class": "sklearn.linear_model.Lasso"},
    "rmp": {"lam": 0.1},
    "proximal_gradient": {"lam": 0.1},
    "proximal_gs_coordinate_descent": {"lam": 0.1},
    "ultimate": {"lam": 0.1},
    "ultimate_alternating": {"lam": 0.1},
    "ultimate_ar_bcd": {"lam": 0.1},
    "forward_greedy": {"radius": 2.0},
    "l1_ball": {"radius": 2.0},
    "randomized_sparsification": {"radius": 2.0},
    "replacement_steps": {"features": 2},
    "smoothed_forward_greedy": {"loss": "absolute", "radius": 2.0},
}
# The adapters are left out: other packages make no promise about scales.
ALGORITHMS = [
    name
    for name, part in registry.parts("algorithm").items()
    if part.yields != "constant"
    and (callable(part.packages) or not part.packages)
    and part.function.__module__.startswith("greedyexp.")
]


def solved(name, design, responses, **params):
    """The solution for one task, or two where the algorithm needs several."""
    several = "multi_task" in registry.find("algorithm", name).fixed_requirements
    y = responses if several else responses[:, 0]
    return greedyexp.solve(name, design, y, **NEEDED.get(name, {}), **params)


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("scale", [1e-160, 1e-80, 1e80, 1e160])
def test_scales_whose_squares_are_out_of_range_are_refused(name, scale):
    size = "large" if scale > 1 else "small"
    with pytest.raises(DataError, match=rf"value of feature 0 is .*, too {size} for double"):
        solved(name, scale * X, Y)
    with pytest.raises(DataError, match=rf"value of the responses is .*, too {size} for double"):
        solved(name, X, scale * Y)
    one = np.where(np.arange(12) == 7, scale, 1.0)
    with pytest.raises(DataError, match=f"value of feature 7 is .*, too {size} for double"):
        solved(name, X * one, Y)


@pytest.mark.parametrize(
    "name", ["omp", "group_omp", "greedy_dirty", "lasso", "dirty_lasso", "group_lasso", "foba_obj"]
)
@pytest.mark.parametrize("power", [-240, -100, 100, 240])
def test_units_change_nothing_but_units(name, power):
    plain = solved(name, X, Y)
    unit = 2.0**power
    for design, responses, factor in ((unit * X, Y, 1 / unit), (X, unit * Y, unit)):
        fit = solved(name, design, responses)
        assert fit.converged
        assert np.array_equal(fit.support, plain.support)
        assert fit.coef == pytest.approx(factor * plain.coef, rel=1e-6, abs=0)


@pytest.mark.parametrize("name", ["omp", "group_omp", "greedy_dirty", "foba_obj"])
def test_features_in_different_units_are_chosen_alike(name):
    units = 10.0 ** np.linspace(-60, 60, 12)
    plain, fit = solved(name, X, Y), solved(name, X * units, Y)
    assert np.array_equal(fit.support, plain.support)
    rescaled = (fit.coef.T * units).T
    assert rescaled == pytest.approx(plain.coef, rel=1e-6)


@pytest.mark.parametrize("name", ["gradient_descent", "gs_coordinate_descent"])
def test_a_descent_that_never_moved_small_features_has_not_converged(name):
    units = np.where(np.arange(12) % 2, 1e40, 1.0)
    fit = greedyexp.solve(name, X * units, Y[:, 0], iterations=200)
    assert not fit.converged
    assert greedyexp.solve(name, X, Y[:, 0]).converged


def test_zeros_are_no_scale():
    design = X.copy()
    design[:, 4] = 0.0
    assert greedyexp.solve("omp", design, Y[:, 0], n_atoms=2).support.tolist() == [0, 1]
    assert not greedyexp.solve("omp", design, 0.0 * Y[:, 0]).support.size


def test_data_of_an_experiment_out_of_range_are_an_error_and_no_result(tmp_path):
    experiment = {
        "name": "loud",
        "data": {"generator": "gaussian", "n_samples": 30, "p": 8, "sparsity": 2},
        "trials": 2,
        "algorithms": ["omp"],
        "metrics": ["support", "frobenius_error"],
    }
    loud = {**experiment, "data": {**experiment["data"], "noise_std": 1e200}}
    table = greedyexp.run(loud, out=tmp_path, engine="serial")
    assert table["status"].tolist() == ["error", "error"]
    expected = "no data: .* the responses is .*, too large for double precision"
    assert table["message"].str.contains(expected).all()
    assert table["support"].isna().all()


# Features of data that need an intercept.


def test_a_response_far_from_centred_is_warned_about():
    with pytest.warns(UserWarning, match="No intercept is fitted, but the response has mean 100"):
        fit = greedyexp.solve("lasso", X, Y[:, 0] + 100, tuning="cv")
    assert "No intercept is fitted, but the response has mean 100" in fit.message
    with pytest.warns(UserWarning, match="the response of task 1 has mean"):
        greedyexp.solve("group_omp", X, Y + np.array([0.0, 50.0]), n_rows=2)
    with pytest.warns(UserWarning, match="or give intercept=True"):
        greedyexp.solve("foba_gdt", X, Y[:, 0] + 100, max_features=2)
    with pytest.warns(UserWarning, match="Centre the response and the features"):
        greedyexp.solve("rmp", X, Y[:, 0] + 100, lam=0.1, iterations=5)


def test_a_feature_far_from_centred_is_warned_about():
    moved = X + 30.0 * (np.arange(12) == 5)
    with pytest.warns(UserWarning, match="but feature 5 has mean 30.* and standard deviation"):
        greedyexp.solve("omp", moved, Y[:, 0], n_atoms=2)


def test_no_false_alarm():
    labels = np.where(Y[:, 0] > -1.0, 1, -1)
    shifted = Y[:, 0] + 100
    counts = np.random.default_rng(1).poisson(4.0, X.shape).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        greedyexp.solve("lasso", X, Y[:, 0], tuning="cv")
        greedyexp.solve("omp", counts, counts[:, 0] - counts[:, 1], n_atoms=2)
        greedyexp.solve("foba_gdt", X, shifted, intercept=True, max_features=2)
        greedyexp.solve("foba_gdt", X, labels, loss="logistic", ridge=0.1, max_features=2)
        # A constant column is the intercept.
        greedyexp.solve("omp", np.column_stack([np.ones(60), X]), shifted, n_atoms=3)
        words = np.where(labels > 0, "up", "down")
        greedyexp.solve(
            "foba_gdt", X, words, loss="crf", chains=[30, 30], ridge=0.1, max_features=2
        )


# What the message says of tuning.

UNTUNED = "The path was not tuned: this is its last point. Use tuning='cv' or give "


@pytest.mark.parametrize(
    ("name", "stop", "names"),
    [
        ("omp", {"n_atoms": 3}, "n_atoms or residual_norm"),
        ("group_omp", {"residual_norm": 2.0}, "n_rows or residual_norm"),
        ("lasso", {"lam": 0.1}, "lam or max_support"),
        ("group_lasso", {"max_support": 3}, "lam or max_support"),
        ("greedy_dirty", {"max_support": 3, "w": 1.5}, "epsilon or max_support"),
        ("foba_obj", {"delta": 0.01}, "delta or max_features or max_groups"),
        ("forward_gdt", {"max_features": 3}, "epsilon or max_features or max_groups"),
        ("l1_path", {"max_features": 3}, "lam or max_features or max_groups"),
        ("fully_corrective", {"steps": 3}, "steps"),
    ],
)
def test_the_end_of_a_path_that_nobody_named_says_so(name, stop, names):
    assert f"{UNTUNED}{names}." in solved(name, X, Y).message
    assert "tuned" not in solved(name, X, Y, **stop).message
    assert "tuned" not in solved(name, X, Y, tuning="cv").message


def test_a_second_tuning_value_that_nobody_named_is_said():
    assert (
        "w was not tuned: this is the last of 5"
        in solved("greedy_dirty", X, Y, epsilon=0.1).message
    )
    assert "tuned" not in greedyexp.solve("l1_ball", X, Y[:, 0], radius=1.0).message


def test_chains_are_not_told_to_use_cross_validation():
    words = np.where(Y[:, 0] > 0, "up", "down")
    fit = greedyexp.solve("foba_gdt", X, words, loss="crf", chains=[30, 30], ridge=0.1)
    assert "Give epsilon or max_features or max_groups." in fit.message
    assert "cv" not in fit.message


def test_checked_problems_keep_the_names_of_features():
    with pytest.raises(DataError, match="value of feature 'dose' is 1e\\+100, too large for"):
        as_problem([[1.0, 1e100], [2.0, 0.0]], [1.0, 2.0], feature_names=["age", "dose"])
