"""How much memory is free, and refusing allocations that do not fit."""

from __future__ import annotations

import os

from greedyexp.core.errors import DataError

# Bytes below which the system is not asked, which would take longer than most fits.
_SMALL = 100e6


def require_memory(needed: float, what: str, remedy: str | None = None) -> None:
    """Refuse an allocation for which the free memory does not suffice.

    Parameters
    ----------
    needed : float
        Bytes.
    what : str
        What would take them, the beginning of a sentence.
    remedy : str, optional

    Raises
    ------
    DataError
        With the bytes needed and those available.
    """
    if needed < _SMALL:
        return
    available = available_memory()
    if available is not None and needed > available:
        raise DataError(
            f"{what} would take {needed / 1e9:.3g} GB of memory, but {available / 1e9:.3g} GB are"
            " available.",
            remedy=remedy,
        )


def available_memory() -> int | None:
    """Bytes that can be allocated without swapping; None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return physical_memory()


def physical_memory() -> int | None:
    """Bytes of memory of this machine; None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
