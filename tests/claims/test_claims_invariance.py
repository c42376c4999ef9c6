"""What must not change a verdict: names, signs, units, order of rows, further algorithms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from claims_tables import curve, judge, latent, setting, table

SWEEP = {"kappa": [0.2, 0.5, 0.8], "theta": [0.4, 0.6, 0.8, 1.0, 1.2, 1.4]}
TESTS = [
    "proportion(a) > 0.7",
    "proportion(a) < proportion(b)",
    "proportion(a) - 0.5 * proportion(b) >= 0.1",
    "average(proportion(a), theta) > average(proportion(b), theta)",
    "average(proportion(a), kappa) >= 0.5",
    "slope(proportion(b), kappa) > 0",
    "increasing(proportion(a), theta)",
    "threshold(a, of=theta) < threshold(b, of=theta)",
    "mean(a, frobenius_error) < mean(b, frobenius_error)",
    "mean(a, frobenius_error) - 1.5 * mean(b, frobenius_error) <= 0",
    "slope(mean(a, frobenius_error), theta) > 0",
    "decreasing(mean(b, frobenius_error), kappa)",
    "ratio(mean(a, frobenius_error), mean(b, frobenius_error)) < 1.1",
    "always(frobenius_error(a) <= 3 * frobenius_error(b))",
    "usually(frobenius_error(a) < frobenius_error(b))",
    "peak(a, frobenius_error, theta) < 1.1",
]
MEANS = [test for test in TESTS if "mean(" in test or "error(" in test]
OPPOSITE = {"<=": ">=", "<": ">", ">=": "<=", ">": "<"}


@pytest.fixture(scope="module", params=[3, 25])
def frame(request) -> pd.DataFrame:
    n = request.param
    rng = np.random.default_rng(n)
    uniform = latent(n, n)
    noise = {theta: rng.standard_normal((3, n)) for theta in SWEEP["theta"]}

    def of(tau, own, shift):
        def outcomes(point):
            theta = point["theta"]
            support = curve(tau, uniform)({"theta": theta})
            errors = np.exp(
                0.5 * noise[theta][0] + 0.2 * noise[theta][own] - theta * point["kappa"]
            )
            return {"support": support, "frobenius_error": errors * shift}

        return outcomes

    found = table(SWEEP, {"a": of(0.8, 1, 1.0), "b": of(1.0, 2, 1.3)})
    # Some values are equal but for rounding, some runs fail.
    same = (found.kappa == 0.8) & (found.theta == 1.4)
    found.loc[same, "frobenius_error"] = 0.3 + 1e-16 * np.arange(same.sum())
    found.loc[found.index % 97 == 5, ["support", "frobenius_error"]] = np.nan
    found.loc[found.index % 97 == 5, "status"] = "error"
    return found


def verdicts(frame, test, **given):
    judged = judge(frame, test, sweep=SWEEP, **given)
    return sorted((str(sorted(t.group.items())), str(t.verdict)) for t in judged.tests)


def test_all_verdicts_occur(frame):
    seen = {verdict for test in TESTS for _, verdict in verdicts(frame, test)}
    assert seen >= {"supported", "refuted", "inconclusive"}


@pytest.mark.parametrize("test", TESTS)
def test_names_order_of_rows_and_further_algorithms_do_not_matter(frame, test):
    before = verdicts(frame, test)
    shuffled = frame.sample(frac=1, random_state=1).reset_index(drop=True)
    assert verdicts(shuffled, test) == before
    # The labels exchanged, in the table and in the test.
    swapped = frame.assign(algorithm=frame.algorithm.map({"a": "b", "b": "a"}))
    exchanged = test.replace("(a", "(#").replace("(b", "(a").replace("(#", "(b")
    assert verdicts(swapped, exchanged) == before
    # The whole table once more, under other labels.
    copies = frame.assign(algorithm=frame.algorithm.map({"a": "c", "b": "d"}))
    words = setting(sweep=SWEEP, algorithms=["a", "b", "c", "d"])
    both = pd.concat([frame, copies], ignore_index=True)
    renamed = test.replace("(a", "(c").replace("(b", "(d")
    for text in (test, renamed):
        judged = judge(both, text, words=words)
        found = sorted((str(sorted(t.group.items())), str(t.verdict)) for t in judged.tests)
        assert found == before
    # Replicates have other numbers.
    assert verdicts(frame.assign(replicate=frame.replicate.max() - frame.replicate), test) == before


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40, 1e-8, 1e8])
@pytest.mark.parametrize("test", MEANS)
def test_the_unit_of_a_metric_does_not_matter(frame, test, unit):
    scaled = frame.assign(frobenius_error=frame.frobenius_error * unit)
    assert verdicts(scaled, test) == verdicts(frame, test)


@pytest.mark.parametrize("test", [one for one in MEANS if "ratio" not in one])
def test_the_sign_of_a_metric_mirrors_the_relation(frame, test):
    mirrored = frame.assign(frobenius_error=-frame.frobenius_error)
    if "creasing" in test:
        name, other = ("increasing", "decreasing")[:: 1 if "increasing" in test else -1]
        opposite = test.replace(name, other)
    else:
        (relation,) = (r for r in ("<=", ">=", "<", ">") if r in test.split())
        opposite = test.replace(f" {relation} ", f" {OPPOSITE[relation]} ")
    assert verdicts(mirrored, opposite) == verdicts(frame, test)


@pytest.mark.parametrize("test", [one for one in TESTS if "proportion" in one][:6])
def test_failures_in_place_of_successes_mirror_claims_about_proportions(frame, test):
    whole = frame[frame.status == "ok"]
    turned = whole.assign(support=1 - whole.support)
    weights = {
        "proportion(a) > 0.7": "proportion(a) < 0.3",
        "proportion(a) - 0.5 * proportion(b) >= 0.1": "proportion(a) - 0.5 * proportion(b) <= 0.4",
        "average(proportion(a), kappa) >= 0.5": "average(proportion(a), kappa) <= 0.5",
    }
    relation = "<" if "<" in test else ">"
    mirrored = weights.get(test, test.replace(relation, OPPOSITE[relation]))
    assert verdicts(turned, mirrored) == verdicts(whole, test)
