"""``claims.json``: JSON that every reader takes, and the same bytes for the same rows."""

from __future__ import annotations

import json
import math

import numpy as np
from claims_tables import THETA, curve, latent, setting, table, wins

from greedyexp.claims.evaluation import evaluate_claims
from greedyexp.claims.model import compile_claim
from greedyexp.claims.record import as_json, record


def test_the_record_is_valid_json_and_does_not_depend_on_the_order_of_rows():
    sweep = {"p": [1, 2], "theta": THETA}
    uniform = latent(10, 12)
    frame = table(
        sweep,
        {"a": curve(0.8, uniform), "b": lambda _: wins(0, 12), "c": lambda _: wins(12, 12)},
    )
    frame["frobenius_error"] = np.inf
    words = setting(sweep=sweep, algorithms=["a", "b", "c"])
    texts = ["threshold(a) < 1", "threshold(b) > threshold(c)", "threshold(b) < 1",
             "threshold(b) - threshold(b, level=0.9) < 0", "mean(a, frobenius_error) < 1",
             "always(frobenius_error < 1)", "threshold(c) == 0"]  # fmt: skip
    entries = [
        {"id": f"c{index}", "quote": "q", "test": text} | ({"margin": 0.1} if "==" in text else {})
        for index, text in enumerate(texts)
    ]
    claims = [compile_claim(entry, words, "f") for entry in entries]
    config = {"name": "e", "trials": 12, "paper": None}

    def written(rows):
        return as_json(record(config, "quick", evaluate_claims(claims, rows, words), {}))

    text = written(frame)

    def refuse(word):
        raise AssertionError(word)

    contents = json.loads(text, parse_constant=refuse)
    tests = [test for claim in contents["claims"] for test in claim["tests"]]
    infinite = [test for test in tests if test["not_finite"]]
    assert {"low", "high", "estimate"} <= {key for test in infinite for key in test["not_finite"]}
    for test in infinite:
        for key, value in test["not_finite"].items():
            assert test[key] is None
            assert not math.isfinite(float(value))
    assert "no upper limit" in text
    assert '"boundary": -0.0' not in text
    assert written(frame.sample(frac=1, random_state=1).reset_index(drop=True)) == text
    assert list(contents) == [
        "experiment",
        "profile",
        "paper",
        "trials",
        "digests",
        "claims",
        "readings",
    ]
    keys = {"group", "test", "estimate", "low", "high", "confidence", "p", "p_adjusted", "verdict",
            "trials", "needed_trials", "sentence"}  # fmt: skip
    assert all(keys <= test.keys() for test in tests)
