"""What makes a journaled row stale, and what does not."""

from __future__ import annotations

import dataclasses
import linecache

import pytest
from runner_lab import Laboratory

from greedyexp.core import registry
from greedyexp.core.errors import PluginError
from greedyexp.experiment.model import Point
from greedyexp.runner import code_version, fingerprint
from greedyexp.runner.fingerprint import Fingerprints


@pytest.fixture
def lab(tmp_path):
    return Laboratory(tmp_path)


def key(experiment, point: int = 0, replicate: int = 0, algorithm: int = 0) -> bytes:
    return Fingerprints(experiment).key(point, replicate, algorithm)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 8},
        {"data": {"noise": 0.25}},
        {"data": {"sweep": {"n": [9]}}},
        {"metrics": ["frobenius_error"]},
        {"metrics": ["sign_support", "frobenius_error"]},
        {"algorithms": [{"TAG_ridge": {"penalty": 2.0}}]},
        {"algorithms": ["omp"]},
        {"algorithms": [{"omp": {"tuning": "cv"}}]},
        {"algorithms": [{"omp": {"tuning": "cv", "folds": 3}}]},
    ],
    ids=str,
)
def test_what_determines_a_row_is_in_its_key(lab, change):
    base = {"algorithms": ["TAG_ridge"]}
    keys = set()
    for changes in (base, {**base, **change}):
        algorithms = [
            {lab.tag + name[3:]: params for name, params in entry.items()}
            if isinstance(entry, dict) and next(iter(entry)).startswith("TAG")
            else entry.replace("TAG", lab.tag)
            if isinstance(entry, str)
            else entry
            for entry in changes["algorithms"]
        ]
        keys.add(key(lab.experiment(**{**changes, "algorithms": algorithms})))
    assert len(keys) == 2


def test_points_replicates_and_algorithms_have_keys_of_their_own(lab):
    prints = Fingerprints(lab.experiment())
    keys = {prints.key(p, r, a) for p in range(2) for r in range(50) for a in range(2)}
    assert len(keys) == 200


def test_what_changes_no_number_is_not_in_the_key(lab):
    base = lab.experiment(algorithms=[f"{lab.tag}_ridge"])
    same = lab.experiment(
        algorithms=[{f"{lab.tag}_ridge": {"label": "renamed", "penalty": 1.0}}],
        data={"sweep": {"n": [8, 30, 40]}, "noise": 0.5},
        trials=99,
        time_limit=5.0,
        description="another text",
    )
    assert key(base) == key(same)


def test_the_versions_of_the_numerical_libraries_are_in_the_key(lab, monkeypatch):
    experiment = lab.experiment()
    before = key(experiment)
    real = fingerprint.version
    for library in ("numpy", "scipy", "clarabel"):
        with monkeypatch.context() as patch:
            patch.setattr(
                fingerprint, "version", lambda n, lib=library: "0" if n == lib else real(n)
            )
            assert key(experiment) != before
    assert key(experiment) == before


def test_the_version_of_python_is_in_the_key(lab, monkeypatch):
    before = key(lab.experiment())
    monkeypatch.setattr(fingerprint.platform, "python_version_tuple", lambda: ("3", "9", "1"))
    assert key(lab.experiment()) != before


def test_the_contents_of_a_file_that_is_read_are_in_the_key(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a,y\n" + "".join(f"{i % 5},{i}\n" for i in range(20)))
    lab = Laboratory(tmp_path)
    experiment = lab.experiment(algorithms=["omp"], metrics=["support_size"])
    experiment = dataclasses.replace(
        experiment,
        points=[
            Point(
                "file",
                {
                    "path": str(table),
                    "response": None,
                    "truth": None,
                    "standardize": True,
                    "test_fraction": 0.0,
                },
            )
        ],
    )
    before = key(experiment)
    assert key(experiment) == before
    table.write_text(table.read_text() + "3,4\n")
    assert key(experiment) != before


def test_editing_code_computes_anew_and_editing_a_comment_does_not(lab):
    """In one session, where this process has imported the old plugin."""
    algorithms = [f"{lab.tag}_ridge"]
    before = lab.run(algorithms=algorithms).csv.read_bytes()
    source = lab.plugin.read_text()
    lab.plugin.write_text(
        "# A comment.\n"
        + source.replace('"""Ridge regression."""', '"""Other words."""').replace(
            "return np.linalg.solve(X.T", "return np.linalg.solve(\n        X.T"
        )
    )
    assert lab.run(algorithms=algorithms).computed == 0
    lab.plugin.write_text(source.replace("penalty * np.eye", "2 * penalty * np.eye"))
    edited = lab.run(algorithms=algorithms)
    assert edited.computed == 12
    assert edited.csv.read_bytes() != before
    lab.plugin.write_text(source)
    back = lab.run(algorithms=algorithms)
    assert (back.computed, back.csv.read_bytes()) == (0, before)


@pytest.mark.parametrize("part", ["TAG_data", "TAG_ridge", "sign_support", "recovery", "seeds"])
def test_the_code_of_every_part_is_in_the_key(lab, monkeypatch, part):
    name = part.replace("TAG_", "")
    experiment = lab.experiment(algorithms=[f"{lab.tag}_ridge"])
    before = key(experiment)
    function, module = code_version.of_function, code_version.of_module

    def edited_function(one, known):
        return function(one, known) + ("edited" if one.__name__ == name else "")

    def edited_module(one, known):
        return module(one, known) + ("edited" if one.endswith(f".{name}") else "")

    monkeypatch.setattr(code_version, "of_function", edited_function)
    monkeypatch.setattr(code_version, "of_module", edited_module)
    assert key(experiment) != before


def edit_loss(monkeypatch, name):
    of_function, edited = code_version.of_function, registry.find("loss", name).function
    monkeypatch.setattr(
        code_version,
        "of_function",
        lambda function, known: of_function(function, known) + "edited" * (function is edited),
    )


@pytest.mark.parametrize(("loss", "counts"), [("logistic", True), ("absolute", False)])
def test_the_code_of_the_loss_that_a_row_names_is_in_the_key(lab, monkeypatch, loss, counts):
    # The loss takes classes, which the data of the laboratory have not; keys ask for no data.
    spec = lab.experiment(algorithms=["foba_obj"]).algorithms[0]
    named = dataclasses.replace(spec, params={**spec.params, "loss": "logistic"})
    experiment = dataclasses.replace(lab.experiment(), algorithms=[named])
    before = key(experiment)
    edit_loss(monkeypatch, loss)
    assert (key(experiment) != before) == counts


def test_a_plugin_that_binds_losses_depends_on_all_of_them(lab, monkeypatch):
    lab.plugin.write_text("from greedyexp.losses.binding import bind\n" + lab.plugin.read_text())
    experiment = lab.experiment(algorithms=[f"{lab.tag}_ridge"])
    before = key(experiment)
    edit_loss(monkeypatch, "hinge")
    assert key(experiment) != before


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the package's shape: an algorithm, a kernel it uses, one it does not."""
    root = tmp_path / "greedyexp"
    files = {
        "__init__.py": "",
        "algorithms/__init__.py": "",
        "algorithms/one.py": "from greedyexp.kernels import inner\nfrom greedyexp import Problem\n",
        "algorithms/two.py": "from . import one\n",
        "algorithms/calls_api.py": "import greedyexp.api\n",
        "kernels/__init__.py": "CACHE = 1\n",
        "kernels/inner.py": (
            "import greedyexp.kernels.deep.deepest\nfrom greedyexp.core.errors import A\n"
        ),
        "kernels/deep/__init__.py": "",
        "kernels/deep/deepest.py": "X = 1\n",
        "kernels/inner.cpp": '#include <cmath>\n#include "shared.hpp"\nint x = 1; // comment\n',
        "kernels/shared.hpp": '#include "deepest.hpp"\n',
        "kernels/deepest.hpp": "",
        "kernels/other.py": "Y = 1\n",
        "kernels/other.cpp": "",
        "algorithms/family/three.py": "import greedyexp.problems.problem\n",
        "problems/problem.py": "class Problem: pass\n",
        "core/errors.py": "A = 1\n",
        "core/registry.py": "B = 1\n",
        "runner/plan.py": "C = 1\n",
        "api.py": "from greedyexp.core import registry\nimport greedyexp.runner.plan\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.setattr(code_version, "ROOT", root)
    return root


@pytest.mark.parametrize(
    ("part", "edited", "stale"),
    [
        ("algorithms/one.py", "algorithms/one.py", True),
        ("algorithms/one.py", "kernels/inner.py", True),
        ("algorithms/one.py", "kernels/deep/deepest.py", True),
        ("algorithms/one.py", "kernels/__init__.py", True),
        ("algorithms/one.py", "kernels/inner.cpp", True),
        ("algorithms/one.py", "kernels/deepest.hpp", True),
        ("algorithms/one.py", "kernels/other.cpp", False),
        ("algorithms/one.py", "problems/problem.py", True),
        ("algorithms/one.py", "kernels/other.py", False),
        ("algorithms/one.py", "core/errors.py", False),
        ("algorithms/one.py", "core/registry.py", False),
        ("algorithms/one.py", "runner/plan.py", False),
        ("algorithms/two.py", "kernels/deep/deepest.py", True),
        ("algorithms/calls_api.py", "kernels/deep/deepest.py", True),
        ("algorithms/calls_api.py", "algorithms/family/three.py", True),
        ("algorithms/calls_api.py", "core/registry.py", False),
        ("algorithms/calls_api.py", "runner/plan.py", False),
    ],
)
def test_a_part_is_stale_when_what_it_builds_on_changes(package, part, edited, stale):
    before = code_version.of_file(package / part)
    assert code_version.of_file(package / part) == before
    (package / edited).write_text((package / edited).read_text() + "EDITED = 1\n")
    assert (code_version.of_file(package / part) != before) is stale


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ('"""Doc."""\n\ndef f(x):\n    # why\n    return (x\n        + 1)\n', True),
        ('def f(x):\n    """Doc."""\n    return x + 1\n', True),
        ("def f(x):\n    return x + 1.0\n", False),
        ("def f(x):\n    return 1 + x\n", False),
        ("def f(x, y=0):\n    return x + 1\n", False),
    ],
)
def test_only_syntax_counts(tmp_path, text, same):
    plain, other = tmp_path / "a" / "f.py", tmp_path / "b" / "f.py"
    for path, content in ((plain, "def f(x):\n    return x + 1\n"), (other, text)):
        path.parent.mkdir()
        path.write_text(content)
    assert (code_version.of_file(plain) == code_version.of_file(other)) is same


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("int x = 1;  // why\n\nint y;", True),
        ("int  x = 1;\nint y;\n", True),
        ("int x = 2;\nint y;\n", False),
    ],
)
def test_comments_in_a_compiled_kernel_do_not_count(tmp_path, text, same):
    plain, other = tmp_path / "a" / "f.cpp", tmp_path / "b" / "f.cpp"
    for path, content in ((plain, "int x = 1;\nint y;\n"), (other, text)):
        path.parent.mkdir()
        path.write_text(content)
    assert (code_version.of_file(plain) == code_version.of_file(other)) is same


def test_a_file_beside_a_plugin_counts(tmp_path):
    plugin, beside = tmp_path / "plugin.py", tmp_path / "beside.py"
    plugin.write_text("import beside\nfrom greedyexp.kernels import omp\n")
    beside.write_text("A = 1\n")
    before = code_version.of_file(plugin)
    beside.write_text("A = 2\n")
    assert code_version.of_file(plugin) != before


@pytest.mark.parametrize(
    "statement",
    [
        "from .helpers import A",
        "from . import helpers",
        "from ..below.helpers import A",
        "from .. import below",
        "from offered.below.helpers import A",
        "import offered.below.helpers",
    ],
)
def test_other_files_of_an_installed_package_count(tmp_path, statement):
    below = tmp_path / "offered" / "below"
    below.mkdir(parents=True)
    (below.parent / "__init__.py").write_text("")
    (below / "__init__.py").write_text("from .helpers import A\n")
    part, helpers = below / "part.py", below / "helpers.py"
    part.write_text(f"{statement}\n")
    helpers.write_text("A = 1\n")
    before = code_version.of_file(part)
    helpers.write_text("A = 2\n")
    assert code_version.of_file(part) != before


def test_a_relative_import_above_a_folder_that_is_no_package_is_left_out(tmp_path):
    part = tmp_path / "folder" / "part.py"
    part.parent.mkdir()
    part.write_text("from ..helpers import A\n")
    before = code_version.of_file(part)
    (tmp_path / "helpers.py").write_text("A = 2\n")
    assert code_version.of_file(part) == before


def test_every_shipped_algorithm_is_tied_to_its_kernels():
    """The kernels of the package are reached by reading imports, in the files as they are."""
    omp = registry.find("algorithm", "omp").function
    reached = code_version.sources(code_version.source_of(omp))
    names = {path.relative_to(code_version.ROOT).as_posix() for path in reached}
    own = code_version.source_of(omp).relative_to(code_version.ROOT).as_posix()
    assert {own, "kernels/__init__.py", "kernels/omp.py", "problems/problem.py"} <= names
    assert not any(name.startswith(("runner/", "core/", "cli/")) for name in names)


def test_packages_that_compute_no_row_do_not_count():
    counted = code_version.counted_packages(code_version.ROOT)
    assert {"algorithms", "kernels", "losses", "generators", "protocols", "metrics"} <= counted
    assert not counted & {"core", "runner", "config", "cli", "report", "figures", "tables"}


def keys_with_edit(lab, monkeypatch, name, algorithms):
    """Keys of algorithms before and after the code of one file of the package is edited."""
    experiment = lab.experiment(algorithms=algorithms)
    count = len(experiment.algorithms)
    before = [key(experiment, algorithm=k) for k in range(count)]
    read = code_version._read

    def edited(path, content):
        source = read(path, content)
        return dataclasses.replace(source, version="edited") if path.name == name else source

    monkeypatch.setattr(code_version, "_read", edited)
    after = [key(experiment, algorithm=k) for k in range(count)]
    labels = [spec.label for spec in experiment.algorithms]
    return {label: one != other for label, one, other in zip(labels, before, after, strict=True)}


@pytest.mark.parametrize(
    ("file", "stale"),
    [
        ("absolute.py", {"squared": False, "absolute": True}),
        ("hinge.py", {"squared": False, "absolute": False}),
    ],
)
def test_editing_one_loss_keeps_the_rows_of_another(lab, monkeypatch, file, stale):
    algorithms = [
        {"foba_gdt": {"loss": "squared", "label": "squared"}},
        {"smoothed_forward_greedy": {"loss": "absolute", "radius": 1.0, "label": "absolute"}},
    ]
    assert keys_with_edit(lab, monkeypatch, file, algorithms) == stale


def test_editing_one_kernel_keeps_the_rows_of_others(lab, monkeypatch):
    algorithms = [{"omp": {"label": "omp"}}, {"forward_greedy": {"label": "other", "radius": 1.0}}]
    assert keys_with_edit(lab, monkeypatch, "omp.py", algorithms) == {"omp": True, "other": False}


@pytest.mark.parametrize("file", ["<string>", "<stdin>", "<python-input-0>"])
def test_code_without_a_source_is_refused(file, monkeypatch):
    namespace = {}
    exec(compile("def typed(problem):\n    return 0\n", file, "exec"), namespace)
    if file != "<python-input-0>":
        # What Python 3.13 knows of the command `python -c`.
        other = "import sys\n"
        monkeypatch.setitem(linecache.cache, file, (len(other), None, [other], file))
    with pytest.raises(PluginError, match="source of 'typed' cannot be read"):
        code_version.of_function(namespace["typed"])
