"""A user's own table in the Parquet format."""

import json
import sys

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from greedyexp.core.errors import DataError, InstallationError
from greedyexp.generators.file import file

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.standard_normal((30, 3)), columns=["age", "dose; mg", "id"])
TABLE["y"] = TABLE["age"] + 0.1 * RNG.standard_normal(30)


def load(path, **params):
    return file(np.random.default_rng(1), path=str(path), **params)


def test_it_gives_what_the_csv_gives(tmp_path):
    TABLE.to_parquet(tmp_path / "d.parquet")
    TABLE.to_csv(tmp_path / "d.csv", index=False)
    settings = {"response": ["y"], "ignore": ["id"], "test_fraction": 0.3}
    found, expected = (load(tmp_path / f"d.{kind}", **settings) for kind in ("parquet", "csv"))
    assert found.feature_names == expected.feature_names == ("age", "dose; mg")
    for one, other in (
        (found.X, expected.X),
        (found.y, expected.y),
        (found.X_test, expected.X_test),
    ):
        np.testing.assert_array_equal(one[0], other[0])


def test_the_index_of_pandas_is_no_column(tmp_path):
    TABLE.set_index("id").to_parquet(tmp_path / "d.parquet")
    assert load(tmp_path / "d.parquet").feature_names == ("age", "dose; mg")


def test_metadata_of_pandas_that_name_another_column_are_refused(tmp_path):
    table = pyarrow.Table.from_pandas(TABLE)
    said = {"index_columns": ["age"], "columns": [], "column_indexes": []}
    said["columns"] = [{"name": "other", "field_name": "other", "numpy_type": "object"}]
    odd = table.replace_schema_metadata({"pandas": json.dumps(said)})
    pyarrow.parquet.write_table(odd, tmp_path / "d.parquet")
    with pytest.raises(DataError, match=r"d\.parquet: not a readable table"):
        load(tmp_path / "d.parquet")


@pytest.mark.parametrize(
    ("change", "params", "words"),
    [
        ({"age": "old"}, {}, r"column 'age' of the table holds the text 'old' in row 0"),
        ({"age": None}, {}, r"column 'age' of the table holds no value in row 0"),
        ({"age": pd.Timestamp("2020-01-01")}, {}, r"column 'age' of the table holds 2020-01-01"),
        ({}, {"delimiter": ";"}, r"`delimiter` is for .csv files, but this is a .parquet file"),
        ({}, {"ignore": ["sex"]}, r"`ignore` names a column 'sex', which does not exist"),
        ({}, {"response": ["z"]}, r"there is no column 'z'"),
    ],
)
def test_bad_tables_and_settings_are_refused_with_the_file(tmp_path, change, params, words):
    TABLE.assign(**change).to_parquet(tmp_path / "d.parquet")
    with pytest.raises(DataError, match=words) as refused:
        load(tmp_path / "d.parquet", **params)
    assert refused.value.place == str(tmp_path / "d.parquet")


def test_what_is_no_parquet_is_refused(tmp_path):
    (tmp_path / "d.parquet").write_text("a,y\n1,2\n")
    with pytest.raises(DataError, match="not a readable table"):
        load(tmp_path / "d.parquet")


def test_without_pyarrow_one_sentence_says_what_to_install(tmp_path, monkeypatch):
    TABLE.to_parquet(tmp_path / "d.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InstallationError, match=r"pip install greedyexp\[parquet\]"):
        load(tmp_path / "d.parquet")
