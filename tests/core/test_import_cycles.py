"""No module imports itself through others, not even inside a function or for annotations."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import greedyexp

ROOT = Path(greedyexp.__file__).parent


def module_name(path: Path) -> str:
    parts = ("greedyexp", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path, modules: set[str]) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inside & modules) or {node.module}
    return found & modules


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    paths = {module_name(path): path for path in ROOT.rglob("*.py")}
    return {name: imports(path, set(paths)) - {name} for name, path in paths.items()}


def test_modules_import_each_other_in_one_direction(graph):
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_a_cycle_would_be_found(graph):
    problem = graph["greedyexp.problems.problem"] | {"greedyexp.losses.squared"}
    known = graph | {"greedyexp.problems.problem": problem}
    with pytest.raises(CycleError):
        TopologicalSorter(known).prepare()
