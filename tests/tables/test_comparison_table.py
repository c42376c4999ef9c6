"""Table and figure ``comparison``: means, published numbers, escaped text."""

import csv
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import yaml
from figure_frames import legend_texts, style  # noqa: F401 (an autouse fixture)
from scipy import stats

from greedyexp import report
from greedyexp.config import load
from greedyexp.core import registry, shipped
from greedyexp.core.errors import ConfigError
from greedyexp.core.trust import consent
from greedyexp.figures._plot import COLOURS
from greedyexp.figures.comparison import comparison as figure_of
from greedyexp.results.comparisons import MetricStyle
from greedyexp.results.context import Context
from greedyexp.stats.proportions import wilson
from greedyexp.stats.sequential import proportion_interval
from greedyexp.tables._output import Cell, table_files
from greedyexp.tables.comparison import comparison as table_of

CONTEXT = Context(
    "digits",
    "paper",
    6,
    "A & B 2012, Table 1",
    {"ours": "greedy_dirty", "lasso": "lasso"},
    {"ours": "Ours", "lasso": "Lasso"},
)
STYLES = {
    "error": MetricStyle(title="mean error", scale=100.0, unit="%", digits=2),
    "size": MetricStyle(digits=0),
}
PUBLISHED = {
    "greedy_dirty": {"error": {"10": 6.5, "20": 2.1}},
    "lasso": {"error": {"10": 10.8}, "size": {"20": 821.0}},
}
OPTIONS = {"row": "n_train", "metrics": STYLES, "published": PUBLISHED}


@pytest.fixture
def frame():
    rng = np.random.default_rng(7)
    rows = [
        (n, k, label, "ok", base / n + 0.01 * rng.standard_normal(), rng.integers(500, 600))
        for label, base in (("ours", 0.7), ("lasso", 1.1))
        for n in (10, 20)
        for k in range(6)
    ]
    names = ["n_train", "replicate", "algorithm", "status", "error", "size"]
    return pd.DataFrame(rows, columns=names)


def values(frame, label, n, metric="error"):
    return frame.loc[(frame["algorithm"] == label) & (frame["n_train"] == n), metric].dropna()


def expected(sample, scale):
    low, high = stats.t.interval(0.95, len(sample) - 1, sample.mean(), stats.sem(sample))
    return np.array([sample.mean(), low, high]) * scale


def test_cells_are_means_with_t_intervals_and_published_numbers(frame):
    table = table_of(frame, CONTEXT, **OPTIONS)
    assert list(table.columns) == ["training samples", "mean of", "Ours", "Lasso"]
    assert table["mean of"].tolist() == ["mean error (%)", "size"] * 2
    cell = table.loc[0, "Ours"]
    np.testing.assert_allclose(
        [cell.value, cell.low, cell.high], expected(values(frame, "ours", 10), 100)
    )
    half = (cell.high - cell.low) / 2
    assert str(cell) == f"{cell.value:.2f} ± {half:.2f} (6.5)"
    assert table.loc[3, "Lasso"].published == 821
    assert np.isnan(table.loc[3, "Ours"].published)
    assert "(" not in str(table.loc[3, "Ours"])
    assert any("over 6 replicates with 95% t intervals" in note for note in table.attrs["notes"])


def test_one_replicate_says_that_its_interval_is_unbounded(frame):
    table = table_of(frame[frame["replicate"] == 0], CONTEXT, **OPTIONS)
    assert str(table.loc[0, "Ours"]).endswith("± ∞ (6.5)")
    assert str(Cell(float("nan"), -np.inf, np.inf)) == "none"


def test_failed_replicates_are_out_of_the_means_and_counted(frame):
    lost = (frame["algorithm"] == "lasso") & (frame["n_train"] == 10) & (frame["replicate"] < 2)
    frame.loc[lost, "status"] = "timeout"
    frame.loc[lost, ["error", "size"]] = np.nan
    table = table_of(frame, CONTEXT, **OPTIONS)
    left = values(frame, "lasso", 10)
    assert len(left) == 4
    assert table.loc[0, "Lasso"].value == pytest.approx(100 * left.mean())
    said = " ".join(table.attrs["notes"])
    assert "means over 4 to 6 replicates" in said
    assert "Failed replicates, not in the means: Lasso 2 of 12." in said
    assert "Lasso 2 of 12" in figure_of(frame, CONTEXT, **OPTIONS).get_supxlabel()


def test_an_algorithm_without_a_value_is_no_number(frame):
    frame.loc[frame["algorithm"] == "lasso", "status"] = "error"
    assert str(table_of(frame, CONTEXT, **OPTIONS).loc[0, "Lasso"]) == "none (10.8)"
    assert figure_of(frame, CONTEXT, **OPTIONS)


def test_figure_and_table_show_the_same_numbers(frame):
    table = table_of(frame, CONTEXT, **OPTIONS)
    axis = figure_of(frame, CONTEXT, **OPTIONS).axes[0]
    cells = table.loc[[0, 2], "Ours"]
    colour = COLOURS[1]
    mine = [line for line in axis.lines if line.get_color() == colour]
    means = next(line for line in mine if line.get_gid() is None and line.get_marker() != "None")
    assert means.get_ydata().tolist() == [cell.value for cell in cells]
    bars = [line for line in mine if line.get_gid() == "interval"]
    assert [tuple(bar.get_ydata()) for bar in bars] == [(cell.low, cell.high) for cell in cells]
    (printed,) = [line for line in mine if line.get_gid() == "published"]
    shifts = {line.get_transform().transform((0, 0))[0] for line in (means, printed, *bars)}
    assert len(shifts) == 1, "markers and bars are shifted together"
    assert printed.get_ydata().tolist() == [6.5, 2.1]
    assert printed.get_markerfacecolor() == "none"
    assert axis.get_ylabel() == "mean error (%)"
    assert [text.get_text() for text in axis.get_xticklabels()] == ["10", "20"]


def _pairs(frame, n):
    """Return the errors of both algorithms, in percent, on the data sets that both solved."""
    both = frame[frame["n_train"] == n].pivot(index="replicate", columns="algorithm")["error"]
    return 100 * both.dropna()


def test_a_figure_shows_differences_on_the_same_data(frame):
    frame.loc[0, ["status", "error"]] = "error", np.nan
    options = OPTIONS | {"metrics": {"error": STYLES["error"]}, "against": {"ours": "lasso"}}
    picture = figure_of(frame, CONTEXT, **options)
    (axis,) = picture.axes
    assert axis.get_ylabel() == "difference in mean error (%)"
    assert legend_texts(picture)[0] == "Ours − Lasso"
    drawn = {line.get_gid(): line.get_ydata() for line in axis.lines if line.get_gid()}
    differences = [_pairs(frame, n)["ours"] - _pairs(frame, n)["lasso"] for n in (10, 20)]
    np.testing.assert_allclose(axis.lines[1].get_ydata(), [one.mean() for one in differences])
    assert list(drawn["equal"]) == [0, 0]
    np.testing.assert_allclose(drawn["published"], [6.5 - 10.8, np.nan])
    bars = [line.get_ydata() for line in axis.lines if line.get_gid() == "interval"]
    for bar, one in zip(bars, differences, strict=True):
        test = stats.ttest_1samp(one, 0).confidence_interval()
        np.testing.assert_allclose(bar, [test.low, test.high])
    said = picture.get_supxlabel()
    assert "mean differences over 5 to 6 replicates with 95% paired t intervals" in said
    assert "Ours 1 of 12" in said


def test_a_figure_shows_ratios_on_the_same_data(frame):
    styles = {"error": MetricStyle(title="mean error", axis="log")}
    options = {**OPTIONS, "metrics": styles, "against": {"ours": "lasso"}, "by": "ratio"}
    (axis,) = figure_of(frame, CONTEXT, **options).axes
    means = _pairs(frame, 10).mean()
    line, drawn = axis.lines[0], axis.lines[1].get_ydata()
    assert (line.get_gid(), list(line.get_ydata())) == ("equal", [1, 1])
    assert drawn[0] == pytest.approx(means["ours"] / means["lasso"])
    published = next(line for line in axis.lines if line.get_gid() == "published")
    assert published.get_ydata()[0] == pytest.approx(6.5 / 10.8)
    options["against"] = {"ours": "laso"}
    with pytest.raises(ConfigError, match=r"`against` names 'laso'.*Did you mean 'lasso'"):
        figure_of(frame, CONTEXT, **options)


def test_panels_of_one_metric_have_one_scale(frame):
    both = pd.concat([frame.assign(norm=5, error=2 * frame["error"]), frame.assign(norm=1)])
    options = {"row": "n_train", "metrics": {"error": STYLES["error"]}, "panel": "norm"}
    axes = figure_of(both, CONTEXT, **options).axes
    assert [axis.get_title() for axis in axes] == ["‖b*‖ = 1", "‖b*‖ = 5"]
    small, large = (axis.lines[0].get_ydata() for axis in axes)
    np.testing.assert_allclose(large, 2 * small)
    assert axes[0].get_ylim() == axes[1].get_ylim()
    assert axes[0].get_ylim()[1] > max(large)
    several = figure_of(both, CONTEXT, **options | {"metrics": STYLES}).axes
    assert [axis.get_ylabel() for axis in several] == 2 * ["mean error (%)", "size"]


def test_bounds_are_dashed_in_the_panel_of_their_metric(frame):
    frame["promise"] = 3 * frame["error"]
    options = {"row": "n_train", "metrics": STYLES, "bounds": {"error": "promise"}}
    picture = figure_of(frame, CONTEXT, **options)
    first, second = picture.axes
    drawn = [line for line in first.lines if line.get_gid() == "promise"]
    assert [line.get_color() for line in drawn] == [COLOURS[3], COLOURS[1]]
    for line, label in zip(drawn, ("lasso", "ours"), strict=True):
        means = [300 * values(frame, label, n).mean() for n in (10, 20)]
        np.testing.assert_allclose(line.get_ydata(), means)
        assert max(means) < first.get_ylim()[1]
    assert not [line for line in second.lines if line.get_gid() == "promise"]
    assert legend_texts(picture)[-1] == "bound"
    part = registry.find("figure", "comparison")
    assert "promise" in part.columns(**options)
    with pytest.raises(ConfigError, match="`bounds` names 'eror', which is not shown"):
        figure_of(frame, CONTEXT, **options | {"bounds": {"eror": "promise"}})


def test_published_numbers_are_found_by_value():
    rows = [(n, k, "lasso", "ok", 1.0) for n in (1 / 3, 2.0) for k in range(2)]
    frame = pd.DataFrame(rows, columns=["kappa", "replicate", "algorithm", "status", "error"])
    printed = {"lasso": {"error": {repr(1 / 3): 5.0, "2": 7.0}}}
    table = table_of(frame, CONTEXT, row="kappa", metrics=["error"], published=printed)
    assert [cell.published for cell in table["Lasso"]] == [5, 7]
    named = frame.assign(kappa=frame["kappa"].map({1 / 3: "low", 2.0: "high"}))
    printed = {"lasso": {"error": {"high": 7.0}}}
    table = table_of(named, CONTEXT, row="kappa", metrics=["error"], published=printed)
    assert [str(cell) for cell in table["Lasso"]] == ["1.000 ± 0.000 (7)", "1.000 ± 0.000"]


def test_equal_titles_do_not_hide_an_algorithm(frame):
    twice = Context("d", "p", 6, "", CONTEXT.algorithms, {"ours": "Same", "lasso": "Same"})
    assert {"ours", "lasso"} <= set(table_of(frame, twice, **OPTIONS).columns)


def test_a_label_like_a_heading_does_not_replace_its_column(frame):
    frame["algorithm"] = frame["algorithm"].replace({"ours": "training samples"})
    named = Context("d", "p", 6, "", {"training samples": "omp", "lasso": "lasso"}, {})
    table = table_of(frame, named, row="n_train", metrics=["error"])
    assert table["training samples"].tolist() == ["10", "20"]
    assert len(table.columns) == 4


def test_shares_of_successes_have_intervals_of_proportions(frame):
    wins = {10: [1, 1, 0, 1, 1, 0], 20: [1, 1, 1, 1, 1, 1]}
    frame["won"] = np.tile([*wins[10], *wins[20]], 2)
    context = replace(CONTEXT, successes=frozenset({"won"}))
    table = table_of(frame, context, row="n_train", metrics=["won", "error"])
    low, high = wilson([4, 6], [6, 6])
    cells = table.loc[[0, 2], "Ours"]
    np.testing.assert_allclose([(c.low, c.high) for c in cells], np.transpose([low, high]))
    assert str(cells[2]) == "1.000 [0.610, 1.000]"
    said = "with 95% t intervals; successes: 95% Wilson intervals."
    assert said in " ".join(table.attrs["notes"])
    placed = replace(context, adaptive=True)
    table = table_of(frame, placed, row="n_train", metrics=["won"])
    low, high = proportion_interval(4, 6, sequential=True)
    assert (table.loc[0, "Ours"].low, table.loc[0, "Ours"].high) == (low, high)
    note = " ".join(table.attrs["notes"])
    assert "6 replicates with 95% intervals valid at any stopping time." in note


def test_a_difference_of_shares_has_newcombes_interval(frame):
    frame["won"] = [1, 1, 0, 1, 1, 0, *[1] * 6, 0, 1, 0, 0, 1, 0, *[1] * 6]
    context = replace(CONTEXT, successes=frozenset({"won"}))
    against = {"ours": "lasso"}
    picture = figure_of(frame, context, row="n_train", metrics=["won"], against=against)
    bars = [line for line in picture.axes[0].lines if line.get_gid() == "interval"]
    # Six of six against six of six: no difference, but no certainty either.
    low, high = bars[1].get_ydata()
    assert low == pytest.approx(-high)
    assert high > 0.3
    assert "95% paired Newcombe intervals" in picture.get_supxlabel().replace("\n", " ")


def test_unknown_names_are_refused_with_a_sentence(frame):
    with pytest.raises(ConfigError, match=r"no column 'n_trian'. Did you mean 'n_train'"):
        table_of(frame, CONTEXT, row="n_trian", metrics=STYLES)
    with pytest.raises(ConfigError, match=r"no column 'eror'. Did you mean 'error'"):
        figure_of(frame, CONTEXT, row="n_train", metrics=["eror"])
    with pytest.raises(ConfigError, match="'status' is not a number"):
        table_of(frame, CONTEXT, row="n_train", metrics=["status"])
    wrong = {"lasso": {"eror": {"10": 1.0}}}
    with pytest.raises(ConfigError, match=r"`published` names 'eror'"):
        table_of(frame, CONTEXT, row="n_train", metrics=STYLES, published=wrong)


def test_published_numbers_of_an_algorithm_that_did_not_run_are_left_out(frame):
    more = {**PUBLISHED, "group_lasso": PUBLISHED["lasso"]}
    table = table_of(frame, CONTEXT, **{**OPTIONS, "published": more})
    assert table.astype(str).equals(table_of(frame, CONTEXT, **OPTIONS).astype(str))
    figure_of(frame, CONTEXT, **{**OPTIONS, "published": more})


def _config(**more):
    entry = {
        "comparison": {
            "row": "n_train",
            "metrics": {"error": {"title": "mean error", "scale": 100, "unit": "%", "digits": 2}},
            "published": {"greedy_dirty": {"error": {10: 6.5, 20: 2}}},
        }
    }
    return {
        "name": "digits",
        "data": {"generator": "gaussian"},
        "metrics": ["error", "size"],
        "trials": 6,
        "paper": {"key": "A & B", "figure": "Table 1"},
        "algorithms": [{"greedy_dirty": {"label": "ours"}}, "lasso"],
        "tables": [entry, entry],
        "figures": [entry],
        **more,
    }


@pytest.fixture
def folder(frame, tmp_path):
    run = tmp_path / "digits" / "paper"
    run.mkdir(parents=True)
    frame.to_csv(run / "digits.csv", index=False)
    (run / "config.yaml").write_text(yaml.safe_dump(_config()))
    return run


def test_tables_are_written_beside_the_figures(folder, frame):
    files = report.draw(folder)
    assert [str(f.relative_to(folder)) for f in files] == [
        "figures/comparison.png",
        "figures/comparison.pdf",
        "tables/comparison.csv",
        "tables/comparison.md",
        "tables/comparison.tex",
        "tables/comparison_2.csv",
        "tables/comparison_2.md",
        "tables/comparison_2.tex",
    ]
    before = [f.read_bytes() for f in files]
    report.draw(folder)
    assert [f.read_bytes() for f in files] == before
    with files[2].open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    got = [float(rows[1][name]) for name in ("ours", "ours low", "ours high", "ours published")]
    np.testing.assert_allclose(got, [*expected(values(frame, "ours", 20), 100), 2.0], rtol=1e-13)
    assert len(rows[1]["ours"]) > 12, "full precision"
    assert "Lasso published" not in rows[0]
    assert "(6.5)" in files[3].read_text(encoding="utf-8")


def test_an_adaptive_rule_is_told_to_figures_and_tables(folder):
    from greedyexp.runner.run_contents import read_run

    assert read_run(folder).context.adaptive is False
    rule = {"until": {"half_width": 0.1}, "min": 10, "max": 80}
    (folder / "config.yaml").write_text(yaml.safe_dump(_config(trials=rule)))
    context = read_run(folder).context
    assert (context.adaptive, context.trials) == (True, 80)


def test_a_wrong_parameter_in_the_folder_is_a_sentence(folder):
    for params, sentence in (
        ({"row": "n_train", "metrics": ["error"], "rows": 1}, "has no parameter 'rows'"),
        ({"row": "n_train", "metrics": 3}, "table 'comparison'"),
        ({"row": "n_train"}, "needs a value for 'metrics'"),
    ):
        text = yaml.safe_dump(_config(figures=[], tables=[{"comparison": params}]))
        (folder / "config.yaml").write_text(text)
        with pytest.raises(ConfigError, match=sentence) as refused:
            report.draw(folder)
        assert str(folder) in str(refused.value)


def test_one_that_cannot_be_drawn_costs_no_other(folder):
    entry = _config()["tables"][0]
    wrong = [{"comparison": {"row": "n_trian", "metrics": ["error"]}}, "no_such"]
    text = yaml.safe_dump(_config(figures=[*wrong, entry], tables=[*wrong, entry]))
    (folder / "config.yaml").write_text(text)
    with pytest.raises(ConfigError, match="'n_trian'"):
        report.draw(folder)
    drawn = sorted(path.name for path in folder.glob("*s/*"))
    assert drawn == [f"comparison_2.{suffix}" for suffix in ("csv", "md", "pdf", "png", "tex")]


def test_published_numbers_of_an_unknown_algorithm_are_refused_before_any_work():
    numbers = {name: {"support_size": {0.3: 12}} for name in ("lasso", "dirty_lasso")}
    options = {"row": "kappa", "metrics": ["support_size"], "published": numbers}
    source = {
        "name": "t",
        "data": {"generator": "multitask_overlap"},
        "algorithms": ["lasso", {"dirty_lasso": {"sweep": {"ratio": [[1.2], [1.5]]}}}],
        "metrics": ["support_size"],
        "figures": [{"comparison": options}],
        "tables": [{"comparison": options}],
        "profiles": {"smoke": {"algorithms": ["lasso"]}},
    }
    load(source)
    for narrowed in (
        load(source, overrides=["algorithms=[lasso]"]),
        load(source, profile="smoke"),
    ):
        assert list(narrowed.tables[0].params["published"]) == ["lasso"]
        assert load(narrowed.resolved).tables == narrowed.tables
    numbers["laso"] = numbers["lasso"]
    with pytest.raises(ConfigError, match=r"'laso'.*Did you mean 'lasso'") as refused:
        load(source, overrides=["trials=5"])
    assert refused.value.place == "figures[0].comparison.published.laso"


def test_columns_are_refused_before_any_work():
    source = {
        "name": "t",
        "data": {"generator": "multitask_overlap"},
        "algorithms": ["lasso"],
        "metrics": ["support_size"],
        "tables": [{"comparison": {"row": "kapa", "metrics": ["support_size"]}}],
    }
    with pytest.raises(ConfigError, match="'kapa', which the CSV will not have"):
        load(source, profile="quick")
    source["tables"] = [{"comparison": {"row": "kappa", "metrics": {"size": {"digits": 1}}}}]
    with pytest.raises(ConfigError, match="'size', which the CSV will not have"):
        load(source, profile="quick")
    source["tables"] = [
        {
            "comparison": {
                "row": "kappa",
                "metrics": {"support_size": {"digits": 1}},
                "published": {"lasso": {"support_size": {0.3: 12}}},
            }
        }
    ]
    (table,) = load(source, profile="quick").tables
    assert table.params["published"] == {"lasso": {"support_size": {"0.3": 12.0}}}


SPECIAL = r"a_b & 5% of $x^2$ #1 {y} ~z \w <b> |c| [d] κ λ μ ± ∞"


def test_latex_has_no_character_that_means_something_else():
    cells = pd.DataFrame({SPECIAL: [SPECIAL, "[first"], "n": [1, 2.5]})
    cells.attrs["notes"] = [SPECIAL, "Two\nlines."]
    _, markdown, latex = table_files(cells, "T_1").values()
    text = latex.decode()
    assert text.isascii()
    assert r"a\_b \& 5\% of \$x\textasciicircum{}2\$ \#1 \{y\} \textasciitilde{}z" in text
    assert r"\textbackslash{}w \textless{}b\textgreater{}" in text
    assert "\n{[}first & 2.5" in text
    body = re.sub(r"\\[%&#_${}]|\$\\[a-z]+\$|\\\\", "", "\n".join(text.split("\n")[1:]))
    assert not re.search(r"[%#_~^<>|$]", body)
    assert body.count("{") == body.count("}")
    rows = [line for line in text.split("\n") if line.endswith("\\\\")]
    assert [len(re.findall(r"(?<!\\)&", row)) for row in rows] == [1, 1, 1]
    lines = markdown.decode().split("\n")
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in lines[:4]] == [3] * 4


def test_groups_are_set_apart(frame):
    files = table_files(table_of(frame, CONTEXT, **OPTIONS), "T")
    latex = files["tex"].decode()
    assert latex.count(r"\midrule") == 2
    assert latex.count("\n10 & ") == latex.count("\n20 & ") == 1
    rows = csv.DictReader(files["csv"].decode().splitlines())
    assert [row["training samples"] for row in rows] == ["10", "10", "20", "20"]


def test_a_plugin_may_return_a_plain_frame(folder):
    (folder / "plugins").mkdir()
    (folder / "plugins" / "counts.py").write_text(
        "from greedyexp import table\n"
        "@table('row_count', title='Rows')\n"
        "def row_count(frame, context):\n"
        "    '''How many rows.'''\n"
        "    return frame.groupby('algorithm').size().rename('rows').reset_index()\n"
    )
    text = yaml.safe_dump(_config(figures=[], tables=["row_count"], plugins=["plugins/counts.py"]))
    (folder / "config.yaml").write_text(text)
    try:
        with consent():
            numbers, markdown, _ = report.draw(folder)
    finally:
        registry._PARTS["table"].pop("row_count", None)
    assert numbers.read_text() == "algorithm,rows\nlasso,12\nours,12\n"
    assert markdown.read_text().endswith("Rows.\n")


def test_published_errors_of_the_digits_are_in_the_unit_of_the_cells_beside_them():
    spec = load(shipped.configs()["handwritten_digits"]).tables[0]
    names = list(spec.params["metrics"])
    labels = list(spec.params["published"])
    rows = [(10, k, label, "ok", *[0.065] * len(names)) for label in labels for k in range(2)]
    columns = ["samples_per_digit", "replicate", "algorithm", "status", *names]
    context = replace(CONTEXT, algorithms={label: label for label in labels}, titles={})
    table = table_of(pd.DataFrame(rows, columns=columns), context, **spec.params)
    # Table 1 prints 6.5 (%) for 10 samples of each digit.
    cell = table.iloc[names.index("argmax_error")]
    assert cell["mean of"].endswith("(%)")
    assert cell["greedy_dirty"].value == pytest.approx(6.5)
    assert cell["greedy_dirty"].published == 6.5


@pytest.mark.parametrize("against", [{}, {"ours": "lasso"}])
def test_intervals_of_a_run_until_decided_cover_at_all_its_looks(frame, against):
    context = replace(CONTEXT, adaptive=True, looks=4)
    options = OPTIONS | {"metrics": {"error": STYLES["error"]}, "against": against, "published": {}}
    widths = {}
    for name, one in (("fixed", CONTEXT), ("looks", context)):
        picture = figure_of(frame, one, **options)
        bars = [line for line in picture.axes[0].lines if line.get_gid() == "interval"]
        widths[name] = np.array([np.ptp(bar.get_ydata()) for bar in bars])
    # There are six data sets.
    wider = stats.t.ppf(1 - 0.05 / 8, 5) / stats.t.ppf(1 - 0.05 / 2, 5)
    np.testing.assert_allclose(widths["looks"] / widths["fixed"], wider)
    assert "t intervals valid at every look" in picture.get_supxlabel()
