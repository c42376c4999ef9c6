"""Colours of methods: distinguishable, the same in all figures, decided by the whole experiment."""

import itertools

import numpy as np
import pandas as pd
import pytest

from greedyexp.experiment.variants import Variant
from greedyexp.figures._plot import COLOURS, NUMBERS, LineStyles, Panels, method_styles
from greedyexp.results.context import Context

# sRGB to XYZ for the white of D65, and what people without red or green cones see of linear sRGB
# (Machado, Oliveira & Fernandes 2009, severity 1).
XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]],
)
SEEN = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}
# Methods that figures compare with each other.
TOGETHER = [
    ("greedy_dirty", "dirty_lasso", "lasso", "group_lasso", "group_lasso_l2"),
    ("gradient_descent", "gs_coordinate_descent"),
    (
        *("proximal_gradient", "proximal_gs_coordinate_descent", "rmp", "ultimate"),
        *("ultimate_alternating", "ultimate_ar_bcd"),
    ),
    ("foba_gdt", "foba_obj", "forward_gdt", "forward_obj", "l1_path"),
    ("foba_gdt", "foba_obj", "omp", "lasso"),
    ("forward_greedy", "fully_corrective", "replacement_steps", "randomized_sparsification"),
    ("omp", "foba_obj", "lasso", "adaptive_lasso", "skglm_mcp", "abess", "skscope"),
    (
        *("greedy_dirty", "dirty_lasso", "omp", "lasso"),
        *("adaptive_lasso", "skglm_mcp", "abess", "skscope"),
    ),
    ("mu1_exact", "mu1_sdp", "mu2", "mu2_over_p", "smoothness_l1_over_n"),
]


def lab(colour, seen="normal"):
    """Return CIELAB coordinates of a colour as a reader sees it."""
    encoded = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.asarray(SEEN[seen]) @ linear, 0, 1)
    ratio = XYZ @ linear / XYZ.sum(axis=1)
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def context(*names, **labels):
    """Return a context with entries of these algorithms, and labels of others."""
    algorithms = {**dict.fromkeys(names), **labels}
    return Context("t", "paper", 1, "", {k: v or k for k, v in algorithms.items()}, {})


def test_lightness_of_known_colours():
    assert lab("#FFFFFF") == pytest.approx([100, 0, 0], abs=0.05)
    assert lab("#FF0000") == pytest.approx([53.2, 80.1, 67.2], abs=0.2)


@pytest.mark.parametrize("seen", SEEN)
def test_all_readers_can_tell_the_colours_apart(seen):
    points = [lab(colour, seen) for colour in COLOURS]
    distances = [np.linalg.norm(a - b) for a, b in itertools.combinations(points, 2)]
    assert min(distances) > 18


def test_the_first_colours_differ_in_lightness_and_none_is_too_light():
    lightness = [lab(colour)[0] for colour in COLOURS]
    assert np.diff(sorted(lightness[:4])).min() >= 12
    assert max(lightness) < 75


@pytest.mark.parametrize("names", TOGETHER, ids=lambda names: names[0])
def test_methods_that_are_compared_differ_in_colour_and_marker(names):
    found = method_styles(context(*names))
    for key in ("color", "marker"):
        assert len({found[name][key] for name in names}) == len(names)
    assert all(found[name]["color"] == COLOURS[NUMBERS[name]] for name in names)


def test_a_method_looks_the_same_in_every_experiment_and_every_figure():
    whole = context("lasso", "greedy_dirty", ours="omp", theirs="a plugin")
    lines = {"algorithm": ["theirs", "lasso"]}
    styles = LineStyles(pd.DataFrame(lines), ["algorithm"], whole)
    for name, elsewhere in (("lasso", context("foba_obj", "lasso")), ("theirs", whole)):
        assert styles.of(name) == {**method_styles(elsewhere)[name], "label": name}
    assert styles.of("theirs")["color"] not in {
        COLOURS[NUMBERS[name]] for name in ("lasso", "greedy_dirty", "omp")
    }


def test_further_entries_get_free_colours_in_order():
    found = method_styles(context("foba_obj", again="foba_obj", lasso="lasso", more="foba_obj"))
    assert [found[name]["color"] for name in ("again", "more")] == [COLOURS[1], COLOURS[2]]


def test_too_many_further_entries_keep_the_colour_of_their_algorithm():
    names = TOGETHER[6]
    found = method_styles(context(*names, **{f"{name}, again": name for name in names}))
    for name in names:
        one, other = found[name], found[f"{name}, again"]
        assert one["color"] == other["color"]
        assert one["linestyle"] != other["linestyle"]
        assert one["marker"] != other["marker"]


def test_an_entry_without_its_siblings_looks_like_its_algorithm():
    """A method that is tuned by a criterion must look as it does with another tuning."""
    names = TOGETHER[6]
    again = {f"{name}, again": name for name in names}
    whole = context(*names, **again)
    found = method_styles(whole, again)
    for label, name in again.items():
        assert found[label] == method_styles(whole)[name]
    pair = method_styles(whole, ["omp", "omp, again"])
    assert pair["omp"]["marker"] != pair["omp, again"]["marker"]


def test_entries_of_one_algorithm_alone_in_a_figure_differ_in_colour():
    names = list(NUMBERS)[:12]
    twice = {"again": names[0], "more": names[0]}
    whole = context(*names, **{f"{name}, again": name for name in names}, **twice)
    drawn = [names[0], "again", "more"]
    found = method_styles(whole, drawn)
    assert len({found[label]["color"] for label in drawn}) == 3
    assert len({found[label]["marker"] for label in drawn}) == 3


def test_values_of_a_sweep_share_the_colour_of_their_entry():
    swept = {f"foba_obj (nu={nu})": "foba_obj" for nu in (1, 2, 3)}
    known = {label: Variant("foba_obj", ("nu",), label[8:]) for label in swept}
    whole = Context("t", "paper", 1, "", {"foba_obj": "foba_obj", **swept}, {}, variants=known)
    found = method_styles(whole)
    assert {found[label]["color"] for label in swept} == {COLOURS[0]}
    assert len({str(found[label]["linestyle"]) for label in swept}) == 3
    assert len({found[label]["marker"] for label in swept}) == 3


@pytest.mark.parametrize("count", [9, 10, 19, 37, 60])
def test_sixty_entries_are_told_apart_whatever_they_are(count):
    places = range(count)
    swept = {f"e0 (x={place})": Variant("e0", ("x",), f" (x={place})") for place in places}
    for algorithms, variants in (
        ({f"e{place}": "omp" for place in places}, {}),
        ({f"e{place}": list(NUMBERS)[place % len(NUMBERS)] for place in places}, {}),
        ({f"e{place}": ("omp", "lasso", "a plugin")[place % 3] for place in places}, {}),
        ({"e0": "omp", **dict.fromkeys(swept, "omp")}, swept),
        ({f"e{place}": "omp" for place in range(12)} | dict.fromkeys(swept, "omp"), swept),
    ):
        whole = Context("t", "paper", 1, "", algorithms, {}, variants=variants)
        labels = [label for label in algorithms if not (variants and label == "e0")]
        for drawn in (labels, labels[::2]):
            styles = method_styles(whole, drawn)
            assert len({str(styles[label]) for label in drawn}) == len(drawn)


@pytest.mark.parametrize("count", [9, 10, 60])
def test_words_of_a_column_are_told_apart(count):
    table = pd.DataFrame({"data": [f"word {place}" for place in range(count)]})
    styles = LineStyles(table, ["data"], context())
    looks = [styles.of(word) | {"label": ""} for word in table["data"]]
    assert len(set(map(str, looks))) == count


def test_a_figure_names_the_entries_of_its_legend_that_look_alike():
    for count, said in ((5, ""), (6, "Entries of the legend that look alike: p = 0 and p = 5.")):
        table = pd.DataFrame({"data": "a", "p": range(count)})
        styles = LineStyles(table, ["data", "p"], context())
        note = Panels([[None]]).finish(*styles.legends()).get_supxlabel()
        assert " ".join(note.split()) == said


def test_every_shipped_algorithm_that_is_drawn_has_a_number():
    from greedyexp.core.registry import parts

    # Other tests of this process may have registered algorithms.
    known = parts("algorithm").values()
    shipped = {part.name for part in known if part.function.__module__.startswith("greedyexp.")}
    assert shipped - set(NUMBERS) == {"estimator"}
    assert set(NUMBERS) <= shipped
    assert set(NUMBERS.values()) <= set(range(len(COLOURS)))
