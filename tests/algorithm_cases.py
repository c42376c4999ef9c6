"""What tests of all registered algorithms need: required parameters, and the mark ``peers``."""

from __future__ import annotations

import pytest

from greedyexp.core import registry

NEEDED = {
    "estimator": {"class": "sklearn.linear_model.Lasso", "params": {"alpha": 0.1}},
    "proximal_gradient": {"lam": 0.1},
    "proximal_gs_coordinate_descent": {"lam": 0.1},
    "replacement_steps": {"features": 3},
    "rmp": {"lam": 0.1},
}


def peer_marks(name: str) -> list[pytest.MarkDecorator]:
    """Return the marks of an algorithm, whose package may be one of ``make test-peers``.

    Development needs scikit-learn anyway.
    """
    packages = registry.find("algorithm", name).packages
    foreign = not callable(packages) and set(packages) - {"scikit-learn"}
    return [pytest.mark.peers] if foreign else []
