"""Rows that a figure or a table can never find are refused before any work."""

import pytest

from greedyexp.config import load, reload
from greedyexp.core.errors import ConfigError


def settings(*tables, protocol=None, **more):
    return {
        "name": "made",
        "data": {"generator": "two_class_gaussian", "n_samples": 40, "p": 20, "n_test": 8},
        "protocol": {"selection": {"sizes": [2, 4], "chosen_at": [4], **(protocol or {})}},
        "algorithms": [{"foba_gdt": {"loss": "logistic", "max_features": 4, "label": "gdt"}}],
        "metrics": ["f_measure"],
        "tables": list(tables),
        **more,
    }


def compared(**params):
    return {"comparison": {"row": "size", "metrics": ["f_measure"], **params}}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            compared(where={"record": "feature"}),
            r"where\.record: the rows with record = feature have no f_measure\."
            r" f_measure is in those with record = size",
        ),
        (compared(where={"size": 3}), r"where\.size: no row has size = 3\. It takes: 2, 4"),
        (compared(where={"size": []}), r"the list for 'size' is empty\. Remove it"),
        (compared(published={"gdt": {"f_measure": {"3": 1}}}), r"published: no row has size = 3"),
        ({"timing": {"row": "size", "base": "gdt", "published": {"gdt": {"5": 1}}}}, "size = 5"),
        (
            {"timing": {"row": "size", "base": "gdt", "published": {"gdt": {"2": 0}}}},
            r"published\.gdt\.2: 2 must be more than 0",
        ),
        ({"timing": {"row": "size", "base": "foba_gdt"}}, "base: `base` names 'foba_gdt'"),
        (
            compared(where={"record": "class"}),
            r"no row has record = 'class'\. It takes: 'size', 'f",
        ),
    ],
)
def test_what_no_row_has_is_refused(table, words):
    with pytest.raises(ConfigError, match=words):
        load(settings(table))


@pytest.mark.parametrize(
    "table",
    [
        compared(where={"size": 2, "record": "size"}, published={"gdt": {"f_measure": {"2.0": 1}}}),
        compared(where={"replicate": 0, "status": "ok", "algorithm": "gdt"}),
        compared(row="p", where={"p": 20, "size": 2}),
        {"used_features": {"where": {"size": 4}}},
        {"timing": {"row": "size", "base": "gdt", "published": {"gdt": {"4": 0.1}}}},
    ],
)
def test_what_rows_have_is_not(table):
    assert load(settings(table)).tables


def test_what_another_profile_or_the_file_itself_has_is_left_to_the_run():
    shown = compared(where={"size": 4}, published={"gdt": {"f_measure": {"4": 1}}})
    small = {"selection": {"sizes": [2], "chosen_at": []}}
    written = settings(shown, profiles={"smoke": {"protocol": small}})
    experiment = load(written, profile="smoke")
    assert reload(experiment.resolved, profile="smoke").algorithms == experiment.algorithms


def test_what_the_command_line_takes_away_keeps_no_run_from_its_rows():
    block = {"generator": "two_class_gaussian", "n_samples": 40, "p": 20}
    blocks = [{**block, "label": "a"}, {**block, "label": "b"}]
    written = settings(compared(where={"data": "a"}), data=blocks)
    changed = ["data=[{generator: two_class_gaussian, n_samples: 40, p: 20, label: b}]"]
    assert load(written, overrides=changed).tables
    with pytest.raises(ConfigError, match="there are no data 'a'"):
        load({**written, "data": blocks[1:]})


@pytest.mark.parametrize(("row", "columns"), [("max_features", "gdt"), ("size", "max_features=4")])
def test_a_swept_algorithm_is_a_base_where_the_rows_tell_its_values_apart(row, columns):
    sweep = {"label": "gdt", "loss": "logistic", "sweep": {"max_features": [4, 8]}}
    written = settings(
        {"timing": {"row": row, "base": "gdt"}}, algorithms=[{"foba_gdt": sweep}, "l1_path"]
    )
    if row == "max_features":
        assert load(written).tables
        return
    with pytest.raises(ConfigError, match="`base` names 'gdt', which is not a column of the table"):
        load(written)
    written["tables"][0]["timing"]["base"] = f"gdt ({columns})"
    assert load(written).tables


def test_two_algorithms_to_compare_are_lines_of_the_figure():
    pair = [{"foba_gdt": {"loss": "logistic", "max_features": 4, "label": "gdt"}}, "l1_path"]
    written = settings(algorithms=pair, figures=[compared(against={"gdt": "l1_path"})])
    assert load(written).figures
    written["figures"] = [compared(against={"gdt": "l1_pth"})]
    with pytest.raises(ConfigError, match=r"against\.gdt: .*'l1_pth', which is not a line of the"):
        load(written)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (
            {"figures": ["class_errors"]},
            "'class_error', .* List sizes in 'classes_at' of protocol",
        ),
        (
            {"tables": ["used_features"]},
            "'used', .* List sizes in 'chosen_at' of protocol",
        ),
    ],
)
def test_what_to_ask_the_protocol_for_is_said(part, words):
    with pytest.raises(ConfigError, match=words):
        load(settings(protocol={"chosen_at": []}) | part)


def test_errors_of_classes_need_rows_held_out():
    data = {"generator": "two_class_gaussian", "n_samples": 40, "p": 20, "n_test": 0}
    asked = {"classes_at": [2]}
    assert load(settings(protocol=asked))
    with pytest.raises(ConfigError, match=r"classes_at: classes_at of .* needs rows held out"):
        load(settings(protocol=asked, data=data))


def test_errors_of_two_classes_need_one_response():
    chains = {"data": {"generator": "synthetic_chains"}, "metrics": ["training_sign_error"]}
    crf = {"algorithms": [{"foba_gdt": {"loss": "crf", "max_features": 4}}]}
    with pytest.raises(ConfigError, match=r"needs one response but generator .* makes several\."):
        load(settings() | chains | crf)
    assert load(settings() | chains | crf | {"metrics": ["training_word_error"]})
    assert load(settings(metrics=["training_sign_error"]))
