"""The settings of a run: its entries, the labels of its table, what an algorithm succeeds by."""

from __future__ import annotations

import pandas as pd
import pytest

from greedyexp.config import load
from greedyexp.core.errors import StorageError
from greedyexp.experiment.design import by_stem, design_of, read_design, success_metric
from greedyexp.results.context import context_of
from greedyexp.results.records import group_columns


def design(*algorithms, **more):
    data = {"generator": "gaussian", "p": 12, "n_samples": 20, "sparsity": 2}
    settings = {"name": "made", "trials": 2, "data": data, "metrics": ["support"]}
    return design_of({**settings, "algorithms": list(algorithms), **more}, "quick")


def test_entries_are_names_with_parameters_or_without():
    made = design("lasso", {"omp": None}, {"lasso": {"label": "loose"}}, figures=["comparison"])
    found = [("lasso", "lasso"), ("omp", "omp"), ("lasso", "loose")]
    assert [(entry.name, entry.label) for entry in made.entries] == found
    assert made.drawn("figure") == [("comparison", {})]
    assert made.drawn("table") == []


def test_every_value_of_a_sweep_folds_into_its_entry():
    swept = {"greedy_dirty": {"sweep": {"w": [[1.2, 1.5], [1.3]]}}}
    data = {"generator": "multitask_overlap", "p": 16, "kappa": 0.5, "theta": 2.0}
    settings = {"name": "made", "trials": 1, "data": data, "metrics": ["sign_support"]}
    experiment = load({**settings, "algorithms": [swept, "dirty_lasso"]})
    labels = [spec.label for spec in experiment.algorithms]
    assert "greedy_dirty (w=[1.2, 1.5])" in labels
    columns = {"replicate": 0, "algorithm": labels, "w": ["", "[1.2,1.5]", "[1.3]"], "status": "ok"}
    context = context_of(experiment.design, labels)
    folded, _ = group_columns(pd.DataFrame(columns), context, "w", "algorithm")
    assert sorted(folded["algorithm"]) == ["dirty_lasso", "greedy_dirty", "greedy_dirty"]
    apart, _ = group_columns(pd.DataFrame(columns), context, "algorithm")
    assert apart["algorithm"].tolist() == labels


def test_words_of_a_zip_keep_the_order_of_the_file():
    words = ["sign", "gaussian"]
    data = {"generator": "multitask_overlap", "sweep": {"zip": {"values": words, "p": [8, 9]}}}
    made = design("omp", data=data)
    assert made.words["values"] == words
    assert context_of(made, ["omp"]).in_order("values", sorted(words)) == words
    damaged = design("omp", data={"generator": "multitask_overlap", "sweep": {"zip": ["values"]}})
    assert damaged.words == {"data": ["multitask_overlap"]}


def test_labels_are_known_as_loading_made_them():
    made = design({"fully_corrective": {"label": "fc", "sweep": {"beta": [1, 2.5]}}}, "omp")
    found = {label: one.entry for label, one in made.variants.items()}
    assert found["fc (beta=1.0)"] == found["fc (beta=2.5)"] == "fc"
    assert found["omp"] == "omp"
    assert made.variant("fc (beta=0.25)").entry == "fc (beta=0.25)"


def test_labels_of_an_algorithm_that_is_gone_are_known_too():
    sweep = {"b": [1, 2.5], "zip": {"a": ["x, y", "z"], "c": [True, None]}}
    made = design({"gone": {"label": "old", "sweep": sweep}})
    for values in ("b=1, a=x, y, c=true", "a=z, b=2.5, c=null", "b=1.0, c=null, a=z"):
        label = f"old ({values})"
        assert made.variant(label).entry == "old"
        assert set(made.variant(label).swept) == {"a", "b", "c"}


@pytest.mark.parametrize(
    "sweep", [{"tol": {"from": 1}}, {"zip": [3]}, {"zip": [{"a": [1], "b": []}]}]
)
def test_a_damaged_sweep_has_no_labels(sweep):
    assert design({"gone": {"sweep": sweep}}).variants == {}


def test_the_file_of_a_damaged_folder_is_refused(tmp_path):
    with pytest.raises(StorageError, match=r"config.yaml: algorithms\[0\]") as caught:
        read_design("name: a\ntrials: 1\ndata: {}\nalgorithms: [3]\n", tmp_path / "config.yaml", "")
    assert "must be" in str(caught.value)
    with pytest.raises(StorageError, match="'metrics' is missing"):
        read_design(
            "name: a\ntrials: 1\ndata: {}\nalgorithms: [omp]\n", tmp_path / "config.yaml", ""
        )


def test_a_label_goes_before_a_name_and_both_before_the_default():
    success = {"default": "a", "lasso": "b", "loose": "c"}
    assert success_metric(success, "loose", "lasso") == "c"
    assert success_metric(success, "other", "lasso") == "b"
    assert success_metric(success, "omp", "omp") == "a"
    assert success_metric({"lasso": "b"}, "omp", "omp") is None


def test_no_two_figures_have_one_file_whatever_a_plugin_calls_them():
    names = ["curve", "curve", "curve_2", "curve_2", "curve"]
    stems = by_stem([(name, place) for place, name in enumerate(names)])
    assert list(stems) == ["curve", "curve_2", "curve_2_2", "curve_2_3", "curve_3"]
    assert [place for _, place in stems.values()] == [0, 1, 2, 3, 4]
