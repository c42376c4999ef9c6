"""A run makes again only the figures, tables and verdicts that have changed."""

import inspect
import json
import shutil
from pathlib import Path

import pytest
import yaml

from greedyexp import config, report, runner
from greedyexp.cli import main
from greedyexp.runner import digests, own_files

SETTINGS = {
    "name": "small",
    "data": {"generator": "gaussian", "n_samples": 30, "p": 20, "sparsity": 2},
    "trials": 3,
    "algorithms": ["omp"],
    "metrics": ["support_size", "training_error"],
    "figures": [
        {"comparison": {"row": "p", "metrics": ["support_size"]}},
        {"comparison": {"row": "p", "metrics": ["training_error"]}},
    ],
    "tables": [{"comparison": {"row": "p", "metrics": ["support_size"]}}],
    "claims": [
        {
            "id": "small-error",
            "quote": "The error is small.",
            "test": "mean(omp, training_error) < 100",
        }
    ],
}


class Runs:
    """Runs of one experiment, with the outputs that each of them makes."""

    def __init__(self, folder: Path, monkeypatch):
        self.file = folder / "small.yaml"
        self.out = folder / "out"
        self.results = self.out / "small" / "quick"
        self.settings = json.loads(json.dumps(SETTINGS))
        self.made: list[str] = []
        drawing = report.draw.__globals__["Drawing"]
        monkeypatch.setattr(drawing, "draw", self._noting(drawing.draw))
        judge = inspect.unwrap(report.verify).__globals__["_judged"]

        def judged(source):
            self.made.append("claims")
            return judge(source)

        monkeypatch.setitem(inspect.unwrap(report.verify).__globals__, "_judged", judged)

    def _noting(self, draw):
        def drawn(drawing, one):
            self.made.append(one.stem)
            return draw(drawing, one)

        return drawn

    def run(self, *options: str) -> list[str]:
        """Run the experiment; return the outputs made."""
        self.file.write_text(yaml.safe_dump(self.settings, sort_keys=False))
        self.made.clear()
        given = ["--out", str(self.out), "--engine", "serial", "--quiet", *options]
        assert main(["run", str(self.file), *given]) == 0
        return sorted(self.made)


EVERYTHING = ["claims", "figures/comparison", "figures/comparison_2", "tables/comparison"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished run, which tests copy and do not change."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as monkeypatch:
        runs = Runs(folder, monkeypatch)
        assert runs.run() == EVERYTHING
    return folder


@pytest.fixture
def runs(finished, tmp_path, monkeypatch):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return Runs(tmp_path, monkeypatch)


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for name in ("figures", "tables") for path in (folder / name).iterdir()]
    return {str(path): path.read_bytes() for path in [*files, folder / "claims.json"]}


def test_a_run_without_changes_makes_nothing_and_prints_the_same(runs, capsys):
    before = contents(runs.results)
    capsys.readouterr()
    command = ["run", str(runs.file), "--out", str(runs.out), "--engine", "serial"]
    texts = []
    for options in ([], ["--force"], []):
        runs.made.clear()
        assert main([*command, *options]) == 0
        assert sorted(runs.made) == (EVERYTHING if options else [])
        # The first line has the seconds of the run.
        texts.append(capsys.readouterr().out.splitlines()[1:])
    assert texts[0] == texts[1] == texts[2]
    assert len(texts[0]) == 9
    assert contents(runs.results) == before


def test_an_edited_option_makes_one_figure_again(runs):
    runs.settings["figures"][1]["comparison"]["metrics"] = ["support_size"]
    assert runs.run() == ["figures/comparison_2"]
    runs.settings["claims"][0]["test"] = "mean(omp, training_error) < 0"
    assert runs.run() == ["claims"]
    (claim,) = json.loads((runs.results / "claims.json").read_bytes())["claims"]
    assert claim["test"] == ["mean(omp, training_error) < 0"]


def test_a_figure_that_is_no_longer_listed_is_removed(runs):
    del runs.settings["figures"][1]
    assert runs.run() == []
    names = sorted(path.name for path in (runs.results / "figures").iterdir())
    assert names == ["comparison.pdf", "comparison.png"]
    del runs.settings["claims"]
    assert runs.run() == []
    assert not (runs.results / "claims.json").exists()


def test_changed_rows_make_everything_again(runs):
    runs.settings["trials"] = 4
    assert runs.run() == EVERYTHING
    assert runs.run() == []


def test_a_deleted_file_comes_back(runs):
    before = contents(runs.results)
    (runs.results / "figures" / "comparison.png").unlink()
    (runs.results / "claims.json").unlink()
    assert runs.run() == ["claims", "figures/comparison"]
    assert contents(runs.results) == before


def test_an_edited_file_stays_until_it_is_moved_away(runs, capsys):
    before = contents(runs.results)
    edited = [runs.results / name for name in ("tables/comparison.md", "claims.json")]
    for file in edited:
        file.write_text("mine")
    for command in (["run", str(runs.file), "--out", str(runs.out)], ["plot", str(runs.results)]):
        capsys.readouterr()
        assert main(command) == 0
        said = capsys.readouterr()
        assert "left alone" in said.err
        assert str(edited[0]) in said.err
        assert str(edited[0]) not in said.out
        assert [file.read_text() for file in edited] == ["mine", "mine"]
    for file in edited:
        file.rename(runs.out / file.name)
    assert runs.run() == ["claims", "tables/comparison"]
    assert contents(runs.results) == before
    assert [(runs.out / file.name).read_text() for file in edited] == ["mine", "mine"]


@pytest.mark.parametrize("changed", ["version_of", "package_digest"])
def test_other_code_or_libraries_make_everything_again(runs, monkeypatch, changed):
    monkeypatch.setattr(digests, changed, lambda *_: "another")
    assert runs.run() == EVERYTHING
    assert runs.run() == []


@pytest.mark.deep
def test_without_the_record_or_with_installed_plugins_everything_is_made(runs, monkeypatch):
    (runs.results / own_files.OUTPUTS).unlink()
    assert runs.run() == EVERYTHING
    monkeypatch.setattr(digests, "installed_plugins", lambda: ["a plugin"])
    assert runs.run() == EVERYTHING
    assert runs.run() == EVERYTHING


FIGURE = '''
from pathlib import Path
from matplotlib.figure import Figure
from greedyexp import figure

TITLE = Path(__file__).with_name("title.txt").read_text()


@figure("titled", columns=lambda *, x: [x])
def titled(frame, context, *, x: str):
    """Its title comes from a file."""
    drawn = Figure()
    drawn.suptitle(TITLE)
    return drawn
'''


def test_a_figure_of_a_plugin_is_drawn_again_since_it_may_read_anything(runs):
    (runs.file.parent / "titled.py").write_text(FIGURE)
    runs.settings |= {"plugins": ["titled.py"], "figures": [{"titled": {"x": "p"}}]}
    pictures = []
    for title in ("before", "after"):
        (runs.file.parent / "title.txt").write_text(title)
        runs.run()
        pictures.append((runs.results / "figures/titled.png").read_bytes())
    assert pictures[0] != pictures[1]


def test_plot_draws_everything_again(runs):
    runs.made.clear()
    assert main(["plot", str(runs.results), "--quiet"]) == 0
    assert sorted(runs.made) == EVERYTHING[1:]


def test_edited_figures_of_a_run_folder_are_drawn_as_the_experiment_says(runs):
    """``plot`` draws from ``config.yaml``, the next run from the experiment."""
    before = contents(runs.results)
    stored = runs.results / "config.yaml"
    edited = yaml.safe_load(stored.read_text())
    edited["figures"][0]["comparison"]["metrics"] = ["training_error"]
    stored.write_text(yaml.safe_dump(edited, sort_keys=False))
    assert main(["plot", str(runs.results), "--quiet"]) == 0
    assert runs.run() == ["figures/comparison"]
    picture = str(runs.results / "figures" / "comparison.png")
    assert contents(runs.results)[picture] == before[picture]


def test_runs_from_python_keep_what_is_up_to_date(runs):
    before = contents(runs.results)
    experiment = config.load(runs.file)
    runner.run(experiment, runs.results, runner.RunOptions(engine="serial", progress=False))
    assert contents(runs.results) == before
