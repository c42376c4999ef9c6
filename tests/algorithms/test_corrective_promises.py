"""Theorems 3 to 5 of the 2009 report on runs, with constants that the tests compute themselves."""

import numpy as np
import pytest
from corrective_oracle import Risk
from hypothesis import given, settings
from hypothesis import strategies as st

from greedyexp.algorithms.sparsity._corrective import rule_for
from greedyexp.algorithms.sparsity.fully_corrective import fully_corrective
from greedyexp.algorithms.sparsity.replacement_steps import Exchange, replacement_steps
from greedyexp.core.registry import find
from greedyexp.losses.risk import bind_risk
from greedyexp.problems.moments import DenseMoments
from greedyexp.problems.problem import Problem, as_problem
from greedyexp.theory.theorems import Reference

RULES = ["objective", "gradient", "residual"]
LOSSES = {"squared": None, "logistic": None, "absolute": 4.0, "hinge": 4.0}
SETTINGS = settings(deadline=None, derandomize=True, max_examples=60)
# Of R(0): what minima and their differences may be off by.
SLACK = 1e-9


def draw(seed, loss, n, d, size):
    """Features in [-size, size], correlated, and responses that depend on a few."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d)) + rng.uniform(0, 1) * rng.uniform(-1, 1, (n, 1))
    X *= size / np.abs(X).max()
    signal = X[:, :3] @ rng.uniform(-2, 2, 3) + 0.3 * rng.standard_normal(n)
    return X, np.where(signal > 0, 1.0, -1.0) if loss in ("logistic", "hinge") else signal


def references(risk, seed):
    """A random sparse predictor, minimisers on small supports, and zero."""
    rng = np.random.default_rng(seed)
    d = risk.X.shape[1]
    drawn = np.zeros(d)
    drawn[rng.choice(d, 3, replace=False)] = rng.uniform(-1, 1, 3)
    fitted = [risk.minimum(rng.choice(d, k, replace=False)) for k in (1, 2, 4)]
    known = [drawn, risk.minimum(range(3)), *fitted, np.zeros(d)]
    values = [risk.value(w) for w in known]
    return [Reference("support", w, v, 0.0, v) for w, v in zip(known, values, strict=True)]


def smoothness(risk):
    return risk.smoothness * max(1.0, np.abs(risk.X).max()) ** 2 + risk.ridge


def strong_convexity(risk, support):
    """Least eigenvalue on a support with the squared loss, the ridge with others."""
    columns = risk.X[:, sorted(support)]
    if risk.name != "squared" or not columns.shape[1]:
        return risk.ridge
    least = np.linalg.eigvalsh(columns.T @ columns / len(columns))[0]
    return max(least, 0.0) + risk.ridge


def promises(name, path, reference, **parameters):
    known = find("algorithm", name)
    given = known.parameters(**parameters).model_dump()
    return {p.theorem: p for p in known.theorems(path, reference, **given)}


@SETTINGS
@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from(sorted(LOSSES)),
    ridge=st.sampled_from([0.0, 0.01, 0.3]),
    rule=st.sampled_from(RULES),
    size=st.sampled_from([0.3, 1.0, 2.0]),
)
def test_theorems_3_and_4_hold_at_every_step(seed, loss, ridge, rule, size):
    X, y = draw(seed, loss, 40, 8, size)
    asked = {"loss": loss, "beta": LOSSES[loss], "ridge": ridge, "rule": rule, "steps": 8}
    path = fully_corrective(as_problem(X, y), **asked)
    risk = Risk(loss, X, y, ridge, LOSSES[loss])
    slack = SLACK * risk.value(np.zeros(8))
    beta = smoothness(risk)
    k = path.grid["steps"]
    for reference in references(risk, seed):
        excess = np.where(path.converged, path.objective - reference.value, -np.inf)
        norm = np.abs(reference.params).sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            printed = np.where(k > 0, 2 * beta * norm**2 / k, np.inf)
        promised = promises("fully_corrective", path, reference, **asked)
        if rule == "residual" and ridge > 0.0:
            assert promised == {}
            continue
        assert (excess <= printed + slack).all()
        assert (excess <= promised["T3"].excess(k) + slack).all()
        assert (promised["T3"].excess(k) <= printed).all()
        lam = strong_convexity(risk, {*path.history["taken"], *np.flatnonzero(reference.params)})
        span = risk.value(np.zeros(8)) - reference.value
        n = max(np.count_nonzero(reference.params), 1)
        assert (excess <= max(span, 0.0) * (1 - lam / (beta * n)) ** k + slack).all()
        assert (excess <= promised["T4"].excess(k) + slack).all()
        if lam > 1e-9 and reference.n_features:
            assert promised["T4"].constants["lam"] == pytest.approx(lam)
            assert promised["T4"].constants["beta"] == pytest.approx(beta)


@SETTINGS
@given(
    seed=st.integers(0, 10**6),
    rule=st.sampled_from(RULES),
    features=st.integers(6, 12),
    ridge=st.sampled_from([0.0, 0.2]),
    correlation=st.floats(0.0, 0.4),
    start=st.sampled_from(["best", "worst"]),
)
def test_theorem_5_holds_at_every_replacement(seed, rule, features, ridge, correlation, start):
    rng = np.random.default_rng(seed)
    n, d = 300, 30
    X = rng.choice([-1.0, 1.0], (n, d))
    X += correlation * rng.choice([-1.0, 1.0], (n, 1))
    X /= np.abs(X).max(axis=0)
    X /= np.sqrt((X**2).mean(axis=0)).max()
    y = X[:, :2] @ rng.uniform(-2, 2, 2) + X[:, 2:] @ rng.uniform(-0.3, 0.3, d - 2)
    asked = {"features": features, "ridge": ridge, "rule": rule, "start": start}
    path = replacement_steps(as_problem(X, y), **asked)
    risk = Risk("squared", X, y, ridge)
    t = path.grid["steps"]
    for support in ([0], [1], [0, 1], [int(rng.integers(d))]):
        w = risk.minimum(support)
        reference = Reference("support", w, risk.value(w), 0.0, risk.value(w))
        promised = promises("replacement_steps", path, reference, **asked)
        if not promised:
            assert rule == "residual"
            assert ridge > 0.0
            continue
        bound = promised["T5"].excess(t)
        known = promised["T5"].constants
        assert known["lam"] == pytest.approx(_least_met(risk, path, support))
        room = features + 1 >= len(support) * (1 + 4 * (known["beta"] / known["lam"]) ** 2)
        assert np.isfinite(bound).all() == room
        assert (path.objective - reference.value <= bound + SLACK).all()
        if room:
            # Where it ends by itself nothing of the excess is left.
            assert path.objective[-1] <= reference.value + SLACK


def _least_met(risk, path, support):
    history, now, least = path.history, [], np.inf
    for step, taken, dropped in zip(
        history["step"], history["taken"], history["dropped"], strict=True
    ):
        now = [*now, taken]
        if step > 0:
            least = min(least, strong_convexity(risk, {*now, *support}))
            now.remove(dropped)
    return least


def test_theorem_5_is_met_from_a_bad_start():
    """Replacements alone, from features that matter least: the excess falls at the rate promised.

    Not a run of ``replacement_steps``, which starts from a selection that leaves little to do.
    """
    slowest = 0.0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.choice([-1.0, 1.0], (3000, 30))
        w = rng.uniform(0, 0.3, 30)
        w[:2] = rng.uniform(0.5, 2, 2)
        y = X @ w + 0.1 * rng.standard_normal(3000)
        problem = as_problem(X, y)
        loss = bind_risk("squared", problem)
        fit = loss.fit()
        start = np.abs(X.T @ y).argsort()[:14]
        fit.add(start)
        run = Exchange(fit, rule_for("objective", loss, problem, "sample"), True)
        run.replace(100)
        risk, now, lam = Risk("squared", X, y), list(start), np.inf
        for attempt in run.attempts:
            now.append(attempt.taken)
            lam = min(lam, strong_convexity(risk, {*now, 0, 1}))
            now.remove(attempt.dropped)
        k, n = 14, 2
        assert k + 1 >= n * (1 + 4 / lam**2)
        alpha = 2 / (lam * (k + 1 - n))
        least = risk.value(risk.minimum([0, 1]))
        excess = np.array([state.objective for state in run.states]) - least
        bound = excess[0] * (1 - alpha) ** np.arange(len(excess))
        assert len(excess) > 2
        assert (excess <= bound + 1e-12).all()
        assert excess[-1] <= 1e-12
        slowest = max(slowest, (excess[1:] / bound[1:]).max())
    assert slowest > 0.05


def test_nothing_is_promised_of_the_simple_variant():
    X, y = draw(0, "squared", 40, 8, 1.0)
    asked = {"features": 4, "variant": "simple"}
    path = replacement_steps(as_problem(X, y), **asked)
    reference = Reference("truth", np.eye(8)[0], 1.0, 0.0, 1.0)
    assert promises("replacement_steps", path, reference, **asked) == {}
    asked["variant"] = "refit"
    assert set(promises("replacement_steps", path, reference, **asked)) == {"T5"}


def test_the_residual_rule_is_covered_with_a_ridge_on_columns_of_one_size():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (30, 6))
    problem = as_problem(X, X[:, 0] + 0.1 * rng.standard_normal(30))
    reference = Reference("truth", np.eye(6)[0], 0.5, 0.0, 0.5)
    asked = {"ridge": 0.5, "rule": "residual", "steps": 3}
    assert set(
        promises("fully_corrective", fully_corrective(problem, **asked), reference, **asked)
    ) == {"T3", "T4"}


def test_the_residual_rule_breaks_theorem_3_with_a_ridge_and_a_small_column():
    """Why it is not covered: the small column has the best angle, and the ridge holds it down."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (200, 2))
    y = X[:, 0] + 0.9 * X[:, 1]
    X[:, 0] *= 1e-3
    risk = Risk("squared", X, y, ridge=0.1)
    path = fully_corrective(as_problem(X, y), ridge=0.1, rule="residual", steps=1)
    wbar = risk.minimum([1])
    excess = path.objective[1] - risk.value(wbar)
    gained = risk.value(np.zeros(2)) - path.objective[1]
    slope = np.abs(risk.gradient(np.zeros(2))).max()
    # What a covered step gains at least.
    assert gained < 0.01 * slope**2 / (2 * smoothness(risk))
    assert excess > 0.5 * (risk.value(np.zeros(2)) - risk.value(wbar))


def test_theorem_4_serves_as_far_as_its_supports_are_known():
    X, y = draw(1, "squared", 60, 8, 1.0)
    problem, asked = as_problem(X, y), {"steps": 4}
    wbar = Risk("squared", X, y).minimum([0, 1])
    reference = Reference("support", wbar, Risk("squared", X, y).value(wbar), 0.0, 0.0)

    def steps(path, **given):
        promised = promises("fully_corrective", path, reference, **{**asked, **given})
        return promised["T4"].steps(np.array([1e-12]))[0]

    assert steps(fully_corrective(problem, **asked)) == np.inf
    assert steps(fully_corrective(problem, grid={"steps": [9]})) < np.inf
    with_ridge = {"loss": "absolute", "beta": 2.0, "ridge": 0.1}
    assert steps(fully_corrective(problem, **asked, **with_ridge), **with_ridge) < np.inf
    signs = Problem(
        (np.zeros((0, 8)),),
        (np.zeros(0),),
        moments=DenseMoments(np.eye(8), np.linspace(0.1, 0.3, 8), 1.0),
    )
    path = fully_corrective(signs, risk="population", **asked)
    assert steps(path, risk="population") < np.inf
