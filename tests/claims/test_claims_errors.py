"""How often verdicts are wrong when the truth is known."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from claims_tables import judge, only, table, wins
from scipy import stats


@pytest.mark.parametrize(("p", "trials"), [(0.95, 20), (0.9, 40), (0.03, 100)])
@pytest.mark.parametrize("level", [0.05, 0.05 / 12])
def test_a_claim_about_one_proportion_is_exact(p, trials, level):
    decided = [
        only(judge(table({}, {"a": lambda _, n=n: wins(n, trials)}), f"proportion(a) > {p}")).p
        <= level
        for n in range(trials + 1)
    ]
    assert stats.binom.pmf(np.arange(trials + 1), trials, p)[decided].sum() <= level


@pytest.mark.deep
def test_a_family_of_claims_is_rarely_wrong(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import measure_verdicts

    monkeypatch.delitem(sys.modules, "measure_verdicts")
    rng, claims, experiments = np.random.default_rng(8), measure_verdicts.compiled(), 100
    wrong = sum(bool(measure_verdicts.wrong_tests(rng, 20, claims)) for _ in range(experiments))
    assert wrong / experiments <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / experiments)
