"""When a mean is shown without an interval, and what captions say about intervals of means."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from greedyexp.experiment.design import design_of
from greedyexp.results.comparisons import MetricStyle, compare
from greedyexp.results.context import Context, context_of
from greedyexp.results.curves import ratio
from greedyexp.results.notes import interval_text, medians_text

INDEPENDENT = {"generator": "gaussian"}
SPLITS = {"generator": "file", "path": "d.csv", "test_fraction": 0.2}


@pytest.mark.parametrize(("data", "interval"), [(INDEPENDENT, (4.0, 4.0)), (SPLITS, None)])
def test_equal_numbers_of_splits_have_no_interval(data, interval):
    config = {
        "name": "made",
        "data": data,
        "algorithms": ["one", "two"],
        "trials": 20,
    }
    context = context_of(design_of(config), ["one", "two"])
    rows = [
        {"n_samples": 40, "test_fraction": 0.2, "replicate": i, "algorithm": label,
         "status": "ok", "message": "", "support_size": 4.0 if label == "one" else float(i % 2)}
        for i in range(20)
        for label in ("one", "two")
    ]  # fmt: skip
    style = {"support_size": MetricStyle()}
    means = compare(
        pd.DataFrame(rows), context, row="n_samples", metrics=style, published={}
    ).set_index("algorithm")
    ends = tuple(means.loc["one", ["low", "high"]])
    assert (ends == interval) if interval else np.isnan(ends).all()
    assert np.isfinite(list(means.loc["two", ["low", "high"]])).all()
    # The numbers of the second are proportional to those of the first, or not.
    first = 1 + np.arange(20.0)
    for second, equal in ((2 * first, True), (2 * first + np.sin(first), False)):
        pairs = np.array([first, second])
        _, *ends = ratio(pairs, context, pd.DataFrame(rows), "support_size")
        assert np.isnan(ends).all() == (equal and interval is None)


def test_captions_say_which_intervals_ignore_that_results_decided_the_trials():
    frame = pd.DataFrame({"n_samples": [40]})
    config = {"name": "made", "data": INDEPENDENT, "algorithms": ["one"]}
    rule = {"until": {"half_width": 0.1}, "max": 400}
    texts = [
        interval_text("t", frame, context_of(design_of(config | {"trials": trials}), ["one"]))
        for trials in (20, rule)
    ]
    assert ["results had not decided" in text for text in texts] == [False, True]


def test_bands_say_that_results_decided_the_number_of_trials():
    table = pd.DataFrame({"trials": [7, 9]})
    context = Context("t", "paper", 9, "", {}, {})
    said = "as if results had not decided the number of trials"
    assert said not in medians_text(table, context)
    assert said in medians_text(table, replace(context, adaptive=True))


def test_the_columns_of_successes_are_those_that_metrics_declare():
    settings = {"name": "made", "data": INDEPENDENT, "algorithms": ["omp"], "trials": 2}
    settings |= {"protocol": "recovery", "metrics": ["support", "training_error"]}
    assert context_of(design_of(settings), ["omp"]).successes == {"support"}
    missing = settings | {"metrics": ["of_a_lost_plugin"]}
    assert context_of(design_of(missing), ["omp"]).successes == frozenset()
