"""Figures and tables of plugins that fail, and the state of matplotlib afterwards."""

import os
import subprocess
import sys
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pandas as pd
import pytest
import yaml
from kept_registry import kept_registry

from greedyexp.config import load
from greedyexp.core import registry, trust
from greedyexp.core.errors import ConfigError, PluginError
from greedyexp.report import draw

BUILT_IN = {"comparison": {"row": "p", "metrics": ["error"]}}
PLUGIN = """\
import matplotlib
import matplotlib.pyplot as plt
import pandas as pd
from greedyexp.core import registry


def middle(frame):
    return frame["no_such"]


@registry.figure("raises")
def raises(frame, context):
    return middle(frame)


@registry.figure("leaves")
def leaves(frame, context):
    exit()


@registry.figure("nothing")
def nothing(frame, context):
    frame["error"] = 0.0


@registry.figure("unwritable")
def unwritable(frame, context):
    figure, axis = plt.subplots()
    axis.set_title(r"$\\frac{1$")
    return figure


@registry.figure("untidy")
def untidy(frame, context):
    matplotlib.rcParams["font.size"] = 30
    plt.rcParams["axes.facecolor"] = "red"
    frame["error"] = 7.0
    figure, other = plt.figure(), plt.figure()
    other.add_subplot().plot([0, 1], [0, 1])
    return figure


@registry.figure("chooses", apart=lambda *, where=None: ["algorithm"])
def chooses(frame, context, *, where: dict | None = None):
    print("values of p:", sorted(set(frame["p"])), len(frame))
    return plt.figure()


@registry.figure("places", apart=lambda *, where="left": ["algorithm", "p"])
def places(frame, context, *, where: str = "left"):
    print(where, "of", len(frame), "rows")
    return plt.figure()


@registry.table("listed")
def listed(frame, context):
    return [1, 2]


@registry.table("divides")
def divides(frame, context):
    return pd.DataFrame({"a": [1 / len(frame[:0])]})
"""


@pytest.fixture(autouse=True)
def forgotten():
    with kept_registry():
        yield


@pytest.fixture
def folder(tmp_path):
    rows = {"p": 20, "replicate": [0, 1, 2], "algorithm": "omp", "status": "ok", "message": ""}
    run = tmp_path / "run" / "quick"
    (run / "plugins").mkdir(parents=True)
    (run / "plugins" / "mine.py").write_text(PLUGIN)
    trust.remember(trust.stored_code(run), run)
    pd.DataFrame({**rows, "error": [0.1, 0.2, 0.4]}).to_csv(run / "run.csv", index=False)
    return run


def configure(folder, figures=(), tables=()):
    config = {
        "name": "run",
        "trials": 3,
        "plugins": ["plugins/mine.py"],
        "data": {"generator": "gaussian", "sweep": {"p": [20, 30]}},
        "algorithms": ["omp"],
        "metrics": ["error"],
        "figures": list(figures),
        "tables": list(tables),
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config))


def line_of(text):
    return 1 + next(k for k, line in enumerate(PLUGIN.splitlines()) if text in line)


def test_the_frame_of_a_figure_with_a_choice_has_the_chosen_rows(folder, capsys):
    table = pd.read_csv(folder / "run.csv")
    both = pd.concat([table, table.assign(p=30)], ignore_index=True)
    both.to_csv(folder / "run.csv", index=False)
    configure(folder, figures=[{"chooses": {"where": {"p": 30}}}, "places"])
    draw(folder)
    assert capsys.readouterr().out == "values of p: [30] 3\nleft of 6 rows\n"
    configure(folder, figures=["chooses"])
    with pytest.raises(ConfigError, match="would average over the 2 values of 'p'"):
        draw(folder)


@pytest.mark.parametrize(
    ("kind", "name", "line", "sentence"),
    [
        ("figure", "raises", 'frame["no_such"]', "figure 'raises' raised KeyError: 'no_such'."),
        ("figure", "leaves", "exit()", "figure 'leaves' raised SystemExit: None."),
        ("figure", "nothing", '"nothing"', "must return a matplotlib Figure but returned NoneType"),
        ("figure", "unwritable", '"unwritable"', "figure 'unwritable' raised ValueError: "),
        ("table", "listed", '"listed"', "must return a pandas DataFrame but returned list."),
        ("table", "divides", "1 / len", "raised ZeroDivisionError: division by zero."),
    ],
)
def test_a_plugin_that_fails_is_named_with_its_line_and_costs_no_other(
    folder, kind, name, line, sentence
):
    configure(folder, **{f"{kind}s": [name, BUILT_IN]})
    with pytest.raises(PluginError) as refused:
        draw(folder)
    assert refused.value.exit_code == 2
    assert sentence in refused.value.message
    assert "\n" not in refused.value.message
    assert refused.value.place == f"{folder / 'plugins/mine.py'}:{line_of(line)}"
    drawn = {path.name for path in (folder / f"{kind}s").iterdir()}
    assert f"comparison.{'png' if kind == 'figure' else 'csv'}" in drawn


def test_a_mistake_of_the_package_stays_one(folder, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("a bug")

    monkeypatch.setattr("greedyexp.figures._plot.compare", broken)
    configure(folder, figures=[BUILT_IN])
    with pytest.raises(RuntimeError, match="a bug"):
        draw(folder)


@pytest.mark.parametrize("given", ["columns", "apart"])
def test_what_a_plugin_says_of_its_figure_is_guarded_before_any_work(given):
    @registry.figure("odd", **{given: lambda **params: params["no_such"]})
    def odd(frame, context):
        """A figure."""

    source = {
        "name": "made",
        "data": {"generator": "gaussian", "p": 20, "n_samples": 10},
        "algorithms": ["omp"],
        "metrics": ["support_size"],
        "figures": ["odd"],
    }
    with pytest.raises(PluginError, match=rf"the {given} of figure 'odd' raised KeyError") as seen:
        load(source)
    assert seen.value.place == "figures[0]"


def contents(written):
    """Return the pixels of pictures and the text of tables."""

    def pixels(path):
        picture = plt.imread(path)
        return picture.shape, picture.tobytes()

    return [
        pixels(path) if path.suffix == ".png" else path.read_text()
        for path in written
        if path.stem == "comparison" and path.suffix in (".png", ".csv", ".md")
    ]


def test_an_untidy_plugin_changes_no_other_figure_or_table(folder):
    plt.close("all")
    own = plt.figure()
    with matplotlib.rc_context({"font.size": 21}):
        configure(folder, figures=[BUILT_IN], tables=[BUILT_IN])
        alone = contents(draw(folder))
        configure(folder, figures=["untidy", BUILT_IN], tables=[BUILT_IN])
        assert contents(draw(folder)) == alone
        assert matplotlib.rcParams["font.size"] == 21
    assert len(alone) == 3
    assert matplotlib.rcParams["axes.facecolor"] == "white"
    assert plt.get_fignums() == [own.number]
    plt.close("all")


def python(*arguments, **environment):
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_no_backend_is_needed(folder):
    configure(folder, figures=[BUILT_IN, "untidy"])
    missing = "module://matplotlib_inline.not_installed"
    done = python("-m", "greedyexp", "plot", str(folder), MPLBACKEND=missing)
    assert done.returncode == 0
    # The run of this test was not made by `run`, which writes a manifest.
    assert "Note: " in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert len(done.stdout.splitlines()) == 4
    code = "from greedyexp.core import registry; print(len(registry.parts('figure')))"
    done = python("-c", code, MPLBACKEND=missing)
    assert done.returncode == 0, done.stderr


def test_the_backend_of_a_caller_is_left_alone(folder):
    configure(folder, figures=[BUILT_IN])
    code = (
        "import sys, pathlib, matplotlib; from greedyexp.report import draw;"
        f" draw(pathlib.Path({str(folder)!r}));"
        " print(matplotlib.get_backend(), 'matplotlib.pyplot' in sys.modules)"
    )
    # The plugin of the folder imports pyplot; without it nothing does.
    config = yaml.safe_load((folder / "config.yaml").read_text()) | {"plugins": []}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    done = python("-c", code, MPLBACKEND="svg")
    assert done.stdout.split() == ["svg", "False"], done.stderr
    assert Path(folder / "figures" / "comparison.png").exists()
