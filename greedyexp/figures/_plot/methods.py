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

NUMBERS = {
    # Several tasks.
    "dirty_lasso": 0,
    "greedy_dirty": 1,
    "group_lasso": 2,
    "lasso": 3,
    "group_lasso_l2": 5,
    "group_omp": 4,
    # Forward-backward selection.
    "foba_obj": 0,
    "foba_gdt": 1,
    "forward_obj": 2,
    "forward_gdt": 3,
    "l1_path": 4,
    # Iterative methods.
    "gradient_descent": 0,
    "gs_coordinate_descent": 1,
    "proximal_gradient": 0,
    "proximal_gs_coordinate_descent": 1,
    "rmp": 2,
    "ultimate": 3,
    "ultimate_alternating": 4,
    "ultimate_ar_bcd": 5,
    # Accuracy against sparsity.
    "forward_greedy": 0,
    "smoothed_forward_greedy": 0,
    "fully_corrective": 1,
    "replacement_steps": 2,
    "randomized_sparsification": 3,
    "l1_ball": 5,
    # Subset selection and other packages.
    "omp": 8,
    "adaptive_lasso": 5,
    "skglm_mcp": 4,
    "abess": 2,
    "skscope": 6,
    "skglm_scad": 7,
    "sklearn_omp": 7,
    "sklearn_lasso": 5,
    "sklearn_lars": 6,
    "celer_lasso": 7,
    # Constants.
    "mu1_exact": 0,
    "mu1_sdp": 1,
    "mu2": 2,
    "mu2_over_p": 3,
    "mu1_upper": 4,
    "smoothness_l1_over_n": 5,
    "smoothness_l1": 6,
    "smoothness_l2": 8,
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
    for label in labels:
        number, turn = places.get(label, (0, 0))
        alone = all(one == label or places[one][0] != number for one in labels if one in places)
        if turn and alone and _algorithm(label, context) == _algorithm(owners[number], context):
            places[label] = number, 0
    drawn = {places[label][0] if label in places else None for label in labels}
    if len(drawn) == 1 and None not in drawn:
        for label in labels:
            places[label] = sum(places[label]) % len(COLOURS), 0
    for label, variant in context.variants.items():
        siblings = [one for one, other in context.variants.items() if other.entry == variant.entry]
        number, turn = places[variant.entry]
        places[label] = number, turn + siblings.index(label)
    return {label: _style(*place) for label, place in places.items()}


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
    turns: dict[int, int] = {}
    for place, (label, number) in enumerate(zip(others, known, strict=True)):
        if len(others) <= len(free):
            places[label] = free[place], 0
        elif number is None and free:
            places[label] = free.pop(0), 0
        else:
            number = place % len(COLOURS) if number is None else number
            turns[number] = turns.get(number, 0) + 1
            places[label] = number, turns[number]
    return places


def _algorithm(label: str, context: Context) -> str:
    return context.algorithms.get(label, label)


def _numbers(places: dict[str, tuple[int, int]]) -> set[int]:
    return {number for number, _ in places.values()}


def _style(number: int, turn: int) -> dict[str, Any]:
    return {
        "color": COLOURS[number],
        "linestyle": DASHES[(number + turn) % len(DASHES)],
        "marker": MARKERS[(number + 4 * turn) % len(MARKERS)],
    }
