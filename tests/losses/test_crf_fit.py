import numpy as np
import pytest
from crf_problems import enumerated, small_loss, some_params
from foba_problems import words
from scipy.optimize import minimize

from greedyexp.algorithms.foba.gradient import foba_gdt
from greedyexp.losses import crf_fit
from greedyexp.losses.crf import CrfLoss
from greedyexp.losses.crf_fit import CrfFit
from greedyexp.losses.crf_likelihood import ReducedLoss
from greedyexp.losses.loss import TOLERANCE
from greedyexp.losses.quasi_newton import descend


@pytest.mark.parametrize("support", [(), (2,), (0, 4, 8, 5)])
def test_minimiser_is_that_of_scipy_on_all_labellings(support):
    loss = small_loss(26)
    exact = enumerated(loss)
    free = np.r_[list(support), np.arange(loss.size, loss.size + loss.n_dense)].astype(int)

    def params(x):
        out = np.zeros(loss.size + loss.n_dense)
        out[free] = x
        return out

    found = minimize(
        lambda x: exact.value(params(x)),
        np.zeros(len(free)),
        jac=lambda x: exact.gradient(params(x))[free],
        method="BFGS",
        options={"gtol": 1e-9},
    )
    for start in (None, some_params(loss, 27)):
        ours = loss.minimise(support, start)
        assert ours.converged
        assert ours.message == ""
        np.testing.assert_allclose(ours.params, params(found.x), atol=1e-7)
        assert ours.value <= found.fun + 1e-14
        assert np.abs(exact.gradient(ours.params)[free]).max() <= TOLERANCE * loss.scale
        np.testing.assert_allclose(ours.gradient, exact.gradient(ours.params), atol=1e-13)


def test_scale_is_the_largest_derivative_without_features():
    loss = small_loss(28)
    gradient = enumerated(loss).gradient(loss.minimise(()).params)
    assert loss.scale == pytest.approx(np.abs(gradient[: loss.size]).max(), rel=1e-9)


def test_fit_follows_additions_and_removals():
    loss = small_loss(29, lengths=(6, 9, 1, 14), p=4)
    exact_fit = loss.fit()
    assert isinstance(exact_fit, CrfFit)
    for action, features in (
        ("add", [5]),
        ("add", [0, 7]),
        ("add", [11]),
        ("remove", [0]),
        ("add", [2]),
        ("remove", [5, 2]),
        ("add", [5]),
    ):
        getattr(exact_fit, action)(features)
        afresh = loss.minimise(exact_fit.support)
        assert exact_fit.converged
        np.testing.assert_allclose(exact_fit.params, afresh.params, atol=1e-8)
        assert exact_fit.value == pytest.approx(afresh.value, rel=1e-13)
        free = [*exact_fit.support, *range(loss.size, loss.size + loss.n_dense)]
        left = np.abs(loss.gradient(exact_fit.params)[free]).max()
        assert left <= TOLERANCE * loss.scale
        off = np.setdiff1d(np.arange(loss.size), exact_fit.support)
        assert not exact_fit.params[off].any()
    assert exact_fit.support == [7, 11, 5]


def test_fit_is_quicker_than_a_fresh_start():
    """In long chains that stay where they are, which makes the Hessian ill-conditioned."""
    rng = np.random.default_rng(30)
    labels = np.repeat(rng.integers(0, 4, 100), 20)
    X = np.eye(4)[labels] * 0.5 + 0.5 * rng.standard_normal((2000, 4))
    loss = CrfLoss(X, labels, [1000, 1000], n_classes=4, ridge=1e-4)
    fit, passes, afresh = loss.fit(), [], []
    for _ in range(6):
        start = fit.params
        fit.add([int(np.abs(fit.gradient).argmax())])
        passes.append(fit.evaluations)
        function = ReducedLoss(loss, fit.support)
        found = descend(function, start[function.free], TOLERANCE * loss.scale)
        afresh.append(found.evaluations)
    assert 4 * sum(passes) <= sum(afresh)


def test_separable_chains_are_fitted_until_they_are_flat():
    labels = np.array([0, 0, 1, 1, 0, 1])
    X = np.where(labels == 1, 1.0, -1.0)[:, None]
    fit = CrfLoss(X, labels, [3, 3], n_classes=2).fit()
    fit.add([1])
    assert np.isfinite(fit.params).all()
    assert fit.converged == (fit.message == "")


def halted(n_variables):
    """A descent that gives up at once when it has so many variables, or more."""

    def descend_or_not(function, x, tolerance, inverse=None):
        limit = 1 if len(x) >= n_variables else 1000
        return descend(function, x, tolerance, inverse, limit)

    return descend_or_not


def test_a_fit_that_ends_early_has_no_certificate(monkeypatch):
    loss = small_loss(33, lengths=(9, 8, 12, 9, 10, 7), ridge=0.0)
    fit = loss.fit()
    assert fit.converged
    monkeypatch.setattr(crf_fit, "descend", halted(loss.n_dense + 1))
    fit.add([4])
    left = np.abs(loss.gradient(fit.params)[[4, *range(loss.size, len(fit.params))]]).max()
    assert left > TOLERANCE * loss.scale
    assert not fit.converged
    said = f"was not found: 1 iterations left {left / loss.scale:.1e} of the gradient"
    assert said in fit.message
    assert "A ridge above zero" in fit.message
    assert not loss.minimise([4]).converged
    monkeypatch.undo()
    fit.add([7])
    assert fit.converged
    assert fit.message == ""


def test_a_fit_without_features_that_ends_early_has_no_certificate(monkeypatch):
    monkeypatch.setattr(crf_fit, "ROUNDS", 0)
    loss = small_loss(34)
    fit = loss.fit()
    assert np.abs(loss.gradient(fit.params)[loss.size :]).max() > TOLERANCE * loss.scale
    assert not fit.converged
    assert "was not found" in fit.message


def test_a_selection_ends_at_the_last_certified_fit(monkeypatch):
    problem = words(3)
    full = foba_gdt(problem, loss="crf", ridge=0.01, max_features=4)
    n_dense = full.loss.n_dense
    monkeypatch.setattr(crf_fit, "descend", halted(n_dense + 3))
    path = foba_gdt(problem, loss="crf", ridge=0.01, max_features=4)
    assert full.converged.all()
    assert np.count_nonzero(path.coef[-1]) == 2
    np.testing.assert_array_equal(path.coef[-1], full.coef[2])
    assert "was not found: 1 iterations left" in path.message
