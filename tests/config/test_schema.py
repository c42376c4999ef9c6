"""The JSON Schema for editors: it accepts what loads and refuses what is to be underlined."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path

import jsonschema
import pytest
from experiment_parts import BASE, base, registered  # noqa: F401 (an autouse fixture)

from greedyexp.config import json_schema, load
from greedyexp.config.document import read_file, read_text

CONFIGS = sorted((Path(__file__).resolve().parents[2] / "configs").glob("*.yaml"))


@cache
def schema_validator():
    return jsonschema.Draft202012Validator(json_schema())


@pytest.fixture
def validator():
    # Every test of this module has the same parts registered, and so the same schema.
    return schema_validator()


def errors(validator, settings):
    return [error.message for error in validator.iter_errors(settings)]


def test_it_is_a_schema_of_its_draft():
    schema = json_schema()
    assert json.loads(json.dumps(schema)) == schema
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


def test_there_are_shipped_experiments():
    assert CONFIGS


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_shipped_experiments_are_valid(validator, config):
    assert errors(validator, read_file(config).data) == []


def test_what_loads_is_valid(validator):
    settings = read_text(BASE, "base.yaml").data
    assert errors(validator, settings) == []
    assert errors(validator, load(base()).resolved) == []
    assert errors(validator, base(profiles={"deep": None, "smoke": {"data": {"s": 2}}})) == []


VALID = [
    {"sweep": {"zip": {"p": [8, 16], "s": [1, 2]}}},
    {"sweep": {"zip": [{"p": [8, 16], "s": {"from": 1, "to": 2, "num": 2}}], "kappa": [1]}},
    {"p": 8, "sweep": {"theta": {"from": 1, "to": 100, "num": 3, "scale": "log"}}},
    {"p": 8, "sweep": None},
]


@pytest.mark.parametrize("data", VALID)
def test_sweeps_are_valid(validator, data):
    assert errors(validator, base(data={"generator": "t_overlap", **data})) == []


@pytest.mark.parametrize(
    "entry",
    [
        "t_path",
        {"t_path": None},
        {"t_path": {"w": [1.1], "tuning": "cv", "folds": 3, "label": "a"}},
        {"t_path": {"sweep": {"w": [[1.1], [1.2]], "nu": {"from": 0.1, "to": 0.9, "num": 3}}}},
        {"t_path": {"max_steps": None}},
    ],
)
def test_algorithm_entries_are_valid(validator, entry):
    assert errors(validator, base(algorithms=[entry])) == []


# Each is a path into the settings and what is put there.
INVALID = [
    (("sed",), 7),
    (("name",), "two words"),
    (("name",), 3),
    (("seed",), -1),
    (("seed",), "7"),
    (("trials",), 0),
    (("time_limit",), 0),
    (("protocol",), "recovry"),
    (("paper", "fig"), "1"),
    (("data", "generator"), "t_overlp"),
    (("data", "kapa"), 0.5),
    (("data", "noise_std"), -1),
    (("data", "noise_std"), [0.1, 0.2]),
    (("data", "values"), "gausian"),
    (("data", "sweep", "kapa"), [0.5]),
    (("data", "sweep", "kappa"), [0.5, 1.5]),
    (("data", "sweep", "kappa"), []),
    (("data", "sweep", "kappa"), 0.5),
    (("data", "sweep", "theta"), {"from": 1, "to": 2}),
    (("data", "sweep", "theta"), {"from": 1, "to": 2, "num": 3, "step": 1}),
    (("data", "sweep", "theta"), {"from": 1, "to": 2, "nmu": 3}),
    (("data", "sweep", "theta"), {"from": 1, "to": 2, "num": 3, "scale": "ln"}),
    (("data", "sweep", "zip"), {"q": [1]}),
    (("algorithms",), []),
    (("algorithms", 0), "t_pth"),
    (("algorithms", 0), {"t_path": {}, "nu": 0.5}),
    (("algorithms", 0), {"t_path": {"nuu": 0.5}}),
    (("algorithms", 0), {"t_path": {"nu": 1}}),
    (("algorithms", 0), {"t_path": {"w": []}}),
    (("algorithms", 0), {"t_path": {"w": [2.5]}}),
    (("algorithms", 0), {"t_path": {"tuning": "orakle"}}),
    (("algorithms", 0), {"t_single": {"k": 2, "tuning": "cv"}}),
    (("algorithms", 0), {"t_path": {"sweep": {"nu": [2]}}}),
    (("metrics", 0), "t_sign"),
    (("metrics",), []),
    (("figures", 0), {"t_curve": {"y": "p"}}),
    (("figures", 0), "t_curv"),
    (("profiles", "smok"), {}),
    (("profiles", "smoke", "name"), "b"),
    (("profiles", "smoke", "trials"), 0),
    (("profiles", "smoke", "data", "kapa"), 0.5),
    (("profiles", "smoke", "data", "sweep", "kappa"), [7]),
    (("profiles", "smoke", "algorithms"), ["t_pth"]),
]


@pytest.mark.parametrize(("keys", "value"), INVALID)
def test_mistakes_are_refused(validator, keys, value):
    settings = copy.deepcopy(base())
    assert errors(validator, settings) == []
    target = settings
    for key in keys[:-1]:
        target = target[key]
    target[keys[-1]] = value
    assert errors(validator, settings)


@pytest.mark.parametrize("key", ["name", "data", "algorithms", "metrics"])
def test_what_is_needed_is_required(validator, key):
    assert errors(validator, base(**{key: None}))


def test_parameters_carry_their_help_ranges_and_defaults():
    defs = json_schema()["$defs"]
    kappa = defs["generator.t_overlap"]["properties"]["kappa"]
    assert (kappa["minimum"], kappa["maximum"], kappa["default"]) == (0, 1, 1)
    assert kappa["description"] == "Shared rows."
    nu = defs["algorithm.t_path"]["properties"]["nu"]
    assert (nu["exclusiveMinimum"], nu["exclusiveMaximum"], nu["default"]) == (0, 1, 0.5)
    assert defs["algorithm.t_path"]["description"] == "Greedy path."
