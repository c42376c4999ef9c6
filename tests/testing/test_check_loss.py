"""``check_loss`` accepts shipped losses and a loss of a plugin, and names faults."""

from __future__ import annotations

import numpy as np
import pytest
from kept_registry import kept_registry
from scipy.special import expit

import greedyexp
from greedyexp.core import registry
from greedyexp.losses.sample import SampleLoss
from greedyexp.testing import BrokenContract, check_loss


class LogCosh(SampleLoss):
    """log cosh of the residual."""

    beta = 1.0

    def losses(self, predictions, y):
        size = np.abs(predictions - y)
        return size + np.log1p(np.exp(-2 * size)) - np.log(2)

    def slopes(self, predictions, y):
        return np.tanh(predictions - y)

    def curvatures(self, predictions, y):
        return 1 - np.tanh(predictions - y) ** 2


class PlainLogistic(SampleLoss):
    """The logistic loss from its three functions."""

    beta = 0.25

    def losses(self, predictions, y):
        return np.logaddexp(0, -y * predictions)

    def slopes(self, predictions, y):
        return -y * expit(-y * predictions)

    def curvatures(self, predictions, y):
        return expit(predictions) * expit(-predictions)


def declare(cls, name, **declared):
    def bound(problem, *, ridge, intercept):
        """A loss of a test."""
        return cls(problem.X[0], problem.y[0], ridge=ridge, intercept=intercept)

    return greedyexp.loss(name, **declared)(bound)


@pytest.fixture
def losses():
    with kept_registry():
        declare(LogCosh, "log_cosh")
        declare(PlainLogistic, "plain_logistic", requires=("two_values",))
        yield


@pytest.mark.parametrize("name", sorted(registry.parts("loss")))
def test_shipped_losses_keep_the_contract(name):
    check_loss(name)


@pytest.mark.parametrize("name", ["log_cosh", "plain_logistic"])
def test_losses_of_three_functions_keep_the_contract(losses, name):
    check_loss(name)


class Steep(LogCosh):
    def slopes(self, predictions, y):
        return 1.5 * np.tanh(predictions - y)


class Flat(LogCosh):
    beta = 0.01


class Below(LogCosh):
    def losses(self, predictions, y):
        return super().losses(predictions, y) - 10


class Careless(LogCosh):
    def coordinate_minima(self, params):
        steps, gains = super().coordinate_minima(params)
        return steps, gains / 2


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        (Steep, "has the derivative"),
        (Flat, "above its bound"),
        (Below, "below 0"),
        (Careless, "in `coordinate_minima`"),
    ],
)
def test_a_fault_is_named(cls, said):
    with kept_registry():
        declare(cls, "faulty")
        with pytest.raises(BrokenContract, match=f"loss 'faulty' with .*{said}"):
            check_loss("faulty")


X = np.random.default_rng(0).standard_normal((150, 20)) + 3.0
TRUTH = np.where(np.isin(np.arange(20), [3, 7, 11]), 2.0, 0.0)
LABELS = np.sign(X @ TRUTH - 18.0 + np.random.default_rng(1).logistic(size=150))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", ["foba_gdt", "foba_obj", "forward_gdt", "forward_obj", "l1_path"])
def test_three_functions_give_the_estimates_of_the_logistic_loss(losses, name, intercept):
    given = {"ridge": 0.01, "intercept": intercept}
    given |= {"tuning": "cv"} if name == "l1_path" else {"max_features": 5}
    own, shipped = (
        greedyexp.solve(name, X, LABELS, loss=loss, **given)
        for loss in ("plain_logistic", "logistic")
    )
    np.testing.assert_array_equal(own.support, shipped.support)
    np.testing.assert_allclose(own.coef, shipped.coef, atol=1e-7)
    np.testing.assert_allclose(own.dense, shipped.dense, atol=1e-6)


def test_a_loss_of_a_plugin_is_used_in_an_experiment(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "from greedyexp import loss\n"
        "from greedyexp.losses.sample import SampleLoss\n"
        "class Cosh(SampleLoss):\n"
        "    beta = 1.0\n"
        "    def losses(self, a, y):\n"
        "        return np.logaddexp(a - y, y - a) - np.log(2)\n"
        "    def slopes(self, a, y):\n"
        "        return np.tanh(a - y)\n"
        "    def curvatures(self, a, y):\n"
        "        return 1 - np.tanh(a - y) ** 2\n"
        '@loss("cosh")\n'
        "def cosh(problem, *, ridge, intercept):\n"
        '    """Mean of log cosh(x_i b - y_i)."""\n'
        "    X, y = problem.X[0], problem.y[0]\n"
        "    return Cosh(X, y, ridge=ridge, intercept=intercept)\n"
    )
    settings = {
        "name": "robust",
        "plugins": [str(tmp_path / "mine.py")],
        "trials": 2,
        "data": {"generator": "gaussian", "n_samples": 60, "p": 10, "sparsity": 2},
        "algorithms": [{"foba_obj": {"loss": "cosh", "tuning": "oracle"}}],
        "metrics": ["sign_support"],
    }
    with kept_registry():
        table = greedyexp.run(settings, out=tmp_path / "out", engine="serial")
    assert table["sign_support"].tolist() == [1, 1]


def test_an_unknown_loss_is_refused_with_the_known_ones(losses):
    with pytest.raises(greedyexp.core.errors.ConfigError) as caught:
        greedyexp.solve("foba_obj", X, X[:, 0], loss="log_cos", max_features=2)
    assert str(caught.value) == (
        "algorithm 'foba_obj': loss must be one of 'crf', 'huber', 'log_cosh', 'logdet',"
        " 'logistic', 'multinomial', 'plain_logistic', 'poisson', 'squared' or 'squared_hinge', but"
        " is 'log_cos'. Did you mean 'log_cosh'?"
    )
    with pytest.raises(greedyexp.core.errors.ConfigError, match="loss must be one of 'absolute'"):
        greedyexp.solve("forward_greedy", X, LABELS, loss="plain_logistic", radius=1.0)
