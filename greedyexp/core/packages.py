"""Installed packages whose versions determine results."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version

from greedyexp.core.errors import ConfigError


def versions(names: Iterable[str], user: str) -> dict[str, str]:
    """Return the version of each distribution by its name, without importing it.

    Parameters
    ----------
    names : iterable of str
        Names of distributions, such as ``scikit-learn``.
    user : str
        What needs them, for messages, such as ``algorithm 'celer_lasso'``.

    Raises
    ------
    ConfigError
        If one of them is not installed.
    """
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            raise ConfigError(
                f"{user} needs the package '{name}', which is not installed.",
                remedy="Install it, or all packages that greedyexp compares with: "
                "pip install 'greedyexp[peers]'.",
            ) from None
    return found


def distribution_of(module: str) -> str | None:
    """Return the distribution that installed a module; None if no distribution did.

    ``scikit-learn`` for ``sklearn.linear_model``.
    """
    return _distributions().get(module.partition(".")[0])


@cache
def _distributions() -> dict[str, str]:
    return {module: names[0] for module, names in packages_distributions().items()}
