"""The decorator of every kernel: compiled by numba, and cached until its own sources change.

Numba notices a change in the file that holds a function, but not in the files of the functions it
calls. The cache folder of a file is therefore named after its contents and those of every file of
the package that it imports, so that an edit recompiles the kernels it concerns and no others.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numba
from platformdirs import user_cache_path

PACKAGE = Path(__file__).resolve().parents[1]
_IMPORT = re.compile(r"^from greedyexp((?:\.\w+)*) import ([^(\n]+|\([^)]*\))", re.MULTILINE)


def kernel(function: Callable | None = None, **options):
    """``numba.njit`` with a cache, with or without options of ``numba.njit``."""
    if function is None:
        return lambda decorated: kernel(decorated, **options)
    before = numba.config.CACHE_DIR
    # Read by numba when a function is decorated.
    numba.config.CACHE_DIR = str(_folder(Path(function.__code__.co_filename).resolve()))
    try:
        return numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = before


@cache
def _folder(path: Path) -> Path:
    name = f"{path.stem}-{digest(path)[:16]}"
    folder = _root() / "kernels" / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    except OSError:
        return Path(tempfile.gettempdir()) / "greedyexp" / "kernels" / name


@cache
def _root() -> Path:
    root = user_cache_path("greedyexp")
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root):
            return root
    except OSError:
        return Path(tempfile.gettempdir()) / "greedyexp"


def digest(path: Path) -> str:
    """Hash of a file of the package and of every file of the package it builds on."""
    total = hashlib.sha256()
    for content in sorted(_contents(path).values()):
        total.update(content.encode())
    return total.hexdigest()


def _contents(path: Path) -> dict[Path, str]:
    """The hashes of a file's contents and, transitively, of the files of the package it imports."""
    found: dict[Path, str] = {}
    waiting = [path]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found[current], imported = _read(current)
            waiting.extend(imported)
    return found


@cache
def _read(path: Path) -> tuple[str, tuple[Path, ...]]:
    text = path.read_text(encoding="utf-8")
    imported = []
    for module, names in _IMPORT.findall(text):
        base = PACKAGE.joinpath(*module.split(".")[1:])
        inside = [base / f"{name}.py" for name in re.findall(r"\w+", names)]
        imported += [file for file in (base.with_suffix(".py"), *inside) if file.is_file()]
    return hashlib.sha256(text.encode()).hexdigest(), tuple(imported)
