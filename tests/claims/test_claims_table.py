"""Cells of the table that claims read."""

from __future__ import annotations

import numpy as np
from claims_trajectories import course, failure, frame_of, hits, words

from greedyexp.claims.table import Table


def test_a_part_of_a_table_has_the_cells_of_a_table_of_its_rows():
    setting = words(sweep={"p": [10, 20, 30]})
    rows = [failure(2, p=30), failure(0, p=20)]
    for p in (20, 10):
        for replicate in range(3):
            rows += course([3.0, 2.0], replicate, p=p) + hits([5], p=p, replicate=replicate)
    frame = frame_of(rows)
    chosen = np.flatnonzero(frame["replicate"] < 2)
    alone = Table(frame.iloc[chosen].reset_index(drop=True), setting)

    def cells(table):
        groups = table.groups(["gd"], ())
        return {str(table.shown(cell)): table.rows("gd", cell).tolist() for cell in groups}

    assert cells(Table(frame, setting).of_rows(chosen)) == cells(alone)
    assert len(cells(alone)) > 4
    # A failed run has no keys, and is in the cells of all keys.
    (lost,) = np.flatnonzero(alone.failed)
    with_it = [rows for text, rows in cells(alone).items() if lost in rows]
    assert len(with_it) > 1
    assert all(rows == sorted(rows) for rows in with_it)
