"""``claims.json``: valid JSON, with the same bytes for the same rows."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from claims_tables import THETA, curve, latent, setting, table, wins

from greedyexp.claims.decisions import JudgedTest, rounded
from greedyexp.claims.entries import compile_claim
from greedyexp.claims.judging import evaluate_claims
from greedyexp.claims.report import as_json, record


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


def test_numbers_have_eight_digits_of_the_largest_number():
    test = JudgedTest(group={}, text="text", boundary=1 / 3, estimate=3e-17, p=1 / 7)
    test.low, test.high, test.p_adjusted, test.confidence = -1 / 30, math.pi / 10, 2 / 7, 1 - 1e-10
    test.round()
    assert (test.estimate, test.low, test.high) == (0.0, -0.03333333, 0.31415927)
    assert (test.boundary, test.p, test.p_adjusted) == (0.33333333, 0.14285714, 0.28571429)
    assert test.confidence == 1 - 1e-10
    assert [rounded(value) for value in (math.inf, 0.0, 123456789.0)] == [
        math.inf,
        0.0,
        123456790.0,
    ]
    assert math.copysign(1.0, rounded(-1e-20, 1.0)) == 1.0
    test.estimate, test.low, test.high = 1e-9, -math.inf, math.inf
    test.round()
    assert (test.estimate, test.low, test.high) == (1e-9, -math.inf, math.inf)
    test.estimate, test.low, test.high, test.p = None, None, 1 / 3, None
    test.round()
    assert (test.estimate, test.low, test.high, test.p) == (None, None, 0.33333333, None)


RESULTS = Path(__file__).resolve().parents[2] / "results"
# OpenBLAS adds in an order that depends on the processor. tests/report/test_replay_results.py
# verifies the committed records on the real one.
PROCESSORS = ("Nehalem", "Haswell")


def records(folder, names):
    """Return the texts of all ``claims.json`` in the published runs; not every run has claims."""
    files = {name: folder / name / "paper" / "claims.json" for name in names}
    return {name: file.read_text() for name, file in files.items() if file.is_file()}


def same_on_every_processor(names, tmp_path):
    for name in names:
        shutil.copytree(RESULTS / name / "paper", tmp_path / name / "paper")
    committed = records(RESULTS, names)
    assert committed
    for processor in PROCESSORS:
        for name in committed:
            (tmp_path / name / "paper" / "claims.json").unlink()
        done = subprocess.run(
            [sys.executable, "-m", "greedyexp", "verify", "--quiet", str(tmp_path)],
            env=os.environ | {"OPENBLAS_CORETYPE": processor},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 4), done.stderr
        assert records(tmp_path, names) == committed


def test_the_record_is_the_same_on_every_processor(tmp_path):
    same_on_every_processor(["foba_logistic"], tmp_path)


@pytest.mark.deep
def test_all_records_are_the_same_on_every_processor(tmp_path):
    names = [folder.name for folder in RESULTS.iterdir() if (folder / "paper").is_dir()]
    same_on_every_processor(names, tmp_path)
