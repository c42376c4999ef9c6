"""Results of a run cannot separate points, lines or panels."""

import pandas as pd
import pytest
import yaml

from greedyexp.config import load
from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.experiment.parameters import Parameters
from greedyexp.report import draw
from greedyexp.results.columns import refuse_separation_by_results

TRAJECTORY = {
    "name": "told",
    "data": {"generator": "gaussian", "p": 8, "n_samples": 20, "sparsity": 2},
    "protocol": {"trajectory": {"iterations": 4, "epsilons": [0.1], "points": 3, "dense": 2}},
    "trials": 1,
    "algorithms": ["gradient_descent"],
}
RECOVERY = {
    "name": "told",
    "data": {"generator": "gaussian", "sweep": {"n_samples": [20, 30]}},
    "trials": 1,
    "algorithms": ["omp"],
    "metrics": ["support"],
}

SUPPORT = {"default": "support"}


@pytest.mark.parametrize("name", sorted(registry.parts("figure")))
def test_every_figure_lists_the_columns_that_separate_its_points(name):
    part = registry.find("figure", name)
    assert part.apart is not None
    needed = {"row": "p", "metrics": ["support"]} if name == "comparison" else {}
    apart = part.apart(**Parameters(part).read_all(needed))
    assert set(apart) <= set(part.columns(**Parameters(part).read_all(needed)))


@pytest.mark.parametrize(
    ("experiment", "figure", "given", "column"),
    [
        (TRAJECTORY, "epsilon_curve", {"x": "epsilon"}, "epsilon"),
        (TRAJECTORY, "epsilon_curve", {"x": "iterations"}, "iterations"),
        (TRAJECTORY, "epsilon_curve", {"panel": "epsilon"}, "epsilon"),
        (TRAJECTORY, "epsilon_curve", {"row": "record"}, "record"),
        (TRAJECTORY, "convergence", {"line": ["iteration"]}, "iteration"),
        (TRAJECTORY, "convergence", {"line": ["algorithm", "gap"]}, "gap"),
        (TRAJECTORY, "convergence", {"panel": "status"}, "status"),
        (RECOVERY, "phase_transition", {"x": "support", "success": SUPPORT}, "support"),
    ],
)
def test_a_result_is_refused_before_any_work(experiment, figure, given, column):
    with pytest.raises(ConfigError, match=f"figure '{figure}' .* panels by '{column}'"):
        load({**experiment, "figures": [{figure: given}]})


def test_a_result_cannot_be_the_group_of_a_table():
    asked = {"comparison": {"row": "support", "metrics": ["support"]}}
    with pytest.raises(ConfigError, match=r"table 'comparison' .* panels by 'support'"):
        load({**RECOVERY, "tables": [asked]})


def test_replicates_and_facts_may_separate_panels():
    load({**RECOVERY, "figures": [{"phase_transition": {"x": "n_samples", "success": SUPPORT}}]})
    load({**TRAJECTORY, "figures": [{"convergence": {"panel": "replicate", "row": "n_features"}}]})


def test_in_a_table_results_stand_after_the_status():
    frame = pd.DataFrame([[8, 0, "omp", "ok", "", 1.0]])
    frame.columns = ["p", "replicate", "algorithm", "status", "message", "gap"]
    part = registry.find("figure", "convergence")
    refuse_separation_by_results(part, {"line": ["algorithm"], "panel": "p"}, frame)
    for name in ("status", "message", "gap"):
        with pytest.raises(ConfigError, match=f"panels by '{name}'"):
            refuse_separation_by_results(part, {"line": ["algorithm", name]}, frame)


def test_a_configuration_edited_after_the_run_is_refused_likewise(tmp_path):
    rows = {"p": 8, "replicate": 0, "algorithm": "gradient_descent", "status": "ok", "message": ""}
    pd.DataFrame({**rows, "record": "epsilon", "epsilon": [0.1, 0.2], "iterations": 3}).to_csv(
        tmp_path / "told.csv", index=False
    )
    figures = [{"epsilon_curve": {"scale": "linear"}}, {"epsilon_curve": {"x": "epsilon"}}]
    edited = yaml.safe_dump({**TRAJECTORY, "figures": figures})
    (tmp_path / "config.yaml").write_text(edited, encoding="utf-8")
    with pytest.raises(ConfigError, match="panels by 'epsilon'") as refused:
        draw(tmp_path)
    assert refused.value.place == f"{tmp_path / 'config.yaml'}: figures[1].epsilon_curve"
    assert (tmp_path / "figures" / "epsilon_curve.png").exists()


@pytest.mark.parametrize(
    ("kind", "name", "given"),
    [
        ("figures", "transition_threshold", {"x": "sparsity"}),
        ("figures", "threshold_limit", {"x": "sparsity"}),
        ("tables", "thresholds", {"rows": ["sparsity"]}),
    ],
)
@pytest.mark.parametrize("of", ["size", "ridge"])
def test_a_threshold_needs_new_data_at_every_value(kind, name, given, of):
    """Values of a protocol key, or of a parameter of an algorithm, share their data sets."""
    experiment = {
        "name": "told",
        "data": {"generator": "two_class_gaussian", "n_samples": 40, "p": 20,
                 "sweep": {"sparsity": [2, 3]}},
        "protocol": {"selection": {"sizes": [1, 2, 3]}},
        "trials": 1,
        "metrics": ["support"],
        "algorithms": [{"foba_gdt": {"loss": "logistic", "sweep": {"ridge": [0.1, 0.2]}}}],
        kind: [{name: {**given, "of": of, "success": SUPPORT}}],
    }  # fmt: skip
    with pytest.raises(ConfigError) as refusal:
        load(experiment)
    assert f"'{of}' is not swept by the data" in str(refusal.value)
