import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import greedyexp
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError, DataError
from greedyexp.losses.binding import bind, is_smooth, names
from greedyexp.losses.crf import CrfLoss
from greedyexp.losses.huber import HuberLoss
from greedyexp.losses.logdet import LogDetLoss
from greedyexp.losses.logistic import LogisticLoss
from greedyexp.losses.multinomial import MultinomialLoss
from greedyexp.losses.poisson import PoissonLoss
from greedyexp.losses.squared import SquaredLoss
from greedyexp.losses.squared_hinge import SquaredHingeLoss
from greedyexp.problems.pairs import as_pairs
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.runner.code_version import source_of, sources

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 3))
LABELS = np.array([0, 1, 2] * 4)
INDICATORS = tuple((k == LABELS).astype(float) for k in range(3))


def chained(y=INDICATORS, chains=(5, 7), designs=None):
    return Problem((X,) * len(y) if designs is None else designs, y, chains=np.array(chains))


def test_each_name_makes_its_loss():
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    kinds = {"squared": SquaredLoss, "logistic": LogisticLoss, "crf": CrfLoss, "logdet": LogDetLoss}
    kinds |= {"huber": HuberLoss, "poisson": PoissonLoss, "squared_hinge": SquaredHingeLoss}
    kinds |= {"multinomial": MultinomialLoss}
    problems = {
        "crf": chained(),
        "logdet": as_pairs(X),
        "poisson": as_problem(X, LABELS),
        "multinomial": as_problem(X, np.stack(INDICATORS, axis=1)),
    }
    assert sorted(names(is_smooth)) == sorted(kinds)
    for name, kind in kinds.items():
        assert type(bind(name, problems.get(name) or as_problem(X, y))) is kind


def test_an_unknown_loss_is_refused():
    with pytest.raises(ConfigError) as caught:
        bind("cubic", as_problem(X, X[:, 0]))
    assert (
        str(caught.value)
        == "unknown loss 'cubic'. Use crf, huber, logdet, logistic, multinomial, poisson, squared,"
        " squared_hinge."
    )


def test_a_loss_depends_on_no_other_loss():
    """An edit of one loss recomputes no row of another."""
    paths = {name: source_of(kind.function) for name, kind in registry.parts("loss").items()}
    binding = Path(find_spec("greedyexp.losses.binding").origin)
    for name, path in paths.items():
        others = {other for key, other in paths.items() if key != name}
        assert not (others | {binding}) & set(sources(path))
    assert not set(paths.values()) & set(sources(binding))


def test_values_are_those_of_the_definitions():
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    b = np.array([0.3, -1.0, 2.0, 0.7])
    predicted = X @ b[:3] + b[3]
    ridge = 0.2 / 2 * (b[:3] @ b[:3])
    squared = bind("squared", as_problem(X, y), ridge=0.2, intercept=True)
    assert squared.value(b) == pytest.approx(((y - predicted) ** 2).mean() / 2 + ridge)
    logistic = bind("logistic", as_problem(X, y), ridge=0.2, intercept=True)
    assert logistic.value(b) == pytest.approx(np.log1p(np.exp(-y * predicted)).mean() + ridge)
    # Without weights every sequence of labels is as likely: log 3 for each word.
    assert bind("crf", chained()).value(np.zeros(9 + 15)) == pytest.approx(np.log(3))


@pytest.mark.parametrize("values", [(0, 1), (-1, 1), (2, 5.5)])
def test_the_higher_of_two_values_stands_for_one(values):
    high = X[:, 0] + X[:, 1] > 0
    given = bind("logistic", as_problem(X, np.where(high, values[1], values[0])))
    b = np.array([1.0, -2.0, 0.5])
    margins = np.where(high, 1, -1) * (X @ b)
    losses = np.log1p(np.exp(-margins))
    assert given.value(b) == pytest.approx(losses.mean())
    y = np.where(high[:5], values[1], values[0])
    np.testing.assert_allclose(given.row_losses(X[:5], y, np.array([b, 0 * b]))[0], losses[:5])


def test_an_intercept_is_part_of_what_other_rows_are_predicted():
    y = np.where(X[:, 0] > 0, 1.0, 0.0)
    loss = bind("logistic", as_problem(X, y), ridge=0.5, intercept=True)
    b = np.array([0.3, -1.0, 2.0, 0.7])
    expected = np.log1p(np.exp(np.where(y > 0, -1, 1) * (X @ b[:3] + 0.7)))
    np.testing.assert_allclose(loss.row_losses(X, y, b[None]), expected[None])


def test_words_of_a_chain_are_not_judged_one_by_one():
    loss = bind("crf", chained())
    with pytest.raises(DataError, match="not a sum over single rows"):
        loss.row_losses(X, LABELS, np.zeros((1, 24)))


def test_words_have_the_class_whose_response_is_one():
    loss = bind("crf", chained(), ridge=0.1)
    assert loss.labels.tolist() == LABELS.tolist()
    assert loss.shape == (3, 3)
    assert loss.n_dense == 15
    assert loss.n_samples == 12


def test_sparse_designs_are_taken_as_they_are():
    thin = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    b = np.array([1.0, -2.0, 0.5])
    for name in ("squared", "logistic", "huber", "squared_hinge", "poisson"):
        given = LABELS if name == "poisson" else y
        dense = bind(name, as_problem(thin.toarray(), given))
        assert bind(name, as_problem(thin, given)).value(b) == pytest.approx(dense.value(b))


def test_a_sparse_design_has_the_minimum_of_a_dense_one():
    thin = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    given = {"poisson": LABELS, "multinomial": np.stack(INDICATORS, axis=1)}
    for name, y in given.items():
        ends = [
            bind(name, as_problem(design, y), ridge=0.1, intercept=True).minimise(range(3))
            for design in (thin, thin.toarray())
        ]
        np.testing.assert_allclose(ends[0].params, ends[1].params, atol=1e-8)


@pytest.mark.parametrize(
    ("name", "problem", "message"),
    [
        ("logistic", as_problem(X, np.ones(12)), "all responses are 1: .* needs two classes"),
        ("logistic", as_problem(X, np.arange(12.0)), "have 12 values: the logistic loss takes two"),
        ("logistic", as_problem(X, np.eye(12)[:, :2]), "takes one response, but the data have 2"),
        ("squared", as_problem(X, np.eye(12)[:, :2]), "takes one response, but the data have 2"),
        ("crf", as_problem(X, np.eye(12)[:, :2]), "needs sequences of labelled words"),
        ("crf", chained((INDICATORS[0], INDICATORS[0])), "exactly one class"),
        ("crf", chained(tuple(2 * y for y in INDICATORS)), "exactly one class"),
        ("crf", chained(designs=(X, X, X.copy())), "must share one design"),
        ("crf", chained(chains=(5, 6)), "11 words in all, but X has 12 rows"),
        ("crf", chained(chains=(12, 0)), "chain 1 has 0 words"),
    ],
)
def test_data_that_a_loss_does_not_take_are_refused(name, problem, message):
    with pytest.raises(DataError, match=message):
        bind(name, problem)


def test_impossible_options_are_refused():
    problem = as_problem(X, X[:, 0])
    with pytest.raises(ConfigError, match="loss 'hinge' does not suit this method"):
        bind("hinge", problem)
    for ridge in (-1.0, np.nan, np.inf):
        with pytest.raises(ConfigError, match="ridge must be a number >= 0"):
            bind("squared", problem, ridge=ridge)
    with pytest.raises(ConfigError, match="no intercept"):
        bind("crf", chained(), intercept=True)


def test_only_the_losses_know_their_names():
    """A new loss is a file of its own; other code asks what a loss offers."""
    root = Path(greedyexp.__file__).parent
    quoted = re.compile(
        r"(?:==|!=|\bin \()\s*[\"'](?:"
        r"squared|logistic|absolute|hinge|crf|poisson|huber|squared_hinge|multinomial)[\"']"
    )
    named = re.compile(r"loss\w*\s*$|\bloss\b")
    guilty = []
    for path in root.rglob("*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            hit = quoted.search(line)
            if hit and named.search(line[: hit.start()]):
                guilty.append(f"{path.relative_to(root)}: {line.strip()}")
    assert not guilty
