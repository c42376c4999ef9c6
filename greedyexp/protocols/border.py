"""The border: what parts return, checked before anything is computed from it.

What breaks the contract of a part - a wrong type, shape, dtype or trait - is a mistake in its code
that other replicates would repeat. It raises ``PluginError``, which ends the run at once: what is
finished is kept. Rows made from then on would be useless, as the corrected code has a new
fingerprint. An exception or a value that is not finite depends on the data and becomes a row.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from greedyexp.core.errors import PluginError
from greedyexp.core.parts import Metric, Part
from greedyexp.estimates.iteration import Iteration
from greedyexp.estimates.path import Path
from greedyexp.theory.constants import Constant

# How each kind of part gets random numbers that the seed determines.
_STREAMS = {
    "generator": "Draw from the `rng` argument",
    "algorithm": "Declare a keyword argument rng=None and draw from it",
    "metric": "Draw from np.random.default_rng(0)",
    "protocol": "Draw from setup.rng",
}


def broken(part: Part, what: str, remedy: str | None = None) -> PluginError:
    """The error that a part ``what``, such as ``returned None``."""
    return PluginError(f"{part.kind} '{part.name}' {what}.", place=part.place, remedy=remedy)


@contextmanager
def own_randomness_only(part: Part) -> Iterator[None]:
    """Refuse a plugin that draws from global random states, which no seed determines.

    Raises
    ------
    PluginError
        When the state of ``numpy.random`` or ``random`` has changed.
    """
    if part.shipped:
        yield
        return
    before, folder = _global_states(), os.getcwd()
    try:
        yield
    finally:
        # Paths of the run may be relative.
        os.chdir(folder)
    if _global_states() != before:
        raise broken(
            part,
            "uses the global state of numpy.random or random, which the seed does not determine",
            f"{_STREAMS[part.kind]}, and pass random_state to libraries that draw.",
        )


def _global_states() -> tuple:
    # The legacy state is only compared; nothing is drawn from it.
    state = np.random.get_state(legacy=False)  # noqa: NPY002
    values = [value for one in (state, state["state"]) for value in one.values()]
    known = [one.tobytes() if isinstance(one, np.ndarray) else one for one in values]
    return random.getstate(), [one for one in known if not isinstance(one, dict)]


def check_estimates(
    part: Part,
    made: object,
    expected: tuple[int, int],
    grid: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """Check what an algorithm returned, and convert it to a path of estimates.

    Parameters
    ----------
    expected : (p, r)
        Shape of an estimate; (p,) will do for r = 1.
    grid : dict of str to array, optional
        The points that were asked for.

    Raises
    ------
    PluginError
        When it is neither a path nor an array of real numbers, or has the wrong shape or points.
    """
    if isinstance(made, Path):
        _check_path(part, made, expected)
        if grid is not None:
            _check_grid(part, made, grid)
        return made
    if grid:
        raise broken(part, f"was asked for a path and returned {kind_of(made)}", "Return a Path.")
    _check_numbers(part, "", made)
    coef = np.asarray(made, dtype=float)
    if coef.ndim == 1:
        coef = coef[:, None]
    if coef.shape != expected:
        raise broken(
            part,
            f"returned an estimate of shape {np.shape(made)}; the problem needs {expected}",
        )
    return Path(coef[None], {}, np.array([np.nan]), np.array([True]))


def _check_path(part: Part, path: Path, expected: tuple[int, int]) -> None:
    _check_numbers(part, "path.coef", path.coef, kinds="f")
    if path.coef.shape[1:] != expected or path.coef.ndim != 3:
        raise broken(
            part,
            f"returned a path with coef of shape {path.coef.shape}; the problem needs"
            f" (m, {expected[0]}, {expected[1]})",
        )
    if not isinstance(path.grid, Mapping) or not isinstance(path.facts, Mapping):
        raise broken(part, "returned a path whose grid or facts are not a dict")
    columns = {**path.grid, **path.facts, "objective": path.objective, "converged": path.converged}
    for name, values in columns.items():
        _check_numbers(part, f"path.{name}", values, kinds="biuf")
        if values.shape != (len(path),):
            raise broken(
                part,
                f"returned a path of {len(path)} estimates whose '{name}' has shape"
                f" {values.shape}; ({len(path)},) is needed",
            )
    if path.converged.dtype != bool:
        raise broken(
            part,
            f"returned a path whose 'converged' has dtype {path.converged.dtype}, not bool",
            "Write converged.astype(bool).",
        )
    if path.dense is not None:
        _check_numbers(part, "path.dense", path.dense)
        if path.dense.ndim != 2 or len(path.dense) != len(path):
            raise broken(part, f"returned a path with dense of shape {path.dense.shape}")
    if not isinstance(path.message, str):
        raise broken(part, f"returned a path whose message is {kind_of(path.message)}")


def _check_grid(part: Part, path: Path, grid: Mapping[str, np.ndarray]) -> None:
    """Refuse a path with other points than those of the grid."""
    for name, values in grid.items():
        if name not in path.grid or not np.array_equal(path.grid[name], values):
            raise broken(
                part,
                f"was asked for {len(values)} points of '{name}' and returned other ones",
                "Return a path with exactly the points of the argument `grid`.",
            )


def _check_numbers(part: Part, name: str, value: object, kinds: str = "iuf") -> None:
    """Refuse all but an array of real numbers."""
    what = f"{name} as " if name else ""
    if not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray):
        raise broken(part, f"returned {what}{kind_of(value)}, not a NumPy array")
    if value.dtype.kind not in kinds:
        raise broken(part, f"returned {what}an array of dtype {value.dtype}, not of real numbers")


def check_iteration(part: Part, made: object, n_features: int) -> Iteration:
    """Check that an algorithm returned an iteration at its start.

    Raises
    ------
    PluginError
        When it is not an iteration, has already begun, or its estimate does not have shape (p,).
    """
    if not isinstance(made, Iteration):
        raise broken(
            part,
            f"returned {kind_of(made)}, not an Iteration",
            "Return a greedyexp.SteppedIteration.",
        )
    coef = made.coef
    _check_numbers(part, "an iteration with coef", coef)
    if coef.shape != (n_features,):
        raise broken(
            part,
            f"returned an iteration with coef of shape {coef.shape}; the problem needs"
            f" ({n_features},)",
        )
    if made.iteration != 0:
        raise broken(part, f"returned an iteration at step {made.iteration}, not at step 0")
    if not (is_real(made.lam) and 0 <= made.lam < math.inf):
        raise broken(part, f"returned an iteration with lam = {made.lam!r}, not a number >= 0")
    return made


def check_constant(part: Part, made: object) -> Constant:
    """Check that an algorithm returned a constant.

    Raises
    ------
    PluginError
        When it is anything else, or an entry is not a number.
    """
    remedy = "Return greedyexp.theory.constants.Constant(value, lower, upper)."
    if not isinstance(made, Constant):
        raise broken(part, f"returned {kind_of(made)}, not a Constant", remedy)
    for name in ("value", "lower", "upper"):
        if not is_real(getattr(made, name)):
            raise broken(
                part,
                f"returned a constant whose {name} is {kind_of(getattr(made, name))}, not a number",
                remedy,
            )
    return made


def check_metric(part: Metric, made: object, size: int) -> np.ndarray:
    """Check that a metric returned one real number for each estimate.

    Raises
    ------
    PluginError
        When it is not an array (m,) of real numbers, or a success is neither 0 nor 1.
    """
    needed = f"one number for each of the {size} estimates, an array of shape ({size},)"
    if not isinstance(made, np.ndarray) or isinstance(made, np.ma.MaskedArray):
        raise broken(part, f"returned {kind_of(made)}, not {needed}")
    if made.shape != (size,):
        raise broken(
            part,
            f"returned an array of shape {made.shape}, not {needed}",
            "Sum over the last two axes of coef: axis=(-2, -1).",
        )
    if part.text:
        if not all(isinstance(text, str) for text in made.tolist()):
            raise broken(part, "is declared text=True but returned values that are not texts")
        return made
    if made.dtype.kind not in "biuf":
        raise broken(part, f"returned an array of dtype {made.dtype}, not of real numbers")
    if part.binary:
        wrong = made[~np.isnan(made) & (made != 0) & (made != 1)]
        if len(wrong):
            raise broken(
                part,
                f"is declared binary=True but returned {wrong[0]}; a success is 0 or 1",
                "Return 0 and 1, or declare binary=False.",
            )
    return made


def is_real(value: object) -> bool:
    """Whether a value is a real number; booleans are not."""
    real = (int, float, np.integer, np.floating)
    return isinstance(value, real) and not isinstance(value, (bool, np.bool_))


def kind_of(value: object) -> str:
    """``None``, ``a list``, ``an int``: what a value is, in a sentence."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
