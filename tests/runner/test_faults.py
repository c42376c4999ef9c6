"""No fault loses or changes a row: processes killed and stopped, a full disk, two runs at once.

``pytest -m deep tests/runner/test_faults.py --faults 1000`` injects as many faults in each engine
and prints what became of the rows.
"""

from __future__ import annotations

from contextlib import closing

import pytest
from fault_lab import FaultLab

# Faults of one experiment; it is completed after them.
EACH = 8


@pytest.mark.deep
@pytest.mark.parametrize("engine", ["serial", "processes", "dask"])
def test_no_fault_loses_or_changes_a_row(engine, tmp_path, request, capsys):
    lab = FaultLab(tmp_path, engine, seed=17)
    wanted = request.config.getoption("faults")
    with closing(lab):
        while (left := wanted - lab.tally.faults.total()) > 0:
            lab.complete_one(min(EACH, left))
    with capsys.disabled():
        print(f"\n{engine}: {lab.tally}")
    assert lab.tally.complete > 0
    assert (lab.tally.lost, lab.tally.changed) == (0, 0)
