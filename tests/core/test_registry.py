"""Named parts: declared once, found by name, refused when they cannot work."""

import subprocess
import sys
from pathlib import Path

import pytest
from kept_registry import kept_registry

from greedyexp.core import registry
from greedyexp.core.errors import ConfigError, PluginError, did_you_mean
from greedyexp.core.plugins import load_plugins

PLUGIN = """
from greedyexp import algorithm

@algorithm("{name}")
def fit(problem, *, k: int = {k}):
    '''First line.'''
"""

METRIC = """
from greedyexp import metric

@metric("y", better="lower")
def y(problem, coef, *, {argument}):
    return coef.sum(axis=(-2, -1))
"""


@pytest.fixture(autouse=True)
def _restored():
    with kept_registry():
        yield


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_plugin_file_registers_its_parts_and_an_edit_counts(tmp_path):
    file = write(tmp_path / "mine.py", PLUGIN.format(name="mine", k=1))
    load_plugins([file])
    part = registry.find("algorithm", "mine")
    assert part.parameters().k == 1
    assert part.summary == "First line."
    write(file, PLUGIN.format(name="mine", k=2))
    load_plugins([file])
    assert registry.find("algorithm", "mine").parameters().k == 2


def test_an_argument_may_stand_for_a_word_that_python_reserves():
    @registry.algorithm("reserved")
    def fit(problem, *, class_: str, lambda_: float = 1.0, plain_: int = 2, rng=None):
        return problem, class_, lambda_, plain_, rng

    part = registry.find("algorithm", "reserved")
    assert list(part.parameters.model_fields) == ["class", "lambda", "plain_"]
    assert part.function(0, **{"class": "a", "lambda": 3.0}, rng=4) == (0, "a", 3.0, 2, 4)
    assert part.takes_rng
    assert part.place.startswith("tests/core/test_registry.py:")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 / 0", "raised ZeroDivisionError on import: division by zero"),
        ("def broken(:", "raised SyntaxError on import: invalid syntax"),
        ("import no_such_module", "raised ModuleNotFoundError"),
        (PLUGIN.format(name="x", k=1).replace("k:", "tuning:"), "has a parameter 'tuning'"),
        (PLUGIN.format(name="x", k=1).replace("k:", "zip:"), "has a parameter 'zip'"),
        (
            METRIC.format(argument="order: int"),
            "metric 'y' needs a value for 'order', but experiment files cannot set",
        ),
    ],
)
def test_a_plugin_that_cannot_be_imported_says_why(tmp_path, text, words):
    file = write(tmp_path / "bad.py", text)
    with pytest.raises(PluginError, match=words) as caught:
        load_plugins([file])
    assert "bad.py" in str(caught.value)


def test_a_metric_may_have_arguments_with_defaults(tmp_path):
    load_plugins([write(tmp_path / "m.py", METRIC.format(argument="order: int = 2"))])
    assert registry.find("metric", "y").name == "y"


def test_missing_plugins_and_unknown_names(tmp_path):
    with pytest.raises(PluginError, match="no such plugin file"):
        load_plugins([tmp_path / "absent.py"])
    with pytest.raises(
        ConfigError, match=r"no generator named 'gausian'\. Did you mean 'gaussian'"
    ):
        registry.find("generator", "gausian")
    with pytest.raises(PluginError, match="'better' set to"):
        registry.metric("m", better="up")(lambda problem, coef: 0.0)


def test_installed_packages_offer_parts_by_entry_point(tmp_path):
    site = tmp_path / "site"
    info = site / "offered-1.0.dist-info"
    info.mkdir(parents=True)
    write(info / "METADATA", "Metadata-Version: 2.1\nName: offered\nVersion: 1.0\n")
    write(info / "entry_points.txt", "[greedyexp.plugins]\noffered = offered\n")
    write(site / "offered.py", PLUGIN.format(name="offered", k=3))
    command = (
        f"import sys; sys.path.insert(0, {str(site)!r});"
        "from greedyexp.core import plugins, registry; plugins.load_plugins([]);"
        "print(registry.find('algorithm', 'offered').parameters().k)"
    )
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert done.stdout.strip() == "3", done.stderr


def test_remedies_stay_short():
    assert did_you_mean("kapa", ["kappa", "p"]) == "Did you mean 'kappa'?"
    assert did_you_mean("zzz", ["b", "a"]) == "Known: a, b."
    assert did_you_mean("zzz", map(str, range(100, 130))).endswith("115 and 14 more.")
    assert did_you_mean("zzz", []) == ""


def test_a_plugin_that_leaves_python_on_import_is_refused(tmp_path):
    with pytest.raises(PluginError, match="raised SystemExit on import"):
        load_plugins([write(tmp_path / "leaves.py", "import sys; sys.exit(0)")])


def python(code: str) -> str:
    """Return what a new Python process prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_part_is_found_without_importing_the_others():
    loaded = python(
        "import sys; from greedyexp.core import registry;"
        "registry.find('generator', 'gaussian'); registry.find('metric', 'sign_support');"
        "print('greedyexp.generators.signs' in sys.modules, 'greedyexp.metrics.word_errors' in"
        " sys.modules, 'greedyexp.generators.gaussian' in sys.modules)"
    )
    assert loaded.split() == ["False", "False", "True"]


@pytest.mark.parametrize("kind", list(registry.KINDS))
def test_sources_show_where_every_part_is_defined(kind):
    """The index misses no part, so that finding one never imports all."""
    modules = registry._modules(kind)
    for name, part in registry.parts(kind).items():
        if part.shipped:
            assert part.function.__module__ in modules[name]


@pytest.mark.parametrize("index", [{}, {"gaussian": ["greedyexp.generators.signs"]}])
def test_a_wrong_or_missing_entry_of_the_index_is_harmless(index):
    assert python(
        "from greedyexp.core import registry;"
        f"registry._modules = lambda kind: {index!r};"
        "print(registry.find('generator', 'gaussian').name)"
    ).split() == ["gaussian"]


def test_an_unknown_name_is_compared_with_all_names():
    message = python(
        "from greedyexp.core import registry\n"
        "try: registry.find('metric', 'signsupport')\n"
        "except Exception as error: print(error)"
    )
    assert "Did you mean 'sign_support'?" in message


def test_a_plugin_cannot_take_the_name_of_a_part_that_is_not_imported_yet(tmp_path):
    file = write(tmp_path / "mine.py", PLUGIN.format(name="rmp", k=1))
    message = python(
        "from greedyexp.core.plugins import load_plugins\n"
        f"try: load_plugins([{str(file)!r}])\n"
        "except Exception as error: print(error)"
    )
    assert "algorithm 'rmp' is already part of greedyexp." in message


def test_checking_an_experiment_imports_no_library_that_only_runs_need():
    loaded = python(
        "import sys; from greedyexp.cli import main; main(['check', 'phase_transition']);"
        "print(*sorted({'pandas', 'matplotlib', 'clarabel', 'scipy.sparse', 'scipy.linalg',"
        " 'scipy.optimize', 'scipy.special', 'scipy.stats'} & set(sys.modules)), '.')"
    )
    assert loaded.splitlines()[-1] == "."


def test_the_status_of_a_folder_without_a_journal_needs_no_numpy():
    loaded = python("import sys, greedyexp.runner.folder_status; print('numpy' in sys.modules)")
    assert loaded.split() == ["False"]
