"""Code and data that are edited while a run goes on."""

from __future__ import annotations

import pytest
from runner_lab import Laboratory, rows_of

from greedyexp.config import load
from greedyexp.core.errors import DataError, PluginError
from greedyexp.runner import session

HELPED = '''
from helper_TAG import FACTOR


@algorithm("TAG_scaled")
def scaled(problem):
    """A constant of another file."""
    return np.full((problem.n_features, 1), FACTOR)
'''

READING = '''
@generator("TAG_reading", reads=lambda path: [path], left_out=lambda path: None)
def reading(rng, *, path: str):
    """Rows around the number in a file."""
    X = rng.standard_normal((12, 2))
    return Problem((X,), (X[:, 0] + float(open(path).read()),))


@algorithm("TAG_rewriting")
def rewriting(problem, *, path: str, at: int):
    """Writes another number into the file when it is called for that time."""
    with open(path + ".calls", "a") as calls:
        calls.write("x")
    # Its size is not noticed as a read of the file.
    if os.path.getsize(path + ".calls") == at:
        open(path, "w").write("2")
    return np.zeros((2, 1))
'''


@pytest.fixture
def lab(tmp_path):
    return Laboratory(tmp_path)


@pytest.fixture
def between(monkeypatch):
    """Lets something happen after the keys of a run are made, before its workers start."""

    read = session.plugin_sources

    def happen(act):
        monkeypatch.setattr(session, "plugin_sources", lambda files: (read(files), act())[0])

    return happen


def edit(lab):
    lab.plugin.write_text(
        lab.plugin.read_text().replace("penalty * np.eye", "2 * penalty * np.eye")
    )


@pytest.mark.parametrize("narrowed", [False, True])
def test_an_edit_while_a_run_goes_on_takes_no_finished_row_from_its_table(lab, between, narrowed):
    lab.run()
    source = lab.plugin.read_text()
    between(lambda: edit(lab))
    report = lab.run(only=["n=8"] if narrowed else [])
    planned = 12 if narrowed else 24
    assert (report.computed, report.done, report.total) == (0, planned, planned)
    assert len(rows_of(report.csv)) == 24
    assert lab.plugin.read_text() != source


def test_rows_of_code_that_was_imported_before_an_edit_are_kept(lab):
    source = lab.plugin.read_text()
    later = f"open({str(lab.plugin)!r}, 'a').write('\\nEDITED = 1\\n')"
    source = source.replace("    time.sleep(pause)", f"    {later}\n    time.sleep(pause)")
    lab.plugin.write_text(source)
    report = lab.run(how={"jobs": 1})
    assert lab.plugin.read_text() != source
    assert (report.computed, report.done, len(rows_of(report.csv))) == (24, 24, 24)
    lab.plugin.write_text(source)
    assert lab.run().computed == 0


@pytest.mark.parametrize("engine", ["processes", "serial"])
def test_an_edit_before_workers_have_imported_ends_the_run(lab, between, engine):
    source = lab.plugin.read_text()
    between(lambda: edit(lab))
    with pytest.raises(PluginError, match="edited during the run") as caught:
        lab.run(how={"engine": engine})
    assert caught.value.place == str(lab.plugin)
    lab.plugin.write_text(source)
    between(lambda: None)
    assert lab.run(how={"engine": engine}).computed == 24


def test_a_comment_is_no_edit(lab, between):
    between(lambda: lab.plugin.write_text(f"# Said later.\n{lab.plugin.read_text()}"))
    assert lab.run(how={"jobs": 1}).computed == 24


@pytest.mark.parametrize("broken", [False, True])
def test_what_a_part_imports_is_its_code_too(lab, between, monkeypatch, broken):
    monkeypatch.syspath_prepend(lab.folder)
    helper = lab.folder / f"helper_{lab.tag}.py"
    helper.write_text("FACTOR = 1.0\n")
    with lab.plugin.open("a") as stream:
        stream.write(HELPED.replace("TAG", lab.tag))
    after = "FACTOR = (\n" if broken else "FACTOR = 2.0\n"
    experiment = {"algorithms": [f"{lab.tag}_scaled"]}
    lab.run(**experiment)
    between(lambda: helper.write_text(after))
    with pytest.raises(PluginError) as caught:
        lab.run(**experiment, how={"force": True, "engine": "serial"})
    assert caught.value.place.removesuffix(":1") == str(helper)


@pytest.mark.parametrize("engine", ["processes", "serial"])
def test_data_changed_during_a_run_make_no_row_under_the_name_of_the_old(lab, engine):
    table = lab.folder / "number.txt"
    table.write_text("1")
    with lab.plugin.open("a") as stream:
        stream.write(READING.replace("TAG", lab.tag))
    settings = lab.settings(metrics=["support_size"], trials=40)
    settings["algorithms"] = [{f"{lab.tag}_rewriting": {"path": str(table), "at": 3}}]
    settings["data"] = {"generator": f"{lab.tag}_reading", "path": str(table)}
    how = {"engine": engine, "jobs": 1, "progress": False}
    with pytest.raises(DataError, match="changed during the run") as caught:
        session.run(load(settings), lab.results, session.RunOptions(**how))
    assert caught.value.place == str(table)
    # What came before the change may be there, nothing of what came after.
    table.write_text("1")
    assert session.run(load(settings), lab.results, session.RunOptions(**how)).computed >= 38
