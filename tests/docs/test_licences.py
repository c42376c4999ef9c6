"""The page of licences against the packages that are installed."""

from __future__ import annotations

import re
import sys

import pytest
from cli_process import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "scripts"))
import licences

FREE = {"MIT", "BSD", "Apache", "MPL", "PSF", "ISC", "Zlib", "0BSD", "CC0", "Unlicense"}
WORDS = {"Mozilla": "MPL", "Python Software Foundation": "PSF"}


def families(text: str) -> set[str]:
    """Return the kinds of licences in a statement, such as ``BSD`` for ``BSD-3-Clause``."""
    for words, family in WORDS.items():
        text = text.replace(words, family)
    return set(re.findall(rf"\b(?:{'|'.join(sorted(FREE))}|GPL|AGPL|LGPL)\b", text))


@pytest.mark.parametrize("label", list(licences.EXTRAS))
def test_every_installed_dependency_is_listed_with_its_licence(label):
    """Versions say the same in other words, and later ones name what they contain, too."""
    rows = licences.listed()
    for name, package in licences.needed(licences.EXTRAS[label]).items():
        assert name in rows, f"run `make licences`: {name} is not in docs/licences.md"
        stated = families(licences.licence(package))
        assert stated, f"{name} states no licence that is known here"
        known = families(rows[name][0])
        assert stated <= known or known <= stated, name


def test_what_is_needed_always_and_the_extra_sklearn_are_permissive():
    rows = {name: row for name, row in licences.listed().items() if row[1] != "peers"}
    assert len(rows) > 25
    for name, (text, _) in rows.items():
        assert families(text), name
        assert families(text) <= FREE, name


def test_every_direct_dependency_is_listed_under_the_extra_that_asks_for_it():
    rows = licences.listed()
    always = licences.direct("")
    assert all(rows[name][1] == "always" for name in always)
    for label, extra in licences.EXTRAS.items():
        for name in licences.direct(extra) - always - {"greedyexp"}:
            assert rows[name][1] == label, name
