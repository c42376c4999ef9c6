"""The syntax and the imports of Python sources, remembered between processes.

Parsing all files that an experiment depends on takes longer than everything else that a run without
missing replicates does. The results are kept by the hash of the source in the user's cache. The
name of the cache file has the version of Python and the hash of this module.
"""

from __future__ import annotations

import ast
import atexit
import hashlib
import json
import os
import platform
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from platformdirs import user_cache_path

# A cache with more sources is started anew.
_MOST = 5000

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class ImportStatement(NamedTuple):
    """An import of a source.

    Parameters
    ----------
    module : str
        Its dotted name; empty in ``from . import name``.
    names : tuple of str
        The names after ``from module import``; empty for ``import module``.
    level : int
        Number of leading dots.
    """

    module: str
    names: tuple[str, ...]
    level: int


class ParsedSource(NamedTuple):
    """A parsed source.

    Parameters
    ----------
    syntax : str
        Hash of its syntax without docstrings.
    imports : tuple of ImportStatement
    """

    syntax: str
    imports: tuple[ImportStatement, ...]


def parsed(text: str) -> ParsedSource:
    """Return the syntax and the imports of a source.

    Raises
    ------
    SyntaxError
    """
    known, key = _known(_cache_file()), _digest(text)
    if key not in known:
        known[key] = _parse(text)
    return known[key]


def syntax_of(text: str) -> str:
    """Return the hash of the syntax of a source without docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return _digest(ast.unparse(ast.fix_missing_locations(tree)))


def _parse(text: str) -> ParsedSource:
    imports = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imports += [ImportStatement(alias.name, (), 0) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            imports.append(ImportStatement(node.module or "", names, node.level))
    return ParsedSource(syntax_of(text), tuple(imports))


def _cache_file() -> Path:
    own = _digest(Path(__file__).read_text(encoding="utf-8"))[:16]
    return user_cache_path("greedyexp") / f"sources-{platform.python_version()}-{own}.json"


@cache
def _known(path: Path) -> dict[str, ParsedSource]:
    """Return the sources of a cache file, which is extended when the process exits."""
    known: dict[str, ParsedSource] = {}
    try:
        for key, (syntax, imports) in json.loads(path.read_bytes()).items():
            statements = (ImportStatement(module, tuple(n), lvl) for module, n, lvl in imports)
            known[key] = ParsedSource(syntax, tuple(statements))
    except (OSError, ValueError, TypeError, AttributeError):
        known.clear()
    if len(known) > _MOST:
        known.clear()
    atexit.register(_write_if_extended, path, known, len(known))
    return known


def _write_if_extended(path: Path, known: dict[str, ParsedSource], before: int) -> None:
    if len(known) > before:
        _write(path, known)


def _write(path: Path, known: dict[str, ParsedSource]) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft.write_text(json.dumps(known), encoding="utf-8")
        draft.replace(path)
    except OSError:
        # Sources are parsed again next time.
        with suppress(OSError):
            draft.unlink()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
