"""A protocol of a plugin that declares kinds of records of its own."""

import json

import pandas as pd
import pytest

from greedyexp.core.registry import find

PLUGIN = '''
import matplotlib.pyplot as plt
import numpy as np

from greedyexp import Problem, algorithm, figure, generator, protocol, table
from greedyexp.core.parts import RecordKind
from greedyexp.protocols.base import Measured
from greedyexp.protocols.base import Outcome, Status
from greedyexp.results.records import records


@generator("hills")
def hills(rng, *, p: int = 3):
    """Noise."""
    return Problem((rng.standard_normal((4, p)),), (rng.standard_normal(4),))


@algorithm("still")
def still(problem):
    """Zero."""
    return np.zeros((problem.n_features, 1))


def columns(metrics, *, leaps, falls):
    kinds = (*(["leap"] if leaps else []), *(["fall"] if falls else []))
    return [
        Measured("record", "key", kinds),
        Measured("leap", "key", tuple(range(leaps)), {"record": ("leap",)}),
        *([Measured("height", "number", None, {"record": ("leap",)})] if leaps else []),
        Measured("depth", "number", None, {"record": ("fall",)}),
    ]


@protocol(
    "walk",
    takes="estimates",
    columns=columns,
    records=(
        RecordKind("leap", ("leap",), "Let protocol walk make leaps.", columns=("height",)),
        RecordKind("fall", (), "Let protocol walk make falls.", columns=("depth",)),
    ),
)
def walk(problem, part, params, setup, *, leaps: int = 0, falls: int = 1):
    """Leap and fall."""
    noise = 0.1 * setup.rng.standard_normal()
    rows = [{"record": "leap", "leap": i, "height": 2.0 * i + noise} for i in range(leaps)]
    rows += [{"record": "fall", "depth": 1.0}] * falls
    return Outcome(Status.OK, "", rows)


@figure("heights", columns=lambda: ["record", "leap", "height"])
def heights(frame, context):
    """Height of each leap."""
    rows = records(frame, "leap", ["leap", "height"])
    drawn, axis = plt.subplots()
    axis.plot(rows["leap"], rows["height"])
    return drawn


@table("depths", columns=lambda: ["record", "depth"])
def depths(frame, context):
    """Depth of each fall."""
    return records(frame, "fall", ["depth"])[["depth"]]
'''

EXPERIMENT = """\
name: hike
description: Leaps and falls.
seed: 1
plugins: [plugin.py]
data: {{generator: hills}}
trials: 8
algorithms: [still]
protocol: {{walk: {{leaps: {leaps}}}}}
figures: [{figures}]
tables: [depths]
claims:
  - id: highest-at-the-end
    quote: "Later leaps are higher."
    place: "section 1"
    where: {{leap: 2}}
    test: mean(still, height) >= 3
"""


@pytest.fixture
def hike(tmp_path):
    """Write the plugin and an experiment with so many leaps."""

    def write(leaps, figures="heights"):
        (tmp_path / "plugin.py").write_text(PLUGIN)
        text = EXPERIMENT.format(leaps=leaps, figures=figures)
        path = tmp_path / "hike.yaml"
        path.write_text(text if leaps else text[: text.index("claims:")])
        return path

    return write


def test_figures_tables_and_claims_read_the_records_of_a_plugin(hike, call, tmp_path):
    ran = call("run", hike(3), "--engine", "serial", "--out", "out", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    rows = pd.read_csv(next(tmp_path.glob("out/**/hike.csv")))
    assert rows["record"].value_counts().to_dict() == {"leap": 24, "fall": 8}
    assert list(tmp_path.glob("out/**/heights.png"))
    claims = json.loads(next(tmp_path.glob("out/**/claims.json")).read_text())
    assert [one["verdict"] for one in claims["claims"]] == ["supported"]


def test_a_column_without_its_record_names_what_to_ask_of_the_protocol(hike, call, tmp_path):
    ran = call("run", hike(0), "--out", "out", cwd=tmp_path)
    assert ran.returncode == 2
    assert "'height', which the CSV will not have. Let protocol walk make leaps." in ran.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"leap", ("leap",)', '"jump", ("leap",)', "writes rows of the undeclared kind 'leap'"),
        ('("leap",), "Let', '("where",), "Let', "declares 'where' for records 'leap'"),
        ('columns=("height",)', 'columns=("width",)', "declares 'width' for records 'leap'"),
        ('("leap",), "Let', '("height",), "Let', "declares 'height' as a key"),
    ],
)
def test_a_declaration_that_contradicts_the_columns_is_refused(
    hike, call, tmp_path, old, new, message
):
    path = hike(2)
    text = (tmp_path / "plugin.py").read_text()
    assert old in text
    (tmp_path / "plugin.py").write_text(text.replace(old, new))
    ran = call("check", path, cwd=tmp_path)
    assert ran.returncode == 2
    assert f"plugin.py:34: protocol 'walk' {message}" in ran.stderr


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("selection", {"sizes": [1], "classes_at": [1], "chosen_at": [1]}),
        ("tightness", {"steps": 4, "epsilons": [0.1]}),
        ("tradeoff", {"steps": 4, "epsilons": [0.1]}),
        ("trajectory", {"epsilons": [0.1], "coordinates": 1, "rate": True}),
    ],
)
def test_shipped_protocols_declare_the_records_they_write(name, params):
    part = find("protocol", name)
    given = part.columns([], **part.parameters(**params).model_dump())
    measured = {one.name: one for one in given}
    declared = {kind.name: kind for kind in part.records}
    assert set(measured["record"].values) == declared.keys()
    for kind in declared.values():
        keys = {
            key.name
            for key in given
            if key.kind == "key" and kind.name in key.only.get("record", (kind.name,))
        }
        assert set(kind.keys) == keys - {"record"}
        assert all(
            kind.name in measured[name].only.get("record", (kind.name,)) for name in kind.columns
        )
