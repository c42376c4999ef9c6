"""Colour, dashes and marker of each method, the same in all figures of all experiments.

A method is told apart by all three, so prints in grey can be read. ``NUMBERS`` gives each shipped
algorithm its place in the palette. Methods that an experiment compares with each other have
different numbers, and the four that occur most often have the numbers 0 to 3, whose colours differ
most in lightness.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from greedyexp.results.context import Context

# Any two colours can be told apart by readers who do not see red or green. The first four also
# differ in lightness.
COLOURS = (
    *("#00309C", "#C23A0C", "#1F9C6C", "#E0A818", "#B058B0"),
    *("#58B8F0", "#6C1824", "#A8A854", "#7A58E8"),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "p")
DASHES: tuple[Any, ...] = ("-", (0, (7, 2)), (0, (3, 1.2)), (0, (7, 1.5, 1.5, 1.5)))
# Dashes of methods that would look like another one without them.
_MORE_DASHES: tuple[Any, ...] = (
    *((0, (1, 1)), (0, (12, 3))),
    *((0, (3, 1, 1, 1, 1, 1)), (0, (7, 1.5, 3, 1.5))),
)

# Methods that are compared, in the order of their numbers; - is a number of another group.
_GROUPS = (
    "dirty_lasso greedy_dirty group_lasso lasso group_omp group_lasso_l2",
    "foba_obj foba_gdt forward_obj forward_gdt l1_path",
    "gradient_descent gs_coordinate_descent rmp ultimate ultimate_alternating ultimate_ar_bcd",
    "proximal_gradient proximal_gs_coordinate_descent",
    "forward_greedy fully_corrective replacement_steps randomized_sparsification - l1_ball",
    "smoothed_forward_greedy",
    "- - abess - skglm_mcp adaptive_lasso skscope skglm_scad omp",
    "- - - - - - - celer_lasso",
    "- - - graphical_lasso",
    "mu1_exact mu1_sdp mu2 mu2_over_p mu1_upper smoothness_l1_over_n smoothness_l1 - smoothness_l2",
)
NUMBERS = {
    name: number for group in _GROUPS for number, name in enumerate(group.split()) if name != "-"
}


def method_styles(context: Context, labels: Iterable[str] = ()) -> dict[str, dict[str, Any]]:
    """Return the style of each label of an experiment.

    The first entry of an algorithm has the number of the algorithm. The others (further entries of
    it, algorithms of plugins, algorithms whose number is taken) get the next free colours. If there
    are fewer free colours than further entries, these keep the colour of their algorithm. They get
    other dashes and markers only next to another entry of the algorithm, so a method looks the same
    whatever tunes it. So do the values of a swept parameter. Where entries of one algorithm are all
    that is drawn, they have different colours.

    Parameters
    ----------
    context : Context
        Its whole list of algorithms decides on colours, so a subset of them keeps its colours.
    labels : iterable of str
        The labels that are drawn together; all by default. Those that are missing in the context
        come last.

    Returns
    -------
    dict
        ``color``, ``linestyle`` and ``marker`` of each label.
    """
    labels = list(labels) or list(context.algorithms)
    entries = [label for label in context.algorithms if label not in context.variants]
    entries += [label for label in labels if label not in context.algorithms]
    entries = list(dict.fromkeys(entries))
    places = _places(entries, context)
    owners = {number: label for label, (number, turn) in places.items() if turn == 0}
    numbers = [places[_entry(label, context)][0] for label in labels]
    for label in labels:
        number, turn = places.get(label, (0, 0))
        alone = numbers.count(number) == 1
        if turn and alone and _algorithm(label, context) == _algorithm(owners[number], context):
            places[label] = number, 0
    drawn = {places[label][0] if label in places else None for label in labels}
    if len(drawn) == 1 and None not in drawn:
        for label in labels:
            turn, number = divmod(sum(places[label]), len(COLOURS))
            places[label] = number, turn
    for entry, values in _values(context).items():
        number, turn = places[entry]
        places |= {label: (number, turn + place) for place, label in enumerate(values)}
    return {label: style_at(*place) for label, place in places.items()}


def _values(context: Context) -> dict[str, list[str]]:
    """Return the labels of the values of each entry with a sweep."""
    values: dict[str, list[str]] = {}
    for label, variant in context.variants.items():
        values.setdefault(variant.entry, []).append(label)
    return values


def _places(entries: list[str], context: Context) -> dict[str, tuple[int, int]]:
    """Return the number of each entry in the palette, and a turn that is 0 for its first user."""
    places: dict[str, tuple[int, int]] = {}
    for label in entries:
        number = NUMBERS.get(_algorithm(label, context))
        if number is not None and number not in _numbers(places):
            places[label] = number, 0
    others = [label for label in entries if label not in places]
    free = [number for number in range(len(COLOURS)) if number not in _numbers(places)]
    known = [NUMBERS.get(_algorithm(label, context)) for label in others]
    # The values of a swept parameter take a turn each.
    sizes = {entry: len(values) for entry, values in _values(context).items()}
    turns = {number: sizes.get(label, 1) for label, (number, _) in places.items()}
    for place, (label, number) in enumerate(zip(others, known, strict=True)):
        if len(others) <= len(free):
            places[label] = free[place], 0
        elif number is None and free:
            places[label] = free.pop(0), 0
            turns[places[label][0]] = sizes.get(label, 1)
        else:
            number = place % len(COLOURS) if number is None else number
            places[label] = number, turns.get(number, 1)
            turns[number] = places[label][1] + sizes.get(label, 1)
    return places


def _entry(label: str, context: Context) -> str:
    return context.variants[label].entry if label in context.variants else label


def _algorithm(label: str, context: Context) -> str:
    return context.algorithms.get(label, label)


def _numbers(places: dict[str, tuple[int, int]]) -> set[int]:
    return {number for number, _ in places.values()}


def style_at(number: int, turn: int) -> dict[str, Any]:
    """Return a style that no other number below 9 with a turn below 72 has.

    Without dashes, it is that of no other turn below 9.
    """
    dashes = DASHES if turn // (len(DASHES) * len(MARKERS)) % 2 == 0 else _MORE_DASHES
    return {
        "color": COLOURS[number],
        "linestyle": dashes[(number + turn) % len(dashes)],
        "marker": MARKERS[(number + 4 * turn) % len(MARKERS)],
    }
