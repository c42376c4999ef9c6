"""The decorator of every kernel: compiled by numba and cached until its sources change.

Numba notices a change in the file that defines a function, but not in the files of the functions
that it calls. The name of each cache folder therefore contains a digest of the kernel's file and of
all files of the package that it imports. An edit recompiles the kernels that depend on the edited
file and no others.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from platformdirs import user_cache_path

# The attributes of this module are created when it is imported.
config: Any = numba.config
PACKAGE = Path(__file__).resolve().parents[1]
# Folders of earlier versions of a kernel file are deleted after so many seconds without use.
UNUSED = 30 * 86_400
# Reading imports by a pattern takes a tenth of the time of parsing; kernels import in this form.
_IMPORT = re.compile(r"^from greedyexp((?:\.\w+)*) import ([^(\n]+|\([^)]*\))", re.MULTILINE)


def kernel(function: Callable | None = None, **options: Any) -> Callable:
    """Compile a function with ``numba.njit`` and these options, and cache the result."""
    if function is None:
        return lambda decorated: kernel(decorated, **options)
    folder = _folder(Path(function.__code__.co_filename).resolve())
    if folder is None:
        return numba.njit(**options)(function)
    before = config.CACHE_DIR
    # Numba reads this setting when a function is decorated.
    config.CACHE_DIR = str(folder)
    try:
        return numba.njit(cache=True, **options)(function)
    finally:
        config.CACHE_DIR = before


@cache
def _folder(path: Path) -> Path | None:
    """The cache folder of a file, created if need be; None if no folder can be written to."""
    root = cache_root()
    if root is None:
        return None
    folder = root / f"{path.stem}-{digest(path)[:16]}"
    try:
        if not folder.exists():
            _delete_unused(root, path.stem)
            folder.mkdir(exist_ok=True)
        os.utime(folder)
    except OSError:
        return None
    return folder


@cache
def cache_root() -> Path | None:
    """The folder of all compiled kernels: in the user's cache, else in the folder for temporary
    files; None if neither can be written to.
    """
    # Compiled code is loaded without checks, so the temporary folder must belong to the user.
    user = os.getuid() if hasattr(os, "getuid") else 0
    temporary = Path(tempfile.gettempdir()) / f"greedyexp-{user}"
    for parent in (user_cache_path("greedyexp"), temporary):
        root = parent / "kernels"
        try:
            parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            root.mkdir(exist_ok=True)
            with tempfile.TemporaryFile(dir=root):
                if parent != temporary or temporary.stat().st_uid == user:
                    return root
        except OSError:
            continue
    return None


def _delete_unused(root: Path, stem: str) -> None:
    oldest = time.time() - UNUSED
    for folder in root.glob(f"{stem}-*"):
        if folder.stat().st_mtime < oldest:
            shutil.rmtree(folder, ignore_errors=True)


def digest(path: Path, package: Path = PACKAGE) -> str:
    """Return a hash of a file of the package and of all files of the package that it imports."""
    contents: dict[Path, str] = {}
    waiting = [path]
    while waiting:
        current = waiting.pop()
        if current not in contents:
            contents[current], imported = _read(current, package)
            waiting.extend(imported)
    return hashlib.sha256("".join(sorted(contents.values())).encode()).hexdigest()


@cache
def _read(path: Path, package: Path) -> tuple[str, tuple[Path, ...]]:
    """The hash of a file, and the files of the package that it imports."""
    text = path.read_text(encoding="utf-8")
    imported: list[Path] = []
    for module, names in _IMPORT.findall(text):
        base = package.joinpath(*module.split(".")[1:])
        inside = [base / f"{name}.py" for name in re.findall(r"\w+", names)]
        imported += [file for file in (base.with_suffix(".py"), *inside) if file.is_file()]
    return hashlib.sha256(text.encode()).hexdigest(), tuple(imported)
