"""The plan in words."""

from __future__ import annotations

from greedyexp.cli import plan
from greedyexp.config import load

SETTINGS = {
    "name": "t",
    "data": {"generator": "gaussian"},
    "algorithms": ["lasso"],
    "metrics": ["support"],
}


def test_tables_and_claims_are_named():
    claim = {"id": "often", "quote": "nearly always", "test": "proportion(lasso) > 0.5"}
    table = {"comparison": {"row": "p", "metrics": ["support"]}}
    lines = plan.words(load({**SETTINGS, "tables": [table], "claims": [claim]})).splitlines()
    assert lines[-2:] == ["  tables: comparison", "  claims: often"]


def test_what_an_experiment_lacks_is_not_mentioned():
    said = plan.words(load(SETTINGS))
    assert "tables" not in said
    assert "claims" not in said
