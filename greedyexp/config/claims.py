"""The claims of an experiment, checked before a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from greedyexp.claims.entries import BadClaim, compile_claim
from greedyexp.claims.language import Test, named_in
from greedyexp.config.choices import Choice, Mistakes, absent, below, wrong_choices
from greedyexp.config.document import Node
from greedyexp.config.sections import read_models
from greedyexp.experiment.model import ClaimEntry
from greedyexp.results.records import as_list


def read_claims(
    node: Node, choice: Choice, family: str, unchanged: Callable[[], object] | None
) -> tuple[list[ClaimEntry], dict[str, str]]:
    """Return the claims of an experiment; report those with errors.

    Parameters
    ----------
    node : Node
        The top level of the document, after profile and overrides have been applied. Claims that do
        not apply are removed from it.
    choice : Choice
    family : str
        Default figure of claims.
    unchanged : callable, optional
        Loads the experiment without the changes of the command line. If given, claims that are
        invalid because of these changes are dropped.

    Returns
    -------
    claims : list of ClaimEntry
    dropped : dict of str to str
        Maps the id of each dropped claim to the reason.

    Raises
    ------
    ConfigError
        If claims do not apply, and the experiment also has errors without the changes.
    """
    claims: list[ClaimEntry] = []
    dropped: dict[str, str] = {}
    gone = []
    for here, entry in read_models(node, "claims", ClaimEntry):
        mistakes = list(_mistakes(entry, choice))
        if mistakes and unchanged:
            dropped[entry.id] = mistakes[0][1]
            gone.append(here.keys)
            continue
        if entry.id in [claim.id for claim in claims]:
            here.at("id").add(f"two claims have the id '{entry.id}'.", "Rename one.")
        here.add_all(mistakes)
        claims.append(entry.model_copy(update={"figure": entry.figure or family}))
    if gone and unchanged:
        # A claim that is wrong in the file too is an error.
        unchanged()
    for keys in reversed(gone):
        node.doc.remove(keys)
    return claims, dropped


def _mistakes(entry: ClaimEntry, choice: Choice) -> Mistakes:
    wrong = list(below(("where",), wrong_choices(entry.where, choice)))
    try:
        claim = compile_claim(entry.model_dump(), choice.setting, "")
    except BadClaim as error:
        yield error.keys, error.message, error.remedy or ""
    else:
        for test in () if wrong else claim.tests:
            yield from _undecided(entry.where, test, choice)
    yield from wrong


def _undecided(where: Mapping[str, Any], test: Test, choice: Choice) -> Mistakes:
    """Yield the reasons why no chosen row can decide a test."""
    labels, columns = named_in(test)
    chosen = as_list(where.get("algorithm", list(labels)))
    for label in labels:
        if label not in chosen:
            yield (
                ("where", "algorithm"),
                f"the test names '{label}', whose rows are not chosen.",
                f"Add '{label}' to the list, or remove 'algorithm'.",
            )
    yield from below(("where",), absent(where, columns, choice))
