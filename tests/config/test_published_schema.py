"""The JSON Schema as a file beside the shipped configs, which editors read."""

from __future__ import annotations

import copy
import json
from functools import cache

import jsonschema
import pytest
import yaml
from cli_process import greedyexp, refused

from greedyexp.core import shipped

CONFIGS = shipped.configs()
MODELINE = "# yaml-language-server: $schema="


@cache
def published() -> dict:
    return json.loads(shipped.schema().read_bytes())


@cache
def validator():
    return jsonschema.Draft202012Validator(published())


def settings(name: str) -> dict:
    return yaml.safe_load(CONFIGS[name].read_bytes())


def test_the_file_is_what_the_command_prints(tmp_path):
    # In a process of its own, in which no test has registered a part.
    same = json.loads(greedyexp("schema", cwd=tmp_path).stdout) == published()
    assert same, f"Run: greedyexp schema --write configs/{shipped.SCHEMA}"


@pytest.mark.parametrize("name", CONFIGS)
def test_configs_name_the_schema_and_are_valid(name):
    config = CONFIGS[name]
    first = config.read_text(encoding="utf-8").partition("\n")[0]
    assert first.startswith(MODELINE)
    assert (config.parent / first.removeprefix(MODELINE)).samefile(shipped.schema())
    assert [error.message for error in validator().iter_errors(settings(name))] == []


# Each is a config, a path into its settings, and what is put there.
WRONG = [
    ("phase_transition", ("algoritms",), ["omp"]),
    ("phase_transition", ("trials",), "many"),
    ("phase_transition", ("trials",), 0),
    ("phase_transition", ("protocol",), "recovry"),
    ("phase_transition", ("data", "generator"), "multitask_overlp"),
    ("phase_transition", ("data", "noise_sdt"), 0.1),
    ("phase_transition", ("data", "values"), "sgn"),
    ("phase_transition", ("data", "sweep", "kapa"), [0.5]),
    ("phase_transition", ("data", "sweep", "p"), ["many"]),
    ("phase_transition", ("algorithms", 0), "greedy_drty"),
    ("phase_transition", ("algorithms", 0), {"greedy_dirty": {"w": "wide"}}),
    ("phase_transition", ("algorithms", 0), {"greedy_dirty": {"tuning": "best"}}),
    ("phase_transition", ("metrics", 0), "sign_suport"),
    ("phase_transition", ("figures", 0), {"phase_transition": {"colour": "red"}}),
    ("phase_transition", ("claims", 0), {"id": "x", "quote": "y", "tets": "z"}),
    ("phase_transition", ("profiles", "smoke", "trials"), 1.5),
    ("foba_logistic", ("algorithms", 0), {"foba_gdt": {"loss": "logistics"}}),
]


@pytest.mark.parametrize(("name", "keys", "value"), WRONG)
def test_mistakes_in_shipped_configs_are_underlined(name, keys, value):
    wrong = copy.deepcopy(settings(name))
    target = wrong
    for key in keys[:-1]:
        target = target[key]
    target[keys[-1]] = value
    assert not validator().is_valid(wrong)


def resolved(schema: dict) -> dict:
    """Return a schema, or what its reference points to."""
    if "$ref" not in schema:
        return schema
    target = published()
    for key in schema["$ref"].removeprefix("#/").split("/"):
        target = target[key]
    return resolved(target)


def undescribed(keys: dict, where: str) -> list[str]:
    return [f"{where}: {key}" for key, one in keys.items() if not resolved(one).get("description")]


def test_every_key_has_a_description_to_show():
    schema = published()
    found = undescribed(schema["properties"], "config")
    for name, definition in schema["$defs"].items():
        found += undescribed(definition.get("properties", {}), name)
    assert found == []


@pytest.mark.parametrize("kind", ["algorithms", "metrics", "figures", "tables"])
def test_every_name_has_a_description_to_show(kind):
    items = published()["properties"][kind]["items"]
    names = items["anyOf"][0]["anyOf"] if kind != "metrics" else items["anyOf"]
    assert len(names) >= 3
    assert all(one["const"] and one["description"] for one in names)


def test_no_title_of_a_class_is_shown():
    words = json.dumps(published())
    assert words.count('"title": {') + 1 == words.count('"title"')
    assert published()["title"] == "greedyexp experiment"


def test_words_to_choose_from_are_listed():
    schema = published()
    defs = schema["$defs"]
    assert "gaussian" in schema["properties"]["data"]["anyOf"][0]["properties"]["generator"]["enum"]
    assert defs["algorithm.omp"]["properties"]["judge"]["enum"] == ["coordinate", "refit"]
    assert "cv" in defs["algorithm.lasso"]["properties"]["tuning"]["enum"]
    assert set(defs["profile"]["properties"]) >= {"trials", "data", "algorithms"}


def test_a_schema_with_the_parts_of_a_plugin_is_written(call, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from greedyexp import algorithm\n\n\n"
        "@algorithm('mine')\ndef mine(problem, *, depth: int = 3):\n    '''Digs.'''\n"
    )
    target = tmp_path / "own.json"
    for _ in range(2):
        result = call("schema", "--plugin", "mine.py", "--write", "own.json", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert result.stdout.splitlines()[-1] == f"{MODELINE}own.json"
    own = json.loads(target.read_bytes())
    study = settings("phase_transition") | {"algorithms": [{"mine": {"depth": 4}}]}
    assert jsonschema.Draft202012Validator(own).is_valid(study)
    assert not validator().is_valid(study)


@pytest.mark.parametrize("content", ["precious", "[1]", '{"title": "another"}', "\xff"])
def test_only_a_schema_is_replaced(call, tmp_path, content):
    target = tmp_path / "own.json"
    target.write_text(content, encoding="latin-1")
    refused(call("schema", "--write", "own.json", cwd=tmp_path), "own.json", "already exists")
    assert target.read_text(encoding="latin-1") == content


def test_the_help_explains_the_file_and_the_line(call, tmp_path):
    words = call("schema", "--help", cwd=tmp_path).stdout
    assert f"{MODELINE}{shipped.SCHEMA}" in words
    assert f"greedyexp schema --write {shipped.SCHEMA}" in words
