"""Record how experiments are read: settings, names of folders, key components and messages.

    python scripts/frozen_experiments.py FOLDER

Everything but the components is what ``greedyexp check`` prints. ``resolved`` has the full
settings of every config in every profile; ``components.txt`` what keys are made from, without the
versions of the code; ``messages.txt`` the answers to copies of the configs that are broken at one
random place.
"""

from __future__ import annotations

import copy
import hashlib
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from greedyexp.cli.app import greedyexp
from greedyexp.config import load
from greedyexp.core.errors import UserError
from greedyexp.runner.fingerprint import Fingerprints

ROOT = Path(__file__).resolve().parent.parent
PROFILES = ("smoke", "quick", "paper", "deep")
BROKEN = 2000

# What a component says about code and versions, which may change while its settings do not.
_CODE = ("code", "sources", "files", "libraries", "packages", "environment", "python")
_VALUES = [
    *(None, True, -1, 0.5, 10**30, "", " ", "0.3", "cv", "oracle", [], {}, [[1]], [1, 1.0]),
    *({"from": 1}, {"from": 1, "to": 2, "num": 3}, {"sweep": {"p": [3]}}, {"zip": {"p": [1, 2]}}),
]
_CHANGES = [
    *("trials=3", "seed=5", "trials=3 seed=5", "data.noise_std=0.25", "data.noise_std=[0.25, 0.5]"),
    *("noise_std=0.5", "data.kapa=0.5", "data.p=64", "name=other", "algorithms=[omp]"),
    *("description=x", "time_limit=9", "metrics+=[coef_error]", "figures=[]", "nothing=1"),
]


def record(folder: Path) -> None:
    """Write the record into a folder."""
    configs = sorted((ROOT / "configs").glob("*.yaml"))
    (folder / "resolved").mkdir(parents=True)
    answers, components = [], []
    for config in configs:
        for profile in PROFILES:
            options = ("--profile", profile)
            resolved = _check(config, *options, "--resolved")
            (folder / "resolved" / f"{config.stem}-{profile}.yaml").write_text(resolved)
            components += [
                f"{config.stem} {profile} {line}" for line in _components(config, profile)
            ]
        for change in _CHANGES:
            options = [word for setting in _settings(change) for word in ("--set", setting)]
            answers.append(f"{config.stem} {change}: {_check(config, *options)}")
            answers.append(_folder(config, _settings(change)))
    (folder / "changes.txt").write_text("\n".join(answers))
    (folder / "components.txt").write_text("\n".join(components))
    (folder / "messages.txt").write_text("\n".join(_messages(configs)))


def _settings(change: str) -> list[str]:
    return change.split() if " seed=" in change else [change]


def _check(config: Path, *options: str) -> str:
    done = CliRunner().invoke(greedyexp, ["check", str(config), *options])
    return f"{done.exit_code} {done.output}".replace(str(config.parent), "configs")


def _folder(config: Path, changes: list[str]) -> str:
    try:
        return str(load(config, overrides=changes).subfolder)
    except UserError:
        return ""


def _components(config: Path, profile: str) -> Iterator[str]:
    try:
        contents = Fingerprints(load(config, profile=profile)).components().values()
    except UserError as error:
        yield str(error)
        return
    for content in contents:
        if content["kind"] != "sources":
            kept = {key: value for key, value in content.items() if not _of_code(key)}
            text = json.dumps(kept, sort_keys=True, default=repr)
            yield hashlib.sha256(text.encode()).hexdigest()[:16]


def _of_code(key: str) -> bool:
    return key in _CODE or key.endswith("_code")


def _messages(configs: list[Path]) -> Iterator[str]:
    draw = random.Random(20261128)
    trees = [(config.stem, yaml.safe_load(config.read_text())) for config in configs]
    with tempfile.TemporaryDirectory() as folder:
        # Relative paths in a config start from its folder.
        path = Path(folder, "broken.yaml")
        for _ in range(BROKEN):
            name, tree = draw.choice(trees)
            change = _break(draw, tree := copy.deepcopy(tree))
            path.write_text(yaml.safe_dump(tree, sort_keys=False))
            yield f"{name} {change}: {_check(path).replace(folder, '')}"


def _break(draw: random.Random, tree: dict[str, Any]) -> str:
    """Misspell a key, remove it, or give it another value; return what was done."""
    keys = draw.choice([keys for keys in _paths(tree) if keys])
    holder = tree
    for key in keys[:-1]:
        holder = holder[key]
    last = keys[-1]
    kind = draw.choice(["misspell", "remove", "replace", "replace"])
    if kind == "misspell" and isinstance(holder, dict):
        place = draw.randrange(len(str(last)))
        holder[str(last)[:place] + str(last)[place + 1 :]] = holder.pop(last)
    elif kind == "replace":
        holder[last] = copy.deepcopy(draw.choice(_VALUES))
    else:
        del holder[last]
    return f"{kind} {'.'.join(map(str, keys))}"


def _paths(tree: Any, keys: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield keys
    if isinstance(tree, (dict, list)):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield from _paths(tree[key], (*keys, key))


if __name__ == "__main__":
    record(Path(sys.argv[1]))
