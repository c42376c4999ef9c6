"""Tables of selections: rows of one data set, fixed data, features in use."""

import re

import numpy as np
import pytest
from selection_frames import SENSORS, context, failed, selection

from greedyexp.config import load
from greedyexp.core.errors import ConfigError
from greedyexp.tables._output import as_csv, table_files
from greedyexp.tables.comparison import comparison
from greedyexp.tables.features import used_features

SHOWN = {"row": "size", "metrics": ["error", "objective"]}


def text_of(table):
    _, readable, latex = table_files(table, table.attrs["title"]).values()
    assert latex.decode().count("\\\\") >= len(table)
    return readable.decode()


def test_the_rows_of_one_data_set_are_a_table_of_their_own():
    frame = selection(data=("a1a", "w1a"))
    alone = selection(data=("a1a", "w1a")).query("data == 'w1a'")
    table = comparison(frame, context(), **SHOWN, where={"data": "w1a"})
    expected = comparison(alone, context(), **SHOWN)
    for name in ("FoBa-gdt", "FoBa-obj"):
        assert list(map(repr, table[name])) == list(map(repr, expected[name]))
    assert table.attrs["title"] == "Comparison, w1a"
    assert "Comparison, w1a." in text_of(table)
    named = comparison(frame, context(), **SHOWN, where={"data": "w1a"}, title="Table 4, w1a")
    assert "Table 4, w1a." in text_of(named)


def test_numbers_and_lists_choose_rows_too():
    frame = selection()
    table = comparison(frame, context(), **SHOWN, where={"size": [1, 3.0], "record": "size"})
    assert table["size"].unique().tolist() == ["1", "3"]
    with pytest.raises(ConfigError, match="no row has data = a1b") as refused:
        comparison(frame, context(), **SHOWN, where={"data": "a1b"})
    assert "a1a" in refused.value.remedy


def test_rows_of_other_kinds_are_in_no_mean():
    frame = selection()
    cell = comparison(frame, context(), **SHOWN).loc[0, "FoBa-gdt"]
    keep = (frame["record"] == "size") & (frame["size"] == 1) & (frame["algorithm"] == "gdt")
    assert cell.value == pytest.approx(frame.loc[keep, "error"].mean())
    assert np.isfinite([cell.low, cell.high]).all()


def test_seconds_are_counted_once_for_a_replicate():
    frame = selection().assign(fit_seconds=0.25)
    asked = {"row": "size", "metrics": ["fit_seconds"], "where": {"record": "size"}}
    table = comparison(frame, context(), **asked)
    assert table.loc[0, "FoBa-gdt"].value == 0.25
    assert "over 4 replicates" in table.attrs["notes"][0]


def test_fixed_data_have_numbers_alone():
    table = comparison(selection(trials=1), context(trials=1), **SHOWN)
    text = text_of(table)
    assert "±" not in text
    assert "value of" in text
    assert "one replicate, no intervals" in text
    written = as_csv(table).splitlines()
    assert re.fullmatch(r"1,error,[\d.]+,,,[\d.]+,,", written[1])


def test_a_failure_among_several_replicates_is_counted():
    table = comparison(failed(selection(), "gdt", 0), context(), **SHOWN, where={"record": "size"})
    assert "FoBa-gdt 1 of 4" in " ".join(table.attrs["notes"])
    assert "means over 3 to 4" in table.attrs["notes"][0]


def test_shares_of_replicates_that_use_a_feature():
    frame = selection(trials=5)
    table = used_features(frame, context(trials=5))
    assert list(table.columns) == [
        "feature",
        *("FoBa-gdt, 2", "FoBa-gdt, 3", "FoBa-obj, 2", "FoBa-obj, 3"),
    ]
    assert set(table["feature"]) <= set(SENSORS)
    for place, sensor in enumerate(table["feature"]):
        keep = (frame["feature"] == sensor) & (frame["size"] == 2) & (frame["algorithm"] == "obj")
        assert table.loc[place, "FoBa-obj, 2"].value == pytest.approx(
            frame.loc[keep, "used"].mean()
        )
    totals = [sum(cell.value for cell in row[1:]) for row in table.itertuples(index=False)]
    assert totals == sorted(totals, reverse=True)
    assert "shares of 5 replicates" in text_of(table)
    short = used_features(frame, context(trials=5), sizes=[3], most=1)
    assert short["feature"].tolist()[0] in SENSORS
    assert len(short) == 1
    assert "Left out: 3 features" in " ".join(short.attrs["notes"])


def test_one_replicate_is_a_list_of_names():
    frame = selection(trials=1)
    table = used_features(frame, context(trials=1))
    assert table[["algorithm", "size"]].to_numpy().tolist() == [
        ["FoBa-gdt", "2"],
        ["FoBa-gdt", "3"],
        ["FoBa-obj", "2"],
        ["FoBa-obj", "3"],
    ]
    for _, row in table.iterrows():
        label = {"FoBa-gdt": "gdt", "FoBa-obj": "obj"}[row["algorithm"]]
        keep = (frame["algorithm"] == label) & (frame["size"] == int(row["size"]))
        names = frame.loc[keep & (frame["used"] == 1), "feature"].tolist()
        assert row["features"] == ", ".join(names)
        assert row["used"] == str(len(names)) == row["size"]
    assert "one replicate" in text_of(table)


def test_numbered_features_are_whole_numbers():
    frame = selection(trials=1)
    numbers = frame["feature"].map({name: float(i) for i, name in enumerate(SENSORS)})
    table = used_features(frame.assign(feature=numbers), context(trials=1), sizes=[3])
    assert "." not in "".join(table["features"])


def test_a_size_is_an_axis_but_not_a_metric():
    settings = {
        "name": "made",
        "data": {"generator": "gaussian", "n_samples": 20, "p": 5, "sparsity": 2},
        "protocol": {"selection": {"sizes": [1, 2]}},
        "algorithms": ["omp"],
        "metrics": ["frobenius_error"],
    }
    drawn = {"comparison": {"row": "size", "metrics": ["frobenius_error"]}}
    experiment = load({**settings, "tables": [drawn], "figures": [drawn]})
    assert [spec.name for spec in experiment.tables] == ["comparison"]
    wrong = {"comparison": {"row": "reached", "metrics": ["frobenius_error"]}}
    with pytest.raises(ConfigError, match="panels by 'reached'"):
        load({**settings, "tables": [wrong]})
    with pytest.raises(ConfigError, match="reads a column 'used'"):
        load({**settings, "tables": ["used_features"]})
