"""``greedyexp report``: pages, interactive figures, rows behind points, forest plots, errors."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import greedyexp
from greedyexp.cli import main
from greedyexp.figures import _plot as plot
from greedyexp.report.site import forest, mathtext
from greedyexp.report.site.behind import _runs
from greedyexp.report.site.build import MARK, build
from greedyexp.report.site.interactive import NotConvertible, interactive
from greedyexp.report.source import read_run
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


def page_of(site) -> str:
    return (site / "small" / "quick" / "index.html").read_text("utf-8")


def figures_of(page: str) -> list[dict]:
    found = re.findall(r'<script type="application/json">(.*?)</script>', page, re.DOTALL)
    return [json.loads(one) for one in found]


def drawn(draw) -> object:
    with matplotlib.rc_context():
        figure = Figure(figsize=(4, 3))
        draw(figure.subplots())
        figure.canvas.draw()
        return interactive(figure)


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
    for known in comparison["points"].values():
        means = next(iter(known["facts"].values()))
        columns = [known["keys"]["algorithm"], known["keys"]["n"], means]
        for algorithm, n_samples, mean in zip(*columns, strict=True):
            rows = frame[(frame["algorithm"] == algorithm) & (frame["n_samples"] == n_samples)]
            assert mean == pytest.approx(rows["training_error"].mean(), rel=1e-9)
            seen += 1
    assert seen == 6


def test_the_figure_of_a_comparison_knows_the_means_of_both_runs(site, run):
    (figure,) = figures_of((site / "comparison_1.html").read_text("utf-8"))
    known = [one for one in figure["points"].values() if one["facts"]["mean_a"]]
    assert known
    for one in known:
        assert one["facts"]["mean_a"] == one["facts"]["mean_b"]
        assert set(one["facts"]["difference"]) == {0.0}


def test_the_rows_behind_a_point_and_the_condition_of_one_of_them(site, run):
    source = read_run(run)
    columns = {short_name(column): column for column in source.frame.columns}
    counted = 0
    for figure in figures_of(page_of(site)):
        for known in figure["points"].values():
            for place, behind in enumerate(known["places"]):
                runs, where = known["behind"][behind]["rows"], known["behind"][behind]["where"]
                numbers = [a + step * k for a, step, count in runs for k in range(count)]
                rows = source.frame.loc[numbers]
                for name, values in known["keys"].items():
                    assert (rows[columns[name]] == values[place]).all()
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


def test_the_licence_of_plotly_is_copied(site):
    assert "MIT License" in (site / "assets" / "plotly.LICENSE.txt").read_text()


def test_runs_of_row_numbers_are_exact():
    rng = np.random.default_rng(0)
    for size in range(30):
        numbers = np.unique(rng.integers(0, 60, size))
        back = [a + step * k for a, step, count in _runs(numbers) for k in range(count)]
        assert back == numbers.tolist()


def test_a_line_keeps_its_points_scales_and_numbers():
    def draw(axis):
        axis.set_xscale("log")
        (line,) = axis.plot([1, 10, 100], [0.0, np.nan, 2.0], "o-", label="OMP", color="#ff0000")
        keys = pd.DataFrame({"p": [1, 10, 100]})
        plot.attach(line, keys, {"mean": [0.0, np.nan, 2.0]})
        axis.fill_between([1, 100], [0, 1], [1, 2], color="#ff0000", alpha=0.2)
        axis.fill_between([1, 100], [2, 2], [3, 3], color="#00ff00", alpha=0.2)
        axis.axvline(10, color="#0000ff", linestyle="--", label="bound")
        axis.legend()

    found = drawn(draw)
    assert found.layout["xaxis"]["type"] == "log"
    (index,) = found.points
    trace = found.data[index]
    assert trace["x"] == [1, 10, 100]
    assert trace["y"] == [0.0, None, 2.0]
    assert found.points[index].facts["mean"][2] == 2.0
    by_label = {one["label"]: one for one in found.legend}
    own = {found.data[place].get("fillcolor") for place in by_label["OMP"]["traces"]}
    assert own == {None, "rgba(255,0,0,0.2)"}
    assert by_label["bound"] == by_label["bound"] | {"traces": [], "shapes": [0]}
    assert found.layout["shapes"][0]["x0"] == 10


def test_bars_with_unknown_ends_are_left_out():
    def draw(axis):
        axis.errorbar([1, 2], [1, 1], yerr=[[np.nan, 0.5], [np.nan, 0.5]], linestyle="none")

    bars = next(one for one in drawn(draw).data if one["mode"] == "lines")
    assert [value for value in bars["y"] if value is not None] == [0.5, 1.5]


def test_another_scale_is_drawn_at_its_places_with_its_labels():
    def draw(axis):
        axis.set_xscale("symlog", linthresh=1)
        axis.plot([0, 1, 10], [0, 1, 2])
        plot.set_ticks(axis.xaxis, [0, 1, 10])

    found = drawn(draw)
    axis = found.layout["xaxis"]
    assert axis["type"] == "linear"
    assert axis["ticktext"] == ["0", "1", "10"]
    assert axis["tickvals"] == pytest.approx(found.data[0]["x"][:3])
    # Linear up to 1, which takes 10/9 decades, then logarithmic.
    assert axis["tickvals"] == pytest.approx([0, 10 / 9, 19 / 9])
    # Plotly must not write the transformed values as ticks.
    assert axis["meta"] is False


def test_cells_keep_their_colours_and_numbers():
    from matplotlib.collections import PolyCollection

    corners = [[(x, 0), (x, 1), (x + 1, 1), (x + 1, 0)] for x in range(3)]

    def draw(axis):
        axis.set_facecolor("0.8")
        cells = PolyCollection(corners, array=[0.0, 1.0, 0.0], cmap="cividis")
        cells.set_clim(0, 1)
        plot.attach(cells, pd.DataFrame({"p": [5, 6, 7]}), {"share": [0.0, 1.0, 0.0]})
        axis.add_collection(cells)
        axis.autoscale_view()
        axis.figure.colorbar(cells, ticks=[0, 1])

    found = drawn(draw)
    low, high, points = found.data
    # Two cells of three have the colour of 0, and None ends a cell.
    assert low["x"] == [0, 0, 1, 1, 0, None, 2, 2, 3, 3, 2, None]
    assert high["x"] == [1, 1, 2, 2, 1, None]
    assert (points["x"], points["y"]) == ([0.5, 1.5, 2.5], [0.5] * 3)
    assert found.points[2].keys == {"p": [5, 6, 7]}
    # The colours of a scale are hexadecimal, which dark pages leave as they are.
    dark, bright = (
        matplotlib.colors.to_hex(matplotlib.colormaps["cividis"](x)) for x in (0.0, 1.0)
    )
    assert (low["fillcolor"], high["fillcolor"]) == (dark, bright)
    assert [entry["swatch"]["area"] for entry in found.legend] == [dark, bright]
    assert found.layout["shapes"][0]["fillcolor"] == "rgb(204,204,204)"


def test_what_plotly_lacks_is_refused():
    with pytest.raises(NotConvertible, match="AxesImage"):
        drawn(lambda axis: axis.imshow(np.eye(3)))


def test_formulas_become_characters():
    assert mathtext.plain(r"$\theta = 10^{-3}$") == "θ=10⁻³"
    assert mathtext.plain(r"$\mathdefault{10^{1}}$") == "10¹"
    assert mathtext.plain(r"$L_{22}$, $b^k$") == "L₂₂, b^k"
    assert mathtext.plain_note("One,\ntwo.\nThree.") == "One, two.\nThree."
    assert mathtext.markup(r"a < $\lambda_1$") == "a &lt; λ<sub>1</sub>"


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


def test_a_run_without_claims_or_figures_has_a_page(tmp_path):
    bare = {key: SETTINGS[key] for key in ("data", "algorithms", "metrics")}
    bare |= {"name": "bare", "trials": 1}
    greedyexp.run(bare, out=tmp_path, engine="serial", progress=False)
    build(tmp_path, tmp_path / "report", jobs=1)
    page = (tmp_path / "report" / "bare" / "quick" / "index.html").read_text("utf-8")
    assert "no claims" in page


def test_a_missing_package_is_named_with_the_remedy(run, refused, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    said = refused("report", run, "--out", tmp_path / "report")
    assert "jinja2" in said
    assert "greedyexp[report]" in said
