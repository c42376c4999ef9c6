"""``greedyexp report``: pages, figures, rows behind points, forest plots, errors."""

from __future__ import annotations

import base64
import gzip
import html
import json
import os
import re
import shlex
import shutil
import socket
import struct
import sys
import threading
import time
from http.client import HTTPConnection
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pandas as pd
import pytest
import yaml
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

import greedyexp
from greedyexp.cli import main
from greedyexp.core.errors import StorageError
from greedyexp.figures import _plot as plot
from greedyexp.figures._plot.typeset import plain
from greedyexp.report.draw import draw
from greedyexp.report.site import forest, kept_pages, run_page
from greedyexp.report.site.behind import _runs
from greedyexp.report.site.build import MARK, build
from greedyexp.report.site.serve import server_of
from greedyexp.report.site.svg import svg_of
from greedyexp.report.source import read_run
from greedyexp.report.verify import verify
from greedyexp.report.where import choose, parse
from greedyexp.results.words import short_name

SETTINGS = {
    "name": "small",
    "description": "A <small> run.",
    "paper": {"key": "Someone 2020", "figure": "Figure 1"},
    "seed": 3,
    "data": {
        "generator": "gaussian",
        "p": 8,
        "sparsity": 2,
        "noise_std": 0.5,
        "sweep": {"n_samples": [6, 12]},
    },
    "trials": 4,
    "algorithms": ["omp", {"lasso": {"sweep": {"n_lams": [5, 9]}}}],
    "metrics": ["support", "training_error"],
    "figures": [
        {
            "phase_transition": {
                "x": "n_samples",
                "panel": None,
                "line": ["algorithm"],
                "success": {"default": "support"},
            }
        },
        {"comparison": {"row": "n_samples", "metrics": ["training_error"]}},
    ],
    "tables": [{"comparison": {"row": "n_samples", "metrics": ["training_error"]}}],
    "claims": [
        {"id": "fits", "quote": "it fits", "test": "mean(omp, training_error) < 9"},
        {"id": "never", "quote": "it never fits", "test": "mean(omp, training_error) > 9"},
    ],
    "readings": [{"printed": "a", "used": "b", "because": "c"}],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    greedyexp.run(SETTINGS, out=out / "results", engine="serial", progress=False)
    return out / "results" / "small" / "quick"


@pytest.fixture(scope="module")
def site(run):
    """The report of a run, with its comparison with another one."""
    other = run.parents[2] / "other" / "quick"
    shutil.copytree(run, other)
    out = run.parents[2] / "report"
    build(run.parents[1], out, compared=[(run, other)], jobs=1)
    return out


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    """Tests keep no pages for the user."""
    home = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_pages, "user_cache_path", lambda name: home / name)
        yield home / "greedyexp" / "pages"


def page_of(site) -> str:
    return (site / "small" / "quick" / "index.html").read_text("utf-8")


def figures_of(page: str) -> list[dict]:
    found = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    return [json.loads(one) for one in found]


def column(series: dict, kind: str, name: str) -> list:
    """Return the values of all points; a column with one value for all has it once."""
    values, count = series[kind][name], len(series["x"])
    return values * count if len(values) == 1 else values


def drawn(draw):
    """Return the SVG of a figure with one panel, parsed, and its series."""
    with matplotlib.rc_context():
        figure = Figure(figsize=(4, 3))
        draw(figure.subplots())
        text, series = svg_of(figure, "name")
        return ElementTree.fromstring(text), series


def named(root, attribute: str) -> list:
    return [element for element in root.iter() if attribute in element.attrib]


def test_the_index_counts_verdicts_by_paper(site):
    index = (site / "index.html").read_text("utf-8")
    assert "1 supported" in index
    assert "1 refuted" in index
    assert '<a href="small/quick/index.html">' in index
    assert "Someone 2020" in index
    assert "comparison_1.html" in index


def test_versions_of_this_environment_have_not_changed(site):
    assert "changed since" not in (site / "index.html").read_text("utf-8")
    assert "not installed" not in page_of(site)


def test_the_page_of_a_run_has_claims_interpretations_and_how_it_was_made(site):
    page = page_of(site)
    assert "A &lt;small&gt; run." in page
    assert "it never fits" in page
    assert '<span class="verdict refuted">' in page
    assert "<td>a</td><td>b</td><td>c</td>" in page
    assert "config.yaml" in page
    assert "<dt>seed</dt><dd>3</dd>" in page


def test_hovering_shows_the_numbers_of_the_csv(site, run):
    frame = greedyexp.open(run).rows
    _, comparison = figures_of(page_of(site))
    seen = 0
    for known in comparison:
        mean = next(iter(known["facts"]))
        places = ("keys", "algorithm"), ("keys", "n"), ("facts", mean)
        columns = [column(known, *place) for place in places]
        for algorithm, n_samples, mean in zip(*columns, strict=True):
            rows = frame[(frame["algorithm"] == algorithm) & (frame["n_samples"] == n_samples)]
            assert mean == pytest.approx(rows["training_error"].mean(), rel=1e-9)
            seen += 1
    assert seen == 6


def test_the_figure_of_a_comparison_knows_the_means_of_both_runs(site, run):
    (figure,) = figures_of((site / "comparison_1.html").read_text("utf-8"))
    known = [one for one in figure if one["facts"]["mean_a"]]
    assert known
    for one in known:
        assert one["facts"]["mean_a"] == one["facts"]["mean_b"]
        assert one["facts"]["difference"] == [0.0]


def test_the_rows_behind_a_point_and_the_condition_of_one_of_them(site, run):
    source = read_run(run)
    columns = {short_name(column): column for column in source.frame.columns}
    counted = 0
    for figure in figures_of(page_of(site)):
        for known in figure:
            for place, behind in enumerate(known["places"]):
                runs, where = known["behind"][behind]["rows"], known["behind"][behind]["where"]
                numbers = [a + step * k for a, step, count in runs for k in range(count)]
                rows = source.frame.loc[numbers]
                for name in known["keys"]:
                    value = column(known, "keys", name)[place]
                    assert (rows[columns[name]] == value).all()
                assert len(rows) == 4
                assert choose(source, parse(where.strip("'"))) == numbers[:1]
                counted += 1
    assert counted == 12


def test_the_script_of_rows_holds_the_csv(site, run):
    text = (site / "small" / "quick" / "rows.js").read_text()
    packed = re.fullmatch(r'greedyexp\.table\("(.*)"\);\n', text).group(1)
    assert gzip.decompress(base64.b64decode(packed)) == (run / "small.csv").read_bytes()


def test_every_link_of_a_page_exists_and_none_needs_a_network(site):
    for file in site.rglob("*.html"):
        for link in re.findall(r'(?:href|src)="([^"]*)"', file.read_text("utf-8")):
            if link.startswith(("#", "data:")):
                continue
            assert "//" not in link
            assert (file.parent / link.partition("#")[0]).is_file(), link


@pytest.fixture
def copied(run, tmp_path):
    """A copy of a run, and a function that returns the files of its report."""
    shutil.copytree(run, tmp_path / "results" / "small" / "quick")

    def pages():
        assert build(tmp_path / "results", tmp_path / "report", jobs=1).errors == []
        home = tmp_path / "report" / "small" / "quick"
        files = {path.name: path.read_bytes() for path in home.rglob("*") if path.is_file()}
        # The page says when it was made.
        return files | {"index.html": re.sub(rb"<footer>greedyexp.*", b"", files["index.html"])}

    return tmp_path / "results" / "small" / "quick", pages


def count_drawn(monkeypatch) -> list:
    drawn = []
    made = run_page.svg_of
    monkeypatch.setattr(run_page, "svg_of", lambda *given: drawn.append(given[1]) or made(*given))
    return drawn


def test_large_rows_stay_in_the_run_folder_and_the_page_names_it(copied, monkeypatch):
    monkeypatch.setattr(run_page, "_MOST_ROWS", 10)
    folder, pages = copied
    files = pages()
    assert "rows.js" not in files
    page = files["index.html"].decode()
    assert f"In the run folder {folder}: <code>small.csv</code>" in page
    (about,) = re.findall(r'<script type="application/json" id="run">(.*?)</script>', page)
    assert json.loads(about)["rows"] is False
    assert json.loads(about)["table"] == str(folder / "small.csv")
    assert "save-rows" not in page


def test_a_page_is_made_again_only_if_its_run_has_changed(copied, monkeypatch):
    folder, pages = copied
    drawn = count_drawn(monkeypatch)
    first = pages()
    assert drawn == ["phase_transition", "comparison"]
    assert pages() == first
    assert len(drawn) == 2
    for name, old, new in (
        ("config.yaml", "it never fits", "it seldom fits"),
        ("manifest.json", '"commit": ', '"commit": "edited", "other": '),
        ("manifest.json", '"jobs": ', '"jobs": 7, "other": '),
    ):
        before = len(drawn)
        (folder / name).write_text((folder / name).read_text().replace(old, new, 1))
        assert pages()["index.html"] != first["index.html"]
        assert len(drawn) == before + 2


def test_a_damaged_cache_costs_nothing_but_time(copied, cache, monkeypatch):
    _, pages = copied
    first = pages()
    kept = max(cache.iterdir(), key=lambda file: file.stat().st_mtime)
    whole = kept.read_bytes()
    for damage in (b"", whole[:-20], gzip.compress(b"{}"), gzip.compress(b"[]"), b"\0" * 30):
        kept.write_bytes(damage)
        drawn = count_drawn(monkeypatch)
        assert pages() == first
        assert len(drawn) == 2


def test_runs_of_row_numbers_are_exact():
    rng = np.random.default_rng(0)
    for size in range(30):
        numbers = np.unique(rng.integers(0, 60, size))
        back = [a + step * k for a, step, count in _runs(numbers) for k in range(count)]
        assert back == numbers.tolist()


def test_points_are_where_their_marks_are_drawn():
    def draw(axis):
        axis.set_xscale("log")
        (line,) = axis.plot([1, 10, 100, 1000], [0.0, np.nan, 2.0, 1.0], "o", color="#ff0000")
        keys = pd.DataFrame({"p": [1, 10, 100, 1000]})
        plot.attach(line, keys, {"mean": [0.0, np.nan, 2.0, 1.0]})
        axis.set_xlim(1, 100)

    root, (series,) = drawn(draw)
    marks = [element for element in root.iter() if element.get("fill") == "#ff0000"]
    used = [(float(mark.get("x")), float(mark.get("y"))) for mark in marks if mark.get("x")]
    # The second point is unknown, and the last one lies beyond the end of the axis.
    assert np.isnan(series.places[[1, 3]]).all()
    assert series.places[[0, 2]] == pytest.approx(np.array(used[:2]), abs=0.02)
    assert series.points.facts["mean"][2] == 2.0


def test_an_entry_of_the_legend_names_its_marks():
    def draw(axis):
        axis.plot([1, 2], [0, 1], "o-", label="OMP", color="#ff0000")
        axis.fill_between([1, 2], [0, 1], [1, 2], color="#ff0000", alpha=0.2)
        axis.fill_between([1, 2], [2, 2], [3, 3], color="#00ff00", alpha=0.2)
        axis.axvline(1, color="#0000ff", linestyle="--", label="bound")
        axis.legend()

    root, _ = drawn(draw)
    buttons = named(root, "data-entry")
    assert ["".join(button.itertext()) for button in buttons] == ["OMP", "bound"]
    assert {button.get("role") for button in buttons} == {"button"}
    places = [button.get("data-entry") for button in buttons]
    hidden = [mark.get("data-entries") for mark in named(root, "data-entries")]
    # The line and its band, but not the other band.
    assert sorted(hidden) == sorted([places[0], places[0], places[1]])


def test_a_legend_tells_apart_segments_of_several_colours():
    def draw(axis):
        axis.vlines([1, 2], 0, 1, colors=["#ff0000", "#0000ff"])
        for label, colour in (("a", "#ff0000"), ("b", "#0000ff")):
            axis.plot([], [], color=colour, label=label)
        axis.legend()

    root, _ = drawn(draw)
    hidden = {mark.get("stroke"): mark.get("data-entries") for mark in named(root, "data-entries")}
    assert (hidden["#ff0000"], hidden["#0000ff"]) == ("0", "1")


def test_cells_have_their_places_and_sizes():
    corners = [[(x, 0), (x, 1), (x + 1, 1), (x + 1, 0)] for x in range(3)]

    def draw(axis):
        cells = PolyCollection(corners, array=[0.0, 1.0, 0.0], cmap="cividis")
        plot.attach(cells, pd.DataFrame({"p": [5, 6, 7]}), {"share": [0.0, 1.0, 0.0]})
        axis.add_collection(cells)
        axis.set(xlim=(0, 3), ylim=(0, 1))
        axis.figure.colorbar(cells, ticks=[0, 1])

    root, (series,) = drawn(draw)
    width, height = series.sizes[0]
    assert np.diff(series.places[:, 0]) == pytest.approx(width)
    assert (series.sizes == [width, height]).all()
    assert series.points.keys == {"p": [5, 6, 7]}
    # A continuous scale hides nothing.
    assert named(root, "data-entry") == []


def test_an_svg_has_no_styles_and_no_ids_of_another_figure():
    def draw(axis):
        axis.plot([1, 2], "s")
        axis.imshow(np.eye(2))

    root, _ = drawn(draw)
    assert named(root, "style") == []
    assert not [element for element in root.iter() if element.tag.endswith("}style")]
    ids = {element.get("id") for element in named(root, "id")}
    assert ids
    assert all(name.startswith("name-") for name in ids)
    links = [value for one in root.iter() for value in one.attrib.values() if "#name-" in value]
    assert {re.sub(r"^url\(|#|\)$", "", link) for link in links} == ids


HOSTILE = '"><script>alert(1)</script>&amp;'


def test_labels_are_shown_as_they_are_written():
    def draw(axis):
        axis.plot([1, 2], label=HOSTILE)
        axis.set_title(HOSTILE)
        axis.legend()

    with matplotlib.rc_context():
        figure = Figure()
        draw(figure.subplots())
        text, _ = svg_of(figure, "name", HOSTILE, HOSTILE)
    assert "<script" not in text
    root = ElementTree.fromstring(text)
    assert root.get("aria-label") == HOSTILE
    assert [one.text for one in root.iter() if one.text == HOSTILE] == [HOSTILE] * 3


def test_letters_of_formulas_are_in_the_order_of_reading():
    root, _ = drawn(lambda axis: axis.set_title(r"so $\theta = 2^{k}$ here"))
    texts = ["".join(one.itertext()) for one in root.iter() if one.tag.endswith("}text")]
    assert "so θ=2k here" in [text.replace("\xa0", " ") for text in texts]


def test_formulas_become_characters():
    assert plain(r"$\theta = 10^{-3}$") == "θ = 10^-3"
    assert plain(r"$\|b^*\|$, $2\,s$ and $\log(p)$") == "‖b^*‖, 2s and log(p)"


@pytest.fixture
def refused(capsys):
    """Run a command that is refused with one sentence, and return the sentence."""

    def run(*given) -> str:
        assert main([str(one) for one in given]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("Error: ")
        return line

    return run


def a_test(**numbers) -> dict:
    given = {"estimate": 1.0, "boundary": 0.0, "low": 0.5, "high": 1.5, **numbers}
    counts = dict.fromkeys(("trials", "failed", "unconverged", "needed_trials"), 5)
    return {
        "group": {"p": 8},
        "test": "mean(a, b) > 0",
        "verdict": "supported",
        "confidence": 0.95,
        "sentence": "",
        "not_finite": {},
        **counts,
        **given,
    }


def test_a_forest_plot_has_one_scale_for_one_formula():
    first, second = forest.rows([a_test(), a_test(estimate=2.0, low=1.5, high=2.5)])
    a, b = first["drawing"], second["drawing"]
    assert a["boundary"] == b["boundary"] < a["low"] < a["estimate"] < a["high"] == b["low"]
    assert b["estimate"] - a["estimate"] == pytest.approx(2 * (a["high"] - a["estimate"]), abs=0.3)
    assert first["interval"] == "[0.5, 1.5]"


def test_an_interval_without_limit_ends_in_an_arrow():
    (row,) = forest.rows([a_test(high=None, not_finite={"high": "inf"})])
    assert row["interval"] == "[0.5, no limit]"
    assert row["drawing"]["right"] is True
    assert row["drawing"]["left"] is False


def test_a_test_without_numbers_has_no_drawing():
    numbers = dict.fromkeys(("estimate", "boundary", "low", "high", "confidence"))
    (row,) = forest.rows([a_test(**numbers, verdict="inconclusive", sentence="no seconds.")])
    assert row["drawing"] is None
    assert row["reason"] == "no seconds."


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda out: None, "there is no finished run here"),
        (lambda out: (out / "report").mkdir() or (out / "report" / "x").touch(), "other files"),
        (lambda out: (out / "report").touch(), "this is a file"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_in_one_sentence(
    run, refused, tmp_path, make, words
):
    make(tmp_path)
    path = tmp_path if "run here" in words else run
    assert words in refused("report", path, "--out", tmp_path / "report")
    assert not (tmp_path / "report" / MARK).exists()


def test_a_folder_that_cannot_be_made_is_refused(run, refused, tmp_path):
    (tmp_path / "file").touch()
    said = refused("report", run, "--out", tmp_path / "file" / "report")
    assert "cannot be written" in said


def test_the_folder_of_a_run_is_not_replaced(run, refused):
    (run.parents[1] / MARK).touch()
    try:
        assert "Name another folder" in refused("report", run, "--out", run.parents[1])
    finally:
        (run.parents[1] / MARK).unlink()
    assert (run / "small.csv").is_file()


def test_an_edited_claim_is_judged_again(run, tmp_path):
    copy = tmp_path / "results" / "small" / "quick"
    shutil.copytree(run, copy)
    file = copy / "config.yaml"
    file.write_text(file.read_text().replace("training_error) < 9", "training_error) > 8"))
    build(copy, tmp_path / "report", jobs=1)
    page = page_of(tmp_path / "report")
    assert "mean(omp, training_error) &gt; 8" in page
    assert "mean(omp, training_error) &lt; 9" not in page


@pytest.mark.usefixtures("impatient")
def test_a_damaged_run_has_no_page_and_the_others_have(run, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    shutil.copytree(run, tmp_path / "results" / "good" / "quick")
    shutil.copytree(run, tmp_path / "results" / "bad" / "quick")
    (tmp_path / "results" / "bad" / "quick" / "small.csv").write_text("status\n")
    given = ["report", str(tmp_path / "results"), "--out", str(tmp_path / "report")]
    assert main(given) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "bad" in said
    assert (tmp_path / "report" / "good" / "quick" / "index.html").is_file()
    assert "Without a page" in (tmp_path / "report" / "index.html").read_text("utf-8")


def test_a_claim_that_cannot_be_read_takes_one_page(run, tmp_path, capsys, monkeypatch):
    # Errors cross from one process to another.
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    for name in ("good", "bad"):
        shutil.copytree(run, tmp_path / "results" / name / "quick")
    file = tmp_path / "results" / "bad" / "quick" / "config.yaml"
    file.write_text(file.read_text().replace("training_error) < 9", "training_eror) < 9"))
    given = ["report", str(tmp_path / "results"), "--out", str(tmp_path / "report")]
    assert main(given) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "bad" in said
    assert "training_eror" in said
    assert (tmp_path / "report" / "good" / "quick" / "index.html").is_file()


def links_of_runs(report) -> list[str]:
    index = (report / "index.html").read_text("utf-8")
    return re.findall(r'<th scope="row"><a href="([^"]*)"', index)


def replayed(page) -> str:
    """Return the folder of the run that a page is about."""
    (text,) = re.findall(
        r'<script type="application/json" id="run">(.*?)</script>', page.read_text()
    )
    return shlex.split(json.loads(text)["replay"])[-1]


NAMES = (
    *("javascript:alert(1)", "a#b", "a?b", "a%41b", "a b", "a+b", "q'\"", "ü", "<i>x", "a\\b"),
    *("assets", "index.html", "comparison_1.html", ".hidden", "b\udcff"),
)


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A run without figures, whose page is made quickly."""
    out = tmp_path_factory.mktemp("bare")
    settings = {key: SETTINGS[key] for key in ("data", "algorithms", "metrics")}
    settings |= {"name": "bare", "trials": 1}
    greedyexp.run(settings, out=out, engine="serial", progress=False)
    return out / "bare" / "quick"


def test_links_lead_to_the_pages_whatever_folders_are_called(bare, tmp_path):
    folders = {name: tmp_path / "results" / name / "quick" for name in NAMES}
    for folder in folders.values():
        shutil.copytree(bare, folder)
    report = tmp_path / "report"
    assert build(tmp_path / "results", report, jobs=1).errors == []
    links = links_of_runs(report)
    assert len(set(links)) == len(NAMES)
    shown = set()
    for link in links:
        assert re.fullmatch(r"[A-Za-z0-9%._/+-]+", link)
        shown.add(replayed(report / os.fsdecode(unquote_to_bytes(link))))
    # Bytes that are no text cannot be written in a page.
    folders["b\udcff"] = tmp_path / "results" / "b?" / "quick"
    assert shown == set(map(str, folders.values()))


def test_runs_with_the_same_last_two_names_have_a_page_each(bare, tmp_path):
    folders = [tmp_path / "results" / place / "same" / "quick" for place in ("a", "b", "c")]
    folders[2] = folders[2].parents[1] / "SAME" / "quick"
    for folder in folders:
        shutil.copytree(bare, folder)
    report = tmp_path / "report"
    build(tmp_path / "results", report, jobs=1, compared=[(folders[0], folders[1])])
    links = links_of_runs(report)
    assert len({link.casefold() for link in links}) == 3
    for folder, link in zip(folders, links, strict=True):
        assert replayed(report / link) == str(folder)
    index = (report / "index.html").read_text()
    # Neither name nor profile tells them apart there.
    assert all(str(folder) in index for folder in folders)
    assert f"{folders[0]} and {folders[1]}" in index


def test_pages_forbid_scripts_of_others(site):
    for file in site.rglob("*.html"):
        page = file.read_text("utf-8")
        (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
        rules = dict(one.split(" ", 1) for one in html.unescape(policy).split("; "))
        assert rules["default-src"] == "'none'"
        assert "unsafe" not in policy
        assert re.findall(r"(?i)<script(?![^>]* src=)(?![^>]*application/json)", page) == []
        assert re.findall(r"(?i)<[^>]* on[a-z]+=", page) == []


def test_edited_verdicts_and_figures_are_not_published(run, tmp_path):
    copy = tmp_path / "small" / "quick"
    shutil.copytree(run, copy)
    verify(copy)
    draw(copy)
    stored = (copy / "claims.json").read_text()
    (copy / "claims.json").write_text(stored.replace("refuted", "supported"))
    drawn = (copy / "figures" / "comparison.png").read_bytes()
    (copy / "figures" / "comparison.png").write_bytes(drawn + b"of a stranger")
    build(copy, tmp_path / "report", jobs=1)
    page = page_of(tmp_path / "report")
    assert '<span class="verdict refuted">' in page
    assert "Judged from table and settings by greedyexp" in page
    own = tmp_path / "report" / "small" / "quick"
    assert (own / "claims.json").read_text() == stored
    copied = [file for file in own.rglob("*") if file.is_file()]
    assert not any(b"of a stranger" in file.read_bytes() for file in copied)


def test_a_mistake_in_a_run_costs_no_more_than_it_must(run, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    for name in ("good", "figure", "parameter", "paper", "manifest", "seconds"):
        shutil.copytree(run, tmp_path / "results" / name / "quick")

    def edit(name, file, old, new):
        path = tmp_path / "results" / name / "quick" / file
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))

    edit("figure", "config.yaml", "- comparison:", "- no_figure:")
    edit("parameter", "config.yaml", "x: n_samples", "x: n_samples\n    nope: 3")
    edit("paper", "config.yaml", "readings:", "readings: 3\nother:")
    edit("manifest", "manifest.json", '"machine": {', '"machine": "mine", "other": {')
    edit("seconds", "manifest.json", '"algorithm_seconds": ', '"algorithm_seconds": "x", "other": ')
    report = tmp_path / "report"
    assert main(["report", str(tmp_path / "results"), "--out", str(report)]) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    index = html.unescape((report / "index.html").read_text())
    for name in ("paper", "manifest", "seconds"):
        assert not (report / name).exists()
        assert f"results/{name}/quick" in said
        assert re.search(f"Without a page: .*results/{name}/quick", index)
    for name, words in (
        ("figure", "there is no figure named 'no_figure'"),
        ("parameter", "has no parameter 'nope'"),
        ("good", "it never fits"),
    ):
        page = html.unescape((report / name / "quick" / "index.html").read_text())
        assert words in page
        assert "Success" in page or name != "good"


def test_a_plugin_that_ends_its_process_costs_its_own_page(bare, tmp_path, monkeypatch):
    monkeypatch.setenv("NOW", "0")
    plugin = tmp_path / "ends.py"
    plugin.write_text("import os\nif os.environ['NOW'] == '1':\n    os.kill(os.getpid(), 9)\n")
    out = tmp_path / "results"
    settings = {key: SETTINGS[key] for key in ("data", "algorithms", "metrics")}
    settings |= {"name": "ends", "plugins": [str(plugin)], "trials": 1}
    greedyexp.run(settings, out=out, engine="serial", progress=False)
    shutil.copytree(bare, out / "good" / "quick")
    monkeypatch.setenv("NOW", "1")
    made = build(out, tmp_path / "report", jobs=2)
    assert made.runs == 1
    (error,) = made.errors
    assert str(out / "ends" / "quick") in str(error)


def test_a_bad_comparison_costs_its_own_page(run, tmp_path):
    made = build(run, tmp_path / "report", jobs=1, compared=[(run, tmp_path / "nothing")])
    assert made.runs == 1
    assert "Without a page" in made.index.read_text("utf-8")


def test_a_page_has_no_control_characters(run, tmp_path):
    folder = tmp_path / "a\x1b[31m\u202e" / "quick"
    shutil.copytree(run, folder)
    config = yaml.safe_load((folder / "config.yaml").read_text())
    config["description"] = "\0\x07\x85of a stranger"
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    made = build(folder, tmp_path / "report", jobs=1)
    for page in made.index.parent.rglob("*.html"):
        text = page.read_text("utf-8")
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)
        assert page == made.index or "\ufffdof a stranger" in text


def test_a_lack_of_memory_is_named_and_not_kept(copied, tmp_path, monkeypatch):
    run, _ = copied

    def fail(*given):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(run_page, "verified_source", fail)
        with pytest.raises(StorageError, match=r"not enough memory\. Close other programs"):
            build(run, tmp_path / "report", jobs=1)
    with monkeypatch.context() as patch:
        patch.setattr(run_page, "svg_of", fail)
        build(run, tmp_path / "report", jobs=1)
    page = tmp_path / "report" / "small" / "quick" / "index.html"
    assert "cannot be drawn: MemoryError" in page.read_text("utf-8")
    build(run, tmp_path / "report", jobs=1)
    assert "cannot be drawn" not in page.read_text("utf-8")


@pytest.fixture
def server(run, tmp_path):
    """Serve a report with a file and a link that are not its own."""
    made = build(run, tmp_path / "report", jobs=1)
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "report" / "added.html").write_text("secret")
    (tmp_path / "report" / "assets" / "report.css").unlink()
    (tmp_path / "report" / "assets" / "report.css").symlink_to(tmp_path / "secret")
    with server_of(made.index.parent, made.files) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def served(server):
    """How to ask a served report."""

    def ask(path, host=f"127.0.0.1:{server.server_port}"):
        connection = HTTPConnection("127.0.0.1", server.server_port)
        connection.putrequest("GET", path, skip_host=True)
        connection.putheader("Host", host)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.headers)

    return ask


def test_a_served_report_gives_its_own_files_alone(served, site):
    status, page, headers = served("/small/quick/")
    assert (status, page[:15]) == (200, b"<!DOCTYPE html>")
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert served("/small/quick/rows.js?x=1")[0] == 200
    for path in ("/added.html", "/assets/report.css", "/assets/", "/small/quick/../../../secret"):
        assert served(path)[0] == 404
        assert b"secret" not in served(path)[1]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost"])
def test_a_served_report_refuses_other_hosts(served, host):
    assert served("/", host)[0] == 421


@pytest.mark.parametrize("path", ["http://[/", "http://[::1", "http://[x]/index.html", "/%00", "*"])
def test_a_served_report_answers_a_path_that_is_no_address(served, capfd, path):
    assert served(path)[0] == 404
    assert capfd.readouterr().err == ""


def test_a_browser_that_has_gone_is_no_error(server, capfd):
    for _ in range(5):
        with socket.create_connection(server.server_address) as browser:
            browser.sendall(b"GET /")
            browser.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    time.sleep(0.2)
    assert capfd.readouterr().err == ""


def test_a_run_without_claims_or_figures_has_a_page(bare, tmp_path):
    build(bare, tmp_path / "report", jobs=1)
    page = (tmp_path / "report" / "bare" / "quick" / "index.html").read_text("utf-8")
    assert "no claims" in page


def test_a_missing_package_is_named_with_the_remedy(run, refused, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    said = refused("report", run, "--out", tmp_path / "report")
    assert "jinja2" in said
    assert "greedyexp[report]" in said
