"""Which plugin file is meant, what an import may do, and how a part must be written."""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_process import greedyexp
from kept_registry import kept_registry
from runner_lab import Laboratory, rows_of

from greedyexp import config as experiment
from greedyexp import runner
from greedyexp.core import plugins, registry
from greedyexp.core.errors import PluginError
from greedyexp.runner import code_version, session

PLUGIN = """\
from greedyexp import algorithm

@algorithm("{name}")
def fit(problem, *, k: int = {k}):
    '''First line.'''
"""


@pytest.fixture(autouse=True)
def _restored():
    with kept_registry():
        yield


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def plugin(path: Path, name: str = "mine", k: int = 1) -> Path:
    return write(path, PLUGIN.format(name=name, k=k))


def default(name: str = "mine") -> int:
    return registry.find("algorithm", name).parameters().k


def refusal(*files: Path, **options) -> str:
    with pytest.raises(PluginError) as caught:
        plugins.load_plugins(files, **options)
    return str(caught.value)


def test_a_copy_in_another_folder_is_the_same_plugin(tmp_path):
    first = write(tmp_path / "a/mine.py", "import sys\nsys.loads = getattr(sys, 'loads', 0) + 1\n"
                  + PLUGIN.format(name="mine", k=1))  # fmt: skip
    second = tmp_path / "b" / "mine.py"
    second.parent.mkdir()
    shutil.copy(first, second)
    try:
        plugins.load_plugins([first, second])
        part = registry.find("algorithm", "mine")
        plugins.load_plugins([second])
        assert registry.find("algorithm", "mine") is part
        assert sys.loads == 1
    finally:
        del sys.loads
    versions = {code_version.of_file(file) for file in (first, second)}
    assert versions == {code_version.of_function(part.function)}


def test_the_version_of_a_copy_is_its_own_when_the_original_is_edited(tmp_path):
    """A part reused from a file that was edited would be stored under the wrong version."""
    first, second = plugin(tmp_path / "a/mine.py"), plugin(tmp_path / "b/mine.py")
    plugins.load_plugins([first])
    plugin(first, k=2)
    plugins.load_plugins([second])
    function = registry.find("algorithm", "mine").function
    assert default() == 1
    assert code_version.of_function(function) == code_version.of_file(second)


@pytest.mark.parametrize(
    "way", ["from TOP import K", "from TOP.tools import K", "from TOP import tools"]
)
def test_files_beside_a_plugin_that_it_imports_belong_to_it(tmp_path, way):
    top = f"beside_{tmp_path.name}".replace("-", "_")
    module = f"{top}.tools" if "tools" in way else top
    value = "tools.K" if way.endswith("tools") else "K"
    text = way.replace("TOP", top) + "\n" + PLUGIN.replace("{k}", value)
    for place, k in (("a", 1), ("b", 2), ("c", 1)):
        write(tmp_path / place / "mine.py", text.format(name="mine"))
        helper = tmp_path / place / (module.replace(".", "/") + ".py")
        helper.parent.mkdir(exist_ok=True)
        helper.write_text(f"K = {k}\n")
        write(tmp_path / place / "unrelated.py", f"PLACE = {place!r}\n")
    for place, k in (("a", 1), ("b", 2)):
        plugins.load_plugins([tmp_path / place / "mine.py"])
        assert default() == k
    plugins.load_plugins([tmp_path / "a" / "mine.py"])
    known = registry.find("algorithm", "mine")
    plugins.load_plugins([tmp_path / "c" / "mine.py"])
    assert registry.find("algorithm", "mine") is known
    assert str(tmp_path / "a") not in sys.path
    helper.write_text("K = 3\n")
    plugins.load_plugins([tmp_path / "c" / "mine.py"])
    assert default() == 3


def test_an_edit_counts_though_length_and_second_are_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = plugin(tmp_path / "mine.py", k=1)
    os.utime(file, (1e9, 1e9))
    plugins.load_plugins([file])
    plugin(file, k=2)
    os.utime(file, (1e9, 1e9))
    plugins.load_plugins([file])
    assert default() == 2


def test_parts_of_the_files_named_last_are_current(tmp_path):
    first, second = plugin(tmp_path / "a.py", k=1), plugin(tmp_path / "b.py", k=2)
    for file, k in ((first, 1), (second, 2), (first, 1), (second, 2)):
        plugins.load_plugins([file])
        assert default() == k
    plugins.load_plugins([])
    assert default() == 2


def test_two_plugins_of_one_call_that_share_a_name_are_refused_and_change_nothing(tmp_path):
    before, one, two = (plugin(tmp_path / f"{n}.py", k=k) for k, n in enumerate("abc"))
    plugins.load_plugins([before])
    said = refusal(one, two)
    assert said.startswith(f"{two}:3: algorithm 'mine' is already registered ({one}:3).")
    assert default() == 0


def test_a_name_of_the_package_is_refused_where_the_plugin_takes_it(tmp_path):
    file = plugin(tmp_path / "mine.py", name="omp")
    assert refusal(file) == (
        f"{file}:3: algorithm 'omp' is already part of greedyexp. Choose another name."
    )
    assert registry.find("algorithm", "omp").shipped


def test_a_name_is_refused_before_the_package_has_imported_its_parts(tmp_path):
    """In a fresh process nothing of the package is registered when the plugin is imported."""
    file = plugin(tmp_path / "mine.py", name="omp")
    script = f"from greedyexp.core import plugins; plugins.load_plugins([{str(file)!r}])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "mine.py:3: algorithm 'omp' is already part of greedyexp." in done.stderr


def test_a_name_may_be_used_once_in_a_file(tmp_path):
    file = plugin(tmp_path / "mine.py")
    file.write_text(2 * file.read_text())
    assert f"{file}:8: algorithm 'mine' is already registered ({file}:3)." in refusal(file)


def test_a_part_of_a_session_can_be_defined_again_but_not_taken_by_a_plugin(tmp_path):
    def define(k):
        @registry.algorithm("mine")
        def mine(problem, *, k: int = k):
            """Defined by a cell of a notebook."""

    define(1)
    define(2)
    assert default() == 2
    assert "'mine' is already registered" in refusal(plugin(tmp_path / "mine.py"))


def test_a_session_may_import_a_plugin_file_before_and_after_it_is_loaded(tmp_path, monkeypatch):
    """As in a notebook: try the method, run it, open results of an older version, edit it."""
    file = plugin(tmp_path / "own_part.py", k=1)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = importlib.import_module("own_part")
    plugins.load_plugins([file])
    plugins.load_plugins([plugin(tmp_path / "results" / "own_part.py", k=0)])
    assert default() == 0
    plugin(file, k=2)
    importlib.reload(module)
    assert default() == 2
    plugins.load_plugins([file])
    assert default() == 2
    del sys.modules["own_part"]


def test_an_experiment_runs_with_its_own_plugin_when_another_was_loaded_since(tmp_path):
    """Keys and tables must be made of the code that computes, not of the one loaded last."""
    lab = Laboratory(tmp_path)
    own = lab.experiment(algorithms=[f"{lab.tag}_median"], trials=1)
    other = write(
        tmp_path / "other" / "parts.py", lab.plugin.read_text().replace("median(", "max(")
    )
    changed = lab.settings(algorithms=[f"{lab.tag}_median"], trials=1) | {"plugins": [str(other)]}
    expected = runner.run(own, lab.results, runner.RunOptions(jobs=1, progress=False))
    experiment.load(changed)
    again = runner.run(own, lab.results, runner.RunOptions(engine="serial", progress=False))
    assert (again.computed, rows_of(again.csv)) == (0, rows_of(expected.csv))


def test_a_copy_that_is_edited_before_workers_import_it_is_refused(tmp_path, monkeypatch):
    lab = Laboratory(tmp_path)
    lab.experiment()
    copy = write(tmp_path / "copy" / "parts.py", lab.plugin.read_text())
    settings = lab.settings() | {"plugins": [str(copy)]}
    loaded = experiment.load(settings)
    read = session.plugin_sources
    changed = lab.plugin.read_text().replace("penalty * np.eye", "2 * penalty * np.eye")
    monkeypatch.setattr(
        session, "plugin_sources", lambda files: (read(files), copy.write_text(changed))[0]
    )
    with pytest.raises(PluginError, match="edited during the run"):
        runner.run(loaded, lab.results, runner.RunOptions(jobs=1, progress=False))


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("\n\n1 / 0", 3, "raised ZeroDivisionError on import: division by zero"),
        ("\ndef broken(:", 2, "raised SyntaxError on import: invalid syntax"),
        ("x = 1\n\nimport no_such_module", 3, "raised ModuleNotFoundError on import"),
        ("import sys\nsys.exit(0)", 2, "raised SystemExit on import"),
        ("import os\n\nos._exit(3)", 3, "raised SystemExit on import: os._exit(3)"),
        ("def f():\n    raise KeyError('a')\nf()", 2, "raised KeyError on import"),
        ("raise GeneratorExit", 1, "raised GeneratorExit on import. Fix"),
        ("raise ValueError('x ' * 10**7)", 1, "raised ValueError on import: x x"),
        (
            "class Mute(Exception):\n    def __str__(self):\n        1 / 0\nraise Mute",
            4,
            "raised Mute on import: its message cannot be read.",
        ),
        (
            "from greedyexp import metric\n@metric('m', better='up')\ndef m(problem, coef): ...",
            2,
            "'better' set to",
        ),
    ],
)
def test_an_import_that_fails_is_one_sentence_with_the_line(tmp_path, text, line, words):
    file = write(tmp_path / "bad.py", text)
    said = refusal(file)
    assert said.startswith(f"{file}:{line}: ")
    assert words in said
    assert len(said) < 1000
    assert not [name for name in sys.modules if name.startswith("greedyexp_plugin_") and
                getattr(sys.modules[name], "__file__", "") == str(file)]  # fmt: skip


def test_a_child_process_of_an_import_may_exit(tmp_path):
    forks = "import os\npid = os.fork()\nif pid == 0:\n    os._exit(7)\n"
    forks += "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7\n"
    plugins.load_plugins([write(tmp_path / "forks.py", forks)])
    assert os._exit.__module__ == "posix"


def test_a_path_below_the_current_folder_is_named_from_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert refusal(write(tmp_path / "bad.py", "1 / 0")).startswith("bad.py:1: ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("@algorithm\ndef f(problem): ...", "@algorithm needs the name of the part."),
        ("@algorithm\ndef f(problem): ...", 'Write @algorithm("f").'),
        ("@generator\ndef f(rng): ...", 'Write @generator("f").'),
        ("@metric\ndef f(problem, coef): ...", 'Write @metric("f").'),
        ("@figure\ndef f(frame, context): ...", 'Write @figure("f").'),
        ("@table\ndef f(frame, context): ...", 'Write @table("f").'),
        ("@protocol\ndef f(a, b, c, d): ...", 'Write @protocol("f").'),
        ("\nalgorithm(3)", "the name of a part must be a string, but @algorithm got 3"),
        (
            "@algorithm('f')\ndef f(problem, k=3): ...",
            "parameter 'k' of algorithm 'f' must be keyword-only. Put parameters after a `*`:"
            " def f(problem, *, ...).",
        ),
        ("@algorithm('f')\ndef f(): ...", "must take the positional arguments problem."),
        ("@metric('f', better=None)\ndef f(coef): ...", "the positional arguments problem, coef."),
        (
            "@algorithm('f')\ndef f(problem, *, w: np.ndarray = None): ...",
            "the type of parameter 'w' of algorithm 'f' cannot be represented in YAML:"
            " numpy.ndarray.",
        ),
        (
            "@algorithm('f')\ndef f(problem, *, w: 'list[Unknown]' = ()): ...",
            "the annotations of algorithm 'f' cannot be read: name 'Unknown' is not defined.",
        ),
        (
            "@generator('f')\ndef f(rng, *, sweep=1): ...",
            "generator 'f' has a parameter 'sweep', but experiment files use",
        ),
    ],
)  # fmt: skip
def test_a_part_that_is_written_wrongly_is_refused_with_its_line(tmp_path, text, words):
    head = "import numpy as np\nfrom greedyexp import *\n"
    file = write(tmp_path / "bad.py", head + text)
    said = refusal(file)
    assert said.startswith((f"{file}:3: ", f"{file}:4: "))
    assert words in said


def test_arguments_that_callers_give_need_no_star(tmp_path):
    text = "from greedyexp import algorithm as a\n@a('f')\ndef f(problem, grid=None, rng=None): 0"
    plugins.load_plugins([write(tmp_path / "f.py", text)])
    assert registry.find("algorithm", "f").takes_rng


FORMER = """
from greedyexp import algorithm
from greedyexp.frames.context import Context
from greedyexp.iteration import SteppedIteration
from greedyexp.theory.constant import Constant

@algorithm("former")
def former(problem):
    return Constant(0.0, 0.0, 0.0)
"""


def test_a_plugin_may_import_modules_by_the_names_that_were_documented(tmp_path):
    file = write(tmp_path / "former.py", FORMER)
    code = (
        "from greedyexp.core import plugins, registry;"
        f"plugins.load_plugins([{str(file)!r}]);"
        "print(registry.find('algorithm', 'former').function.__globals__['Context'].__module__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "greedyexp.results.context", done.stderr
    reached = code_version.sources(file)
    assert any(path.name == "iteration.py" for path in reached)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import os\nos.chdir('/')\n", "changed the current folder on import"),
        ("import os\nos.close(1)\n", "closed or replaced a standard stream on import"),
        ("import os\nos.dup2(os.open('/dev/null', 1), 2)\n", "closed or replaced a standard"),
    ],
)
def test_an_import_leaves_the_process_as_it_was(tmp_path, text, words):
    before = os.getcwd(), os.fstat(1), os.fstat(2)
    said = refusal(write(tmp_path / "mine.py", text))
    assert said == f"{tmp_path}/mine.py: the plugin {said.partition('the plugin ')[2]}"
    assert words in said
    assert (os.getcwd(), os.fstat(1), os.fstat(2)) == before


@pytest.mark.parametrize(
    "text",
    ["sys.path.clear()", "sys.path = None", "sys.setrecursionlimit(sys.getrecursionlimit() // 2)"],
)
def test_an_import_may_not_take_from_python(tmp_path, text):
    before = [*sys.path], sys.getrecursionlimit()
    plugins.load_plugins([write(tmp_path / "mine.py", f"import sys\n{text}\n")])
    assert (sys.path, sys.getrecursionlimit()) == before


WAYS = {
    "import": "from {} import K",
    "import_module": "import importlib\nK = importlib.import_module('{}').K",
}


@pytest.mark.parametrize("first", WAYS)
@pytest.mark.parametrize("second", WAYS)
def test_plugins_may_have_helpers_of_one_name(tmp_path, first, second):
    helper = f"helper_{tmp_path.name}".replace("-", "_")
    for folder, way, k in (("a", first, 1), ("b", second, 2)):
        text = PLUGIN.replace("{k}", "K").format(name=folder)
        file = write(tmp_path / folder / "mine.py", f"{WAYS[way].format(helper)}\n{text}")
        write(tmp_path / folder / f"{helper}.py", f"K = {k}\n")
        plugins.load_plugins([file])
        assert default(folder) == k
        assert any(path.stem == helper for path in code_version.sources(file))


def test_a_plugin_that_closes_the_output_or_crashes_is_named(tmp_path):
    toy = "name: toy\ndata: {generator: gaussian, n_samples: 9, p: 4, sparsity: 1}\ntrials: 1\n"
    toy += "algorithms: [omp]\nmetrics: [support_size]\nplugins: [mine.py]\n"
    write(tmp_path / "toy.yaml", toy)

    def checked(text: str) -> subprocess.CompletedProcess:
        write(tmp_path / "mine.py", text)
        return greedyexp("check", "toy.yaml", cwd=tmp_path)

    closing = checked("import sys\nsys.stdout.close()\n")
    assert (closing.returncode, closing.stderr) == (0, "")
    assert closing.stdout.startswith("ok: ")
    closing = checked("import sys\nsys.__stdout__.close()\n")
    assert closing.returncode == 2
    assert closing.stderr.startswith("Error: mine.py: the plugin closed or replaced a standard")
    crashing = checked("import ctypes\nctypes.string_at(0)\n")
    assert crashing.returncode == -signal.SIGSEGV
    assert 'mine.py", line 2 in <module>' in crashing.stderr
