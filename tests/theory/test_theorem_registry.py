"""Theorems that a plugin registers, and the layers that may look parts up."""

import re
from pathlib import Path

import pandas as pd
import pytest
from kept_registry import kept_registry
from tradeoff_lab import follow, rows_of

import greedyexp
from greedyexp.core import registry
from greedyexp.core.plugins import load_plugins
from greedyexp.results.theorems import is_random, theorem_title, with_bound

PLUGIN = '''
import numpy as np

from greedyexp import algorithm
from greedyexp.theory.theorems import RiskBound, excess_form, steps_form, theorem
from tradeoff_lab import halving


@theorem("P1", "Theorem 1 of a plugin", holds="in_expectation")
def halves(power):
    return RiskBound(
        "P1",
        {"power": power},
        excess_form(lambda k: power * 4.0**-k),
        steps_form(lambda epsilon: np.log(power / epsilon) / np.log(4.0)),
    )


@algorithm("p_halving", theorems=lambda path, reference, **_: [halves(1.0)])
def p_halving(problem, *, steps: int = 1, grid=None):
    """Halve the distance to the truth."""
    return halving(problem, steps=steps, grid=grid)
'''
# Looking parts up is for the layers above the parts themselves.
BELOW = ("core", "kernels", "stats", "problems", "losses", "estimates", "theory", "solvers")
BELOW += ("datasets", "algorithms", "generators", "metrics")
LOOKUP = re.compile(
    r"import_module\(|__import__\(|\bregistry\.(parts|find)\("
    r"|core\.registry import (\([^)]*|[^\n(]*)\b(parts|find)\b"
)
ALLOWED = {
    # This imports the class of another package that the user names.
    "algorithms/peers/_construction.py",
    # The registry itself imports the packages of parts.
    "core/registry.py",
    # These import the modules of their own package.
    "datasets/catalogue.py",
    "kernels/__init__.py",
    "losses/binding.py",
    "theory/theorems.py",
}


@pytest.fixture
def plugin(tmp_path):
    path = tmp_path / "proved.py"
    path.write_text(PLUGIN)
    with kept_registry():
        load_plugins([path])
        yield registry.find("algorithm", "p_halving")


def test_a_theorem_of_a_plugin_has_its_title_and_its_place(plugin):
    assert theorem_title("P1") == "Theorem 1 of a plugin"
    assert is_random("P1")
    rows = pd.DataFrame({"theorem": ["P1", "none", "T5", "unregistered"]})
    assert with_bound(rows)["theorem"].tolist() == ["T5", "P1", "unregistered"]
    assert theorem_title("unregistered") == "unregistered"


def test_a_protocol_takes_the_bounds_of_a_plugin(plugin):
    made = follow(part=plugin, steps=4, points=2, references=["truth"], theorems=["P1"])
    bounds = {row["step"]: row["excess_bound"] for row in rows_of(made, "bound", theorem="P1")}
    assert bounds == {0: None, 1: 0.25, 4: 4.0**-4}


def test_a_plugin_cannot_take_the_name_of_a_shipped_theorem(tmp_path):
    path = tmp_path / "taken.py"
    path.write_text(PLUGIN.replace('"P1"', '"T2"'))
    with kept_registry(), pytest.raises(greedyexp.core.errors.PluginError, match="'T2' is already"):
        load_plugins([path])


def test_no_layer_below_the_protocols_looks_parts_up():
    root = Path(greedyexp.__file__).parent
    found = {
        str(path.relative_to(root))
        for name in BELOW
        for path in (root / name).rglob("*.py")
        if LOOKUP.search(path.read_text())
    }
    assert found <= ALLOWED
