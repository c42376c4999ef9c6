"""Trials that continue where claims are open: the numbers of replicates for the next look."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from greedyexp.claims.judging import Verdicts, judge
from greedyexp.experiment.model import Experiment
from greedyexp.experiment.settings import AdaptiveTrials
from greedyexp.runner.journal import Journal
from greedyexp.runner.rows import Finished, Rows, Write
from greedyexp.runner.tables import read_frame, refuse_immense, with_seconds


def next_look(
    experiment: Experiment,
    rule: AdaptiveTrials,
    wanted: np.ndarray,
    finished: Finished,
    journal: Journal,
    before: Verdicts | None,
) -> tuple[np.ndarray, Verdicts]:
    """Judge the claims, and return the numbers of replicates for the next look.

    They are equal to ``wanted`` if there is none.

    The claims are judged from the same table that the run writes, so that everyone who reads it
    finds the same looks. Points that open claims use get the trials of the next look, for all
    algorithms: figures and tables of means would otherwise compare algorithms on different data.

    Parameters
    ----------
    experiment : Experiment
    rule : AdaptiveTrials
    wanted : array of int (points, algorithms)
        The replicates requested so far, all of them finished.
    finished : callable
        ``Plan.finished``.
    journal : Journal
    before : Verdicts or None
        Those of the earlier looks.

    Returns
    -------
    array of int (points, algorithms)
    Verdicts
    """
    frame, arms = _table(experiment, finished, journal)
    found = judge(experiment.design, frame, arms, before)
    assert found.looks is not None
    trials = found.looks.trials(found.taken + 1)
    grown: np.ndarray = wanted.copy()
    if trials <= rule.max:
        algorithms = wanted.shape[1]
        points = sorted({arm // algorithms for arm in found.open_arms(rule.max)})
        grown[points] = np.maximum(wanted[points], trials)
    return grown, found


def _table(
    experiment: Experiment, finished: Finished, journal: Journal
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the table of a run as its readers see it, and the arm of each row.

    The arm is the index of point and algorithm in the flattened array of numbers of replicates.
    """
    rows = Rows(experiment, finished, journal)
    frame = read_frame(Path(f"{experiment.name}.csv"), _csv(rows.write_table))
    refuse_immense(frame, Path(f"{experiment.name}.csv"))
    if rows.timed:
        frame = with_seconds(frame, Path("timings.csv"), _csv(rows.write_timings))
    arms = [point * len(experiment.algorithms) + algorithm for point, algorithm in rows.arms()]
    return frame, np.array(arms)


def _csv(fill: Callable[[Write], None]) -> bytes:
    text = io.StringIO(newline="")
    fill(csv.writer(text, lineterminator="\n").writerow)
    return text.getvalue().encode()
