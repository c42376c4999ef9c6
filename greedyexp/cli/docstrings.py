"""The parts of a docstring that someone who writes YAML needs."""

from __future__ import annotations

import re

# The table of parameters says the first; the others concern callers from Python.
LEFT_OUT = ("Parameters", "Returns", "Raises")

_HEADING = re.compile(r"^(?P<title>\S.*)\n-{3,}$", re.MULTILINE)


def for_users(docstring: str) -> str:
    """A numpydoc docstring, dedented, without the sections of ``LEFT_OUT``."""
    headings = list(_HEADING.finditer(docstring))
    ends = [*(heading.start() for heading in headings), len(docstring)]
    kept = [docstring[: ends[0]]]
    for heading, end in zip(headings, ends[1:], strict=True):
        if heading["title"] not in LEFT_OUT:
            kept.append(docstring[heading.start() : end])
    return "\n\n".join(text for text in (part.strip() for part in kept) if text)
