"""Driving an iteration: exact stops that leave no trace, and what it watches."""

import textwrap

import numpy as np
import pytest
from descent_oracles import one_task, smoothness_l2, soft, value
from kept_registry import kept_registry

from greedyexp.algorithms.matching_pursuit.coordinate_descent import (
    gs_coordinate_descent,
    proximal_gs_coordinate_descent,
    rmp,
)
from greedyexp.algorithms.matching_pursuit.gradient_descent import (
    gradient_descent,
    proximal_gradient,
)
from greedyexp.algorithms.matching_pursuit.ultimate import ultimate
from greedyexp.core import registry
from greedyexp.core.errors import DataError, PluginError
from greedyexp.estimates.iteration import SteppedIteration
from greedyexp.problems.problem import Problem
from greedyexp.theory import convergence_rates


class PlainShrinkage(SteppedIteration):
    """Proximal gradient as a user would write it."""

    def __init__(self, problem, lam):
        start = None if problem.start is None else problem.start[:, 0]
        super().__init__(problem.X[0], problem.y[0], lam, start)
        self.length = 1 / smoothness_l2(problem)

    def step(self, coef):
        grad = self.design.T @ (self.design @ coef - self.response) / len(self.response)
        return soft(coef - self.length * grad, self.length * self.lam)


METHODS = {
    "gradient_descent": lambda problem, lam: gradient_descent(problem),
    "gs_coordinate_descent": lambda problem, lam: gs_coordinate_descent(problem),
    "proximal_gradient": lambda problem, lam: proximal_gradient(problem, lam=lam),
    "proximal_gs_coordinate_descent": lambda problem, lam: proximal_gs_coordinate_descent(
        problem, lam=lam
    ),
    "rmp": lambda problem, lam: rmp(problem, lam=lam),
    "ultimate": lambda problem, lam: ultimate(problem, lam=lam),
    "stepped": PlainShrinkage,
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())


def recorded(iteration, problem, count):
    """Estimates and objectives of the first iterations, one by one."""
    coefs, values = [], []
    for k in range(count):
        iteration.advance(k)
        coefs.append(iteration.coef)
        values.append(value(problem, coefs[-1], iteration.lam))
    return np.array(coefs), np.array(values)


@every_method
@pytest.mark.parametrize("shape", [(40, 12), (15, 50)])
def test_it_stops_at_the_first_iterate_at_or_below_the_target(method, shape):
    problem = one_task(sum(shape), *shape, start=True)
    _, values = recorded(method(problem, 0.05), problem, 900)
    iteration = method(problem, 0.05)
    assert iteration.iteration == 0
    assert iteration.objective == pytest.approx(values[0], rel=1e-14)
    # Halfway between two iterates, where rounding cannot tell them apart otherwise.
    drops = np.flatnonzero(np.diff(values) < -1e-12 * values[:-1])[:: max(1, len(values) // 60)]
    assert len(drops) > 5
    for k in drops:
        target = (values[k] + values[k + 1]) / 2
        iteration.advance(900, target)
        assert iteration.iteration == np.argmax(values <= target)
        assert iteration.objective <= target
        iteration.advance(900, target)  # it is there already
        assert iteration.iteration == np.argmax(values <= target)


@every_method
def test_an_objective_of_its_own_is_a_target_met(method):
    # The driver reads an objective and asks for it again: the very same number must do.
    problem = one_task(3, 20, 30, noise=0.0)
    for k in range(0, 400, 40):
        ahead, behind = method(problem, 1e-6), method(problem, 1e-6)
        ahead.advance(k)
        behind.advance(10_000, ahead.objective)
        assert behind.iteration <= k
        assert behind.objective <= ahead.objective


@every_method
@pytest.mark.parametrize("shape", [(40, 12), (15, 50)])
def test_where_it_pauses_leaves_no_trace(method, shape):
    problem = one_task(2, *shape, start=True)
    straight, halting = method(problem, 0.05), method(problem, 0.05)
    straight.advance(2000)
    level = straight.objective
    for until in (0, 1, 2, 7, 999, 1000, 1001, 1500, 1999, 2000):
        halting.advance(until, -1.0)
        halting.advance(until, level / 2)
        _ = halting.objective, halting.coef
    assert halting.iteration == straight.iteration == 2000
    assert np.array_equal(halting.coef, straight.coef)
    assert halting.objective == level


@every_method
def test_it_does_not_go_back(method):
    problem = one_task(2, 20, 10)
    iteration = method(problem, 0.05)
    iteration.advance(20)
    before = iteration.coef
    iteration.advance(5)
    assert iteration.iteration == 20
    assert np.array_equal(iteration.coef, before)


@every_method
@pytest.mark.parametrize("shape", [(40, 12), (15, 50)])
def test_it_notes_the_last_estimate_outside_a_set(method, shape):
    problem = one_task(7, *shape, start=True)
    coefs, _ = recorded(method(problem, 0.3), problem, 400)
    rng = np.random.default_rng(0)
    sets = [coefs[-1] != 0, np.ones(shape[1], bool), rng.random(shape[1]) < 0.7]
    for inside in sets:
        iteration = method(problem, 0.3)
        assert iteration.last_outside == -1
        iteration.watch(inside)
        out = np.flatnonzero(coefs[:, ~inside].any(axis=1))
        for k in (0, 1, 2, 10, 399):
            iteration.advance(k)
            assert iteration.last_outside == max(out[out <= k], default=-1)


@pytest.mark.parametrize("method", [m for name, m in METHODS.items() if name != "stepped"])
@pytest.mark.parametrize("scale", [1e-200, 1e-145, 1e145])
def test_designs_whose_squares_are_out_of_range_are_refused(method, scale):
    problem = one_task(1, 20, 10)
    with pytest.raises(DataError, match="out of range"):
        method(Problem((scale * problem.X[0],), problem.y), 0.1 * scale)


def test_the_printed_example_makes_an_algorithm():
    printed = SteppedIteration.__doc__.split("as an algorithm::")[1].split("Parameters")[0]
    names = {"algorithm": registry.algorithm, "SteppedIteration": SteppedIteration}
    problem = one_task(0, 40, 3)
    with kept_registry():
        exec(textwrap.dedent(printed), names)
        run = registry.find("algorithm", "slow_descent").function(problem)
    run.advance(2000)
    exact = np.linalg.lstsq(problem.X[0], problem.y[0], rcond=None)[0]
    assert run.coef == pytest.approx(exact, abs=1e-10)


def stepping(step):
    """An iteration of five features whose step is a function of the estimate."""

    class Tried(SteppedIteration):
        def step(self, coef):
            return step(coef)

    problem = one_task(0, 20, 5)
    return Tried(problem.X[0], problem.y[0])


@pytest.mark.parametrize(
    ("step", "found"),
    [
        (lambda coef: coef[:, None], r"shape \(5, 1\)"),
        (lambda coef: coef[:3], r"shape \(3,\)"),
        (lambda coef: None, "NoneType"),
        (lambda coef: coef.tolist(), "list"),
    ],
)
def test_a_step_of_another_shape_is_one_sentence(step, found):
    run = stepping(step)
    with pytest.raises(PluginError, match=rf"Tried.step must return .* \(5,\), .* {found}\."):
        run.advance(1)
    assert (run.iteration, run.coef.shape) == (0, (5,))


def test_a_step_may_write_to_what_it_is_given():
    kept = np.ones(5)

    def back(coef):
        coef += 1
        return kept

    run = stepping(back)
    run.advance(3)
    assert (kept == 1).all()


@pytest.mark.parametrize("ask", ["coef", "objective", "advance"])
def test_an_iteration_that_was_not_begun_says_what_is_missing(ask):
    class Forgetful(SteppedIteration):
        def __init__(self, problem):
            self.length = 1.0

        def step(self, coef):
            return coef

    run = Forgetful(one_task(0, 20, 5))
    with pytest.raises(PluginError, match=r"Forgetful.__init__ does not call super\(\).__init__"):
        run.advance(1) if ask == "advance" else getattr(run, ask)


def test_watching_begins_with_the_present_estimate():
    problem = one_task(7, 40, 12)
    iteration = rmp(problem, lam=0.3)
    iteration.advance(50)
    held = iteration.coef != 0
    iteration.watch(np.zeros(12, bool))
    assert iteration.last_outside == 50
    iteration.watch(held)
    assert iteration.last_outside == -1


@every_method
def test_what_it_gives_away_is_a_copy(method):
    problem = one_task(1, 20, 10, start=True)
    start = problem.start.copy()
    iteration = method(problem, 0.05)
    iteration.coef[:] = 7.0
    iteration.advance(3)
    untouched = method(Problem(problem.X, problem.y, start=start), 0.05)
    untouched.advance(3)
    assert np.array_equal(iteration.coef, untouched.coef)
    assert np.array_equal(problem.start, start)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "stepped"])
def test_methods_are_registered_as_making_iterates(name):
    part = registry.find("algorithm", name)
    assert part.yields == "iterates"
    assert part.guarantee is getattr(convergence_rates, name)
    part.check({"n_tasks": 1})
    with pytest.raises(ValueError, match="takes one task"):
        part.check({"n_tasks": 3})
