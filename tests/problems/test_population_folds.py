"""Cross-validation takes rows apart, which a risk by moments does not look at."""

from __future__ import annotations

from experiment_parts import message

from greedyexp.config import load


def settings(**params) -> dict:
    return {
        "name": "folds",
        "seed": 1,
        "trials": 1,
        "data": {"generator": "rademacher", "n_samples": 60, "p": 5, "sparsity": 2},
        "algorithms": [{"forward_greedy": params}],
        "metrics": ["f_measure"],
    }


def test_cross_validation_needs_the_risk_of_a_sample():
    said = message(settings(risk="population", tuning="cv"))
    assert "cross-validation of algorithm 'forward_greedy' needs risk: sample" in said
    load(settings(risk="sample", tuning="cv"))
    load(settings(risk="population", tuning="oracle"))
