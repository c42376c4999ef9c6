"""Every call of the conic solver is quiet and on one thread, and has its tolerances."""

import clarabel
import numpy as np
import pytest

from greedyexp.solvers.gauge import conic_step
from greedyexp.theory.l1_curvature import curvature_l1_sdp
from greedyexp.theory.max_cut import max_cut

P = np.random.default_rng(0).standard_normal((4, 7))
C = np.linalg.inv(P @ P.T)

CALLS = {
    "step of the ultimate method": (
        lambda: conic_step(P.T.copy(), P[:, 0], P[:, 1], 0.1, 1.0),
        1e-12,
    ),
    "dependent columns": (lambda: curvature_l1_sdp(P, tol=1e-6), 1e-8),
    "maximum cut": (lambda: max_cut(C, tol=1e-6, most_sweeps=1), 1e-8),
}


@pytest.mark.parametrize(("call", "relative"), CALLS.values(), ids=CALLS)
def test_one_quiet_thread(call, relative, monkeypatch):
    seen = []
    solver = clarabel.DefaultSolver

    def noting(*arguments):
        seen.append(arguments[-1])
        return solver(*arguments)

    monkeypatch.setattr(clarabel, "DefaultSolver", noting)
    call()
    (chosen,) = seen
    assert not chosen.verbose
    assert chosen.max_threads == 1
    assert chosen.tol_gap_rel == chosen.tol_feas == pytest.approx(relative)
    assert chosen.tol_gap_abs <= 1e-12
