"""Columns and values in words."""

from dataclasses import replace

import pytest

from greedyexp.experiment.design import design_of
from greedyexp.results.context import Context, context_of
from greedyexp.results.text import failures_text, group_text, sized_text, title_text
from greedyexp.results.words import axis_label, level_text, metric_title, told_apart, values_text

CONTEXT = Context("t", "paper", 1, "", {}, {})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.6667, "2/3"),
        (2 / 3, "2/3"),
        (0.3333, "1/3"),
        (0.1429, "1/7"),
        (0.5, "0.5"),
        (0.667, "0.667"),
        (0.6662, "0.6662"),
        (0.316, "0.316"),
        (4.5e-08, "4.5·10⁻⁸"),
        (1e-05, "10⁻⁵"),
        (12, "12"),
        (16384.0, "16384"),
        (1e6, "10⁶"),
        (True, "True"),
    ],
)
def test_numbers(value, text):
    assert level_text("kappa", value) == text


@pytest.mark.parametrize(
    ("names", "texts"),
    [
        (["my_method", "my method"], ["my_method", "my method"]),
        (["x_", "x"], ["x_", "x"]),
        (["_x", "x", "y_z"], ["_x", "x", "y z"]),
        (["a__b", "a_b"], ["a__b", "a_b"]),
    ],
)
def test_names_that_would_look_alike_are_written_as_they_are(names, texts):
    found = told_apart({name: name.replace("_", " ") for name in names})
    assert [found[name] for name in names] == texts


def test_words_and_columns():
    assert values_text({"kappa": 0.6667, "values": "sign"}) == "κ = 2/3, nonzero values: ±1"
    assert values_text({"loss": "one_small", "data": "home A"}) == "loss: one small, home A"
    assert metric_title("sign_support") == "exact sign support"
    assert metric_title("fit_seconds") == "fit seconds"


def test_titles_name_what_is_chosen_and_not_what_varies():
    where = {"record": "x", "algorithm": ["omp"], "size": [1, 2], "kappa": [0.3], "data": "home A"}
    assert title_text(where, CONTEXT) == "κ = 0.3, home A"
    assert title_text({}, CONTEXT) == ""


def design(by, generator, **algorithms):
    return design_of(
        {
            "name": "t",
            "trials": 1,
            "data": {"generator": generator},
            "algorithms": [{name: {"label": label}} for label, name in algorithms.items()],
            "protocol": {"selection": {"sizes": [1], "by": by}},
        }
    )


def test_sizes_of_rows_of_sensors_are_sensors():
    sensors = context_of(design("rows", "uci_adl", omp="omp"), [])
    assert axis_label("size", sensors.counted) == "number of sensors"
    assert [sized_text(k, sensors) for k in (1, 4)] == ["1 sensor", "4 sensors"]
    for other in (design("features", "uci_adl", omp="omp"), design("rows", "gaussian", omp="omp")):
        assert axis_label("size", context_of(other, []).counted) == "number of features selected"


def test_labels_that_are_identifiers_become_words():
    labels = {"foba_gdt_by_sensor": "foba_gdt", "my_way": "omp", "FoBa, EBIC-R": "foba_obj"}
    titles = context_of(design("rows", "uci_adl", **labels), []).titles
    assert list(titles.values()) == ["FoBa-gdt, by sensor", "my way", "FoBa, EBIC-R"]
    context = context_of(design("rows", "uci_adl", **labels), [])
    assert group_text({"algorithm": "my_way", "p": 5}, context) == "my way at p = 5"


def test_labels_and_words_that_differ_by_an_underscore_are_told_apart():
    labels = {"my_way": "omp", "my way": "omp", "omp": "omp", "OMP": "omp", "other_way": "omp"}
    context = replace(
        context_of(design("rows", "uci_adl", **labels), []),
        words={"data": ["a_b", "a b", "c_d"]},
    )
    assert list(context.titles.values()) == ["my_way", "my way", "omp", "OMP", "other way"]
    shown = [group_text({"data": word}, context) for word in context.words["data"]]
    assert shown == ["a_b", "a b", "c d"]


def test_a_title_differs_from_the_texts_beside_it():
    context = Context("t", "paper", 1, "", {}, {"a": "n", "n": "n", "b": "B"})
    assert context.titled(["a", "n", "b"], "n") == {"a": "a", "n": "'n'", "b": "B"}


def test_failures_are_mentioned_only_if_there_are_any():
    import pandas as pd

    frame = pd.DataFrame({"status": ["ok"] * 3 + ["error"]})
    assert failures_text(frame[:3], "left out") == ""
    assert failures_text(frame, "left out") == "Replicates failed (left out): 25.00%."
    frame.loc[0, "status"] = "not_converged"
    assert "without certificate: 25.00%" in failures_text(frame, "left out")
