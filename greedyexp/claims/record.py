"""Verdicts as the plain data of ``claims.json``."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

from greedyexp.claims.decisions import Tested
from greedyexp.claims.evaluation import Judged
from greedyexp.claims.sentences import reason, sentence

_NUMBERS = ("estimate", "boundary", "low", "high", "confidence", "p", "p_adjusted")
_KEYS = ("trials", "failed", "unconverged", "needed_trials")


def record(
    config: Mapping, profile: str, judged: Sequence[Judged], digests: Mapping[str, str]
) -> dict:
    """The contents of ``claims.json``: nothing in it but what table and configuration say.

    Computed numbers have 8 digits (``Tested.shorten``), and the sentences are made from these.

    Parameters
    ----------
    config : mapping
        The resolved experiment.
    profile : str
    judged : sequence of Judged
    digests : mapping of str to str
        Of the settings and the table that were judged.
    """
    return {
        "experiment": config["name"],
        "profile": profile,
        "paper": config.get("paper"),
        "trials": config["trials"],
        "digests": dict(digests),
        "claims": [_claim(one) for one in judged],
        "readings": config.get("readings") or [],
    }


def as_json(contents: Mapping) -> str:
    """The text of ``claims.json``; floats by ``repr``, never nan or infinity."""
    return json.dumps(contents, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _claim(judged: Judged) -> dict:
    claim = judged.claim
    trials = [test.trials for test in judged.tests if test.trials is not None]
    return {
        "id": claim.id,
        "quote": claim.quote,
        "place": claim.place,
        "figure": claim.figure,
        "test": [test.text for test in claim.tests],
        "where": claim.where,
        "margin": claim.margin,
        "note": claim.note,
        "verdict": judged.verdict.value,
        "reason": reason(judged),
        "trials": min(trials, default=None),
        "tests": [_test(test) for test in judged.tests],
    }


def _test(test: Tested) -> dict:
    numbers = {key: getattr(test, key) for key in _NUMBERS}
    odd = {k: repr(v) for k, v in numbers.items() if v is not None and not math.isfinite(v)}
    told = {k: None if k in odd or v is None else float(v) for k, v in numbers.items()}
    return {
        "group": {key: _finite(value) for key, value in test.group.items()},
        "test": test.text,
        **told,
        "not_finite": odd,
        "verdict": test.verdict.value,
        **{key: getattr(test, key) for key in _KEYS},
        "sentence": sentence(test),
    }


def _finite(value):
    """JSON has no infinity; a swept value may be one."""
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value
