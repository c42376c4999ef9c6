"""Figures and tables average over replicates alone, unless they name a column."""

import contextlib

import pandas as pd
import pytest
import yaml
from selection_frames import context, failed, selection

from greedyexp.config import load
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.figures.phase_transition.phase_transition import phase_transition
from greedyexp.report import draw
from greedyexp.results.columns import refuse_pooled, settings_of, with_panels
from greedyexp.results.comparisons import MetricStyle, compare
from greedyexp.results.context import Context
from greedyexp.results.curves import means, medians
from greedyexp.results.successes import count
from greedyexp.tables.comparison import comparison

GAUSSIAN = {"generator": "gaussian", "p": 20, "n_samples": 20, "sparsity": 2}
CLASSES = {"generator": "two_class_gaussian", "n_samples": 40, "p": 20, "n_test": 20}
SUPPORT = {"default": "support"}


def block(parameters, *, sweep=None, **others):
    """Return a block of data in which no parameter is both given and swept."""
    sweep = sweep or {}
    swept = {*sweep, *(name for axis in sweep.get("zip", ()) for name in axis)}
    kept = {name: value for name, value in parameters.items() if name not in swept}
    return {**kept, **others, **({"sweep": sweep} if sweep else {})}


def recovery(*, sweep=None, **data):
    return {
        "name": "made",
        "data": block(GAUSSIAN, sweep={"sparsity": [2, 3], **(sweep or {})}, **data),
        "algorithms": ["omp", "lasso"],
        "metrics": ["support", "f_measure"],
    }


def trajectory(**data):
    asked = {"iterations": 4, "epsilons": [0.1], "points": 3, "rate": True, "coordinates": 2}
    return {
        "name": "made",
        "data": block(GAUSSIAN, **data),
        "protocol": {"trajectory": asked},
        "algorithms": ["gradient_descent", "gs_coordinate_descent"],
    }


def chosen(**data):
    asked = {"sizes": [2], "classes_at": [2], "chosen_at": [2]}
    method = {"loss": "logistic", "max_features": 4}
    return {
        "name": "made",
        "data": block(CLASSES, **data),
        "protocol": {"selection": asked},
        "algorithms": [{"foba_gdt": method}, {"forward_gdt": method}],
        "metrics": ["f_measure"],
    }


def tradeoff(**data):
    generator = {"generator": "rademacher", "n_samples": 20, "p": 20, "sparsity": 5}
    return {
        "name": "made",
        "data": block(generator, **data),
        "protocol": {"tradeoff": {"steps": 10, "radius": 0.5, "epsilons": [0.1], "points": 3}},
        "algorithms": [{"forward_greedy": {"radius": 0.5}}, "fully_corrective"],
    }


def tightness(**data):
    generator = {"generator": "spread_label", "accuracy": 0.1, "n_samples": 50}
    generator["truth_l1_norm"] = 3
    return {
        "name": "made",
        "data": block(generator, **data),
        "protocol": {"tightness": {"steps": 10, "epsilons": [0.5], "errors": ["squared"]}},
        "algorithms": [{"forward_greedy": {"risk": "population"}}],
    }


def constants(**data):
    methods = {"protocol": "constants", "algorithms": ["mu1_sdp", "mu2"]}
    return {"name": "made", "data": block(GAUSSIAN, **data), **methods}


NOISE = ("noise_std", [0.0, 0.1])
SPARSITY = ("sparsity", [3, 4])
# Kind and name: experiment, parameters, swept column, and the parameter that takes it (None: it is
# refused). Parts that are not listed are tested by an example made from their parameters.
PARTS = {
    ("figure", "phase_transition"): (
        recovery,
        {"x": "sparsity", "success": SUPPORT},
        NOISE,
        {"panel": "noise_std"},
    ),
    ("figure", "transition_threshold"): (
        recovery,
        {"x": "n_samples", "of": "sparsity", "success": SUPPORT, "panel": "p", "row": "start"},
        NOISE,
        {"line": ["algorithm", "noise_std"]},
    ),
    ("figure", "threshold_limit"): (
        recovery,
        {"of": "sparsity", "line": ["algorithm"], "success": SUPPORT, "panel": "start"},
        NOISE,
        {"row": "noise_std"},
    ),
    ("table", "thresholds"): (
        recovery,
        {"rows": ["n_samples", "p", "start"], "of": "sparsity", "success": SUPPORT},
        NOISE,
        None,
    ),
    ("figure", "comparison"): (
        *(recovery, {"row": "sparsity", "metrics": ["support"]}, NOISE),
        {"panel": "noise_std"},
    ),
    ("table", "comparison"): (recovery, {"row": "sparsity", "metrics": ["support"]}, NOISE, None),
    ("table", "timing"): (recovery, {"row": "sparsity", "base": "omp"}, NOISE, None),
    ("figure", "epsilon_curve"): (trajectory, {}, NOISE, {"panel": "noise_std"}),
    ("figure", "convergence"): (trajectory, {"panel": "p"}, NOISE, {"row": "noise_std"}),
    ("figure", "rates"): (trajectory, {"x": "p"}, NOISE, {"panel": "noise_std"}),
    ("figure", "coordinates"): (trajectory, {}, NOISE, {"row": "noise_std"}),
    ("figure", "class_errors"): (chosen, {}, SPARSITY, None),
    ("table", "used_features"): (chosen, {}, SPARSITY, None),
    ("figure", "tradeoff"): (tradeoff, {}, SPARSITY, {"panel": "sparsity"}),
    ("figure", "final_excess"): (tradeoff, {}, SPARSITY, {"panel": "sparsity"}),
    ("figure", "accuracy_curve"): (tradeoff, {}, SPARSITY, {"row": "sparsity"}),
    ("table", "slopes"): (tradeoff, {}, SPARSITY, {"row": "sparsity"}),
    ("figure", "tightness"): (tightness, {}, ("n_samples", [50, 60]), None),
    ("figure", "constants"): (constants, {"x": "p"}, NOISE, {"panel": "noise_std"}),
}


def loaded(made, kind, name, params, **data):
    return load({**made(**data), f"{kind}s": [{name: params}]})


def panelled(experiment, kind):
    """Return the parameters with which the only figure or table of the run is drawn."""
    rows = [
        {**point.cells, "replicate": k, "algorithm": spec.label, **spec.swept, "status": "ok"}
        for point in experiment.points
        for k in range(3)
        for spec in experiment.algorithms
    ]
    (spec,) = getattr(experiment, f"{kind}s")
    frames = [settings_of(pd.DataFrame(rows))]
    measured = experiment.design.measured
    return with_panels(registry.find(kind, spec.name), spec.params, frames, measured)


EXPERIMENTS = (recovery, trajectory, chosen, tradeoff, tightness, constants)
# Values of parameters without a default, and columns for those whose default these data lack.
REQUIRED = {"row": "sparsity", "rows": ["n_samples"], "metrics": ["support"], "base": "omp"}
COLUMNS = {"x": "n_samples", "of": "sparsity", "line": ["algorithm"], "success": SUPPORT}


def examples(part):
    """Yield experiments that a part can be drawn from, with its parameters."""
    fields = part.parameters.model_fields
    required = {name: REQUIRED[name] for name, field in fields.items() if field.is_required()}
    for given in (required, required | {name: COLUMNS[name] for name in fields if name in COLUMNS}):
        for made in EXPERIMENTS:
            with contextlib.suppress(ConfigError):
                yield made, given, loaded(made, part.kind, part.name, given)


@pytest.mark.parametrize(
    "part",
    [
        part
        for kind in ("figure", "table")
        for part in registry.parts(kind).values()
        if part.apart is not None
    ],
    ids=lambda part: f"{part.kind}-{part.name}",
)
def test_no_part_averages_over_a_column_of_the_data(part):
    made, given, alone = next(examples(part))
    params = panelled(alone, part.kind)
    named, cells = part.apart(**params), alone.points[0].cells
    swept = ("noise_std", "sparsity", "n_samples")
    column = next(name for name in swept if name in cells and name not in named)
    sweep = {column: [cells[column] + k for k in (0, 10)]}
    free = [name for name in ("panel", "row") if params.get(name, "") is None]
    if not free and len(params.get("line", ())) != 1:
        with pytest.raises(ConfigError, match=rf"would average over the 2 values of '{column}'\."):
            loaded(made, part.kind, part.name, given, sweep=sweep)
        return
    drawn = panelled(loaded(made, part.kind, part.name, given, sweep=sweep), part.kind)
    assert set(part.apart(**drawn)) == {*named, column}
    places = ("panel", "row", "line")
    assert all(drawn[name] == params[name] for name in params if name not in places)


@pytest.mark.parametrize(("kind", "name"), PARTS)
def test_a_swept_column_that_is_not_named_is_told_apart_or_refused(kind, name):
    made, params, (column, values), taken = PARTS[kind, name]
    alone = loaded(made, kind, name, params)
    assert panelled(alone, kind) == getattr(alone, f"{kind}s")[0].params
    sentence = rf"{kind} '{name}' would average over the 2 values of '{column}'\."
    if taken is None:
        with pytest.raises(ConfigError, match=sentence):
            loaded(made, kind, name, params, sweep={column: values})
        return
    experiment = loaded(made, kind, name, params, sweep={column: values})
    drawn = panelled(experiment, kind)
    assert drawn == getattr(experiment, f"{kind}s")[0].params | taken


@pytest.mark.parametrize(("kind", "name"), PARTS)
def test_more_values_than_panels_are_refused_and_a_choice_of_one_is_not(kind, name):
    made, params, (column, values), _ = PARTS[kind, name]
    many = [values[0] + 1 + k for k in range(13)]
    with pytest.raises(ConfigError, match=rf"the 13 values of '{column}'\.") as refused:
        loaded(made, kind, name, params, sweep={column: many})
    if "where" in registry.find(kind, name).parameters.model_fields:
        assert f"`where: {{{column}: {many[0]}}}`" in refused.value.remedy
        one = {**params, "where": {column: many[0]}}
        experiment = loaded(made, kind, name, one, sweep={column: many})
        assert panelled(experiment, kind) == getattr(experiment, f"{kind}s")[0].params
    else:
        assert refused.value.remedy.startswith("Name it in `panel`")


def test_what_a_user_names_may_have_any_number_of_panels():
    params = {"x": "sparsity", "success": SUPPORT, "panel": "noise_std"}
    many = [k / 10 for k in range(13)]
    loaded(recovery, "figure", "phase_transition", params, sweep={"noise_std": many})


def test_two_columns_take_two_places_up_to_twelve_panels():
    params = {"x": "sparsity", "success": SUPPORT}
    both = {"noise_std": [0.0, 0.1, 0.2], "correlation": [0.0, 0.1, 0.2, 0.3]}
    experiment = loaded(recovery, "figure", "phase_transition", params, sweep=both)
    drawn = panelled(experiment, "figure")
    assert (drawn["panel"], drawn["row"]) == ("correlation", "noise_std")
    more = both | {"noise_std": [0.0, 0.1, 0.2, 0.3]}
    with pytest.raises(ConfigError, match="4 values of 'correlation' and the 4 values of 'noise"):
        loaded(recovery, "figure", "phase_transition", params, sweep=more)


def test_columns_swept_together_and_blocks_of_data_take_one_place():
    params = {"x": "sparsity", "success": SUPPORT}
    zipped = {"zip": [{"p": [20, 30], "noise_std": [0.1, 0.2]}]}
    experiment = loaded(recovery, "figure", "phase_transition", params, sweep=zipped)
    drawn = panelled(experiment, "figure")
    assert (drawn["panel"], drawn["row"]) == ("p", None)
    blocks = [{**recovery()["data"], "label": "few"}, {**recovery(p=30)["data"], "label": "many"}]
    source = {**recovery(), "data": blocks, "figures": [{"phase_transition": params}]}
    drawn = panelled(load(source), "figure")
    assert (drawn["panel"], drawn["row"]) == ("data", None)
    table = {"comparison": {"row": "sparsity", "metrics": ["support"]}}
    with pytest.raises(ConfigError, match="2 values of 'data'") as refused:
        load({**source, "figures": [], "tables": [table]})
    assert refused.value.remedy == "Choose one value by `where: {data: few}`."


def test_algorithms_are_a_column_like_others():
    params = {"of": "sparsity", "line": ["noise_std"], "success": SUPPORT}
    experiment = loaded(recovery, "figure", "threshold_limit", params)
    assert panelled(experiment, "figure")["panel"] == "algorithm"
    # Each value of a swept parameter is an algorithm of its own, which lines tell apart.
    swept = [{"lasso": {"sweep": {"n_lams": [10, 20]}}}]
    shown = {"comparison": {"row": "sparsity", "metrics": ["support"]}}
    load({**recovery(), "algorithms": swept, "figures": [shown]})


def test_facts_are_left_to_the_table():
    params = {"x": "n_features", "success": SUPPORT}
    sweep = {"noise_std": [k / 10 for k in range(13)]}
    loaded(recovery, "figure", "phase_transition", params, sweep=sweep)
    rows = [
        {"noise_std": noise, "n_features": 20, "replicate": k, "algorithm": "omp", "status": "ok"}
        for noise in sweep["noise_std"]
        for k in range(2)
    ]
    part = registry.find("figure", "phase_transition")
    given = {"panel": None, "row": None, "line": ["algorithm"], **params, "ceiling": False}
    with pytest.raises(ConfigError, match="the 13 values of 'noise_std'"):
        with_panels(part, given, [settings_of(pd.DataFrame(rows))], [])


def test_a_mean_over_sizes_is_refused_in_a_table_and_has_panels_in_a_figure():
    source = chosen()
    source["protocol"] = {"selection": {"sizes": [2, 4]}}
    asked = {"row": "p", "metrics": ["f_measure"]}
    with pytest.raises(ConfigError, match=r"over the 2 values of 'size'") as refused:
        load({**source, "tables": [{"comparison": asked}]})
    assert refused.value.remedy == "Choose one value by `where: {size: 2}`."
    for params in ({**asked, "where": {"size": 4}}, {**asked, "row": "size"}):
        load({**source, "tables": [{"comparison": params}]})
    drawn = load({**source, "figures": [{"comparison": asked}]})
    assert panelled(drawn, "figure")["panel"] == "size"


def test_a_mean_over_iterations_or_theorems_is_refused():
    asked = {"comparison": {"row": "p", "metrics": ["gap"]}}
    with pytest.raises(ConfigError, match="over the 4 values of 'iteration'"):
        load({**trajectory(), "tables": [asked]})
    asked = {"comparison": {"row": "p", "metrics": ["steps_bound"]}}
    with pytest.raises(ConfigError, match="values of 'theorem'"):
        load({**tradeoff(), "tables": [asked]})


def test_both_errors_of_tightness_are_told_apart():
    source = tightness()
    source["protocol"]["tightness"]["errors"] = ["squared", "absolute"]
    experiment = load({**source, "figures": [{"tightness": {"row": None}}]})
    assert panelled(experiment, "figure")["row"] == "error"


def write(folder, wins=(3, 15), noises=(0.1, 0.3), trials=20, **figure):
    """Write a run of an older version: success at two values of x and of the noise."""
    rows = [
        {"x": x, "noise_std": noise, "replicate": k, "algorithm": "omp", "status": "ok"}
        | {"message": "", "support": int(k < won)}
        for x, won in enumerate(wins)
        for noise in noises
        for k in range(trials)
    ]
    pd.DataFrame(rows).to_csv(folder / "old.csv", index=False)
    config = {
        "name": "old",
        "trials": trials,
        "data": {**GAUSSIAN},
        "algorithms": ["omp"],
        "metrics": ["support"],
        "figures": [{"phase_transition": {"x": "x", "success": SUPPORT, **figure}}],
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return folder


def test_a_folder_is_drawn_with_panels_or_refused(tmp_path, monkeypatch):
    seen = []
    part = registry.find("figure", "phase_transition")
    assert part.parameters

    def kept(*args, **params):
        seen.append(phase_transition(*args, **params))
        return seen[-1]

    monkeypatch.setitem(part.__dict__, "function", kept)
    draw(write(tmp_path))
    (figure,) = seen
    titles = [axis.get_title() for axis in figure.axes if axis.get_title()]
    assert titles == [r"$\sigma$ = 0.1", r"$\sigma$ = 0.3"]
    assert "20 trials per point, 95% Wilson bands" in figure.get_supxlabel()
    with pytest.raises(ConfigError, match="over the 13 values of 'noise_std'") as refused:
        draw(write(tmp_path, noises=[k / 10 for k in range(13)]))
    assert refused.value.place == f"{tmp_path / 'config.yaml'}: figures[0].phase_transition"


def successes(**params):
    """Return success at sizes 1 to 3 of 4 replicates; the first ones succeed."""
    frame = selection(trials=4, **params)
    at_size = frame["record"] == "size"
    won = (frame["replicate"] < frame["size"]).astype(float)
    return frame.assign(support=won.where(at_size))


def test_rows_of_other_kinds_are_no_trials():
    figure = phase_transition(successes(), context(), x="size", success=SUPPORT)
    assert "4 trials per point, 95% Wilson bands" in figure.get_supxlabel()
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 3]
    assert lines[0].get_ydata().tolist() == [0.25, 0.5, 0.75]


def test_a_failed_replicate_is_a_trial_at_each_size():
    frame = failed(successes(), "gdt", 0)
    figure = phase_transition(frame, context(), x="size", success=SUPPORT)
    assert "4 trials per point" in figure.get_supxlabel()
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 3]
    assert lines[0].get_ydata().tolist() == [0.0, 0.25, 0.5]
    assert lines[1].get_ydata().tolist() == [0.25, 0.5, 0.75]


def test_points_with_different_numbers_of_trials_give_the_range():
    frame = successes()
    fewer = frame[(frame["replicate"] < 2) | (frame["size"] != 3)]
    note = phase_transition(fewer, context(), x="size", success=SUPPORT).get_supxlabel()
    assert "2 to 4 trials per point, 20 in all" in note


def test_seconds_of_a_replicate_count_once():
    frame = selection(trials=4)
    frame["fit_seconds"] = frame["replicate"] * 1.0
    table = comparison(frame, context(), row="n", metrics=["fit_seconds"])
    once = frame.drop_duplicates(["replicate", "algorithm"])
    expected = comparison(once, context(), row="n", metrics=["fit_seconds"])
    assert "means over 4 replicates" in table.attrs["notes"][0]
    assert repr(table.loc[0, "FoBa-gdt"]) == repr(expected.loc[0, "FoBa-gdt"])


def test_values_of_theta_with_the_same_number_of_samples_are_one_point():
    settings = pd.DataFrame(
        {"theta": [0.5, 0.51, 0.6], "n_samples": [20, 20, 24], "algorithm": "omp", "replicate": 0}
    )
    part = registry.find("figure", "transition_threshold")
    params = {name: field.default for name, field in part.parameters.model_fields.items()}
    params["of"] = "n_samples"
    assert with_panels(part, params, [settings], []) == params


TWO_SIZES = pd.DataFrame(
    [
        {"p": p, "replicate": k, "algorithm": "omp", "status": "ok", "error": 0.5, "found": 1.0}
        for p in (10, 20)
        for k in range(3)
    ]
)
OF_TEST = Context("t", "paper", 3, "", {"omp": "omp"}, {})


@pytest.mark.parametrize(
    "estimate",
    [
        lambda rows: medians(rows, ["algorithm"], "error"),
        lambda rows: means(rows, OF_TEST, ["algorithm"], "error"),
        lambda rows: count(rows, {"omp": "found"}, ["algorithm"]),
        lambda rows: compare(
            rows.assign(s=2), OF_TEST, row="s", metrics={"error": MetricStyle()}, published={}
        ),
    ],
)
def test_no_estimate_is_over_several_settings(estimate):
    with pytest.raises(ConfigError, match="average over the values of 'p'"):
        estimate(TWO_SIZES)
    estimate(TWO_SIZES[TWO_SIZES["p"] == 10])


def test_a_replicate_has_one_row_at_each_point():
    refuse_pooled(TWO_SIZES, ["p"])
    references = [TWO_SIZES.assign(reference=name) for name in ("truth", "support")]
    with pytest.raises(ConfigError, match="'reference'"):
        refuse_pooled(pd.concat(references), ["p"])
    with pytest.raises(ConfigError, match="equal rows of one replicate"):
        refuse_pooled(pd.concat([TWO_SIZES, TWO_SIZES]), ["p"])
    # The same number of samples restates theta.
    both = pd.concat([TWO_SIZES.assign(theta=theta, n_samples=5) for theta in (0.5, 0.6)])
    refuse_pooled(both, ["p", "n_samples"])
