"""Run folders of others: their plugins run only after consent, and all else works without them."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import json
import os
import py_compile
import shutil
import stat
import sys
import warnings
from pathlib import Path

import pytest
import yaml
from cli_process import answer, refused

import greedyexp
from greedyexp.core import registry, trust
from greedyexp.report.figure_notes import run_of
from greedyexp.runner import run_contents

PLUGIN = '''
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import greedyexp
from greedyexp.losses.squared import SquaredLoss
from their_helper import nearly

with open("MARK", "a") as mark:
    mark.write("plugin ")


@greedyexp.generator("their_splits", left_out=lambda share, **_: share, facts=("temperature",))
def their_splits(rng, *, share: float = 0.5, n_samples: int = 12):
    """Splits."""
    X = rng.standard_normal((n_samples, 4))
    truth = np.eye(4)[:, :1]
    return greedyexp.Problem((X,), (X @ truth[:, 0],), truth, 0.0, 1, facts={"temperature": 3.0})


@greedyexp.algorithm("their_zero", title="Their zero")
def their_zero(problem, *, scale: float = 1.0):
    return np.zeros((problem.n_features, 1))


@greedyexp.loss("their_loss", title="Their loss")
def their_loss(problem, *, ridge, intercept):
    return SquaredLoss(problem.X[0], problem.y[0], ridge=ridge, intercept=intercept)


@greedyexp.metric("their_success", better="higher", binary=True, title="Their success")
def their_success(problem, coef):
    """Whether it is near."""
    return nearly(coef, problem.truth)


@greedyexp.figure("their_figure")
def their_figure(frame, context, *, colour: str = "red"):
    return Figure()


@greedyexp.table("their_table")
def their_table(frame, context):
    return pd.DataFrame({"a": [1]})
'''
HELPER = """
with open("MARK", "a") as mark:
    mark.write("helper ")


def nearly(coef, truth):
    return (abs(coef - truth).max(axis=(-2, -1)) < 0.1).astype(float)
"""
COMPARED = {"comparison": {"row": "n_samples", "metrics": ["their_success"]}}
EXPERIMENT = {
    "name": "theirs",
    "plugins": ["mine.py"],
    "data": {"generator": "their_splits", "sweep": {"n_samples": [12, 16]}},
    "trials": 6,
    "algorithms": [
        "omp",
        {"their_zero": {"sweep": {"scale": [1, 2]}}},
        {"foba_obj": {"tuning": "end", "sweep": {"loss": ["squared", "their_loss"]}}},
    ],
    "metrics": ["their_success", "support_size"],
    "figures": [COMPARED, {"their_figure": {"colour": "blue"}}],
    "tables": [COMPARED, "their_table"],
    "claims": [
        {
            "id": "omp-is-better",
            "quote": "better",
            "test": "proportion(omp, their_success) > proportion(their_zero, their_success)",
        }
    ],
}
READING = {
    "verify": ("verify", "RUN"),
    "challenge": ("verify", "--challenge", "RUN"),
    "plot": ("plot", "RUN"),
    "report": ("report", "RUN", "--out", "pages"),
    "compare": ("compare", "RUN", "RUN"),
    "status": ("status", "RUN"),
}
RUNNING = {
    "explain": ("explain", "RUN"),
    "replay": ("replay", "RUN", "--where", "n_samples=12,replicate=0,algorithm=omp"),
    "picture": (
        "replay",
        "RUN/figures/comparison.png",
        "--where",
        "n_samples=12,replicate=0,algorithm=omp",
    ),
    "merge": ("merge", "RUN", "--into", "merged"),
    "check": ("check", "RUN/config.yaml"),
    "run": ("run", "RUN/config.yaml", "--engine", "serial"),
    "added": ("check", "RUN/config.yaml", "--set", "plugins+=[own.py]"),
    "again": ("run", "RUN/config.yaml", "--dry-run"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a run with plugins, made where nothing is remembered for others."""
    home = tmp_path_factory.mktemp("theirs")
    for name, code in (("mine.py", PLUGIN), ("their_helper.py", HELPER)):
        (home / name).write_text(code.replace("MARK", str(home / "mark")))
    (home / "theirs.yaml").write_text(yaml.safe_dump(EXPERIMENT))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(trust.VARIABLE, str(home / "settings"))
        done = answer("run", "theirs.yaml", "--engine", "serial", cwd=home)
    assert done.returncode == 0, done.stderr
    assert (home / "mark").read_text() == "helper plugin "
    return home / "results" / "theirs" / "quick"


@pytest.fixture
def mark(made, monkeypatch, tmp_path):
    """The file that the code of the folder writes when it is imported."""
    monkeypatch.setenv(trust.VARIABLE, str(tmp_path / "settings"))
    mark = made.parents[2] / "mark"
    mark.unlink(missing_ok=True)
    return mark


@pytest.fixture
def theirs(made, mark, tmp_path):
    """A copy of the folder with code that nobody here has agreed to."""
    return shutil.copytree(made, tmp_path / "in" / "theirs" / "quick")


def at(folder: Path, words: tuple[str, ...]) -> list[str]:
    return [word.replace("RUN", str(folder)) for word in words]


@pytest.mark.parametrize("name", READING)
def test_readers_need_no_code(call, theirs, mark, tmp_path, name):
    before = (theirs / "claims.json").read_bytes()
    for output in (*theirs.glob("figures/*"), *theirs.glob("tables/*"), theirs / "claims.json"):
        output.unlink()
    done = call(*at(theirs, READING[name]), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not mark.exists()
    if name == "verify":
        assert (theirs / "claims.json").read_bytes() == before
    if name == "plot":
        assert {file.name for file in theirs.glob("figures/*.png")} == {"comparison.png"}
        assert "figure 'their_figure' is code that was not run" in done.stderr
        assert f"use `greedyexp trust {theirs}`" in done.stderr
    if name == "report":
        page = (tmp_path / "pages" / "theirs" / "quick" / "index.html").read_text("utf-8")
        assert "table &#39;their_table&#39; is code that was not run" in page
        assert "Their success" in page
    if name == "status":
        assert " 60 " in done.stdout


@pytest.mark.parametrize("name", RUNNING)
def test_what_computes_needs_consent(call, theirs, mark, tmp_path, name):
    words = at(theirs, RUNNING[name])
    (tmp_path / "own.py").write_text("x = 1\n")
    refused(
        call(*words, cwd=tmp_path),
        "you have not agreed to run the code of this folder (plugins/mine.py)",
        "Look at the code, then use `greedyexp trust",
    )
    assert not mark.exists()
    assert not (tmp_path / "merged").exists()
    again = call(*words, "--trust", cwd=tmp_path)
    assert "not agreed" not in again.stderr
    assert mark.read_text() == "helper plugin "


def test_a_folder_without_the_files_of_a_run_needs_consent(call, theirs, mark, tmp_path):
    for path in theirs.iterdir():
        if path.name not in ("config.yaml", "plugins", "theirs.csv"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert call("verify", theirs, cwd=tmp_path).returncode in (0, 2)
    for command in (["check"], ["run", "--dry-run"]):
        done = call(*command, theirs / "config.yaml", cwd=tmp_path)
        refused(done, "you have not agreed to run the code of this folder")
    assert not mark.exists()


@pytest.mark.parametrize("name", READING)
def test_consent_is_for_one_call(call, theirs, mark, tmp_path, name):
    words = at(theirs, READING[name])
    assert call(*words, "--trust", cwd=tmp_path).returncode == 0
    assert mark.read_text() == "helper plugin "
    assert not trust.remembered()


def test_code_is_remembered_until_it_changes(call, theirs, mark, tmp_path):
    told = call("trust", theirs, cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert f"{theirs}/plugins/mine.py: {len(PLUGIN.splitlines())} lines" in told.stdout
    assert f"{theirs}/plugins/their_helper.py" in told.stdout
    assert not mark.exists()
    known = tmp_path / "settings" / "trusted.jsonl"
    assert stat.S_IMODE(known.stat().st_mode) == 0o600
    with known.open("a") as damaged:
        damaged.write("[" * 100_000 + '\n{"digest": [1]}\n{"digest')
    (digest,) = trust.remembered().keys() - {"[1]"}
    assert digest in call("trust", "--list", cwd=tmp_path).stdout
    elsewhere = shutil.copytree(theirs, tmp_path / "copy" / "theirs" / "quick")
    assert call("explain", elsewhere, cwd=tmp_path).returncode == 0
    helper = elsewhere / "plugins" / "their_helper.py"
    helper.write_text(f"{helper.read_text()}\nx = 1\n")
    refused(call("explain", elsewhere, cwd=tmp_path), "you have not agreed")
    (theirs / "plugins" / "data.csv").write_text("1")
    refused(call("explain", theirs, cwd=tmp_path), "you have not agreed")
    (theirs / "plugins" / "data.csv").unlink()
    assert call("trust", "--remove", digest[:12], cwd=tmp_path).returncode == 0
    refused(call("explain", theirs, cwd=tmp_path), "you have not agreed")


LOADING = {
    "statement": "",
    "spec": "import importlib.util as u\n"
    "spec = u.spec_from_file_location('other', Path(__file__).with_name('their_helper.py'))\n"
    "spec.loader.exec_module(u.module_from_spec(spec))\n",
    "loader": "from importlib.machinery import SourceFileLoader as Loader\n"
    "loader = Loader('other', str(Path(__file__).with_name('their_helper.py')))\n"
    "exec(loader.get_code('other'), {})\n",
}


@pytest.mark.parametrize("prefix", [False, True])
@pytest.mark.parametrize("how", LOADING)
def test_stored_bytecode_is_neither_trusted_nor_run(
    call, theirs, tmp_path, monkeypatch, how, prefix
):
    if prefix:
        monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "caches"))
        monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "caches"))
    plugin = theirs / "plugins" / "mine.py"
    plugin.write_text(f"from pathlib import Path\n{LOADING[how]}{plugin.read_text()}")
    assert call("trust", theirs, cwd=tmp_path).returncode == 0
    helper, other = theirs / "plugins" / "their_helper.py", tmp_path / "other.py"
    other.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n{helper.read_text()}")
    stored = importlib.util.cache_from_source(str(helper))
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(other), stored, str(helper), True, invalidation_mode=unchecked)
    (theirs / "plugins" / ".DS_Store").write_bytes(b"\0")
    assert call("explain", theirs, cwd=tmp_path).returncode == 0
    assert not (tmp_path / "ran").exists()


def test_what_was_run_here_is_trusted(call, made, mark, tmp_path):
    project = made.parents[2]
    for file in ("mine.py", "their_helper.py", "theirs.yaml"):
        shutil.copy(project / file, tmp_path)
    assert call("run", "theirs.yaml", "--engine", "serial", cwd=tmp_path).returncode == 0
    run = tmp_path / "results" / "theirs" / "quick"
    (entry,) = trust.remembered().values()
    assert entry["folder"] == str(run)
    for words in (*READING.values(), *RUNNING.values()):
        assert "agreed" not in call(*at(run, words), cwd=tmp_path).stderr


def test_a_list_that_cannot_be_written_ends_no_run(call, made, mark, tmp_path, monkeypatch):
    project = made.parents[2]
    for file in ("mine.py", "their_helper.py", "theirs.yaml"):
        shutil.copy(project / file, tmp_path)
    for settings in (tmp_path / "mine.py", Path("relative")):
        monkeypatch.setenv(trust.VARIABLE, str(settings))
        done = call("run", "theirs.yaml", "--engine", "serial", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        refused(call("trust", tmp_path / "results", cwd=tmp_path), str(settings))
    assert not (tmp_path / "relative").exists()
    trust._run_here.clear()


def test_open_reads_without_the_code(theirs, mark):
    for file in theirs.glob("figures/their*"):
        file.unlink()
    results = greedyexp.open(theirs)
    assert results.claims["verdict"].tolist() == ["inconclusive"]
    assert results.columns.loc["their_success", "kind"] == "success"
    assert results.columns.loc["scale", "kind"] == "parameter"
    assert results.columns.loc["temperature", "kind"] == "fact"
    assert registry.find("loss", "their_loss").title == "Their loss"
    with pytest.warns(UserWarning, match="figure 'their_figure' is code that was not run"):
        assert list(results.figures) == ["comparison"]
    assert not mark.exists()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = greedyexp.open(theirs, trust=True)
        assert list(results.figures) == ["comparison", "their_figure"]
    assert mark.read_text() == "helper plugin "


def test_a_table_that_fails_is_not_hidden_by_a_figure_that_may_not_run(theirs, mark, monkeypatch):
    part = registry.find("table", "comparison")

    @functools.wraps(part.function)
    def broken(*given, **params):
        raise ValueError("this table fails")

    changed = dataclasses.replace(part, function=broken)
    monkeypatch.setitem(registry._PARTS["table"], "comparison", changed)
    results = greedyexp.open(theirs)
    for file in (*theirs.glob("figures/their*"), *theirs.glob("tables/*")):
        file.unlink()
    with pytest.raises(ValueError, match="this table fails"):
        list(results.figures)


def test_functions_run_the_code_after_consent(theirs, mark):
    where = {"n_samples": 12, "replicate": 0, "algorithm": "omp"}
    with pytest.raises(trust.CodeNotRun):
        greedyexp.replay(theirs, where)
    assert not mark.exists()
    assert greedyexp.replay(theirs, where, trust=True).same
    mark.unlink(missing_ok=True)
    greedyexp.compare(theirs, theirs)
    assert not mark.exists()
    greedyexp.compare(theirs, theirs, trust=True)


def _elsewhere(folder: Path, code: str) -> str:
    (folder.parent / "evil.py").write_text(code)
    return "../evil.py"


def _absolute(folder: Path, code: str) -> str:
    return str(folder.parent / _elsewhere(folder, code)[3:])


def _upwards(folder: Path, code: str) -> str:
    _elsewhere(folder, code)
    return "plugins/../../evil.py"


def _top(folder: Path, code: str) -> str:
    (folder / "conftest.py").write_text(code)
    return "conftest.py"


def _linked(folder: Path, code: str) -> str:
    _elsewhere(folder, code)
    (folder / "plugins" / "evil.py").symlink_to("../../evil.py")
    return "plugins/evil.py"


def _linked_folder(folder: Path, code: str) -> str:
    shutil.rmtree(folder / "plugins")
    (folder.parent / "code").mkdir()
    (folder.parent / "code" / "mine.py").write_text(code)
    (folder / "plugins").symlink_to("../code")
    return "plugins/mine.py"


def _pipe(folder: Path, code: str) -> str:
    os.mkfifo(folder / "plugins" / "evil.py")
    return "plugins/evil.py"


def _backslash(folder: Path, code: str) -> str:
    return r"plugins\..\..\evil.py"


def _many(folder: Path, code: str) -> str:
    for number in range(1100):
        (folder / "plugins" / str(number)).mkdir()
    return "plugins/mine.py"


def _unprintable(folder: Path, code: str) -> str:
    (folder / "plugins" / "\x1b[2J.py").write_text(code)
    return "plugins/\x1b[2J.py"


def _home(folder: Path, code: str) -> str:
    (folder.parent / "evil.py").write_text(code)
    return "~/evil.py"


@pytest.mark.parametrize(
    "place",
    [
        *(_elsewhere, _absolute, _upwards, _top, _linked, _linked_folder, _pipe, _backslash),
        *(_home, _many, _unprintable),
    ],
)
@pytest.mark.parametrize("consent", [[], ["--trust"]])
def test_plugins_lie_in_the_folder(call, theirs, mark, tmp_path, monkeypatch, place, consent):
    monkeypatch.setenv("HOME", str(theirs.parent))
    code = f"open({str(mark)!r}, 'w')"
    config = yaml.safe_load((theirs / "config.yaml").read_text())
    config["plugins"] = [place(theirs, code)]
    (theirs / "config.yaml").write_text(yaml.safe_dump(config))
    refusals = (
        "does not lie below plugins/",
        "link",
        "no file",
        "special file",
        "too many",
        "be printed",
    )
    for command in (READING["verify"], READING["plot"], RUNNING["explain"], RUNNING["check"]):
        done = call(*at(theirs, command), *consent, cwd=tmp_path)
        assert done.returncode == 2, (command, done.stderr)
        assert any(words in done.stderr for words in refusals), (command, done.stderr)
        assert "\x1b" not in done.stderr
        assert "Traceback" not in done.stderr
    assert not mark.exists()


@pytest.mark.parametrize("file", ["__init__.py", "conftest.py", "sitecustomize.py", "a.pth"])
def test_files_beside_the_plugins_do_not_run(call, theirs, mark, tmp_path, file):
    code = f"open({str(mark)!r}, 'w')"
    for folder in (theirs, theirs / "plugins", tmp_path):
        (folder / file).write_text(code)
    for command in READING.values():
        call(*at(theirs, command), cwd=tmp_path)
    assert not mark.exists()


BESIDE = {
    "runpy": "import runpy\nif BESIDE.exists(): runpy.run_path(str(BESIDE))\n",
    "exec": "if BESIDE.exists(): exec(BESIDE.read_text())\n",
    "import": "import importlib.util as u\nspec = u.spec_from_file_location('beside', BESIDE)\n"
    "if BESIDE.exists(): spec.loader.exec_module(u.module_from_spec(spec))\n",
}


@pytest.mark.parametrize("how", BESIDE)
@pytest.mark.parametrize("name", ["verify", "explain"])
def test_code_that_is_agreed_to_runs_no_other_code_of_the_folder(
    call, theirs, mark, tmp_path, how, name
):
    plugin = theirs / "plugins" / "mine.py"
    place = "from pathlib import Path\nBESIDE = Path(__file__).parents[1] / 'beside.py'\n"
    plugin.write_text(place + BESIDE[how] + plugin.read_text())
    assert call("trust", theirs, cwd=tmp_path).returncode == 0
    (theirs / "beside.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    words = at(theirs, {**READING, **RUNNING}[name])
    refused(call(*words, cwd=tmp_path), "beside.py, which is not among the files that you have")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["mine.py", "their_helper.py"])
def test_code_that_is_replaced_after_consent_does_not_run(
    call, theirs, mark, tmp_path, monkeypatch, name
):
    def replaced(*given):
        files = trust.plugin_files(*given)
        path = theirs / "plugins" / name
        path.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n{path.read_text()}")
        return files

    monkeypatch.setattr(run_contents, "plugin_files", replaced)
    refused(call("verify", theirs, "--trust", cwd=tmp_path), "not among the files that you have")
    assert not (tmp_path / "ran").exists()


def test_a_copy_without_its_plugins_is_read(call, theirs, mark, tmp_path):
    shutil.rmtree(theirs / "plugins")
    for command in READING.values():
        done = call(*at(theirs, command), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    refused(call("explain", theirs, cwd=tmp_path), "there is no plugin file 'plugins/mine.py'")


def test_a_folder_of_an_earlier_version_says_what_needs_its_code(call, theirs, mark, tmp_path):
    manifest = json.loads((theirs / "manifest.json").read_text())
    del manifest["parts"]
    (theirs / "manifest.json").write_text(json.dumps(manifest))
    refused(
        call("verify", theirs, cwd=tmp_path),
        "is code that was not run: you have not agreed to run the code of this folder",
    )
    assert call("status", theirs, cwd=tmp_path).returncode == 0
    assert call("verify", theirs, "--trust", cwd=tmp_path).returncode == 0


WRONG = {
    "text": "all",
    "numbers": [1, 2],
    "kind": [{"kind": "module", "name": "os"}],
    "shipped": [{"kind": "metric", "name": "support_size", "better": "higher", "binary": True}],
    "type": [{"kind": "metric", "name": "their_success", "better": "higher", "binary": "yes"}],
    "better": [{"kind": "metric", "name": "their_success", "better": "sideways"}],
    "function": [{"kind": "figure", "name": "their_figure", "title": {"call": "os.system"}}],
    "escape": [{"kind": "figure", "name": "their_figure", "title": "\x1b[2J"}],
    "columns": [{"kind": "protocol", "name": "mine", "takes": "estimates", "measured": [{"a": 1}]}],
    "deep": json.loads("[" * 400 + "]" * 400),
}


@pytest.mark.parametrize("parts", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("name", ["verify", "plot", "report", "compare"])
def test_wrong_descriptions_are_refused_in_a_sentence(call, theirs, mark, tmp_path, parts, name):
    manifest = json.loads((theirs / "manifest.json").read_text())
    (theirs / "manifest.json").write_text(json.dumps({**manifest, "parts": parts}))
    refused(call(*at(theirs, READING[name]), cwd=tmp_path), "manifest.json")
    assert not mark.exists()


@pytest.mark.parametrize(
    "title", [r"$\frac{", "$" + "{" * 240 + "}" * 240 + "$", "__import__('os')"]
)
def test_titles_are_texts(call, theirs, mark, tmp_path, title):
    manifest = json.loads((theirs / "manifest.json").read_text())
    for part in manifest["parts"]:
        part["title"] = title
    (theirs / "manifest.json").write_text(json.dumps(manifest))
    for command in READING.values():
        done = call(*at(theirs, command), cwd=tmp_path)
        assert done.returncode == 0, done.stderr


def test_a_stored_estimator_is_not_constructed_by_readers(call, tmp_path, mark, monkeypatch):
    experiment = {
        "name": "fitted",
        "data": {"generator": "gaussian", "n_samples": 20, "p": 4, "sparsity": 1},
        "trials": 2,
        "algorithms": [{"estimator": {"class": "sklearn.linear_model.Lasso"}}],
        "metrics": ["support_size"],
    }
    (tmp_path / "fitted.yaml").write_text(yaml.safe_dump(experiment))
    assert call("run", "fitted.yaml", "--engine", "serial", cwd=tmp_path).returncode == 0
    run = tmp_path / "results" / "fitted" / "quick"
    from sklearn.linear_model import Lasso

    monkeypatch.setattr(Lasso, "__init__", lambda self, **_: mark.write_text("constructed"))
    for command in (*READING.values(), RUNNING["explain"]):
        assert call(*at(run, command), cwd=tmp_path).returncode == 0
    assert not mark.exists()


def test_a_picture_names_its_run_without_code(theirs, mark):
    assert run_of(theirs / "figures" / "comparison.png") == theirs.resolve()
    assert not mark.exists()
