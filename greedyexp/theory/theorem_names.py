"""The theorems on accuracy and sparsity that the package knows."""

from __future__ import annotations

from greedyexp.core.registry import parts

# By the names that promises have, in the order in which they are shown.
THEOREMS = {
    "T1": "Theorem 1",
    "T1-lipschitz": "Theorem 1, Lipschitz (as proved)",
    "T1-lipschitz-printed": "Theorem 1, Lipschitz (as printed)",
    "T2": "Theorem 2",
    "T2-termination": "Theorem 2, until it ends",
    "C2": "Corollary 2 (as proved)",
    "C2-printed": "Corollary 2 (as printed)",
    "S08-T1": "Theorem 1 (2008)",
    "S08-T2": "Theorem 2 (2008)",
    "T3": "Theorem 3",
    "T4": "Theorem 4",
    "T5": "Theorem 5",
}


def all_are_known() -> bool:
    """Whether no algorithm of a plugin has theorems, which may have any name."""
    return not any(
        part.theorems is not None and not part.function.__module__.startswith("greedyexp.")
        for part in parts("algorithm").values()
    )
