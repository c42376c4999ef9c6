"""Figure ``coordinates``: the coefficients of one replicate, named and counted."""

import pandas as pd
import pytest
from figure_frames import legend_texts, style  # noqa: F401 (an autouse fixture)
from trajectory_frames import CONTEXT, table

from greedyexp.core import registry
from greedyexp.core.errors import ConfigError
from greedyexp.figures._plot import COLOURS, MARKERS
from greedyexp.figures.trajectory.coordinates import coordinates


def coordinate_rows(p=500, count=10, replicates=(0, 1), algorithms=("gradient_descent", "ours")):
    """Return rows: coordinate 10 c moves to c in replicate 0, further in the next, half in ours."""
    return [
        {"p": p, "n_samples": 50, "replicate": k, "algorithm": label, "record": "coordinate"}
        | {"iteration": i, "coordinate": 10 * c}
        | {"coefficient": (-1) ** c * c * (1 + k) * (1 - 0.5**i) / (1 + (label == "ours"))}
        for k in replicates
        for label in algorithms
        for i in (0, 1, 5, 20, 100)
        for c in range(1, count + 1)
    ]


@pytest.fixture
def frame():
    return table(coordinate_rows())


def paths(figure, axis=0):
    return [line for line in figure.axes[axis].lines if line.get_gid() == "path"]


def texts(figure):
    return legend_texts(figure)


def test_each_panel_has_the_coordinates_of_one_algorithm_in_the_first_replicate(frame):
    figure = coordinates(frame, CONTEXT)
    assert [axis.get_title() for axis in figure.axes] == ["Gradient descent", "Ours"]
    for axis, part in ((0, 1), (1, 2)):
        drawn = [tuple(line.get_ydata()) for line in paths(figure, axis)]
        assert drawn == [
            tuple((-1) ** c * c * (1 - 0.5**i) / part for i in (0, 1, 5, 20, 100))
            for c in range(1, 11)
        ]
        assert paths(figure, axis)[0].get_xdata().tolist() == [0, 1, 5, 20, 100]
    said = figure.get_supxlabel()
    assert "profile smoke: one replicate (number 0)." in said
    assert "10 of 500 coordinates in each panel" in said
    assert "grow largest: 10, 20, 30, 40, 50, 60, 70, 80, 90, 100" in said.replace("\n", " ")


def test_another_replicate_can_be_shown(frame):
    figure = coordinates(frame, CONTEXT, replicate=1)
    assert paths(figure)[3].get_ydata()[-1] == pytest.approx(8)
    assert "one replicate (number 1)" in figure.get_supxlabel()
    with pytest.raises(ConfigError, match="no coordinates of replicate 7") as caught:
        coordinates(frame, CONTEXT, replicate=7)
    assert caught.value.remedy == "It has 0, 1."


def test_the_largest_have_colours_and_markers_that_are_the_same_in_all_panels(frame):
    figure = coordinates(frame, CONTEXT)
    for axis in (0, 1):
        shown = [line.get_color() for line in paths(figure, axis)]
        assert shown == ["0.72", *COLOURS]
        assert [line.get_marker() for line in paths(figure, axis)] == ["None", *MARKERS]
    assert set(texts(figure)) == {
        *(f"coordinate {c}" for c in range(20, 101, 10)),
        "other coordinates",
    }
    few = coordinates(table(coordinate_rows(count=3)), CONTEXT)
    assert "other coordinates" not in texts(few)


def test_the_first_iterations_keep_the_colours_of_the_whole(frame):
    late = frame["coordinate"].eq(10) & frame["iteration"].eq(100)
    frame.loc[late, "coefficient"] = 40.0
    whole, part = coordinates(frame, CONTEXT), coordinates(frame, CONTEXT, until=5)
    assert texts(whole) == texts(part)
    assert "coordinate 10" in texts(part)
    assert paths(part)[0].get_xdata().tolist() == [0, 1, 5]
    assert part.axes[0].get_xlim()[1] < 6


def test_panels_with_different_coordinates_say_how_many_each_has(frame):
    some = frame[~((frame["algorithm"] == "ours") & (frame["coordinate"] > 40))]
    assert "4 to 10 of 500 coordinates in each panel" in coordinates(some, CONTEXT).get_supxlabel()
    many = table(coordinate_rows(count=13))
    assert "13 of 500 coordinates in each panel, those that grow largest." in (
        coordinates(many, CONTEXT).get_supxlabel()
    )


def test_coordinates_that_differ_between_panels_are_named_over_all_panels(frame):
    ours = frame["algorithm"] == "ours"
    one = frame[~(ours & frame["coordinate"].eq(10)) & ~(~ours & frame["coordinate"].eq(20))]
    said = coordinates(one, CONTEXT).get_supxlabel().replace("\n", " ")
    assert (
        "9 of 500 coordinates in each panel, those that grow largest; over all panels: 10" in said
    )


def test_settings_are_not_mixed(frame):
    both = pd.concat([frame, table(coordinate_rows(p=100))], ignore_index=True)
    with pytest.raises(ConfigError, match="mix the coordinates of several settings"):
        coordinates(both, CONTEXT)
    figure = coordinates(both, CONTEXT, row="p")
    assert len(figure.axes) == 4
    assert "10 coordinates in each panel" in figure.get_supxlabel()


def test_an_axis_of_logarithms_keeps_iteration_0(frame):
    axis = coordinates(frame, CONTEXT, scale="log").axes[0]
    assert axis.get_xlim()[0] < 0
    assert axis.get_xscale() == "symlog"


def test_bad_columns_are_refused_with_a_sentence(frame):
    with pytest.raises(ConfigError, match="no column 'coordinate'"):
        coordinates(frame.drop(columns="coordinate"), CONTEXT)
    with pytest.raises(ConfigError, match="'coefficient' is not a number in every row"):
        coordinates(frame.assign(coefficient="large"), CONTEXT)
    with pytest.raises(ConfigError, match="no rows of record 'coordinate'"):
        coordinates(frame.assign(record="iteration"), CONTEXT)
    columns_of = registry.find("figure", "coordinates").columns
    needed = columns_of(panel="algorithm", row="lam")
    assert needed == ["algorithm", "lam", "record", "iteration", "coordinate", "coefficient"]
