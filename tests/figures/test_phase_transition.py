"""Figure ``phase_transition``: rates, intervals, failures in the denominator, predictions."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import yaml
from figure_frames import legend_texts, style  # noqa: F401 (an autouse fixture)

from greedyexp import report
from greedyexp.core.errors import ConfigError, StorageError
from greedyexp.figures._plot import COLOURS, NUMBERS, method_styles
from greedyexp.figures.phase_transition.phase_transition import phase_transition
from greedyexp.results.context import Context
from greedyexp.runner.run_contents import read_run
from greedyexp.stats.proportions import wilson

CONTEXT = Context(
    "demo", "smoke", 4, "A paper, Figure 1", {"ours": "greedy_dirty"}, {"ours": "Ours"}
)


def table(rows):
    names = ["p", "kappa", "theta", "n_samples", "replicate", "algorithm", "status", "sign_support"]
    return pd.DataFrame(rows, columns=names)


@pytest.fixture
def frame():
    rows = []
    for theta, wins in ((1.0, 0), (2.0, 3), (3.0, 4)):
        rows += [
            (64, 0.5, theta, int(30 * theta), k, "ours", "ok", float(k < wins)) for k in range(4)
        ]
    return table(rows)


def curve(figure, axis=0):
    return next(line for line in figure.axes[axis].lines if len(line.get_xdata()) > 2)


def test_curve_and_band_are_rates_and_wilson_intervals(frame):
    figure = phase_transition(frame, CONTEXT, panel="kappa")
    line = curve(figure)
    assert line.get_xdata().tolist() == [1.0, 2.0, 3.0]
    assert line.get_ydata().tolist() == [0.0, 0.75, 1.0]
    band = figure.axes[0].collections[0].get_paths()[0].vertices
    low, high = wilson([0, 3, 4], [4, 4, 4])
    assert set(np.round(np.concatenate([low, high]), 9)) <= set(np.round(band[:, 1], 9))


@pytest.mark.parametrize("status", ["error", "timeout", "nonfinite"])
def test_failures_stay_in_the_denominator_and_are_stated(frame, status):
    frame.loc[[8, 9], "status"] = status
    frame.loc[[8, 9], "sign_support"] = np.nan
    figure = phase_transition(frame, CONTEXT, panel="kappa")
    assert curve(figure).get_ydata().tolist() == [0.0, 0.75, 0.5]
    assert "failed (counted as no success): 16.67%" in figure.get_supxlabel()
    assert "4 trials per point" in figure.get_supxlabel()
    assert "profile smoke" in figure.get_supxlabel()


@pytest.mark.parametrize("column", ["sign_support", "theta"])
def test_text_where_numbers_should_be_is_a_sentence(frame, column):
    frame[column] = frame[column].astype(str).mask(frame.index == 2, "many")
    with pytest.raises(ConfigError, match=f"column '{column}' is not a number in every row"):
        phase_transition(frame, CONTEXT, panel="kappa")


def test_prediction_is_drawn_for_the_registered_algorithm(frame):
    figure = phase_transition(frame, CONTEXT, panel="kappa")
    vertical = [line for line in figure.axes[0].lines if set(line.get_xdata()) == {0.75}]
    assert len(vertical) == 1
    assert vertical[0].get_color() == COLOURS[NUMBERS["greedy_dirty"]]
    plain = phase_transition(frame, CONTEXT, panel="kappa", theory=False)
    assert not [line for line in plain.axes[0].lines if set(line.get_xdata()) == {0.75}]


def test_predictions_have_the_marker_of_their_method_and_dashes_of_no_measurement(frame):
    both = pd.concat([frame, frame.assign(algorithm="lasso")])
    context = replace(CONTEXT, algorithms={"ours": "greedy_dirty", "lasso": "lasso"})
    figure = phase_transition(both, context, panel="kappa")
    lines = figure.axes[0].lines
    found = [line for line in lines if line.get_gid() == "prediction"]
    measured = [line for line in lines if not line.get_label().startswith("_")]
    styles = method_styles(context)
    assert [line.get_marker() for line in found] == [styles[k]["marker"] for k in styles]
    assert all(set(line.get_xdata()) == {line.get_xdata()[0]} for line in found)
    assert all(line.get_ydata()[0] == 0 and line.get_ydata()[-1] == 1 for line in found)
    dashes = {str(line._unscaled_dash_pattern) for line in measured}
    assert not dashes & {str(line._unscaled_dash_pattern) for line in found}


def test_predictions_for_values_of_one_size_are_drawn_for_those_only(frame):
    context = Context("demo", "smoke", 4, "", {"ours": "group_lasso"}, {})

    def drawn(values):
        figure = phase_transition(frame.assign(values=values), context, panel="kappa")
        return [line for line in figure.axes[0].lines if set(line.get_xdata()) == {2.5}]

    assert drawn("sign")
    assert not drawn("gaussian")


def test_the_axis_of_one_task_names_its_own_sample_size(frame):
    for tasks, formula in ((1, r"\log(p-s)"), (2, r"\log(p-(2-\kappa)s)")):
        figure = phase_transition(frame.assign(n_tasks=tasks), CONTEXT, panel="kappa")
        assert any(formula in axis.get_xlabel() for axis in figure.axes)


def test_predictions_for_independent_columns_are_drawn_for_those_only(frame):
    def drawn(correlation):
        data = frame.assign(correlation=correlation)
        axis = phase_transition(data, CONTEXT, panel="kappa").axes[0]
        return [line for line in axis.lines if set(line.get_xdata()) == {0.75}]

    assert drawn(0.0)
    assert not drawn(0.5)


def test_sizes_are_in_numeric_order_in_the_legend(frame):
    sizes = pd.concat([frame.assign(p=p, s=s) for p, s in ((512, 51), (128, 13))])
    figure = phase_transition(sizes, CONTEXT, line=["algorithm", "p"], second_axis=None)
    assert legend_texts(figure)[-2:] == ["p = 128", "p = 512"]


def test_the_lassos_law_is_drawn_for_each_size(frame):
    sizes = pd.concat([frame.assign(p=p, s=s) for p, s in ((128, 13), (512, 51))])
    context = Context("demo", "smoke", 4, "", {"ours": "lasso"}, {})
    # n = 2 s log(p), divided by s log(p - (2 - kappa) s) at kappa = 0.5.
    laws = [2 * np.log(p) / np.log(p - 1.5 * s) for p, s in ((128, 13), (512, 51))]

    def places(axis):
        return [line.get_xdata()[0] for line in axis.lines if len(set(line.get_xdata())) == 1]

    one = phase_transition(sizes, context, panel="kappa", line=["algorithm", "p"])
    np.testing.assert_allclose(places(one.axes[0]), laws)
    assert "n = 2 s log(p), so θ depends on $p$" in one.get_supxlabel()
    two = phase_transition(sizes, context, panel="kappa", row="p")
    for axis, law in zip(two.axes, laws, strict=True):
        np.testing.assert_allclose(places(axis), law)
    with pytest.raises(ConfigError, match="average over the values of 'p'"):
        phase_transition(sizes, context, panel="kappa")


def test_success_metric_by_algorithm(frame):
    frame["row_support"] = 1.0
    figure = phase_transition(
        frame, CONTEXT, success={"greedy_dirty": "row_support", "default": "sign_support"}
    )
    assert curve(figure).get_ydata().tolist() == [1.0, 1.0, 1.0]
    labels = legend_texts(figure)
    assert any(label.endswith("Ours") for label in labels)


def test_second_axis_shows_sample_sizes(frame):
    figure = phase_transition(frame, CONTEXT, panel="kappa", line=["algorithm", "p"])
    figure.canvas.draw()
    top = figure.axes[0].child_axes[0]
    shown = {t.get_position()[0]: t.get_text() for t in top.get_xticklabels()}
    assert shown[2.0] == "60"


def test_the_second_axis_does_not_repeat_the_first(frame):
    figure = phase_transition(frame, CONTEXT, x="n_samples")
    assert figure.axes[0].child_axes == []


def test_missing_columns_are_named(frame):
    with pytest.raises(ConfigError, match=r"no column 'kapa'. Did you mean 'kappa'"):
        phase_transition(frame, CONTEXT, panel="kapa")
    with pytest.raises(ConfigError, match="no column 'support'"):
        phase_transition(frame, CONTEXT, success={"default": "support"})


@pytest.fixture
def folder(frame, tmp_path):
    run = tmp_path / "results" / "demo" / "smoke"
    run.mkdir(parents=True)
    frame.to_csv(run / "demo.csv", index=False)
    config = {
        "name": "demo",
        "data": {"generator": "multitask_overlap"},
        "metrics": ["sign_support"],
        "trials": 4,
        "algorithms": [{"greedy_dirty": {"label": "ours"}}],
        "figures": ["phase_transition", {"phase_transition": {"panel": "kappa"}}],
    }
    (run / "config.yaml").write_text(yaml.safe_dump(config))
    manifest = {
        "name": "demo",
        "git": {"commit": "abc123"},
        "algorithm_seconds": 1,
        "replicates": {
            **dict.fromkeys(("total", "done", "not_converged", "missing", "computed"), 0),
            "failed": {},
        },
    }
    (run / "manifest.json").write_text(json.dumps(manifest))
    return run


def test_every_figure_is_drawn_from_the_table_alone(folder, tmp_path):
    assert report.run_folders(tmp_path) == [folder]
    files = report.draw(folder)
    assert [f.name for f in files] == [
        "phase_transition.png",
        "phase_transition.pdf",
        "phase_transition_2.png",
        "phase_transition_2.pdf",
    ]
    assert b'"commit": "abc123"' in files[0].read_bytes()
    assert files[1].read_bytes().startswith(b"%PDF")
    before = [f.read_bytes() for f in files]
    report.draw(folder)
    assert [f.read_bytes() for f in files] == before


def test_folders_without_a_run_say_so(tmp_path, folder):
    with pytest.raises(StorageError, match="no finished run"):
        report.run_folders(tmp_path / "absent")
    (folder / "config.yaml").write_text("just text")
    with pytest.raises(StorageError, match="not the configuration"):
        report.draw(folder)
    (folder / "demo.csv").write_text('"')
    (folder / "config.yaml").write_text(
        "{name: demo, data: {generator: gaussian}, algorithms: [omp], metrics: [], trials: 1}"
    )
    with pytest.raises(StorageError, match="cannot be read"):
        report.draw(folder)


def test_tables_are_read_with_full_precision(tmp_path):
    numbers = np.random.default_rng(0).standard_normal(2000) * 10.0 ** np.arange(-200, 200, 0.2)
    path = tmp_path / "t.csv"
    path.write_text("value\n" + "\n".join(map(repr, numbers.tolist())) + "\n")
    assert report.read_frame(path)["value"].tolist() == numbers.tolist()


def test_a_column_is_of_one_kind_though_blocks_of_data_differ(tmp_path):
    path = tmp_path / "t.csv"
    # So wide that a reader in pieces takes few rows at a time.
    others = "," * 63
    header = "size," + ",".join(f"c{k}" for k in range(63))
    rows = [f"7{others}\n"] * 10_000 + [f"small{others}\n"] * 10_000
    path.write_text(f"{header}\n{''.join(rows)}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(report.read_frame(path)["size"]) == {"7", "small"}


def test_second_axis_says_which_line_its_numbers_belong_to(frame):
    two = pd.concat([frame, frame.assign(p=128, n_samples=2 * frame["n_samples"])])

    def tops(**options):
        figure = phase_transition(two, CONTEXT, panel="kappa", **options)
        figure.canvas.draw()
        axis = figure.axes[0]
        numbers = [[t.get_text() for t in top.get_xticklabels()] for top in axis.child_axes]
        return numbers, [text.get_text() for text in axis.texts]

    for line in (["p"], ["algorithm", "p"]):
        numbers, names = tops(line=line)
        assert names == ["n, p = 64", "n, p = 128"]
        assert [int(n) / 2 for n in numbers[1]] == pytest.approx(list(map(int, numbers[0])), abs=1)
    assert tops(line=["algorithm"], row="p")[1] == ["n", "p = 64"]


def test_panels_of_algorithms_carry_their_titles(frame):
    figure = phase_transition(frame, CONTEXT, panel="algorithm", line=["p"])
    assert figure.axes[0].get_title() == "Ours"
    assert "Success: exact sign support." in figure.get_supxlabel()


def test_the_horizontal_axis_can_be_logarithmic(frame):
    assert phase_transition(frame, CONTEXT).axes[0].get_xscale() == "linear"
    assert phase_transition(frame, CONTEXT, scale="log").axes[0].get_xscale() == "log"


def test_an_algorithm_that_is_swept_keeps_its_name_title_and_metric(frame, folder):
    labels = {"ours": "greedy_dirty (nu=0.5)", "lasso": "lasso"}
    settings = yaml.safe_load((folder / "config.yaml").read_text())
    settings["algorithms"] = [{"greedy_dirty": {"sweep": {"nu": [0.5]}}}, "lasso"]
    (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    table = next(folder.glob("*.csv"))
    frame.assign(algorithm=frame["algorithm"].map(labels)).to_csv(table, index=False)
    context = read_run(folder).context
    assert context.algorithms["greedy_dirty (nu=0.5)"] == "greedy_dirty"
    assert context.titles["greedy_dirty (nu=0.5)"] == "Greedy dirty model (nu = 0.5)"
    assert context.titles["lasso"] == "Lasso"


def test_algorithms_keep_the_order_of_the_file(folder):
    names = ["omp", "lasso", "group_lasso", "ours", "dirty_lasso", "group_omp"]
    settings = yaml.safe_load((folder / "config.yaml").read_text())
    entries = {name: {"label": "ours"} if name == "ours" else {} for name in names}
    settings["algorithms"] = [
        {"greedy_dirty" if name == "ours" else name: entry} for name, entry in entries.items()
    ]
    (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    assert list(read_run(folder).context.algorithms)[: len(names)] == names
