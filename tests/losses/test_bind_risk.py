import numpy as np
import pytest
from scipy import sparse

from greedyexp.core.errors import ConfigError, DataError
from greedyexp.losses.absolute import AbsoluteLoss
from greedyexp.losses.binding import bind, has_risk, kind_of, names
from greedyexp.losses.hinge import HingeLoss
from greedyexp.losses.logistic import LogisticLoss
from greedyexp.losses.population import PopulationSquaredLoss
from greedyexp.losses.risk import bind_risk
from greedyexp.losses.squared import SquaredLoss
from greedyexp.problems.moments import DenseMoments
from greedyexp.problems.problem import Problem, as_problem

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.9, 0.9, (12, 3))
LABELS = np.where(X[:, 0] > 0, 1.0, -1.0)
W = np.array([0.3, -1.0, 2.0])
MOMENTS = DenseMoments(np.eye(3), np.array([0.5, 0.0, 0.1]), 1.0)


def smoothing(name):
    return {"beta": 2.0} if kind_of(name).smoothed else {}


def test_each_name_makes_its_loss_with_its_constants():
    kinds = {
        "squared": (SquaredLoss, 1.0, np.inf),
        "logistic": (LogisticLoss, 0.25, 1.0),
        "absolute": (AbsoluteLoss, 2.0, 1.0),
        "hinge": (HingeLoss, 2.0, 1.0),
    }
    assert sorted(names(has_risk)) == sorted(kinds)
    for name, (kind, beta, rho) in kinds.items():
        loss = bind_risk(name, as_problem(X, LABELS), **smoothing(name))
        assert (type(loss), loss.beta, loss.rho) == (kind, beta, rho)
        assert loss.largest_feature == np.abs(X).max()
        assert (loss.shape, loss.n_dense, loss.n_samples) == ((3, 1), 0, 12)
        np.testing.assert_array_equal(loss.responses, LABELS)


def test_values_are_those_of_the_definitions():
    a, penalty = X @ W, 0.2 / 2 * (W @ W)
    expected = {
        "squared": (a - LABELS) ** 2 / 2,
        "logistic": np.log1p(np.exp(-LABELS * a)),
        "absolute": np.abs(a - LABELS),
        "hinge": np.maximum(0.0, 1.0 - LABELS * a),
    }
    for name, losses in expected.items():
        loss = bind_risk(name, as_problem(X, LABELS), ridge=0.2, **smoothing(name))
        assert loss.unsmoothed(W) == pytest.approx(losses.mean() + penalty, rel=1e-13)
        below = loss.unsmoothed(W) - loss.value(W)
        assert 0.0 <= below <= 0.25
        assert (below > 0.0) == kind_of(name).smoothed


def test_losses_without_smoothing_are_those_of_bind():
    problem = as_problem(X, LABELS)
    for name in ("squared", "logistic"):
        assert bind_risk(name, problem, ridge=0.3).value(W) == bind(name, problem, ridge=0.3).value(
            W
        )
    for name in ("absolute", "hinge"):
        with pytest.raises(
            ConfigError,
            match=f"loss '{name}' does not suit this method. Use crf, logdet, logistic, squared",
        ):
            bind(name, problem)


@pytest.mark.parametrize("values", [(0, 1), (2, 5.5)])
def test_the_higher_of_two_values_stands_for_one(values):
    y = np.where(LABELS > 0, values[1], values[0])
    given = bind_risk("hinge", as_problem(X, y), beta=3.0)
    plain = bind_risk("hinge", as_problem(X, LABELS), beta=3.0)
    assert given.value(W) == plain.value(W)
    np.testing.assert_array_equal(
        given.row_losses(X, y, W[None]), np.maximum(0.0, 1.0 - LABELS * (X @ W))[None]
    )


def test_sparse_designs_are_taken_as_they_are():
    thin = sparse.csr_array(np.where(np.abs(X) > 0.4, X, 0.0))
    for name in names(has_risk):
        dense = bind_risk(name, as_problem(thin.toarray(), LABELS), **smoothing(name))
        loss = bind_risk(name, as_problem(thin, LABELS), **smoothing(name))
        assert loss.value(W) == pytest.approx(dense.value(W), rel=1e-14)
        assert loss.largest_feature == dense.largest_feature


def test_the_expectation_of_a_distribution():
    empty = Problem((np.zeros((0, 3)),), (np.zeros(0),), moments=MOMENTS)
    sampled = Problem((X,), (LABELS,), moments=MOMENTS)
    expected = W @ W / 2 - 0.3 * 0.5 - 2.0 * 0.1 + 0.5 + 0.1 * (W @ W)
    for problem in (empty, sampled):
        loss = bind_risk("squared", problem, ridge=0.2, population=True)
        assert type(loss) is PopulationSquaredLoss
        assert loss.value(W) == pytest.approx(expected, rel=1e-14)
    assert type(bind_risk("squared", sampled)) is SquaredLoss


@pytest.mark.parametrize("name", ["absolute", "hinge"])
@pytest.mark.parametrize("beta", [0.0, -1.0, np.nan, np.inf, -np.inf, 1e200])
def test_smoothness_must_be_positive_and_finite(name, beta):
    with pytest.raises(ConfigError, match="beta must be a number > 0"):
        bind_risk(name, as_problem(X, LABELS), beta=beta)


def test_impossible_options_are_refused():
    problem = as_problem(X, LABELS)
    with pytest.raises(ConfigError, match="loss 'crf' does not suit this method"):
        bind_risk("crf", problem)
    for name in ("absolute", "hinge"):
        with pytest.raises(ConfigError, match=f"the {name} loss is not smooth"):
            bind_risk(name, problem)
        with pytest.raises(ConfigError, match=f"expected {name} loss of a distribution"):
            bind_risk(name, problem, beta=1.0, population=True)
    for name in ("squared", "logistic"):
        with pytest.raises(ConfigError, match=f"the {name} loss is already smooth"):
            bind_risk(name, problem, beta=1.0)
    with pytest.raises(ConfigError, match="expected logistic loss of a distribution"):
        bind_risk("logistic", problem, population=True)
    for name in names(has_risk):
        for ridge in (-1.0, np.nan, np.inf):
            with pytest.raises(ConfigError, match="ridge must be a number >= 0"):
                bind_risk(name, problem, ridge=ridge, **smoothing(name))


def test_data_that_a_loss_does_not_take_are_refused():
    empty = Problem((np.zeros((0, 3)),), (np.zeros(0),), moments=MOMENTS)
    for name in names(has_risk):
        with pytest.raises(DataError, match="no rows to take a mean over"):
            bind_risk(name, empty, **smoothing(name))
        with pytest.raises(DataError, match="takes one response, but the data have 2"):
            bind_risk(name, as_problem(X, np.eye(12)[:, :2]), **smoothing(name))
        with pytest.raises(DataError, match="too large for double precision"):
            bind_risk(name, as_problem(1e80 * X, LABELS), **smoothing(name))
    for name in ("squared", "absolute"):
        with pytest.raises(DataError, match=r"the responses is .* too large"):
            bind_risk(name, as_problem(X, 1e80 * LABELS), **smoothing(name))
    with pytest.raises(DataError, match="all responses are 1: the hinge loss needs two classes"):
        bind_risk("hinge", as_problem(X, np.ones(12)), beta=1.0)
    with pytest.raises(DataError, match="have 12 values: the hinge loss takes two"):
        bind_risk("hinge", as_problem(X, np.arange(12.0)), beta=1.0)
    with pytest.raises(DataError, match="moments of the distribution are not known"):
        bind_risk("squared", as_problem(X, LABELS), population=True)
