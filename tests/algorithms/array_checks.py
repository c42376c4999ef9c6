"""Comparison of whole arrays: ``pytest.approx`` builds an object for each entry."""

import numpy as np


def assert_close(found, expected, *, rel=0.0, abs=0.0):
    """Assert ``found == pytest.approx(expected, rel=rel, abs=abs)`` for arrays of one shape."""
    assert np.shape(found) == np.shape(expected)
    error = np.abs(np.asarray(found) - expected)
    assert (error <= np.maximum(rel * np.abs(expected), abs)).all(), error.max()
