"""DataFrames and Series: names are kept, and every bad entry gets its column and row."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars
import pytest

from greedyexp import solve
from greedyexp.core.errors import DataError

RNG = np.random.default_rng(5)
X = RNG.standard_normal((40, 4))
Y = X[:, 2] + 0.1 * RNG.standard_normal(40)
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"], index=[f"row{i}" for i in range(40)])


def test_a_table_gives_what_its_array_gives_and_keeps_the_names():
    found = solve("omp", FRAME, pd.Series(Y), n_atoms=2)
    plain = solve("omp", X, Y, n_atoms=2)
    np.testing.assert_array_equal(found.coef, plain.coef)
    assert found.feature_names == ("a", "b", "c", "d")
    assert plain.feature_names == ()


def test_columns_of_several_types_are_numbers():
    mixed = FRAME.assign(a=np.arange(40), b=FRAME["b"] > 0, c=FRAME["c"].astype("Float64"))
    mixed["d"] = mixed["d"].astype(object)
    numbers = np.column_stack([np.arange(40), X[:, 1] > 0, X[:, 2], X[:, 3]]).astype(float)
    found = solve("omp", mixed, Y, n_atoms=2, intercept=True)
    np.testing.assert_array_equal(
        found.coef, solve("omp", numbers, Y, n_atoms=2, intercept=True).coef
    )


def test_a_table_of_responses_is_several_tasks():
    found = solve("group_omp", FRAME, pd.DataFrame({"u": Y, "v": -Y}), n_rows=1)
    assert found.coef.shape == (4, 2)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("high", "column 'c' of X holds the text 'high' in row row3. Encode the column as numbers"),
        (None, "column 'c' of X holds no value in row row3. Remove or impute missing values."),
        (np.nan, "column 'c' of X holds no value in row row3"),
        (pd.NA, "column 'c' of X holds no value in row row3"),
        (pd.NaT, "column 'c' of X holds no value in row row3"),
        (np.inf, "column 'c' of X holds inf in row row3; a finite number is needed."),
        (np.timedelta64(3, "s"), "column 'c' of X holds 3 seconds in row row3; a finite number"),
        (1j, r"column 'c' of X holds 1j in row row3; a finite number"),
        (pd.Timestamp("2020-01-01"), "column 'c' of X holds 2020-01-01 00:00:00 in row row3"),
    ],
)
def test_a_bad_entry_is_named_by_column_and_row(value, words):
    bad = FRAME.astype({"c": object})
    bad.loc["row3", "c"] = value
    with pytest.raises(DataError, match=words):
        solve("omp", bad, Y)


def test_a_column_of_dates_is_not_read_as_numbers():
    with pytest.raises(DataError, match="column 'c' of X holds 2020-01-01"):
        solve("omp", FRAME.assign(c=pd.Timestamp("2020-01-01")), Y)
    dates = pd.DataFrame({"c": pd.date_range("2020-01-01", periods=40)})
    with pytest.raises(DataError, match="column 'c' of X holds 2020-01-01"):
        solve("omp", dates, Y)


@pytest.mark.parametrize(
    "times", [pd.date_range("2020-01-01", periods=40), pd.timedelta_range("1s", periods=40)]
)
def test_times_of_polars_are_not_read_as_numbers(times):
    frame = polars.DataFrame({"a": X[:, 0], "c": polars.Series(times.to_numpy())})
    with pytest.raises(DataError, match=r"column 'c' of X holds .* a finite number is needed"):
        solve("omp", frame, Y)
    with pytest.raises(DataError, match=r"column 'c' of X holds .* a finite number is needed"):
        solve("omp", frame[["c"]].to_pandas(), Y)


def test_among_texts_of_numbers_the_other_text_is_named():
    texts = [*map(str, X[:3, 2]), "high", *map(str, X[4:, 2])]
    with pytest.raises(DataError, match="column 'c' of X holds the text 'high' in row row3"):
        solve("omp", FRAME.assign(c=texts), Y)


def test_decimals_are_numbers():
    decimals = [Decimal(str(value)) for value in X[:, 2]]
    found = solve("omp", FRAME.assign(c=decimals), Y, n_atoms=2)
    np.testing.assert_array_equal(found.coef, solve("omp", X, Y, n_atoms=2).coef)


def test_a_bad_response_is_named_by_its_row():
    with pytest.raises(DataError, match=r"^y holds no value in row 7. Remove or impute"):
        solve("omp", X, pd.Series(np.where(np.arange(40) == 7, np.nan, Y)))
    with pytest.raises(DataError, match=r"^column 'v' of y holds the text 'x' in row 0"):
        solve("group_omp", X, pd.DataFrame({"u": Y, "v": ["x"] * 40}))


def test_columns_of_one_name_and_empty_tables_are_refused():
    with pytest.raises(DataError, match=r"2 columns of X are named 'a'. Rename them."):
        solve("omp", FRAME.set_axis(["a", "b", "a", "d"], axis=1), Y)
    with pytest.raises(DataError, match="X is empty"):
        solve("omp", FRAME[[]], Y)


def test_tables_of_polars_are_taken():
    frame, y = polars.from_pandas(FRAME.reset_index(drop=True)), polars.Series("y", Y)
    found = solve("omp", frame, y, n_atoms=2)
    np.testing.assert_array_equal(found.coef, solve("omp", X, Y, n_atoms=2).coef)
    assert found.feature_names == ("a", "b", "c", "d")
    np.testing.assert_array_equal(found.predict(frame), X @ found.coef)
    bad = frame.with_columns(c=polars.Series(["x"] * 40))
    with pytest.raises(DataError, match="column 'c' of X holds the text 'x' in row 0"):
        solve("omp", bad, Y)
    lacking = polars.when(polars.col("b") == X[4, 1]).then(None).otherwise(polars.col("b"))
    with pytest.raises(DataError, match="column 'b' of X holds no value in row 4"):
        solve("omp", frame.with_columns(b=lacking), Y)


def test_tables_in_a_list_are_the_designs_of_tasks():
    tables, responses = [FRAME, FRAME[:25]], [pd.Series(Y), pd.Series(-Y[:25])]
    found = solve("group_omp", tables, responses, n_rows=1)
    plain = solve("group_omp", [X, X[:25]], [Y, -Y[:25]], n_rows=1)
    np.testing.assert_array_equal(found.coef, plain.coef)
    assert found.selected == ["c"]
    with pytest.raises(DataError, match=r"the columns of X\[1\] are not those of X\[0\]"):
        solve("group_omp", [FRAME, FRAME[["b", "a", "c", "d"]]], [Y, Y])
    with pytest.raises(DataError, match=r"column 'a' of X\[1\] holds the text 'x' in row row0"):
        solve("group_omp", [FRAME, FRAME.assign(a="x")], [Y, Y])
    with pytest.raises(DataError, match=r"y\[1\] holds no value in row 0"):
        solve("group_omp", tables, [responses[0], responses[1].where(Y[:25] != Y[0])])
