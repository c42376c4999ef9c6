"""No module imports itself through others, not even inside a function or for annotations."""

import ast
import re
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


def test_overviews_of_packages_name_every_module():
    """Lines of an overview begin with names, before two spaces or a colon."""
    seen = 0
    for package in sorted(ROOT.rglob("__init__.py")):
        text = ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))) or ""
        named = set(re.findall(r"^(\w+)  ", text, re.MULTILINE))
        for names in re.findall(
            r"^(?:- (?=``))?([a-z_0-9`]+(?:,\s+[a-z_0-9`.]+)*): ", text, re.MULTILINE
        ):
            named |= set(re.findall(r"\w+", names))
        modules = {path.stem for path in package.parent.glob("*.py")} - {"__init__"}
        modules |= {path.parent.name for path in package.parent.glob("*/__init__.py")}
        if named & modules:
            seen += 1
            missing = {name for name in modules - named if not name.startswith("_")}
            headers = {path.stem for path in package.parent.glob("*.hpp")}
            assert (missing, named - modules - headers - {"hpp"}) == (set(), set()), package
    assert seen > 10
