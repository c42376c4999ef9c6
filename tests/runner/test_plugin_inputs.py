"""Whatever the code of a plugin depends on makes its rows stale when it changes, or is refused."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys

import pytest
from cli_process import refused
from runner_lab import Laboratory

from greedyexp import runner
from greedyexp.core.errors import PluginError
from greedyexp.core.plugins import load_plugins
from greedyexp.runner import code_version
from greedyexp.runner.dask.compatibility import differences, own_versions
from greedyexp.runner.fingerprint import Fingerprints, InputFiles
from greedyexp.runner.work import work_of

METRIC = '''
import time
from greedyexp import metric

@metric("TAG_unsteady", better=None)
def unsteady(problem, coef):
    """A number that the seed does not determine."""
    return np.full(len(coef), VALUE)
'''


@pytest.fixture(autouse=True)
def no_other_helper(monkeypatch):
    """Modules that plugins of other tests have imported by this name are not in the way."""
    monkeypatch.delitem(sys.modules, "helper", raising=False)


@pytest.fixture
def lab(tmp_path):
    return Laboratory(tmp_path)


def extend(lab, source: str) -> None:
    """Append code to the plugin of a laboratory."""
    lab.plugin.write_text(lab.plugin.read_text() + source.replace("TAG", lab.tag))


@pytest.mark.parametrize(
    "value", ["np.random.default_rng().random()", "time.perf_counter()", "time.time_ns() % 9973"]
)
@pytest.mark.parametrize("how", [{"engine": "serial", "jobs": None}, {"jobs": 1}])
def test_a_metric_that_the_seed_does_not_determine_is_refused(lab, value, how):
    extend(lab, METRIC.replace("VALUE", value))
    name = f"{lab.tag}_unsteady"
    with pytest.raises(PluginError, match=f"^{lab.plugin}:[0-9]+: metric '{name}' gave two values"):
        lab.run(metrics=[name], algorithms=["omp"], how=how)
    with pytest.raises(PluginError, match=f"metric '{name}' or algorithm '{lab.tag}_ridge' gave"):
        lab.run(metrics=[name], algorithms=[f"{lab.tag}_ridge"], how=how)


@pytest.mark.parametrize("how", [{"engine": "serial", "jobs": None}, {"jobs": 1}])
def test_an_algorithm_that_the_seed_does_not_determine_is_refused(lab, how):
    extend(lab, SCALED.replace("FACTOR", "np.random.default_rng().random()") + METRIC)
    name = f"{lab.tag}_scaled"
    said = f": algorithm '{name}' gave two values of 'frobenius_error' for the same seed"
    with pytest.raises(PluginError, match=said):
        lab.run(algorithms=["omp", name], how=how)


def test_a_metric_that_is_not_a_number_is_steady(lab):
    extend(lab, METRIC.replace("VALUE", "np.nan"))
    assert lab.run(metrics=[f"{lab.tag}_unsteady"]).done == 24


def test_an_algorithm_that_takes_long_is_checked_by_a_rehearsal(lab):
    slow = SCALED.replace("    return", "    time.sleep(1.1)\n    return")
    extend(lab, slow.replace("FACTOR", "np.random.default_rng().random()"))
    settings = {"algorithms": [f"{lab.tag}_scaled"], "trials": 1, "data": {"sweep": {"n": [8]}}}
    assert lab.run(**settings).done == 1
    with pytest.raises(PluginError, match="for the same seed"):
        runner.rehearse(lab.experiment(**settings))


def edited_in_place(path, old: str, new: str) -> None:
    """Replace text by text of the same length, and set the time of the file back."""
    assert len(old) == len(new)
    before = path.stat()
    path.write_text(path.read_text().replace(old, new))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_plugin_of_the_same_size_and_time_is_another(lab):
    assert lab.run().computed == 24
    edited_in_place(lab.plugin, "penalty * np.eye", "penalty + np.eye")
    assert lab.run().computed == 24


def test_data_of_the_same_size_and_time_are_others(lab, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("y,a,b\n" + "".join(f"{k % 5},{k},{k % 3}\n" for k in range(20)))
    data = {"generator": "file", "sweep": {}, "path": str(table), "response": ["y"]}
    settings = {"data": data, "algorithms": ["omp"], "metrics": ["training_error"], "trials": 1}
    first = lab.run(**settings).csv.read_text()
    edited_in_place(table, "1,1,1", "9,1,1")
    assert lab.run(**settings).csv.read_text() != first
    assert lab.run(**settings, folder=tmp_path / "new").csv.read_text() != first


SCALED = '''
@algorithm("TAG_scaled")
def scaled(problem):
    """A constant that comes from elsewhere."""
    return np.full((problem.n_features, 1), float(FACTOR))
'''

# How a plugin gets a number while it is imported, from helper.py or from table.txt.
AT_IMPORT = {
    "import_module": "import importlib\nFACTOR = importlib.import_module('helper').FACTOR",
    "__import__": "FACTOR = __import__('helper').FACTOR",
    "exec": "exec((HERE / 'helper.py').read_text())",
    "runpy": "import runpy\nFACTOR = runpy.run_path(str(HERE / 'helper.py'))['FACTOR']",
    "other folder": "import sys\nsys.path.insert(0, str(HERE / 'lib'))\nimport library_TAG as L\n"
    "FACTOR = L.FACTOR",
    "spec": "import importlib.util as u\ns = u.spec_from_file_location('any', HERE / 'helper.py')\n"
    "m = u.module_from_spec(s)\ns.loader.exec_module(m)\nFACTOR = m.FACTOR",
    "a file": "FACTOR = (HERE / 'table.txt').read_text()",
    "a file by numpy": "FACTOR = np.loadtxt(HERE / 'table.txt')",
    "a file by a helper": "from reader_TAG import FACTOR",
    "a variable": "FACTOR = os.environ.get('LAB_FACTOR', 1)",
    "getenv": "FACTOR = os.getenv('LAB_FACTOR') or 1",
    "threads": "FACTOR = os.environ['LAB_NUM_THREADS']",
}


def write_helpers(lab, factor: int) -> None:
    """Files that all say the same number."""
    (lab.folder / "lib").mkdir(exist_ok=True)
    (lab.folder / "helper.py").write_text(f"FACTOR = {factor}\n")
    (lab.folder / f"lib/library_{lab.tag}.py").write_text(f"FACTOR = {factor}\n")
    (lab.folder / "table.txt").write_text(f"{factor}\n")
    (lab.folder / f"reader_{lab.tag}.py").write_text(
        "from pathlib import Path\nFACTOR = Path(__file__).with_name('table.txt').read_text()\n"
    )


HERE = "from pathlib import Path\nHERE = Path(__file__).parent\n"


@pytest.mark.parametrize("how", AT_IMPORT)
def test_what_a_plugin_reads_while_it_is_imported_counts(lab, monkeypatch, how):
    write_helpers(lab, 1)
    monkeypatch.setenv("LAB_FACTOR", "1")
    monkeypatch.setenv("LAB_NUM_THREADS", "1")
    extend(lab, f"{HERE}{AT_IMPORT[how]}\n{SCALED}")
    settings = {"algorithms": [f"{lab.tag}_scaled"], "trials": 1}
    first = lab.run(**settings)
    assert first.computed == 2
    again = lab.run(**settings, how={"jobs": 1})
    assert again.computed == 0
    write_helpers(lab, 7)
    monkeypatch.setenv("LAB_FACTOR", "7")
    monkeypatch.setenv("LAB_NUM_THREADS", "7")
    before = first.csv.read_text()
    other = lab.run(**settings, how={"jobs": 1})
    assert other.computed == 2
    assert other.csv.read_text() != before
    assert lab.run(**settings, folder=lab.folder / "new").csv.read_text() == other.csv.read_text()


OUTSIDE = {
    "table.txt": "FACTOR = (AROUND / 'table.txt').read_text()",
    "other.txt": "T = AROUND / 'other.txt'\nFACTOR = T.read_text() if T.exists() else 1",
    "outer.py": "import runpy\nFACTOR = runpy.run_path(AROUND / 'outer.py')['FACTOR']",
    "outer_TAG.py": "import sys\nsys.path.insert(0, str(AROUND))\nfrom outer_TAG import FACTOR",
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_its_copy_would_not_find_is_refused_before_the_run(lab, name):
    around, file = lab.folder.parent / f"around_{lab.tag}", name.replace("TAG", lab.tag)
    around.mkdir()
    (around / file).write_text("7\n" if name.endswith("txt") else "FACTOR = 7\n")
    before = lab.plugin.read_text()
    extend(lab, f"{HERE}AROUND = HERE.parent / 'around_TAG'\n{OUTSIDE[name]}\n{SCALED}")
    settings = {"algorithms": [f"{lab.tag}_scaled"], "trials": 1, "folder": lab.folder / "new"}
    said = f"^{lab.plugin}: .*{file}, which its copy in a run"
    with pytest.raises(PluginError, match=said):
        lab.run(**settings)
    with pytest.raises(PluginError, match=said):
        runner.rehearse(lab.experiment(algorithms=settings["algorithms"]))
    assert not settings["folder"].exists()
    if name.endswith("txt"):
        # Whoever has the file in this place can import the copy.
        lab.plugin.write_text(before)
        extend(lab, f"{HERE}AROUND = Path({str(around)!r})\n{OUTSIDE[name]}\n{SCALED}")
        assert lab.run(**settings).failed == 0


DURING = {
    "a file": "open(HERE / 'table.txt').read()",
    "a file elsewhere": "np.loadtxt(HERE.parent / 'elsewhere.txt')",
    "a program": "__import__('subprocess').check_output(['cat', HERE / 'table.txt'])",
    "its folder": "__import__('subprocess').check_output(['cat', 'table.txt'], cwd=HERE)",
    "a module": "__import__('helper_TAG').FACTOR",
    "a variable": "os.environ['LAB_FACTOR']",
    "update": "open(HERE / 'table.txt', 'r+').read()",
    "append": "open(HERE / 'table.txt', 'a+').seek(0)",
    "create": "os.read(os.open(HERE / 'table.txt', os.O_RDONLY | os.O_CREAT), 9)",
}
SWALLOWED = """
def number():
    try:
        return READ
    except Exception:
        return 1
FACTOR = "number()"
"""


@pytest.mark.parametrize("engine", [{"engine": "serial", "jobs": None}, {"jobs": 1}])
@pytest.mark.parametrize("how", DURING)
@pytest.mark.parametrize("swallowed", [False, True])
def test_what_a_part_reads_later_is_refused(lab, monkeypatch, how, engine, swallowed):
    write_helpers(lab, 1)
    (lab.folder / f"helper_{lab.tag}.py").write_text("FACTOR = 1\n")
    (lab.folder.parent / "elsewhere.txt").write_text("1\n")
    monkeypatch.setenv("LAB_FACTOR", "1")
    monkeypatch.syspath_prepend(str(lab.folder))
    read = DURING[how]
    source = SCALED.replace("FACTOR", "number()" if swallowed else read)
    extend(lab, HERE + (SWALLOWED.replace("READ", read) if swallowed else "") + source)
    with pytest.raises(PluginError, match="while rows are computed, so a change would") as caught:
        lab.run(algorithms=[f"{lab.tag}_scaled"], how=engine)
    assert "parts.py:" in str(caught.value)


ALLOWED = '''
import subprocess, tempfile
LEVEL = os.environ.get("LAB_FACTOR")
TABLE = open(HERE / "table.txt").read()

@algorithm("TAG_scaled")
def scaled(problem):
    """Reads only what it has made, what counts already, and what belongs to the system."""
    os.environ["LAB_FACTOR"], open(HERE / "table.txt").read(), open("/proc/self/stat").read()
    os.path.expanduser("~"), dict(os.environ), {**os.environ, "X": "1"}, os.environ.copy()
    with tempfile.NamedTemporaryFile("w+") as file:
        file.write("1")
        file.flush()
        open(file.name).read()
        subprocess.run(["cp", file.name, file.name + ".copy"], env=os.environ.copy(), check=True)
        open(file.name + ".copy").read()
        os.remove(file.name + ".copy")
    import csv, zoneinfo
    zoneinfo.available_timezones()
    return np.zeros((problem.n_features, 1))
'''


@pytest.mark.parametrize("engine", [{"engine": "serial", "jobs": None}, {"jobs": 2}])
def test_what_counts_or_was_made_by_the_run_may_be_read(lab, monkeypatch, engine):
    write_helpers(lab, 1)
    monkeypatch.setenv("LAB_FACTOR", "1")
    extend(lab, HERE + ALLOWED)
    report = lab.run(algorithms=[f"{lab.tag}_scaled"], how=engine)
    assert (report.done, report.failed) == (12, 0)


PACKAGED = '''
from helper_TAG import factor

@algorithm("TAG_packaged")
def packaged(problem):
    """A number of an installed package."""
    return np.full((problem.n_features, 1), factor())
'''


STATEMENT = "def factor():\n    from PACKAGE.core import FACTOR\n    return FACTOR\n"
BY_NAME = "import importlib\nNAME = 'PACKAGE.core'\nCORE = LOAD\ndef factor(): return CORE.FACTOR\n"
BY_IMPORTLIB = BY_NAME.replace("LOAD", "importlib.import_module(NAME)")
BY_FUNCTION = BY_NAME.replace("LOAD", "__import__(NAME, fromlist=['core'])")
IMPORTED = {
    "statement": ("RECORD", STATEMENT),
    "statement, listed": ("top_level.txt", STATEMENT),
    "import_module": ("RECORD", BY_IMPORTLIB),
    "__import__": ("RECORD", BY_FUNCTION),
}


class Package:
    """An installed package, which a helper of a plugin imports."""

    def __init__(self, lab, *, lists: str, helper: str = STATEMENT):
        self.name = f"package_{lab.tag}"
        self.site = lab.folder / "site-packages"
        self._lists = lists
        (lab.folder / f"helper_{lab.tag}.py").write_text(helper.replace("PACKAGE", self.name))
        extend(lab, PACKAGED)

    def install(self, version: str) -> None:
        shutil.rmtree(self.site, ignore_errors=True)
        (self.site / self.name).mkdir(parents=True)
        (self.site / self.name / "__init__.py").touch()
        (self.site / self.name / "core.py").write_text(f"FACTOR = {float(version)}\n")
        info = self.site / f"dist_{self.name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: dist_{self.name}\nVersion: {version}\n"
        )
        if self._lists == "top_level.txt":
            (info / "top_level.txt").write_text(f"{self.name}\n")
        else:
            (info / "RECORD").write_text(f"{self.name}/__init__.py,,\n{self.name}/core.py,,\n")


@pytest.mark.parametrize("how", IMPORTED)
def test_the_version_of_a_package_that_a_plugin_imports_counts(call, lab, monkeypatch, how):
    lists, helper = IMPORTED[how]
    package = Package(lab, lists=lists, helper=helper)
    monkeypatch.setenv("PYTHONPATH", str(package.site))
    monkeypatch.syspath_prepend(str(package.site))
    package.install("1.0")
    path = lab.write_yaml(algorithms=[f"{lab.tag}_packaged"], trials=2)
    run = ["run", path, "--out", "results", "--jobs", "1"]
    assert call(*run, cwd=lab.folder).returncode == 0
    folder = lab.folder / "results/lab/quick"
    name = f"dist_{package.name}"
    assert json.loads((folder / "manifest.json").read_text())["packages"][name] == "1.0"
    before = (folder / "lab.csv").read_text()
    shutil.copytree(folder, lab.folder / "old")
    package.install("2.0")
    said = call("explain", folder, cwd=lab.folder)
    assert f"version of {name}: 1.0 -> 2.0" in said.stdout
    merged = call("merge", "old", "--into", "both", cwd=lab.folder)
    refused(merged, "computed by other code", f"{name} 1.0 -> 2.0")
    assert call(*run, cwd=lab.folder).returncode == 0
    assert (folder / "lab.csv").read_text() != before


@pytest.mark.parametrize("load", ["importlib.import_module(NAME)", "__import__(NAME)"])
def test_a_package_that_a_part_imports_later_by_its_name_is_refused(lab, monkeypatch, load):
    later = f"import importlib\nNAME = 'PACKAGE'\ndef factor(): return float({load} is not None)\n"
    package = Package(lab, lists="RECORD", helper=later)
    monkeypatch.syspath_prepend(str(package.site))
    package.install("1.0")
    importlib.import_module(package.name)
    settings = {"algorithms": [f"{lab.tag}_packaged"], "how": {"engine": "serial", "jobs": None}}
    said = f"imports the package {package.name} while rows are computed"
    with pytest.raises(PluginError, match=said) as caught:
        lab.run(**settings)
    assert f"helper_{lab.tag}.py:3" in str(caught.value)
    helper = lab.folder / f"helper_{lab.tag}.py"
    helper.write_text(f"import {package.name}\n{helper.read_text()}")
    assert lab.run(**settings).failed == 0


def test_a_dask_worker_with_another_version_of_such_a_package_differs(lab, monkeypatch):
    package = Package(lab, lists="RECORD")
    monkeypatch.syspath_prepend(str(package.site))
    package.install("1.0")
    experiment, files = lab.experiment(algorithms=[f"{lab.tag}_packaged"]), InputFiles()
    Fingerprints(experiment, files)
    expected = own_versions(work_of(experiment, files=files))
    assert differences(expected) == []
    package.install("2.0")
    assert differences(expected) == [f"dist_{package.name} 1.0 here, 2.0"]


def test_a_module_that_no_distribution_has_installed_counts_by_its_source(lab, monkeypatch):
    local = lab.folder.parent / f"local_{lab.tag}"
    (local / "package").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(local))
    extend(lab, f"from local_{lab.tag}.package import deep\n{SCALED.replace('FACTOR', 'deep.A')}")
    monkeypatch.syspath_prepend(str(local.parent))
    (local / "package/deep.py").write_text("from ..other import A\n")
    settings = {"algorithms": [f"{lab.tag}_scaled"], "trials": 1, "how": {"jobs": 1}}
    tables = []
    for factor in (1, 7):
        (local / "other.py").write_text(f"A = {factor}\n")
        report = lab.run(**settings)
        assert report.computed == 2
        tables.append(report.csv.read_text())
    assert tables[0] != tables[1]


def test_an_installed_plugin_counts_by_the_version_of_its_package(lab, monkeypatch):
    package = Package(lab, lists="RECORD")
    monkeypatch.syspath_prepend(str(package.site))
    package.install("1.0")
    code = package.site / package.name / "core.py"
    assert code_version.surroundings([code]).packages == {f"dist_{package.name}": "1.0"}


def test_the_copy_of_an_installed_plugin_finds_its_package(lab, monkeypatch):
    package = Package(lab, lists="RECORD")
    monkeypatch.syspath_prepend(str(package.site))
    package.install("1.0")
    plugin = package.site / package.name / "sub" / "plugin.py"
    plugin.parent.mkdir()
    (plugin.parent / "__init__.py").touch()
    plugin.write_text(f"from {package.name}.core import FACTOR\n")
    load_plugins([plugin])
    code_version.require_importable([str(plugin)])


def test_a_plugin_that_imports_nothing_else_has_the_key_that_it_had(lab):
    content = Fingerprints(lab.experiment()).components().values()
    for component in content:
        assert not {"packages", "environment"} & component.keys()
