"""A signal ends a kernel that would run for hours, within one of its steps."""

import signal

import numpy as np
import pytest

from greedyexp.kernels import (
    coordinate_descent,
    frank_wolfe,
    greedy_dirty,
    l2_path,
    max_cut,
    omp,
    row_path,
    ultimate_inner,
)

RNG = np.random.default_rng(0)
FOREVER = 10**15
X = RNG.standard_normal((600, 500))
GRAM, CORRELATION = (X.T @ X / 600)[None], (X.T @ RNG.standard_normal(600) / 600)[None]
SMALL = GRAM[0, :30, :30].copy()
MANY = 10**5
LAMS, NO_LIMIT = np.geomspace(0.1, 1e-9, MANY), np.full(MANY, 10**6)


def descent(rule):
    state = coordinate_descent.Descent(
        X[:8, :5].copy(), np.zeros((0, 0)), np.ones(5), 0.1, 50.0, np.zeros(8)
    )
    state.descend(rule, FOREVER, -1.0)


LONG = {
    "gauss_southwell": lambda: descent(coordinate_descent.GAUSS_SOUTHWELL),
    "proximal_gradient": lambda: descent(coordinate_descent.PROXIMAL_GRADIENT),
    "descend_diagonal": lambda: coordinate_descent.descend_diagonal(
        *np.ones((4, 3)), FOREVER, -1.0
    ),
    "descend_quadratic": lambda: coordinate_descent.descend_quadratic(
        SMALL, np.ones(30), np.zeros(30), 0.0, -1.0, FOREVER
    ),
    "row_path": lambda: row_path.row_path(
        GRAM, CORRELATION, 1.0, LAMS, LAMS, 500, 1e-16, FOREVER, NO_LIMIT
    ),
    "l2_path": lambda: l2_path.l2_path(
        GRAM, CORRELATION, 1.0, LAMS, 1e-16, FOREVER, NO_LIMIT
    ),
    "omp": lambda: omp.pursuits(
        np.repeat(GRAM, 50, axis=0), [np.repeat(CORRELATION, 50, axis=0)], np.ones(50),
        np.full(50, -1.0), np.full(50, 500), False, True, True, np.array([500]), False, 2
    ),
    "greedy_dirty": lambda: greedy_dirty.path(
        GRAM, RNG.standard_normal((9, 500)), np.ones(9), np.full(9, 500), 1.5, 0.5, False, 1e-30,
        0.0, 10**6
    ),
    "frank_wolfe": lambda: frank_wolfe.on_quadratic(
        SMALL, np.ones(30), np.zeros(30), CORRELATION[0, :30], 1e-3, 1e3, False
    ).advance(FOREVER, 0.0),
    "ultimate_inner": lambda: ultimate_inner.InnerLoop(
        SMALL, np.zeros(30), np.ones(30), 0.1, 1.0
    ).alternate(10**8),
    "largest_form": lambda: max_cut.largest_form(np.eye(60)),
    "ascend": lambda: max_cut.ascend(SMALL, np.eye(30), -1.0, 0.0, FOREVER),
}  # fmt: skip


class Stop(Exception):
    pass


@pytest.fixture
def alarm():
    """A signal after a twentieth of a second, whose handler raises ``Stop``."""

    def stop(signum, frame):
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", LONG)
def test_a_signal_ends_a_long_kernel(name, alarm):
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(Stop):
        LONG[name]()


def test_a_method_can_go_on_after_a_signal(alarm):
    def new():
        return coordinate_descent.Descent(
            X[:80, :50].copy(), np.zeros((0, 0)), np.ones(50), 0.01, 9.0, np.zeros(80)
        )

    state, plain = new(), new()
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(Stop):
        state.descend(coordinate_descent.GAUSS_SOUTHWELL, FOREVER, -1.0)
    plain.descend(coordinate_descent.GAUSS_SOUTHWELL, state.iteration, -1.0)
    np.testing.assert_array_equal(state.coef, plain.coef)
    np.testing.assert_array_equal(state.residual, plain.residual)
