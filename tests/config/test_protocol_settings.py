"""The ``protocol:`` of an experiment: its parameters, what it takes, and what that refuses."""

from __future__ import annotations

from typing import Annotated

import jsonschema
import pytest
from experiment_parts import base, message, registered  # noqa: F401 (an autouse fixture)
from pydantic import Field

from greedyexp.claims.setting import setting_of
from greedyexp.config import json_schema, load
from greedyexp.core import registry
from greedyexp.core.errors import PluginError
from greedyexp.protocols.base import Measured
from greedyexp.runner.fingerprint import Fingerprints
from greedyexp.runner.rows import columns_of


def _columns(metrics, *, steps, every, mode):
    if every > steps:
        raise ValueError("every is more than steps.")
    return [
        Measured("record", "key"),
        Measured("gap", "number"),
        *([Measured("reached", "success")] if mode == "reach" else []),
    ]


@pytest.fixture(autouse=True)
def parts(registered):  # noqa: F811
    @registry.protocol("t_follow", title="Follow", takes="iterates", columns=_columns)
    def t_follow(
        problem,
        part,
        params,
        setup,
        *,
        steps: Annotated[int, Field(ge=1, description="Steps.")] = 10,
        every: int = 1,
        mode: str = "gap",
    ):
        """Follow iterates."""

    @registry.protocol("t_once", takes="iterates", columns=lambda _: [Measured("hit", "success")])
    def t_once(problem, part, params, setup):
        """One row."""

    @registry.algorithm("t_steps", yields="iterates")
    def t_steps(problem, *, rate: Annotated[float, Field(gt=0)] = 1.0, grid=None):
        """Iterates; what it calls grid is no path."""

    @registry.algorithm("t_number", yields="constant")
    def t_number(problem):
        """A constant."""


def follow(protocol="t_follow", **changes) -> dict:
    given = {"metrics": None, "figures": None, "algorithms": ["t_steps"], **changes}
    return base(protocol=protocol, **given)


def test_parameters_have_their_defaults_in_the_resolved_settings():
    experiment = load(follow({"t_follow": {"steps": 20}}))
    assert experiment.protocol.name == "t_follow"
    assert experiment.protocol.params == {"steps": 20, "every": 1, "mode": "gap"}
    assert experiment.resolved["protocol"] == {"t_follow": experiment.protocol.params}
    assert "metrics" not in experiment.resolved
    assert load(experiment.resolved) == load(follow({"t_follow": {"steps": 20}}))
    assert columns_of(experiment).measured == ("record", "gap")


def test_a_protocol_without_parameters_stays_a_name():
    experiment = load(base())
    assert experiment.resolved["protocol"] == "recovery"
    assert columns_of(experiment).measured == ("tuning", "t_signs", "t_size")


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        ("t_folow", "protocol: there is no protocol named 't_folow'. Did you mean 't_follow'?"),
        ({"t_follow": {"stepps": 3}}, "has no parameter 'stepps'. Did you mean 'steps'?"),
        ({"t_follow": {"steps": 0}}, "protocol.t_follow.steps: steps must be at least 1"),
        ({"t_follow": {"steps": [1, 2]}}, "steps must be a whole number, but is [1, 2]"),
        ({"t_follow": 3}, "the settings of 't_follow' must be a mapping, but are 3"),
        ({"t_follow": {}, "t_once": {}}, "protocol must have one name, but has t_follow, t_once"),
        ({}, "protocol must be a name or 'name: {...}', but is {}"),
        ([1], "protocol must be a name or 'name: {...}', but is [1]"),
        (
            {"t_follow": {"every": 99}},
            "impossible parameters of protocol 't_follow': every is more than steps.",
        ),
    ],
)
def test_a_mistake_in_the_protocol_is_one_sentence(protocol, words):
    assert words in message(follow(protocol))


def test_what_an_algorithm_makes_must_be_what_the_protocol_takes():
    assert message(base(algorithms=["t_steps"])).endswith(
        "algorithm 't_steps' returns iterates, which protocol 'recovery' does not accept."
        " Use protocol t_follow or t_once or trajectory."
        " A plugin declares the result of its algorithm with @algorithm(..., yields=...)."
    )
    error = message(follow(algorithms=["t_lasso"]))
    assert (
        "algorithms[0]: algorithm 't_lasso' returns estimates, which protocol 't_follow'" in error
    )
    assert "does not accept. Use protocol recovery or selection or t" in error
    assert ". A plugin declares" in error
    shipped = message(follow(algorithms=["omp"]))
    assert "does not accept. Use protocol recovery or selection or t" in shipped
    assert "plugin" not in shipped
    assert "'t_number' returns a constant, which" in message(follow(algorithms=["t_number"]))


def test_metrics_go_with_protocols_that_compute_them():
    assert "protocol 'recovery' needs at least one metric" in message(base(metrics=None))
    assert "protocol 'recovery' needs at least one metric" in message(base(metrics=[]))
    error = message(follow(metrics=["t_size"]))
    assert error == "metrics: protocol 't_follow' computes no metrics. Remove 'metrics'."
    assert load(follow(metrics=[])).metrics == []


@pytest.mark.parametrize("setting", ["tuning", "folds"])
def test_iterates_have_no_path_to_tune(setting):
    entry = {"t_steps": {setting: {"tuning": "cv", "folds": 3}[setting]}}
    error = message(follow(algorithms=[entry]))
    assert error.endswith(f"algorithm 't_steps' has no path to tune. Remove '{setting}'.")
    assert load(follow()).algorithms[0].tuning == "none"


def test_a_rule_for_trials_needs_one_success_of_a_replicate():
    rule = {"until": {"half_width": 0.1}}
    reach = {"t_follow": {"mode": "reach"}}
    for protocol, name in (("t_follow", "t_follow"), (reach, "t_follow")):
        error = message(follow(protocol, trials=rule))
        assert error.startswith(f"trials: protocol '{name}' does not give one success (0 or 1)")
    assert load(follow("t_once", trials=rule)).adaptive.success == {"default": "hit"}


def test_figures_may_read_what_the_protocol_measures():
    figure = {"t_curve": {"x": "gap"}}
    assert load(follow(figures=[figure])).figures[0].params["x"] == "gap"
    wrong = {"t_curve": {"x": "t_size"}}
    error = message(follow(figures=[wrong]))
    assert "reads a column 't_size', which the CSV will not have" in error


def test_a_column_of_the_protocol_must_not_be_one_of_the_data():
    @registry.protocol("t_clash", takes="iterates", columns=lambda _: [Measured("kappa", "number")])
    def t_clash(problem, part, params, setup):
        pass

    assert "data: two columns of the CSV would be named 'kappa'" in message(follow("t_clash"))

    @registry.protocol("t_twice", takes="iterates", columns=lambda _: [Measured("a", "key")] * 2)
    def t_twice(problem, part, params, setup):
        pass

    error = message(follow("t_twice"))
    assert error.startswith("protocol: two columns of the CSV would be named 'a'")


def test_the_command_line_and_profiles_change_one_parameter():
    settings = follow({"t_follow": {"steps": 20, "every": 2}})
    changed = load(settings, overrides=["protocol.steps=5"])
    assert changed.protocol.params == {"steps": 5, "every": 2, "mode": "gap"}
    assert load(follow(), overrides=["protocol.steps=5"]).protocol.params["steps"] == 5
    # As the file has it, with the name of the protocol on the way.
    for source in (settings, follow()):
        long = load(source, overrides=["protocol.t_follow.steps=5"])
        assert long.resolved == load(source, overrides=["protocol.steps=5"]).resolved
    error = message(settings, overrides=["protocol.every=99"])
    assert error.startswith("--set protocol.every=99: impossible parameters of protocol 't_follow'")
    error = message(settings, overrides=["protocol.t_follow.stepps=5"])
    assert error.endswith("Did you mean 'protocol.t_follow.steps'?")
    assert "no setting 'protocol.t_once.steps'" in message(
        settings, overrides=["protocol.t_once.steps=5"]
    )
    profiles = {"smoke": {"protocol": {"t_follow": {"steps": 3}}}, "deep": {"protocol": "t_once"}}
    profiles["paper"] = {"protocol": {"t_once": {}}}
    settings["profiles"] = profiles
    assert load(settings, profile="smoke").protocol.params == {
        "steps": 3,
        "every": 2,
        "mode": "gap",
    }
    for profile in ("deep", "paper"):
        assert load(settings, profile=profile).protocol.name == "t_once"
    error = message(settings, overrides=["protocol.step=1"])
    assert "there is no setting 'protocol.step'. Did you mean 'protocol.steps'?" in error


def test_parameters_and_the_protocol_are_in_the_key_of_a_row():
    def key(protocol):
        return Fingerprints(load(follow(protocol))).key(0, 0, 0)

    assert key("t_follow") == key({"t_follow": {"steps": 10}})
    assert len({key("t_follow"), key({"t_follow": {"steps": 11}}), key("t_once")}) == 3


def test_claims_see_keys_successes_and_numbers_apart():
    design = load(follow({"t_follow": {"mode": "reach"}})).design
    setting = setting_of(design, design.measured, ["p", "record", "gap", "reached"])
    assert (setting.keys, setting.binary) == (("record",), ("reached",))
    assert (setting.measured, setting.columns) == (("gap", "reached"), ("p",))


def test_the_schema_accepts_what_loads():
    validator = jsonschema.Draft202012Validator(json_schema())

    def valid(settings):
        return validator.is_valid(settings)

    assert valid(follow())
    assert valid(follow({"t_follow": {"steps": 3}}))
    assert valid(load(follow({"t_follow": {"steps": 3}})).resolved)
    assert not valid(follow({"t_follow": {"steps": 0}}))
    assert not valid(follow({"t_follow": {"step": 3}}))
    assert not valid(follow("t_folow"))
    assert not valid(follow(metrics=["t_size"]))
    assert valid(base())
    assert not valid(base(metrics=None))


def test_a_protocol_must_say_something_known_of_what_it_takes():
    one_of = "set to one of estimates, iterates, constant"
    with pytest.raises(PluginError, match=f"'takes' {one_of}"):
        registry.protocol("t_bad", takes="numbers", columns=lambda _: [])(lambda *_: None)
    with pytest.raises(PluginError, match=f"'yields' {one_of}"):
        registry.algorithm("t_bad", yields="numbers")(lambda problem: None)
