"""Lists in sentences."""

from __future__ import annotations

import pytest

from greedyexp.core.errors import MOST_NAMES, did_you_mean
from greedyexp.core.listing import listed


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, ""),
        (1, "0"),
        (3, "0, 1, 2"),
        (4, "0, 1, 2 and 1 more"),
        (100, "0, 1, 2 and 97 more"),
    ],
)
def test_long_lists_are_shortened(count, said):
    assert listed(range(count), 3) == said


def test_items_may_have_commas():
    assert listed(["a, b", "c", "d"], 2, "; ") == "a, b; c and 1 more"


def test_unknown_names_are_answered_by_some_that_are_known():
    names = [f"{letter}{letter}" for letter in "abcdefghijklmnopqrst"]
    said = did_you_mean("?", names)
    assert said == f"Known: {', '.join(names[:MOST_NAMES])} and 4 more."
