"""What an experiment file means: complete points and algorithms, defaults, the round trip."""

from __future__ import annotations

import pickle
import time
import tracemalloc

import numpy as np
import pytest
import yaml
from experiment_parts import BASE, base, message, registered  # noqa: F401 (an autouse fixture)

from greedyexp.config import AlgorithmSpec, PaperReference, PartSpec, load
from greedyexp.core import registry


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "trial.yaml"
    file.write_text(BASE)
    return file


def test_the_whole_experiment(path):
    experiment = load(path)
    assert (experiment.name, experiment.profile, experiment.seed) == ("trial_run", "quick", 7)
    assert (experiment.trials, experiment.time_limit) == (3, None)
    assert experiment.paper == PaperReference(key="jalali2012", figure="Figure 1")
    assert (experiment.protocol.name, experiment.protocol.params) == ("recovery", {})
    assert {(point.generator, point.label) for point in experiment.points} == {("t_overlap", None)}
    assert experiment.swept == ["p", "kappa", "theta"]
    assert experiment.metrics == ["t_signs", "t_size"]
    assert experiment.figures == [
        PartSpec("t_curve", {"x": "theta", "logx": False, "line": ["algorithm", "p"]})
    ]
    assert experiment.algorithms == [
        AlgorithmSpec("t_lasso", "t_lasso", "t_lasso", {"tolerance": 1e-7}, {}, "oracle", 5),
        AlgorithmSpec(
            "t_path",
            "t_path",
            "t_path",
            {"w": [1.05, 1.5], "nu": 0.5, "stack": "single", "max_steps": None},
            {},
            "oracle",
            5,
        ),
    ]
    expected = [
        {"p": p, "s": 4, "kappa": kappa, "theta": theta, "values": "sign", "noise_std": 0.1}
        for p in (64, 128)
        for kappa in (0.3, 0.8)
        for theta in (0.4, 0.6, 0.8, 1.0, 1.2)
    ]
    points = [point.params for point in experiment.points]
    assert points == expected
    assert [list(point) for point in points] == [list(expected[0])] * 20


def test_a_mapping_says_the_same_as_its_file(path):
    assert load(base()) == load(path) == load(str(path))


def test_arrays_and_tuples_in_a_mapping_are_lists():
    data = {"generator": "t_overlap", "p": np.int64(8), "sweep": {"theta": np.array([1.0, 2.0])}}
    plain = {"generator": "t_overlap", "p": 8, "sweep": {"theta": [1.0, 2.0]}}
    assert load(base(data=data, metrics=("t_signs",))) == load(
        base(data=plain, metrics=["t_signs"])
    )


@pytest.mark.parametrize("profile", ["smoke", "quick", "paper", "deep"])
def test_resolved_gives_the_experiment_again(path, tmp_path, profile):
    overrides = ["algorithms.t_path.nu=[0.25, 0.75]", "time_limit=2", "description=1e-4 or so"]
    experiment = load(path, profile=profile, overrides=overrides, trials=5)
    assert load(experiment.resolved, profile=profile) == experiment
    dumped = tmp_path / "resolved.yaml"
    dumped.write_text(yaml.safe_dump(experiment.resolved))
    assert load(dumped, profile=profile) == experiment


def test_resolved_is_complete():
    resolved = load(base()).resolved
    assert resolved["data"]["s"] == 4
    assert resolved["algorithms"][1] == {
        "t_lasso": {"tolerance": 1e-7, "tuning": "oracle", "folds": 5}
    }
    assert "profiles" not in resolved


def test_an_experiment_can_be_sent_to_workers():
    experiment = load(base())
    assert pickle.loads(pickle.dumps(experiment)) == experiment


def test_tuning_is_by_the_truth_where_it_is_known_else_by_cross_validation():
    assert [spec.tuning for spec in load(base()).algorithms] == ["oracle", "oracle"]
    unknown = base(
        data={"generator": "t_file", "name": "a"},
        figures=[],
        algorithms=["t_lasso", {"t_single": {"k": 2}}],
        metrics=["t_size"],
        profiles=None,
    )
    assert [spec.tuning for spec in load(unknown).algorithms] == ["cv", "none"]


@pytest.mark.parametrize("tuning", ["oracle", "cv", "theory", "end"])
def test_a_file_takes_every_tuning(tuning):
    entry = {"t_path": {"tuning": tuning}}
    assert [spec.tuning for spec in load(base(algorithms=[entry])).algorithms] == [tuning]


def test_algorithms_sweep_into_labelled_variants():
    entry = {"t_path": {"label": "greedy", "folds": 3, "tuning": "cv", "max_steps": 1e2}}
    entry["t_path"]["sweep"] = {"nu": [0.5, 0.25], "stack": ["single", "class"]}
    specs = load(base(algorithms=[entry])).algorithms
    assert [spec.label for spec in specs] == [
        "greedy (nu=0.25, stack=class)",
        "greedy (nu=0.25, stack=single)",
        "greedy (nu=0.5, stack=class)",
        "greedy (nu=0.5, stack=single)",
    ]
    first = {"w": [1.5], "nu": 0.25, "stack": "class", "max_steps": 100}
    assert specs[0] == AlgorithmSpec(
        "t_path", specs[0].label, "greedy", first, {"nu": 0.25, "stack": "class"}, "cv", 3
    )


def test_the_order_of_algorithms_and_of_their_sweeps_does_not_matter():
    one = [{"t_path": {"sweep": {"nu": [0.1, 0.2], "stack": ["single"]}}}, "t_lasso"]
    two = ["t_lasso", {"t_path": {"sweep": {"stack": ["single"], "nu": [0.2, 0.1]}}}]
    assert load(base(algorithms=one)).algorithms == load(base(algorithms=two)).algorithms


def test_one_algorithm_may_come_twice_under_two_labels():
    entries = ["t_path", {"t_path": {"label": "careful", "nu": 0.9}}]
    specs = load(base(algorithms=entries)).algorithms
    assert [(spec.label, spec.name, spec.params["nu"]) for spec in specs] == [
        ("careful", "t_path", 0.9),
        ("t_path", "t_path", 0.5),
    ]


PLUGIN = """
from greedyexp import algorithm

@algorithm("t_{0}")
def t_{0}(problem, *, depth: int = 2):
    "A user's own."
"""


def test_plugins_are_found_beside_the_file(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(PLUGIN.format("mine"))
    file = tmp_path / "own.yaml"
    file.write_text(BASE.replace("trials: 3", "trials: 3\nplugins: [mine.py]"))
    text = file.read_text().replace("- t_lasso", "- t_mine: {depth: 3}")
    file.write_text(text)
    experiment = load(file)
    assert experiment.plugins == [str((tmp_path / "mine.py").resolve())]
    assert registry.find("algorithm", "t_mine")
    assert experiment.algorithms[0].params == {"depth": 3}
    assert load(experiment.resolved) == experiment
    (tmp_path / "mine.py").rename(tmp_path / "mien.py")
    error = message(file)
    assert f"{file}:12: there is no plugin file 'mine.py'" in error
    assert "Did you mean 'mien.py'?" in error


def test_plugins_on_the_command_line_are_found_where_it_runs(path, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "typed.py").write_text(PLUGIN.format("typed"))
    monkeypatch.chdir(tmp_path / "here")
    overrides = ["algorithms=[t_typed]", "plugins=[typed.py]"]
    experiment = load(path, overrides=overrides)
    assert experiment.plugins == [str((tmp_path / "here" / "typed.py").resolve())]
    assert [spec.name for spec in experiment.algorithms] == ["t_typed"]


def test_loading_is_quick_and_holds_points_not_trials(path):
    sweep = (
        "data.sweep={p: [64, 128, 256], kappa: [0.3, 0.5, 0.8], theta: {from: 1, to: 4, num: 7}}"
    )
    load(path, overrides=[sweep])
    seconds = []
    for _ in range(5):
        start = time.process_time()
        experiment = load(path, overrides=[sweep])
        seconds.append(time.process_time() - start)
    assert len(experiment.points) == 63
    assert min(seconds) < 0.05
    tracemalloc.start()
    load(path, overrides=[sweep], trials=50_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6
