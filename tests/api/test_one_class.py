"""Data of one class, and folds that leave one class: refused in a sentence that is true."""

import numpy as np
import pytest

from greedyexp.api import solve
from greedyexp.core.errors import DataError
from greedyexp.core.registry import find
from greedyexp.problems.problem import as_problem
from greedyexp.protocols.fitting import cross_validated


def rows(rare, n=20):
    """A design, and responses 0 that are 1 in the rows of ``rare``."""
    X = np.random.default_rng(0).standard_normal((n, 3))
    y = np.zeros(n)
    y[rare] = 1.0
    return X, y


def test_a_fold_that_holds_all_rows_of_a_class_is_named():
    X, y = rows([7])
    message = (
        r"^cross-validation: all rows with response 1 are in fold (\d) of 5, so the other"
        r" folds have one class\. Use more rows of that class, more folds, or another seed\.$"
    )
    with pytest.raises(DataError, match=message) as raised:
        solve("foba_gdt", X, y, loss="logistic", ridge=0.1, tuning="cv", folds=5, seed=3)
    held_out = np.array_split(np.random.default_rng(3).permutation(20), 5)
    (place,) = [k for k, fold in enumerate(held_out, start=1) if 7 in fold]
    assert f"fold {place} of 5" in str(raised.value)


def test_folds_that_have_both_classes_are_fitted():
    X, y = rows([3, 7, 11, 12, 16])
    solution = solve("foba_gdt", X, y, loss="logistic", ridge=0.1, tuning="cv", folds=5, seed=3)
    assert solution.converged


def test_another_error_of_a_fold_names_the_fold():
    part = find("algorithm", "omp")

    def refuses(problem, *, grid=None, **params):
        if problem.n_samples[0] < 20:
            raise DataError("the rows are too few.", place="X", remedy="Draw more.")
        return part.function(problem, grid=grid, **params)

    class Refusing:
        name, takes_rng, takes, shipped = "refuses", False, (), True
        function = staticmethod(refuses)

    X, y = rows([3, 7])
    with pytest.raises(DataError) as raised:
        cross_validated(Refusing, as_problem(X, y), {}, folds=4, rng=np.random.default_rng(0))
    said = "X: cross-validation without fold 1 of 4: the rows are too few. Draw more."
    assert str(raised.value) == said


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("l1_ball", {"loss": "hinge", "radius": 1.0}),
        ("l1_ball", {"loss": "logistic", "radius": 1.0, "ridge": 0.1}),
        ("foba_gdt", {"loss": "logistic", "ridge": 0.1}),
    ],
)
def test_one_class_is_refused_with_the_reason(name, options):
    X, _ = rows([])
    with pytest.raises(DataError, match=r"all responses are 3: .* not say which class it is"):
        solve(name, X, np.full(20, 3.0), **options)


def test_what_one_class_stands_for_decides_the_sign_of_the_estimate():
    """Why one class is refused: the same rows have two opposite estimates."""
    X, _ = rows([])
    # Rows of zeros have no slope, and bring the other class.
    padded = np.vstack([X, np.zeros((1, 3))])
    fits = [
        solve("l1_ball", padded, np.append(np.full(20, label), -label), loss="hinge", radius=0.5)
        for label in (1.0, -1.0)
    ]
    assert fits[0].coef.any()
    assert fits[0].coef == pytest.approx(-fits[1].coef, abs=1e-9)


def test_chains_of_one_label_are_refused_with_the_reason():
    X, _ = rows([])
    with pytest.raises(DataError, match="every model of one class fits it perfectly"):
        solve("foba_gdt", X, np.full(20, "a"), loss="crf", chains=[20])
