"""With an intercept, constants added to features or to the response change no estimate.

The cases come from the registry: every algorithm that estimates, with every loss and tuning that it
takes, and every metric.
"""

from __future__ import annotations

import itertools
import typing
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from algorithm_cases import NEEDED
from scipy import sparse

import greedyexp
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError, UserError
from greedyexp.experiment.parameters import Parameters
from greedyexp.problems.problem import Problem
from greedyexp.problems.scaling import scaled
from greedyexp.protocols import fitting
from greedyexp.protocols.information import least_criterion
from greedyexp.testing.data import given

ALGORITHMS = [
    name for name, part in registry.parts("algorithm").items() if part.yields != "constant"
]
OFFSETS = np.array([0.0, 3.0, -40.0, 1000.0])
TUNINGS = ("end", "cv", "ebic_robust", "theory")


def choices(part, parameter):
    """The values of a parameter with named choices."""
    field = part.parameters.model_fields.get(parameter)
    return typing.get_args(field.annotation) if field else ()


def cases():
    for name in ALGORITHMS:
        part = registry.find("algorithm", name)
        losses = [loss for loss in choices(part, "loss") if loss in ("squared", "logistic")]
        for loss, tuning in itertools.product(losses or [None], TUNINGS):
            if tuning == "end" or part.takes_grid:
                yield name, loss, tuning


def shifted(X):
    offsets = OFFSETS[np.arange(X.shape[1]) % len(OFFSETS)]
    return X + offsets


def data(part, loss):
    """Small data with the traits that an algorithm needs, and a response of two values if asked."""
    needs = {*part.fixed_requirements, *part.theory_requires}
    if loss == "logistic":
        needs.add("two_values")
    return given(needs, n=60, p=10, seed=5).problem


def answer(name, problem, params, tuning):
    several = problem.n_tasks > 1
    X = list(problem.X) if several else problem.X[0]
    y = list(problem.y) if several else problem.y[0]
    more = {"noise_std": 0.5} if tuning == "theory" else {}
    return greedyexp.solve(name, X, y, tuning=tuning, intercept=True, **more, **params)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "loss", "tuning"), list(cases()))
def test_constants_change_no_estimate(name, loss, tuning):
    part = registry.find("algorithm", name)
    params = NEEDED.get(name, {}) | ({"loss": loss} if loss else {})
    try:
        part.packages_of(Parameters(part).read_all(params))
    except UserError as error:
        pytest.skip(str(error))
    problem = data(part, loss)
    try:
        before = answer(name, problem, params, tuning)
    except UserError as error:
        # What is refused as it is, is refused with constants too.
        with pytest.raises(type(error)):
            answer(name, replace(problem, X=tuple(map(shifted, problem.X))), params, tuning)
        return
    designs = [shifted(problem.X[0])] * problem.n_tasks
    moved = replace(problem, X=tuple(designs))
    if loss != "logistic":
        moved = replace(moved, y=tuple(y + 17.0 * (j + 1) for j, y in enumerate(problem.y)))
    after = answer(name, moved, params, tuning)
    assert len(before.support) > 0
    np.testing.assert_array_equal(after.support, before.support)
    np.testing.assert_allclose(after.coef, before.coef, rtol=1e-5, atol=1e-6)
    fitted, again = before.predict(problem.X[0]), after.predict(moved.X[0])
    if loss != "logistic":
        again = again - 17.0 * np.arange(1, problem.n_tasks + 1).squeeze()
    np.testing.assert_allclose(again, fitted, atol=1e-5)


def test_most_cases_are_not_refused():
    """Refusals are few, so that the test above tests."""
    refused = 0
    total = 0
    for name, loss, tuning in cases():
        part = registry.find("algorithm", name)
        if tuning != "end" or part.packages:
            continue
        total += 1
        try:
            answer(
                name,
                data(part, loss),
                NEEDED.get(name, {}) | ({"loss": loss} if loss else {}),
                "end",
            )
        except ConfigError:
            refused += 1
    assert refused <= total / 4


OWN = [
    name
    for name in ALGORITHMS
    if "intercept" in registry.find("algorithm", name).parameters.model_fields
]


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_constants_change_no_path(name, thin, loss):
    """Unix times within an hour, and columns of a sparse design with many equal values."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((80, 12)) * (rng.random((80, 12)) < 0.5)
    truth = np.zeros(12)
    truth[[1, 4, 9]] = 1.0, -1.0, 1.0
    y = X @ truth + 0.2 * rng.standard_normal(80)
    y = np.where(y > 0, 1.0, 0.0) if loss == "logistic" else y + 1e3
    offsets = np.tile([0.0, 5.0, -300.0, 1.7e6], 3)
    form = sparse.csr_array if thin else np.asarray
    paths = []
    for design in (X, X + offsets):
        problem = Problem((form(design),), (y,))
        params = {"loss": loss, "ridge": 0.01, "intercept": True, "max_features": 5}
        paths.append(registry.find("algorithm", name).function(problem, **params))
    before, after = paths
    np.testing.assert_array_equal(after.sparse.supports(), before.sparse.supports())
    np.testing.assert_allclose(after.coef, before.coef, atol=1e-6)
    np.testing.assert_allclose(after.objective, before.objective, rtol=1e-6)


def measured(part, problem, path):
    try:
        return fitting.measure(part, problem, path)
    except UserError as error:
        return type(error)


@pytest.mark.parametrize("metric", list(registry.parts("metric")))
def test_constants_change_no_metric(metric):
    part = registry.find("metric", metric)
    labelled = bool({"labels", "two_values"} & set(part.requires))
    needs = set(part.requires) | {"truth", "test_rows"}
    if needs & {"chains", "spread_label"}:
        pytest.skip("models of chains and of moments have no intercept")
    problem = given(needs, n=60, p=10, seed=3).problem
    moved = replace(
        problem,
        X=tuple(map(shifted, problem.X)),
        X_test=tuple(map(shifted, problem.X_test)),
    )
    if not labelled:
        moved = replace(
            moved,
            y=tuple(y + 17.0 for y in problem.y),
            y_test=tuple(y + 17.0 for y in problem.y_test),
        )
    values = []
    for each in (problem, moved):
        if problem.n_tasks > 1:
            lasso = registry.find("algorithm", "lasso")
            prepare = partial(scaled, centre=True, scale=False)
            path = fitting.fit(lasso, each, {"lam": [0.3, 0.03]}, prepare=prepare)
        else:
            path = registry.find("algorithm", "foba_obj").function(
                each, intercept=True, max_features=3
            )
        values.append((measured(part, each, path), least_criterion(path, each)))
    (before, chosen), (after, again) = values
    assert chosen == again
    if isinstance(before, type):
        assert after is before
    elif part.text:
        assert after.tolist() == before.tolist()
    else:
        np.testing.assert_allclose(after, before, rtol=1e-6, atol=1e-8)
