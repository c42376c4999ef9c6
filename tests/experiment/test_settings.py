"""One model reads an experiment as written and the settings of its run."""

from __future__ import annotations

import pytest

from greedyexp.config import load, reload
from greedyexp.core import shipped
from greedyexp.core.errors import StorageError
from greedyexp.core.yaml_text import dump_yaml
from greedyexp.experiment.design import design_of, read_design
from greedyexp.results.context import context_of

CONFIGS = shipped.configs()
NAMES = ["lasso_lambda", "phase_diagram", "phase_transition", "transition_threshold"]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_run_stores_is_what_was_loaded(name, tmp_path):
    experiment = load(CONFIGS[name], profile="smoke")
    stored = read_design(experiment.as_yaml(), tmp_path / "config.yaml", "smoke")
    assert stored == experiment.design
    labels = [spec.label for spec in experiment.algorithms]
    assert context_of(stored, labels) == context_of(experiment.design, labels)
    assert reload(dict(stored.settings), profile="smoke").points == experiment.points


DATA = {"generator": "gaussian", "p": 12, "n_samples": 20, "sparsity": 2}
SETTINGS = {"name": "made", "trials": 2, "data": DATA, "metrics": ["support"]}


def test_settings_of_parts_that_are_gone_are_read():
    entry = {"gone": {"label": "old", "lost": [1, {"a": 2}], "sweep": {"k": [1, 2]}}}
    made = design_of({**SETTINGS, "algorithms": [entry], "figures": [{"lost": {"x": "p"}}]})
    assert made.entries[0].settings["lost"] == [1, {"a": 2}]
    assert made.variant("old (k=2)").swept == ("k",)
    assert made.drawn("figure") == [("lost", {"x": "p"})]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"algorithms": [{"omp": {"label": 3}}]}, r"algorithms\[0\].omp.label: label must be"),
        ({"algorithms": [{"omp": {"sweep": {"k": 3}}}]}, r"omp.sweep.k: sweep must have lists"),
        ({"algorithms": [{"omp": {"sweep": 3}}]}, r"omp.sweep: sweep must have lists"),
        ({"algorithms": [{"omp": 3}]}, r"\[0\].omp: the settings of 'omp' must be a mapping"),
        ({"data": [DATA, 3]}, r"data\[1\]: a block of data must be a mapping, but is 3"),
        ({"data": {**DATA, "sweep": [3]}}, r"data.sweep: sweep must have lists"),
        ({"trials": {"max": 3, "mni": 1}}, r"trials.mni: unknown key 'mni'"),
        ({"readings": [{"used": 3}]}, r"readings\[0\]"),
    ],
)
def test_a_damaged_setting_of_a_run_is_named(changes, words, tmp_path):
    text = dump_yaml({**SETTINGS, "algorithms": ["omp"], **changes})
    with pytest.raises(StorageError, match=words):
        read_design(text, tmp_path / "config.yaml", "smoke")
