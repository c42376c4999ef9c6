"""Data as a list of blocks: their points, columns, sentences, and the rows of a run."""

from __future__ import annotations

import csv
import io

import jsonschema
import numpy as np
import pandas as pd
import pytest
from claims_tables import judge
from experiment_parts import base, message, registered  # noqa: F401 (an autouse fixture)
from runner_lab import Laboratory, rows_of

from greedyexp import runner
from greedyexp.claims.setting import setting_of
from greedyexp.cli import plan
from greedyexp.config import json_schema, load
from greedyexp.core import registry
from greedyexp.runner.allocation import series_of
from greedyexp.runner.fingerprint import Fingerprints
from greedyexp.runner.rows import columns_of

OVERLAP = {"generator": "t_overlap", "p": 8, "sweep": {"kappa": [0.8, 0.3]}}
WIDE = {"generator": "t_overlap", "label": "wide", "p": 64, "sweep": {"theta": [2.0, 1.0]}}
FILE = {"generator": "t_file", "name": "a"}


def listed(*blocks, **changes) -> dict:
    """The settings with a list of data."""
    return base(data=list(blocks), figures=None, profiles=None, **changes)


def test_points_are_those_of_one_block_after_the_other():
    experiment = load(listed(WIDE, OVERLAP))
    assert {point.generator for point in experiment.points} == {"t_overlap"}
    found = [(p.label, p.params["kappa"], p.params["theta"]) for p in experiment.points]
    assert found == [
        ("wide", 1.0, 1.0),
        ("wide", 1.0, 2.0),
        ("t_overlap", 0.3, 1.0),
        ("t_overlap", 0.8, 1.0),
    ]
    assert experiment.swept == ["data", "kappa", "theta"]
    assert load(experiment.resolved) == experiment
    assert [block["label"] for block in experiment.resolved["data"]] == ["wide", "t_overlap"]


def test_columns_are_the_union_in_order_of_appearance():
    entries = {"algorithms": ["t_lasso"], "metrics": ["t_size"]}
    of_data = columns_of(load(listed(FILE, OVERLAP, **entries))).data
    assert of_data[:3] == ("data", "name", "exponents")
    assert of_data[3:] == ("p", "s", "kappa", "theta", "values", "noise_std")
    assert columns_of(load(base())).data == of_data[3:]


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ([OVERLAP, OVERLAP], "data[1]: two blocks of data have the label 't_overlap'."),
        ([OVERLAP, {**WIDE, "label": ""}], "data[1].label: label must be a single line of text"),
        (
            [OVERLAP, {**WIDE, "label": 3}],
            "label must be a single line of text without spaces around",
        ),
        ([OVERLAP, 3], "data[1]: a block of data must be a mapping, but is 3."),
        ([], "data: data must be a mapping or a list of at least 1 item, but is []"),
        ([{"p": 3}], "data[0]: 'generator' is missing in data."),
        ([OVERLAP, {**WIDE, "q": 3}], "data[1].q: generator 't_overlap' has no parameter 'q'."),
        ([OVERLAP, {**WIDE, "p": 1}], "data[1].p: p must be at least 2, but is 1."),
        ([OVERLAP, {**WIDE, "sweep": {"theta": [-1]}}], "data[1].sweep.theta[0]: theta must be"),
        ([OVERLAP, {**WIDE, "s": 99}], "data[1].sweep: impossible data 'wide' at theta = 1.0: s"),
    ],
)
def test_a_mistake_in_a_block_names_it(blocks, words):
    assert words in message(listed(*blocks))


def test_parts_that_the_data_of_one_block_cannot_serve_name_it():
    entries = {"algorithms": ["t_path"], "metrics": ["t_size"]}
    error = message(listed(OVERLAP, {**FILE, "label": "mine"}, **entries))
    assert "needs several tasks but generator 't_file' of data 'mine' makes one" in error
    entries = {"algorithms": ["t_lasso"], "metrics": ["t_signs"]}
    error = message(listed(OVERLAP, FILE, **entries))
    assert "metric 't_signs' needs the true coefficients but" in error
    assert "generator 't_file' of data 't_file' does not know them" in error


def test_a_label_is_for_lists():
    error = message(base(data={**OVERLAP, "label": "a"}))
    assert error.startswith("data.label: a label distinguishes the blocks of a list of data")


def test_parameters_and_facts_must_not_be_called_data():
    @registry.generator("t_data")
    def t_data(rng, *, data: int = 1):
        pass

    @registry.generator("t_fact", facts=("data",))
    def t_fact(rng):
        pass

    entries = {"algorithms": ["t_lasso"], "metrics": ["t_size"]}
    for name in ("t_data", "t_fact"):
        error = message(listed({"generator": name}, **entries))
        assert error.startswith("data: two columns of the CSV would be named 'data'")
        assert load(base(data={"generator": name}, figures=None, profiles=None, **entries)).points


def test_an_empty_list_has_no_block_to_change():
    assert "there is no setting 'data.p'" in message(listed(), overrides=["data.p=3"])


def test_the_command_line_changes_one_block():
    settings = listed(OVERLAP, WIDE)
    changed = load(settings, overrides=["data.1.p=32", "data.0.kappa=0.5", "data.0.label=narrow"])
    assert [(p.label, p.params["p"]) for p in changed.points] == [
        ("narrow", 8),
        ("wide", 32),
        ("wide", 32),
    ]
    swept = load(settings, overrides=["data.0.p=[4, 5]", "data.1.sweep.theta=[3]"])
    assert [p.params["p"] for p in swept.points] == [4, 4, 5, 5, 64]
    for key in ("p", "data.p", "data.2.p"):
        error = message(settings, overrides=[f"{key}=3"])
        assert "data is a list here; select a block by its number from 0 to 1." in error
        assert error.endswith("For example: --set data.1.p=...")
    error = message(settings, overrides=["data.1.thet=3"])
    assert "no setting 'data.1.thet'. Did you mean 'data.1.theta'?" in error


def test_a_conflict_is_placed_at_the_change_that_made_it(tmp_path):
    settings = listed(OVERLAP, WIDE)
    changes = ["data.0.p=3", "data.1.s=65", "trials=2"]
    assert message(settings, overrides=changes[::2]).startswith("--set data.0.p=3: impossible data")
    assert message(settings, overrides=changes[1:]).startswith("--set data.1.s=65: impossible data")
    # One that the file makes stays there.
    wrong = listed(OVERLAP | {"s": 99}, WIDE)
    assert message(wrong, overrides=["data.1.p=32"]).startswith("data[0]")


def test_only_chooses_blocks_and_their_points():
    settings = listed(OVERLAP, WIDE)
    assert {p.label for p in load(settings, only=["data=wide"]).points} == {"wide"}
    chosen = load(settings, only=["data=wide", "theta=2"]).points
    assert [(p.label, p.params["theta"]) for p in chosen] == [("wide", 2.0)]
    error = message(settings, only=["data=wde"])
    assert "no point has data = 'wde'. Did you mean 'wide'?" in error
    entries = {"algorithms": ["t_lasso"], "metrics": ["t_size"]}
    kept = load(listed(OVERLAP, FILE, **entries), only=["name=a"]).points
    assert [p.label for p in kept] == ["t_file"]


def test_only_chooses_blocks_whose_labels_hold_commas():
    names = ["p = 8, from zero", "p = 64, from zero"]
    blocks = [block | {"label": name} for block, name in zip((OVERLAP, WIDE), names, strict=True)]
    settings = listed(*blocks)
    for choice in (names[0], f'"{names[0]}"', f"['{names[0]}']"):
        assert {p.label for p in load(settings, only=[f"data={choice}"]).points} == {names[0]}
    for choice in (",".join(names), f"'{names[0]}', {names[1]}", str(names)):
        assert len(load(settings, only=[f"data={choice}"]).points) == 4
    error = message(settings, only=["data=p = 8"])
    assert "It takes: 'p = 8, from zero', 'p = 64, from zero'." in error


def test_a_profile_replaces_the_list():
    settings = listed(OVERLAP, WIDE) | {"profiles": {"smoke": {"data": [WIDE]}, "deep": {}}}
    assert [p.label for p in load(settings, profile="smoke").points] == ["wide", "wide"]
    assert len(load(settings, profile="deep").points) == 4
    error = message(settings | {"profiles": {"smoke": {"data": {"p": 12}}}})
    assert error == (
        "profiles.smoke.data: a profile replaces a list of data as a whole, but this one does not"
        " name a generator. Write the whole list."
    )
    other = settings | {"profiles": {"smoke": {"data": FILE | {"name": "b"}}}}
    assert "t_file" in message(other, profile="smoke")
    single = base(figures=None, profiles={"smoke": {"data": [WIDE, OVERLAP]}})
    assert len(load(single, profile="smoke").points) == 4


def test_crossings_are_located_in_every_block():
    rule = {"locate": {"of": "theta", "half_width": 0.1}}
    error = message(listed(OVERLAP, WIDE, trials=rule))
    assert "'theta' is not swept in every block of data" in error

    @registry.metric("t_hit", better="higher", binary=True)
    def t_hit(problem, coef):
        pass

    other = {**WIDE, "label": "other", "sweep": {"theta": [5.0, 6.0, 7.0]}}
    experiment = load(listed(WIDE, other, trials=rule, metrics=["t_hit"]))
    assert [list(one.points) for one in series_of(experiment)] == [[0, 1]] * 2 + [[2, 3, 4]] * 2


def test_the_plan_has_a_line_for_each_block():
    said = plan.words(load(listed(OVERLAP, WIDE))).splitlines()
    assert said[1:3] == [
        "  data t_overlap: t_overlap, sweeping kappa (2 values)",
        "  data wide: t_overlap, sweeping theta (2 values)",
    ]


def test_the_schema_knows_lists():
    validator = jsonschema.Draft202012Validator(json_schema())
    assert validator.is_valid(listed(OVERLAP, WIDE))
    assert validator.is_valid(load(listed(OVERLAP, WIDE)).resolved)
    assert validator.is_valid(listed(OVERLAP) | {"profiles": {"smoke": {"data": [WIDE]}}})
    assert validator.is_valid(base(profiles={"smoke": {"data": [WIDE]}}))
    for wrong in ({**WIDE, "p": 1}, {**WIDE, "q": 1}, {**WIDE, "label": 1}, {"p": 8}, 3):
        assert not validator.is_valid(listed(OVERLAP, wrong))
    assert not validator.is_valid(listed())


def test_claims_have_the_label_and_what_any_block_sweeps_as_axes():
    design = load(listed(OVERLAP, WIDE)).design
    setting = setting_of(design, design.measured, ["data", "p", "kappa", "theta"])
    assert setting.axes == (("data",), ("kappa",), ("theta",))
    claim = {"id": "a", "quote": "b", "test": "mean(t_path, t_size) < 3"}
    where = {"where": {"data": "wide", "theta": 2.0}}
    assert load(listed(OVERLAP, WIDE, claims=[claim | where])).claims[0].where == where["where"]
    error = message(listed(OVERLAP, WIDE, claims=[claim | {"where": {"data": "wde"}}]))
    assert "there are no data 'wde' in the experiment. Did you mean 'wide'?" in error
    error = message(listed(OVERLAP, WIDE, claims=[claim | {"where": {"theta": 2.01}}]))
    assert "no point has theta = 2.01. Did you mean 2.0?" in error


def test_groups_of_claims_are_those_that_occur():
    design = load(listed(OVERLAP, WIDE, algorithms=["t_lasso"])).design
    points = [("wide", 1.0, 1.0), ("wide", 1.0, 2.0)]
    points += [("t_overlap", 0.3, 1.0), ("t_overlap", 0.8, 1.0)]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        [
            (*point, replicate, "t_lasso", "ok", rng.normal(1, 0.1))
            for point in points
            for replicate in range(8)
        ],
        columns=["data", "kappa", "theta", "replicate", "algorithm", "status", "t_size"],
    )
    setting = setting_of(design, design.measured, frame.columns)
    judged = judge(frame, "mean(t_lasso, t_size) < 2", words=setting)
    groups = [tuple(test.group.values()) for test in judged.tests]
    assert sorted(groups) == sorted(points)
    assert {test.trials for test in judged.tests} == {8}


OTHER = '''

@generator("TAG_flat", provides=("truth",), facts=("n",))
def flat(rng, *, m: int = 10, scale: float = 1.0):
    """Columns of one size; the number of rows is a fact here and a parameter elsewhere."""
    X = scale * rng.standard_normal((m, 3))
    return Problem((X,), (X[:, 0],), np.eye(3)[:, :1], None, 1, {"n": m, "draw": float(X.mean())})
'''


class Blocks(Laboratory):
    """A laboratory with a second generator."""

    def __init__(self, folder):
        super().__init__(folder)
        self.plugin.write_text(self.plugin.read_text() + OTHER.replace("TAG", self.tag))

    def blocks(self, *data, **changes) -> dict:
        return self.settings(**changes) | {"data": list(data)}

    @property
    def both(self) -> list[dict]:
        flat = {"generator": f"{self.tag}_flat", "sweep": {"m": [6, 5]}}
        return [flat, {"generator": f"{self.tag}_data", "label": "deep", "sweep": {"n": [8, 12]}}]


@pytest.fixture
def lab(tmp_path):
    return Blocks(tmp_path)


def run(settings, folder, **how) -> runner.Report:
    return runner.run(
        load(settings), folder, runner.RunOptions(**{"engine": "serial", "progress": False, **how})
    )


def test_a_run_of_two_blocks_is_the_same_with_any_number_of_workers(lab, tmp_path):
    settings = lab.blocks(*lab.both)
    tables = [
        run(settings, tmp_path / name, **how).csv.read_bytes()
        for name, how in {
            "one": {"engine": "processes", "jobs": 1},
            "two": {"engine": "processes", "jobs": 2},
            "serial": {"engine": "serial"},
        }.items()
    ]
    assert tables[0] == tables[1] == tables[2]
    rows = list(csv.DictReader(io.StringIO(tables[0].decode())))
    assert list(rows[0])[:10] == [
        *("data", "m", "scale", "n", "p", "noise", "trouble", "draw", "replicate", "algorithm"),
    ]
    assert len(rows) == 2 * 2 * 6 * 2
    first, last = rows[0], rows[-1]
    # The number of rows is a fact of one generator and a parameter of the other.
    assert (first["data"], first["m"], first["n"], first["p"]) == (f"{lab.tag}_flat", "5", "5", "")
    assert (last["data"], last["m"], last["n"], last["p"]) == ("deep", "", "12", "4")
    assert {row["status"] for row in rows} == {"ok"}


def test_a_block_moved_to_a_list_keeps_its_rows(lab, tmp_path):
    folder = tmp_path / "results"
    flat, deep = lab.both
    alone = lab.settings()
    before = run(alone, folder).csv
    written, first = before.read_bytes(), pd.read_csv(before, keep_default_na=False)
    after = run(lab.blocks(flat, deep), folder)
    assert after.computed == 2 * 6 * 2
    again = run(lab.blocks({**deep, "label": "again"}, flat), folder)
    assert again.computed == 0
    table = pd.read_csv(again.csv, keep_default_na=False)
    assert list(dict.fromkeys(table["data"])) == ["again", f"{lab.tag}_flat"]
    moved = table[table["data"] == "again"].reset_index(drop=True)
    assert moved[first.columns].astype(str).equals(first.astype(str))
    assert run(alone, folder).csv.read_bytes() == written


def test_labels_and_order_are_not_in_the_key_of_a_row(lab):
    flat, deep = lab.both
    alone = Fingerprints(load(lab.settings()))
    first = Fingerprints(load(lab.blocks(flat, deep)))
    turned = Fingerprints(load(lab.blocks({**deep, "label": "x"}, flat)))
    assert [alone.key(k, 1, 0) for k in (0, 1)] == [first.key(k, 1, 0) for k in (2, 3)]
    assert [alone.key(k, 1, 0) for k in (0, 1)] == [turned.key(k, 1, 0) for k in (0, 1)]
    assert len({first.key(k, 0, a) for k in range(4) for a in range(2)}) == 8


def test_a_rehearsal_tries_every_block(lab):
    tried = runner.rehearse(load(lab.blocks(*lab.both)))
    labels = [f"{lab.tag}_{name}" for name in ("median", "ridge")]
    assert [label for label, _, _ in tried] == [
        f"{label} on {block}" for block in (f"{lab.tag}_flat", "deep") for label in labels
    ]


def test_a_part_of_the_blocks_is_computed_and_the_rest_kept(lab, tmp_path):
    folder = tmp_path / "quick"
    settings = lab.blocks(*lab.both)
    narrowed = load(settings, only=["data=deep"])
    done = runner.run(narrowed, folder, runner.RunOptions(engine="serial", progress=False))
    assert done.computed == 2 * 6 * 2
    assert {row.partition(",")[0] for row in rows_of(done.csv)} == {"deep"}
    assert run(settings, folder).computed == 2 * 6 * 2
    assert runner.status(folder).missing == 0


PROTOCOL = '''
from greedyexp import algorithm, protocol
from greedyexp.protocols.base import Measured
from greedyexp.protocols.base import Outcome, Status


def columns(metrics, *, steps, base):
    return [Measured("step", "key"), Measured("size", "number"), Measured("label", "text")]


@protocol("TAG_powers", takes="iterates", columns=columns)
def powers(problem, part, params, setup, *, steps: int = 3, base: float = 2.0):
    """Powers of a number, scaled by what the algorithm makes."""
    scale = part.function(problem, **params)
    assert (setup.tuning, setup.metrics) == ("none", ())
    rows = [{"step": k, "size": scale * base**k} for k in range(steps)]
    return Outcome(Status.OK, "", rows)


@algorithm("TAG_scale", yields="iterates")
def scale(problem, *, by: float = 1.0):
    """A number."""
    return by
'''


def test_a_protocol_of_a_plugin_gets_its_parameters_in_the_workers(lab, tmp_path):
    file = tmp_path / "protocol.py"
    file.write_text(PROTOCOL.replace("TAG", lab.tag))
    settings = lab.blocks(*lab.both, trials=1) | {
        "plugins": [str(lab.plugin), str(file)],
        "protocol": {f"{lab.tag}_powers": {"steps": 4, "base": 3.0}},
        "algorithms": [{f"{lab.tag}_scale": {"sweep": {"by": [1.0, 10.0]}}}],
    }
    del settings["metrics"]
    done = run(settings, tmp_path / "one", engine="processes", jobs=2)
    serial = run(settings, tmp_path / "two")
    assert done.csv.read_bytes() == serial.csv.read_bytes()
    table = pd.read_csv(done.csv)
    assert list(table.columns)[-3:] == ["step", "size", "label"]
    assert len(table) == 4 * 2 * 4
    assert (table["size"] == table["by"] * 3.0 ** table["step"]).all()
    shorter = {**settings, "protocol": {f"{lab.tag}_powers": {"steps": 2}}}
    assert run(shorter, tmp_path / "one").computed == done.computed
