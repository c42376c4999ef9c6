"""Inner loops in C++ on plain float64 arrays, without validation, input or output.

A kernel that Python calls is a pair of files: ``omp.py`` states the contract and allocates the
results, ``omp.cpp`` holds the loops. Code that several kernels share is in headers (``.hpp``).

Input arrays of another type or layout are converted, or refused if the kernel keeps or writes them.
Shapes and indices are the caller's duty. Only ``make test-checked`` checks them. Python cannot run
while a kernel does, except in signal handlers.

- ``arrays.hpp``, ``casters.hpp``: views of arrays, and their conversion from numpy.
- ``linear_algebra``, ``cholesky``, ``orthogonal_factor``: vectors and updated factorisations.
- ``gram_rows``, ``gram_fit``, ``column_basis``: least squares on a changing support.
- ``column_sums``: sizes and sums of the columns of a design.
- ``omp``, ``greedy_dirty``: greedy selection in Gram form.
- ``design_pursuit``, ``rounded_columns``: the same as ``omp`` without a Gram matrix.
- ``pursuit``: the steps of both.
- ``row_penalty``, ``row_manifold``, ``row_path``: paths of Lasso, group lasso and dirty model.
- ``l2_path``: the path of the l1/l2 group lasso.
- ``scalar_losses``, ``logistic_columns``, ``logistic_lines``, ``logistic_newton``,
  ``clipped_lines``: losses of predictions and their minima along coordinates.
- ``newton_path``, ``weighted_gram``: paths of sample losses with an l1 penalty.
- ``scaled_chain``, ``chain_pass``, ``chain_moments``: labelled chains.
- ``coordinate_descent``: coordinate descent and matching pursuit.
- ``frank_wolfe``: forward greedy steps over an l1 ball.
- ``ultimate_inner``, ``gauge_step``: the step of the ultimate method.
- ``max_cut``: quadratic forms over sign vectors.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

from greedyexp.core.errors import InstallationError


def source_digest(folder: Path) -> str:
    """Return the hash of all C++ files of a folder, as computed by CMakeLists.txt."""
    files = sorted([*folder.glob("*.cpp"), *folder.glob("*.hpp")], key=lambda file: file.name)
    each = (hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
    return hashlib.sha256("".join(each).encode()).hexdigest()


def _load() -> ModuleType:
    """Return the extension module for this processor."""
    names = [f"{__name__}.{variant}" for variant in ("_native", "_native_avx2")]
    # A checkout may have one variant, for the processor that compiled it.
    present = [name for name in names if importlib.util.find_spec(name)]
    if not present:
        raise InstallationError(
            "the compiled kernels are missing.",
            remedy="Install greedyexp by 'pip install .', or run 'make kernels' in a checkout.",
        )
    module = importlib.import_module(present[0])
    if module.SUPPORTS_AVX2:
        # The last variant is faster and gives the same bits.
        module = importlib.import_module(present[-1])
    elif present[0] != names[0]:
        raise InstallationError(
            "the compiled kernels are for another processor.",
            remedy="Install greedyexp by 'pip install .', or run 'make kernels' in a checkout.",
        )
    if source_digest(Path(__file__).parent) != module.SOURCES:
        raise InstallationError(
            "the compiled kernels are older than their sources.",
            remedy="Run 'pip install .' again, or 'make kernels' in a checkout.",
        )
    return module


native = _load()
