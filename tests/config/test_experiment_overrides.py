"""``--set`` and ``--only``: the command line beats the file, and says so when it cannot."""

from __future__ import annotations

import pytest
from experiment_parts import base, message, registered  # noqa: F401 (an autouse fixture)

from greedyexp.config import load


def column(experiment, name):
    return sorted({point.params[name] for point in experiment.points})


def put(*overrides, source=None, **options):
    return load(source or base(), overrides=overrides, **options)


def algorithm(experiment, label):
    return next(spec for spec in experiment.algorithms if spec.label == label)


def test_top_level_settings():
    experiment = put("trials=5", "time_limit=2", "seed=11", "paper.figure=Table 1", "name=other")
    assert (experiment.trials, experiment.time_limit, experiment.seed) == (5, 2.0, 11)
    assert (experiment.paper.figure, experiment.name) == ("Table 1", "other")
    assert put("time_limit=1e-2").time_limit == 0.01
    assert put("time_limit=", source=base(time_limit=3)).time_limit is None


def test_the_last_override_wins_and_options_beat_overrides():
    assert put("trials=5", "trials=6").trials == 6
    experiment = put("trials=5", "seed=1", trials=9, seed=4)
    assert (experiment.trials, experiment.seed) == (9, 4)
    assert "--trials 0: trials must be at least 1" in message(base(), trials=0)


def test_overrides_come_after_the_profile():
    assert column(put("theta=0.9", profile="smoke"), "theta") == [0.9]


@pytest.mark.parametrize(
    ("override", "name", "values"),
    [
        ("data.p=64", "p", [64]),
        ("p=32", "p", [32]),
        ("data.noise_std=[0.1, 0.2]", "noise_std", [0.1, 0.2]),
        ("noise_std={from: 0.1, to: 0.3, step: 0.1}", "noise_std", [0.1, 0.2, 0.3]),
        ("data.sweep.theta={from: 1, to: 2, num: 3}", "theta", [1.0, 1.5, 2.0]),
        ("data.sweep.s=[3, 5]", "s", [3, 5]),
        ("data.sweep.noise_std=[0.1, 0.2]", "noise_std", [0.1, 0.2]),
        ("data.theta={from: 1, to: 4, num: 3, scale: log}", "theta", [1.0, 2.0, 4.0]),
        ("data.sweep.zip={p: [8, 16], s: [3, 5]}", "s", [3, 5]),
        ("data.sweep={p: [8]}", "p", [8]),
    ],
)
def test_data_parameters(override, name, values):
    assert column(put(override), name) == values


def test_a_list_for_a_list_parameter_is_one_value():
    file = base(
        data={"generator": "t_file", "name": "a"},
        figures=[],
        algorithms=["t_lasso"],
        metrics=["t_size"],
        profiles=None,
    )
    assert put("exponents=[1, 2]", source=file).points[0].params["exponents"] == [1.0, 2.0]
    swept = put("exponents=[[1, 2], [3]]", source=file)
    assert [point.params["exponents"] for point in swept.points] == [[1.0, 2.0], [3.0]]


def test_algorithm_parameters():
    experiment = put(
        "algorithms.t_path.nu=0.3", "algorithms.t_lasso.tuning=cv", "algorithms.t_lasso.folds=4"
    )
    assert algorithm(experiment, "t_path").params["nu"] == 0.3
    assert algorithm(experiment, "t_path").params["w"] == [1.05, 1.5]
    lasso = algorithm(experiment, "t_lasso")
    assert (lasso.tuning, lasso.folds) == ("cv", 4)


def test_algorithm_sweeps():
    for override in ("algorithms.t_path.nu=[0.3, 0.6]", "algorithms.t_path.sweep.nu=[0.3, 0.6]"):
        labels = [spec.label for spec in put(override).algorithms]
        assert labels == ["t_lasso", "t_path (nu=0.3)", "t_path (nu=0.6)"]
    fixed = put("algorithms.t_path.sweep={nu: [0.3, 0.6]}", "algorithms.t_path.nu=0.2")
    assert algorithm(fixed, "t_path").params["nu"] == 0.2
    assert algorithm(put("algorithms.t_path.w=[1.2]"), "t_path").params["w"] == [1.2]
    lists = put("algorithms.t_path.w=[[1.2], [1.3]]")
    assert [spec.swept for spec in lists.algorithms[1:]] == [{"w": [1.2]}, {"w": [1.3]}]


def test_algorithms_are_addressed_by_label_before_name():
    twice = base(algorithms=["t_path", {"t_path": {"label": "t_path.slow"}}])
    one = put("algorithms.t_path.slow.nu=0.9", source=twice)
    assert [spec.params["nu"] for spec in one.algorithms] == [0.5, 0.9]
    other = put("algorithms.t_path.nu=0.9", source=twice)
    assert [spec.params["nu"] for spec in other.algorithms] == [0.9, 0.5]
    named = base(algorithms=[{"t_path": {"label": "a"}}, {"t_path": {"label": "b"}}])
    both = put("algorithms.t_path.nu=0.9", source=named)
    assert [spec.params["nu"] for spec in both.algorithms] == [0.9, 0.9]


def test_lists_of_parts_and_figure_parameters():
    experiment = put("metrics=[t_size]", "algorithms=[t_lasso]", "figures.t_curve.x=p")
    assert experiment.metrics == ["t_size"]
    assert [spec.name for spec in experiment.algorithms] == ["t_lasso"]
    assert experiment.figures[0].params["x"] == "p"


def test_items_can_be_added_to_a_list():
    source = base(algorithms=[{"t_path": {"nu": 0.25}}])
    both = put("algorithms+=[t_lasso]", "algorithms += [{t_path: {label: b}}]", source=source)
    assert {spec.label for spec in both.algorithms} == {"t_path", "t_lasso", "b"}
    assert algorithm(both, "t_path").params["nu"] == 0.25
    fresh = put("figures+=[{t_curve: {x: p}}]", source=base(figures=None))
    assert [one.params["x"] for one in fresh.figures] == ["p"]


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("trials", "an override is written key=value"),
        ("=3", "an override is written key=value"),
        ("trials=[1", "not valid YAML"),
        ("trials=", "trials must be a whole number or a mapping, but is empty"),
        ("trails=3", "there is no setting 'trails'. Did you mean 'trials'?"),
        ("kapa=0.3", "Did you mean 'kappa'?"),
        ("data.kapa=0.3", "Did you mean 'data.kappa'?"),
        ("data.sweep.kapa=[0.3]", "Did you mean 'data.sweep.kappa'?"),
        ("algorithms.t_path.nuu=0.3", "Did you mean 'algorithms.t_path.nu'?"),
        ("algorithms.t_pth.nu=0.3", "Did you mean 'algorithms.t_path.nu'?"),
        ("figures.t_curve.y=0.3", "Did you mean 'figures.t_curve.x'?"),
        ("profiles={}", "there is no setting 'profiles'"),
        ("claims.id=x", "there is no setting 'claims.id'"),
        ("kappa=1.5", "kappa must be at most 1, but is 1.5"),
        ("kappa=[0.5, 1.5]", "kappa must be at most 1, but is 1.5"),
        ("data.sweep.p=64", "the sweep of p must be a list or a range, but is 64"),
        ("data=3", "data must be a mapping"),
        ("algorithms.t_path.tuning=best", "tuning must be one of 'oracle', 'cv', 'ebic_robust'"),
        ("data.generator=t_overlp", "Did you mean 't_overlap'?"),
        ("algorithms+=t_lasso", "+= adds the items of a list, but the value is 't_lasso'"),
        ("trials+=[3]", "such as algorithms, but 'trials' is not one"),
        ("kappa+=[0.5]", "at the top level of the file"),
        ("plugins=[nowhere.py]", "there is no plugin file 'nowhere.py'"),
    ],
)
def test_bad_overrides_are_named_with_the_nearest_setting(override, words):
    error = message(base(), overrides=[override])
    assert error.startswith(f"--set {override}: ")
    assert words in error


def only(*choices, **changes):
    return load(base(**changes), only=choices)


def test_only_keeps_points():
    experiment = only("kappa=0.3", "theta=0.4,1.2")
    assert [
        tuple(point.params[name] for name in ("p", "kappa", "theta")) for point in experiment.points
    ] == [(p, 0.3, theta) for p in (64, 128) for theta in (0.4, 1.2)]
    assert experiment.swept == ["p", "kappa", "theta"]
    assert len(experiment.algorithms) == 2
    assert experiment.resolved == load(base()).resolved


def test_choices_of_one_column_add_up():
    assert column(only("theta=0.4", "theta=0.6,0.8"), "theta") == [0.4, 0.6, 0.8]
    assert column(only("p=64.0"), "p") == [64]
    assert len(only("values=sign").points) == 20


def test_only_keeps_algorithms_by_label_name_or_family():
    entries = [{"t_path": {"label": "greedy", "sweep": {"nu": [0.1, 0.2], "stack": ["class"]}}}]
    for choice in ("t_path", "greedy"):
        kept = only(f"algorithm={choice}", algorithms=[*entries, "t_lasso"]).algorithms
        assert [spec.swept["nu"] for spec in kept] == [0.1, 0.2]
    kept = only("algorithm=greedy (nu=0.2, stack=class),t_lasso", algorithms=[*entries, "t_lasso"])
    assert [spec.label for spec in kept.algorithms] == ["greedy (nu=0.2, stack=class)", "t_lasso"]


@pytest.mark.parametrize(
    ("choice", "labels"),
    [
        ("GS-CD, step 1/L2", ["GS-CD, step 1/L2"]),
        ('"GS-CD, step 1/L2"', ["GS-CD, step 1/L2"]),
        ("'GS-CD, step 1/L2' , t_path", ["GS-CD, step 1/L2", "t_path"]),
        ("t_path,GS-CD, step 1/L2", ["GS-CD, step 1/L2", "t_path"]),
        ("GS-CD, step 1/L2,GS-CD, 7", ["GS-CD, 7", "GS-CD, step 1/L2"]),
        ('["GS-CD, 7", t_path]', ["GS-CD, 7", "t_path"]),
        ("7,t_path", ["7", "t_path"]),
        ("it's, one", ["it's, one"]),
    ],
)
def test_only_takes_labels_with_commas_and_quotes(choice, labels):
    given = ["GS-CD, step 1/L2", "GS-CD, 7", "7", "it's, one"]
    entries = ["t_path", *({"t_lasso": {"label": label}} for label in given)]
    kept = only(f"algorithm={choice}", algorithms=entries).algorithms
    assert [spec.label for spec in kept] == sorted(labels)


def test_only_takes_lists():
    assert column(only("theta=[0.4, 0.6]", "theta=0.8"), "theta") == [0.4, 0.6, 0.8]
    source = base(
        data={"generator": "t_file", "name": "a", "sweep": {"exponents": [[1.0, 2.0], [3.0]]}},
        algorithms=["t_lasso"],
        metrics=["t_size"],
        profiles=None,
        figures=None,
    )
    chosen = load(source, only=["exponents=[1, 2]"]).points
    assert [point.params["exponents"] for point in chosen] == [[1.0, 2.0]]
    both = load(source, only=["exponents=[1, 2],[3]"]).points
    assert len(both) == 2


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ("kappa", "a choice is written column=value"),
        ("kappa=", "a choice is written column=value"),
        ("kapa=0.3", "Did you mean 'kappa'?"),
        ("kappa=0.5", "no point has kappa = 0.5. It takes: 0.3, 0.8."),
        ("kappa=true", "no point has kappa = true"),
        ("algorithm=t_lass", "Did you mean 't_lasso'?"),
        ("kappa=[", "not valid YAML"),
        ("kappa=[0.3, 0.5]", "no point has kappa = 0.5. It takes: 0.3, 0.8."),
        ("kappa=[]", "no point has kappa = []."),
        ("algorithm=[]", "no algorithm '[]'"),
        ("algorithm='zzz'", "no algorithm 'zzz'. It takes: 't_lasso', 't_path'."),
        ("algorithm=[t_path, t_lass]", "no algorithm 't_lass'"),
    ],
)
def test_bad_choices(choice, words):
    error = message(base(), only=[choice])
    assert error.startswith(f"--only {choice}: ")
    assert words in error


def test_choices_that_never_meet():
    zipped = {"generator": "t_overlap", "sweep": {"zip": {"p": [8, 16], "s": [1, 2]}}}
    assert "no point of the sweep matches all" in message(
        base(data=zipped, profiles=None), only=["p=8", "s=2"]
    )
