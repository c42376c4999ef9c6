"""Designs with every column twice: the copy with the lower index enters, the other one never."""

import numpy as np
import pytest

from greedyexp.algorithms.sparsity import _frank_wolfe as frank_wolfe
from greedyexp.algorithms.sparsity.forward_greedy import forward_greedy
from greedyexp.api import solve
from greedyexp.losses.risk import bind_risk
from greedyexp.problems.moments import DenseMoments
from greedyexp.problems.problem import Problem, as_problem

SHAPES = ((40, 7), (57, 11), (100, 30))
SEEDS = range(5)
LAYOUTS = {
    "after": lambda Z: np.hstack([Z, Z]),
    "negated": lambda Z: np.hstack([Z, -Z]),
    "beside": lambda Z: np.repeat(Z, 2, axis=1),
}
TRUTH = np.array([[1.5, 1.2], [-1.0, 0.0], [0.5, 0.7]])


def second(coef, layout):
    """The coefficients of the columns that equal an earlier one."""
    return coef[1::2] if layout == "beside" else coef[len(coef) // 2 :]


def drawn(shape, seed, layout):
    """A design, the one with copies, and two responses."""
    rng = np.random.default_rng(seed)
    Z = rng.uniform(-1.0, 1.0, shape)
    noise = 0.1 * rng.standard_normal((shape[0], 2))
    return Z, LAYOUTS[layout](Z), Z[:, :3] @ TRUTH + noise


def classes(y):
    return np.where(y > np.median(y), 1.0, -1.0)


FORWARD = [
    ("forward_greedy", {"loss": loss, **beta, "radius": radius, "steps": 300, "step": step})
    for step in ("paper", "line_search")
    for radius in (2.0, 100.0)
    for loss, beta in (
        ("squared", {}),
        ("logistic", {}),
        ("hinge", {"beta": 10.0}),
        ("absolute", {"beta": 10.0}),
    )
]
SMOOTHED = [
    ("smoothed_forward_greedy", {"loss": loss, "radius": 2.0, "steps": 300, "step": step})
    for step in ("paper", "line_search")
    for loss in ("hinge", "absolute")
]
CORRECTIVE = [
    (name, {"loss": loss, "rule": rule, **options})
    for loss in ("squared", "logistic")
    for rule in ("objective", "gradient", "residual")
    for name, options in (
        ("fully_corrective", {"steps": 5}),
        ("replacement_steps", {"features": 3}),
        ("replacement_steps", {"features": 3, "variant": "simple"}),
    )
    if not (options.get("variant") and rule != "objective")
]
OTHERS = [
    ("omp", {}),
    ("foba_gdt", {}),
    ("foba_obj", {}),
    ("forward_gdt", {}),
    ("forward_obj", {}),
    ("gs_coordinate_descent", {"iterations": 3000}),
    ("proximal_gs_coordinate_descent", {"lam": 0.01, "iterations": 3000}),
    ("rmp", {"lam": 0.01, "iterations": 3000}),
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("name", "options"),
    [*FORWARD, *SMOOTHED, *CORRECTIVE, *OTHERS],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_copies_of_earlier_columns_never_enter(name, options, layout):
    for shape in SHAPES:
        for seed in SEEDS:
            _, X, Y = drawn(shape, seed, layout)
            labels = options.get("loss") in ("logistic", "hinge")
            y = classes(Y[:, 0]) if labels else Y[:, 0]
            coef = solve(name, X, y, **options).coef
            assert coef.any()
            assert not second(coef, layout).any()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["omp", "group_omp", "greedy_dirty"])
def test_copies_never_enter_with_several_tasks(name, layout):
    for shape in SHAPES:
        for seed in SEEDS:
            _, X, Y = drawn(shape, seed, layout)
            coef = solve(name, X, Y).coef
            assert coef.any()
            assert not second(coef, layout).any()


@pytest.mark.parametrize("radius", [2.0, 100.0])
def test_forward_greedy_selects_what_it_selects_without_copies(radius):
    for seed in range(20):
        Z, X, Y = drawn((40, 7), seed, "after")
        options = {"radius": radius, "steps": 300}
        plain = solve("forward_greedy", Z, Y[:, 0], **options)
        doubled = solve("forward_greedy", X, Y[:, 0], **options)
        assert doubled.support.tolist() == plain.support.tolist()
        assert doubled.coef[:7] == pytest.approx(plain.coef, abs=1e-10)


@pytest.mark.parametrize("kept", [0, 2048])
def test_with_a_ridge_copies_enter_in_the_order_of_their_indices(kept, monkeypatch):
    monkeypatch.setattr(frank_wolfe, "MOST_KEPT", kept)
    for seed in range(20):
        Z = np.abs(drawn((40, 7), seed, "after")[0])
        X = np.hstack([Z, -Z, Z])
        problem = as_problem(X, Z[:, 0] - Z[:, 1])
        path = forward_greedy(problem, ridge=0.5, radius=2.0, grid={"steps": np.arange(300)})
        used = path.coef[:, :, 0] != 0.0
        first = np.where(used.any(axis=0), used.argmax(axis=0), 300).reshape(3, 7)
        assert (first[1:, :2] < 300).all()
        entered = first[:, (first < 300).any(axis=0)]
        assert (np.diff(entered, axis=0) >= 0).all()


def test_copies_never_enter_by_moments():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A = rng.uniform(-0.3, 0.3, (7, 7))
        block = A @ A.T
        matrix = np.block([[block, -block], [-block, block]])
        truth = np.r_[rng.uniform(-1.0, 1.0, 7), np.zeros(7)]
        # As a matrix product may leave it: a last digit apart.
        cross = (matrix @ truth) * np.r_[np.ones(7), np.full(7, 1.0 + 2**-52)]
        moments = DenseMoments(matrix, cross, 10.0)
        problem = Problem((np.empty((0, 14)),), (np.empty(0),), moments=moments)
        path = forward_greedy(problem, risk="population", radius=2.0, steps=300)
        assert path.coef[-1, :7].any()
        assert not path.coef[:, 7:].any()


def test_copies_do_not_keep_a_run_from_a_small_gap():
    for layout in LAYOUTS:
        _, X, Y = drawn((40, 7), 0, layout)
        problem = as_problem(X, Y[:, 0])
        asked = {"steps": [10**6], "epsilon": [1e-10]}
        path = forward_greedy(problem, radius=20.0, step="line_search", grid=asked)
        assert path.converged[0]
        w, loss = path.coef[0, :, 0], bind_risk("squared", problem)
        slope = loss.gradient(w)
        assert slope @ w + 20.0 * np.abs(slope).max() <= 1e-10
        assert not second(w, layout).any()
