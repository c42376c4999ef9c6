"""Algorithms that break the contract, each in one way: the right check finds it and says so."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from kept_registry import kept_registry

from greedyexp import Constant, Path, SteppedIteration, algorithm
from greedyexp.core.errors import ConfigError, DataError, PluginError
from greedyexp.testing import BrokenContract, check_algorithm, parametrize_with_checks
from greedyexp.testing.checks import CHECKS

# The algorithms with the check that has to find each, and words of its sentence.
BROKEN: list[tuple] = []


def broken(check: str, *words: str, **declared):
    """Collect a broken algorithm; its name is that of the function."""

    def add(function):
        BROKEN.append((function, declared, check, words))
        return function

    return add


def screened(X, y, keep=3):
    """Least squares on the most correlated columns; equal for all ways to store X."""
    coef = np.zeros(X.shape[1])
    size = np.abs(X.T @ y)
    kept = np.argsort(-size, kind="stable")[:keep]
    kept = kept[size[kept] > 0]
    coef[kept] = np.linalg.lstsq(X[:, kept], y, rcond=None)[0]
    return coef


def each(problem, keep=3):
    return np.column_stack(
        [screened(X, y, keep) for X, y in zip(problem.X, problem.y, strict=True)]
    )


@broken("declaration", "no docstring")
def silent(problem):
    return each(problem)


@broken("declaration", "YAML")
def odd_type(problem, *, start: np.ndarray | None = None):
    """A."""
    return each(problem)


@broken("result", "returned None")
def forgetful(problem):
    """A."""


@broken("result", "shape (1, 12)", "(12, 1)")
def sideways(problem):
    """A."""
    return each(problem).T


@broken("result", "nan for feature 2 of task 0")
def hollow(problem):
    """A."""
    coef = each(problem)
    coef[2:3] = np.nan
    return coef


@broken("result", "raised KeyError", "test_broken_algorithms.py:")
def raising(problem):
    """A."""
    return {}["coef"]


@broken("result", "refused ordinary data: no")
def picky(problem):
    """A."""
    raise DataError("no.")


@broken("result", "without points")
def pointless(problem, *, grid=None):
    """A."""
    p, r = problem.n_features, problem.n_tasks
    return Path(np.zeros((0, p, r)), {"lam": np.zeros(0)}, np.zeros(0), np.zeros(0, bool))


@broken("data_unchanged", "changed the array problem.X")
def scaling(problem):
    """A."""
    for X in {id(X): X for X in problem.X}.values():
        X /= 2.0
    return each(problem)


@broken("data_unchanged", "changed the array problem.y")
def centring(problem):
    """A."""
    for y in problem.y:
        y -= y.mean()
    return each(problem)


@broken("read_only", "raised ValueError", "read-only", "in read-only arrays")
def borrowing(problem):
    """A."""
    X = problem.X[0]
    kept = X.copy()
    X -= 1.0
    X[...] = kept
    return each(problem)


@broken("same_again", "different numbers the second time")
def drawing(problem):
    """A."""
    return each(problem) + 1e-9 * np.random.default_rng().standard_normal()


@broken("same_again", "global state of numpy.random")
def drawing_globally(problem):
    """A."""
    np.random.rand()  # noqa: NPY002
    return each(problem)


CALLS = []


@broken("same_again", "different numbers the second time")
def remembering(problem):
    """A."""
    CALLS.append(1)
    return each(problem) * len(CALLS)


BUFFER = np.zeros((1000, 10))


@broken("same_again", "changed the array it returned before")
def sharing(problem):
    """A."""
    found = BUFFER[: problem.n_features, : problem.n_tasks]
    found[...] = each(problem)
    return found


@broken("one_feature", "IndexError", "1 feature and")
def paired(problem):
    """A."""
    return each(problem) + 0.0 * problem.X[0][0, 1]


@broken("more_features_than_rows", "LinAlgError", "10 rows, 25 features")
def triangular(problem):
    """A."""
    R = np.linalg.qr(problem.X[0])[1]
    np.linalg.solve(np.triu(R) + np.eye(*R.shape), R)
    return each(problem)


@broken("two_rows", "ZeroDivisionError", "2 rows, 3 features")
def unbiased(problem):
    """A."""
    return each(problem) * (1 + 1e-12 / (len(problem.y[0]) - 2))


@broken("zero_column", "returned the coefficient nan for feature 1")
def normalised(problem):
    """A."""
    with np.errstate(invalid="ignore", divide="ignore"):
        norms = np.linalg.norm(problem.X[0], axis=0)
        return each(problem) / norms[:, None] * norms[:, None]


@broken("zero_column", "returned the coefficient 1e-08 for the feature that is zero")
def smeared(problem):
    """A."""
    return each(problem) + 1e-8


@broken("zero_design", "nan", "all features zero")
def relative(problem):
    """A."""
    with np.errstate(invalid="ignore"):
        return each(problem) * (np.abs(problem.X[0]).max() / np.abs(problem.X[0]).max())


@broken("equal_columns", "ZeroDivisionError", "features 0 and 5 equal")
def distinct(problem):
    """A."""
    X = problem.X[0]
    if X.any() and X.shape[1] > 1:
        columns = {column.tobytes() for column in X.T}
        1 / (len(columns) == X.shape[1])
    return each(problem)


@broken("zero_response", "nan", "all responses zero")
def by_response(problem):
    """A."""
    with np.errstate(invalid="ignore"):
        size = np.linalg.norm(problem.y[0])
        return each(problem) * (size / size)


@broken("more_than_there_are", "ValueError", "keep = 33")
def partitioned(problem, *, keep: int = 1):
    """A."""
    np.argpartition(problem.X[0][0], keep - 1)
    return each(problem, keep)


@broken("several_tasks", "3 tasks with one design", "(12, 3)", 'requires=("one_response",)')
def single(problem):
    """A."""
    return screened(problem.X[0], problem.y[0])


@broken("several_tasks", "with a design each")
def stacked(problem):
    """A."""
    np.stack(problem.y)
    return each(problem)


@broken("memory_order", "differ by", "in Fortran order")
def raw(problem):
    """A."""
    y = problem.y
    X = [np.reshape(X.ravel(order="K"), X.shape) for X in problem.X]
    return np.column_stack([screened(*pair) for pair in zip(X, y, strict=True)])


@broken("sparse_design", "differ by", "in a CSR array", takes_sparse=True)
def ragged(problem):
    """A."""
    sparse = scipy.sparse.issparse(problem.X[0])
    X = [X.toarray() if sparse else X for X in problem.X]
    coef = np.column_stack([screened(*pair) for pair in zip(X, problem.y, strict=True)])
    return 2 * coef if sparse else coef


def path_of(problem, counts, **more):
    coef = np.stack([each(problem, int(size)) for size in counts])
    count = len(counts)
    return Path(coef, {"size": counts}, np.zeros(count), np.ones(count, bool), **more)


@broken("own_grid", "no Path")
def gridless(problem, *, grid=None):
    """A."""
    return each(problem)


@broken("own_grid", "quarter of the rows left out", "3 points of 'size'")
def own_way(problem, *, grid=None):
    """A."""
    least = 1 if len(problem.y[0]) == 40 else 0
    return path_of(problem, np.arange(least, least + 3))


@broken("sparse_first", "begins with 3 selected coefficients and ends with 1")
def dense_first(problem, *, grid=None):
    """A."""
    return path_of(problem, np.arange(3, 0, -1) if grid is None else grid["size"])


@broken("theory", "other sizes than 1", theory=lambda problem, **_: {"size": np.array([1, 2])})
def undecided(problem, *, grid=None):
    """A."""
    return path_of(problem, np.arange(3) if grid is None else grid["size"])


class Descent(SteppedIteration):
    def step(self, coef):
        slope = self.design.T @ (self.design @ coef - self.response)
        return coef - slope / max(1.0, (self.design**2).sum())


class Hasty(Descent):
    """Twice as long a step first after each stop."""

    def advance(self, until, target=-np.inf):
        for first in range(1000):
            if self.iteration >= until or self.objective <= target:
                return
            self._coef = self._coef * (1.5 if first == 0 and self.iteration else 1.0)
            super().advance(self.iteration + 1, target)


class Endless(Descent):
    """Does not look at its target."""

    def advance(self, until, target=-np.inf):
        super().advance(until)


class Doubled(Descent):
    @property
    def objective(self):
        return 2 * super().objective


class Unseen(Descent):
    def _note(self):
        pass


class Narrow(Descent):
    def step(self, coef):
        return coef[:-1]


class Jumping(Descent):
    def advance(self, until, target=-np.inf):
        super().advance(until + 1, target)


def iterates(check: str, kind: type, *words: str):
    """Collect a broken iteration."""

    def function(problem):
        return kind(problem.X[0], problem.y[0])

    function.__name__ = function.__qualname__ = kind.__name__.lower()
    function.__doc__ = "A."
    broken(check, *words, yields="iterates")(function)


iterates("result", Narrow, "shape (12,)", "(11,)")
iterates("result", Jumping, "stopped at step 1, not at step 0")
iterates("pauses", Hasty, "when it was stopped in between")
iterates("pauses", Endless, "its target")
iterates("objective_and_watch", Doubled, "reported the objective")
iterates("objective_and_watch", Unseen, "noted step")


@broken("result", "lower <= value <= upper", yields="constant")
def upside_down(problem):
    """A."""
    return Constant(1.0, 2.0, 0.0)


@pytest.fixture(autouse=True)
def registered():
    with kept_registry():
        yield


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("function", "declared", "check", "words"), BROKEN, ids=lambda x: getattr(x, "__name__", "")
)
def test_the_right_check_finds_it(function, declared, check, words):
    CALLS.clear()
    algorithm(function.__name__, **declared)(function)
    with pytest.raises(BrokenContract) as caught:
        check_algorithm(function)
    sentence = str(caught.value)
    assert sentence.startswith((f"check '{check}', given ", f"check '{check}': ")), sentence
    assert f"'{function.__name__}'" in sentence or function.__name__ in sentence.lower()
    assert "\n" not in sentence
    for word in words:
        assert word in sentence


def test_every_check_finds_something():
    assert {check for _, _, check, _ in BROKEN} == set(CHECKS)


def test_what_the_broken_ones_are_made_from_is_not_broken():
    algorithm("sound")(sound)
    check_algorithm(sound)
    algorithm("sound_path", theory=lambda problem, **_: {"size": np.array([2])})(sound_path)
    check_algorithm(sound_path)
    algorithm("sound_descent", yields="iterates")(sound_descent)
    check_algorithm(sound_descent)


def sound(problem, *, keep: int = 3):
    """A."""
    return each(problem, keep)


def sound_path(problem, *, grid=None):
    """A."""
    return path_of(problem, np.arange(3) if grid is None else grid["size"])


def sound_descent(problem):
    """A."""
    return Descent(problem.X[0], problem.y[0])


def test_expected_failures_are_left_out():
    algorithm("smeared")(smeared)
    check_algorithm(smeared, expected_failures={"zero_column": "a prior on all features"})
    mark = parametrize_with_checks(smeared, expected_failures={"zero_column": "a prior"}).mark
    cases = {case.id: case for case in mark.args[1]}
    assert list(cases) == list(CHECKS)
    assert [name for name, case in cases.items() if case.marks] == ["zero_column"]
    with pytest.raises(BrokenContract, match="zero_column"):
        cases["zero_column"].values[0]()
    cases["one_feature"].values[0]()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"expected_failures": {"zero_colum": "x"}}, "Did you mean 'zero_column'"),
        ({"traits": ["label"]}, "'label'"),
        ({"kepe": 3}, "Did you mean 'keep'"),
        ({"keep": "three"}, "keep"),
    ],
)
def test_mistakes_in_the_call_are_sentences(given, words):
    algorithm("sound")(sound)
    with pytest.raises(ConfigError, match=words):
        check_algorithm(sound, **given)


def test_a_default_that_contradicts_its_type_is_a_sentence():
    @algorithm("odd_default")
    def odd_default(problem, *, keep: int = "three"):
        """A."""

    with pytest.raises(PluginError, match="default of keep contradicts its type"):
        check_algorithm(odd_default)


def test_an_unregistered_function_is_a_sentence():
    with pytest.raises(ConfigError, match="'sound' is not registered as an algorithm"):
        check_algorithm(sound)
    with pytest.raises(ConfigError, match="Did you mean 'omp'"):
        check_algorithm("opm")
