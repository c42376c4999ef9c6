"""Experiment files broken at random: refused with a sentence, or loaded and loaded again alike."""

from __future__ import annotations

import copy
import math
import random

import pytest
import yaml
from experiment_parts import BASE, registered  # noqa: F401 (an autouse fixture)

from greedyexp.config import load
from greedyexp.core.errors import UserError

ODD = [
    *(None, True, False, 0, -1, -0.0, 1.5, 10**30, 10**400, math.inf, math.nan),
    *("", " ", "\x00", "é\n", "0.3", "oracle", "cv", "theory", "t_path", "t_file"),
    *([], {}, [[]], [{}], [None], [1, 2], [1, 1.0], [True, 1], ["a", "a"], [[1.1], [1.2]]),
    *({"from": 1}, {"from": 1, "to": 2, "num": 3}, {"from": 0, "to": 1, "step": 1e-300}),
    {"from": 1e-300, "to": 1e300, "num": 3, "scale": "log"},
    {"from": 1, "to": 1e9, "num": 10**9},
    *({"zip": []}, {"zip": {"p": [64], "s": [3, 4]}}, {"zip": [{"p": [64, 3], "s": [3, 4]}]}),
    *({"sweep": {"p": [3]}}, {"p": 9}, {"p": [9, 8]}, {"generator": "t_file"}),
    *(["t_path", "t_lasso"], {"t_path": {"sweep": {"nu": [0.1, 0.2]}}}),
    *({"t_path": {"label": "t_lasso"}}, {"a": {"b": {}}}),
]
KEYS = [
    *("sweep", "zip", "p", "s", "kappa", "zz", "label", "tuning", "folds", "w", "nu", "generator"),
    *("figure", "profiles", "time_limit", "protocol", "plugins", "description"),
]
OVERRIDES = [
    *("kappa=[0.3, 0.8]", "kappa=0.3", "data={}", "data=3", "data.sweep=", "data.generator=t_file"),
    *("algorithms.t_path.nu=[0.1, 0.2]", "algorithms.t_lasso.label=q", "algorithms=t_path"),
    *("algorithms.t_path.w=[[1.1], [1.2]]", "algorithms.t_path.sweep={nu: [0.3]}"),
    *("figures.t_curve.x=p", "data.sweep={p: [64]}", "data.sweep.zip={p: [64, 65], theta: [1, 2]}"),
    *("data.p={from: 2, to: 8, num: 3}", "paper.key=x", "paper=", "metrics=[t_size]"),
]
SLIPS = ["", "\t", ":", "-", "{", "[", "}", '"', "\n", "&a", "*a", "<<: ", "#", "!x ", "é", "? "]


def paths(tree, keys=()):
    yield keys
    if isinstance(tree, (dict, list)):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield from paths(tree[key], (*keys, key))


def at(tree, keys):
    for key in keys:
        tree = tree[key]
    return tree


def break_tree(draw: random.Random, tree: dict) -> None:
    keys = draw.choice(list(paths(tree)))
    odd, target = copy.deepcopy(draw.choice(ODD)), at(tree, keys)
    change = draw.choice(["replace", "replace", "remove", "add"])
    if change == "replace" and keys:
        at(tree, keys[:-1])[keys[-1]] = odd
    elif change == "remove" and keys:
        del at(tree, keys[:-1])[keys[-1]]
    elif isinstance(target, dict):
        target[draw.choice(KEYS)] = odd
    elif isinstance(target, list):
        target.insert(0, odd)


def break_text(draw: random.Random, text: str) -> str:
    index = draw.randrange(len(text))
    return text[:index] + draw.choice(SLIPS) + text[index + draw.randrange(2) :]


def write(draw: random.Random, tree: dict, file):
    """The settings as a mapping, or as a file with or without a slip of the pen."""
    if draw.random() < 0.5:
        return tree
    try:
        text = yaml.dump(tree, default_flow_style=draw.choice([None, True, False]))
    except ValueError:  # PyYAML cannot write numbers of more than 4300 digits
        return tree
    file.write_text(break_text(draw, text) if draw.random() < 0.4 else text)
    return file


def is_loaded(draw: random.Random, source) -> bool:
    """Load, and load what it resolves to; False when it is refused as users should see it."""
    profile = draw.choice(["smoke", "quick"])
    overrides = [draw.choice(OVERRIDES) for _ in range(draw.randrange(2))]
    experiment, refusal = None, None
    try:
        experiment = load(source, profile=profile, overrides=overrides)
    except UserError as error:
        refusal = error
    if experiment is None:
        assert refusal.place
        assert len(refusal.message) > 10
        return False
    assert load(experiment.resolved, profile=profile) == experiment
    assert len({repr(point) for point in experiment.points}) == len(experiment.points) > 0
    return True


@pytest.mark.parametrize("seed", range(4))
def test_no_file_ends_in_a_traceback(tmp_path, seed):
    draw = random.Random(seed)
    loaded = 0
    for _ in range(100):
        tree = yaml.safe_load(BASE)
        for _ in range(draw.randrange(3)):
            break_tree(draw, tree)
        loaded += is_loaded(draw, write(draw, tree, tmp_path / "broken.yaml"))
    assert 5 < loaded < 80
