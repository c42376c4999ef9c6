"""What a configuration lists: its entries, which of them a row is from, what it succeeds by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def entries(config: Mapping, section: str) -> list[tuple[str, dict]]:
    """``name`` or ``{name: parameters}`` as pairs, for every entry of a section."""
    items = config.get(section, [])
    pairs = [(item, {}) if isinstance(item, str) else next(iter(item.items())) for item in items]
    return [(name, params or {}) for name, params in pairs]


def entry_of(label: str, known: Iterable[str]) -> str | None:
    """The entry whose label a row carries; one with a sweep gives many: ``lasso (tol=0.1)``.

    Parameters
    ----------
    label : str
        As in the CSV.
    known : iterable of str
        Labels of the entries.

    Returns
    -------
    str or None
        None when there is no such entry.
    """
    whole = [entry for entry in known if label == entry or label.startswith(f"{entry} (")]
    return max(whole, key=len, default=None)


def success_metric(success: Mapping[str, str], label: str, name: str) -> str | None:
    """The metric by which an algorithm succeeds.

    Parameters
    ----------
    success : mapping of str to str
        Metric by label or registered name; ``default`` for the others.
    label, name : str
        Of the algorithm.

    Returns
    -------
    str or None
        None when the mapping says nothing about it.
    """
    return success.get(label, success.get(name, success.get("default")))
