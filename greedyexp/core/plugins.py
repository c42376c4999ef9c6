"""Plugins: Python files of users and installed packages, which register parts on import.

A plugin file is identified by its contents and those of the files in its folder that it imports,
not by its path. They are compiled without Python's bytecode cache, which misses edits within one
second.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, NoReturn

import greedyexp
from greedyexp.core import registry
from greedyexp.core.errors import PluginError, last_line, place
from greedyexp.core.part import Part

# Seconds that the import of a plugin may take.
_IMPORT_LIMIT = 60.0


@dataclass(frozen=True)
class _Plugin:
    """An imported plugin: its file (None for an entry point) and its parts."""

    file: Path | None
    parts: tuple[Part, ...]


# Keys are identities of files, or entry points.
_loaded: dict[object, _Plugin] = {}
# Files that plugins imported from their own folders, with their contents at that time.
_imported_files: dict[Path, bytes] = {}


def load_plugins(paths: Iterable[str | Path], *, limit: float | None = _IMPORT_LIMIT) -> None:
    """Import these Python files and all installed entry points, and publish their parts.

    Entry points belong to the group ``greedyexp.plugins``. Files with equal contents and equal
    imports from their folders are one plugin, which is imported once. A part from a file that is
    not in ``paths`` may be replaced by a part of the same kind and name. It is restored when its
    file is loaded again.

    Parameters
    ----------
    paths : iterable of path
    limit : float, optional
        Seconds that the import of one file may take; None for no limit. Enforced only in the main
        thread and on systems with ``setitimer``.

    Raises
    ------
    PluginError
        If a file is missing, raises on import or takes too long, or if two plugins, or a plugin and
        greedyexp, have a part of the same kind and name. No part is changed then.
    """
    files = [Path(os.path.realpath(path)) for path in paths]
    greedyexp.provide_former_modules(file.read_bytes() for file in files if file.is_file())
    named: dict[object, _Plugin] = {
        entry: _of_entry_point(entry, limit) for entry in entry_points(group="greedyexp.plugins")
    }
    named.update(_of_file(path, limit) for path in files)
    new: dict[tuple[str, str], Part] = {}
    for plugin in named.values():
        for part in plugin.parts:
            known = new.setdefault((part.kind, part.name), part)
            if known is not part:
                raise registry.already_registered(part, known)
    earlier = {id(part) for one in _loaded.values() if one.file for part in one.parts}
    registry.make_current(list(new.values()), lambda known: id(known) in earlier)


def _of_entry_point(entry: EntryPoint, limit: float | None) -> _Plugin:
    if entry not in _loaded:
        where = f"plugin '{entry.name}' ({entry.value})"
        with registry.collecting() as parts, _guarded(where, set(), limit):
            entry.load()
        _loaded[entry] = _Plugin(None, tuple(parts))
    return _loaded[entry]


def _of_file(path: Path, limit: float | None) -> tuple[str, _Plugin]:
    """Return the identity of a plugin file and the plugin, imported if it is new."""
    missing = PluginError("there is no such plugin file.", place=place(path))
    if not path.is_file():
        raise missing
    if path.suffix != ".py":
        raise PluginError("a plugin must be a Python file (.py).", place=place(path))
    try:
        files = _read(path)
    except FileNotFoundError:
        # A run may move the plugins of its folder meanwhile.
        raise missing from None
    identity = _identity(path, files)
    known = _loaded.get(identity)
    # The version of a part is computed from its file, which must be the imported one.
    if known is None or known.file is None or not _unchanged(known.file, identity):
        _loaded[identity] = known = _Plugin(path, _imported(path, files, identity, limit))
    return identity, known


def _unchanged(path: Path, identity: str) -> bool:
    return path.is_file() and _identity(path, _read(path)) == identity


def _read(path: Path) -> dict[Path, bytes]:
    """Return the contents of a plugin file and of all files in its folder that it imports."""
    found: dict[Path, bytes] = {}
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found[file] = file.read_bytes()
            waiting.extend(_imports(file, found[file]))
    return found


def _identity(path: Path, files: dict[Path, bytes]) -> str:
    digest = hashlib.sha256(hashlib.sha256(files[path]).digest())
    others = {os.path.relpath(file, path.parent): content for file, content in files.items()}
    del others[path.name]
    for name, content in sorted(others.items()):
        digest.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    return digest.hexdigest()


def _imports(importer: Path, content: bytes) -> Iterator[Path]:
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from files_of(importer.parent, alias.name.split("."), ())
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = tuple(alias.name for alias in node.names)
            yield from files_of(importer.parent, node.module.split("."), names)


def files_of(folder: Path, parts: list[str], names: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files of a folder that ``from parts import names`` reads, including packages."""
    for part in parts[:-1]:
        folder = folder / part
        yield from _existing(folder / "__init__.py")
    last = folder / parts[-1]
    yield from _existing(last.with_suffix(".py"))
    yield from _existing(last / "__init__.py")
    for name in names:
        yield from _existing(last / f"{name}.py")
        yield from _existing(last / name / "__init__.py")


def import_folder(path: Path) -> Path:
    """Return the folder that has the top-level package of a file, or else its own folder."""
    folder = path.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def _existing(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path.resolve()


def _imported(
    path: Path, files: dict[Path, bytes], identity: str, limit: float | None
) -> tuple[Part, ...]:
    """Import a plugin file and return the parts that it registers."""
    name = f"greedyexp_plugin_{identity[:16]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with (
            registry.collecting() as parts,
            _importable(path, files),
            _guarded(place(path), set(map(str, files)), limit),
        ):
            exec(compile(files[path], str(path), "exec", dont_inherit=True), module.__dict__)
            for part in parts:
                _refuse_parameters(part)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return tuple(parts)


@contextmanager
def _importable(path: Path, files: dict[Path, bytes]) -> Iterator[None]:
    """Allow a plugin to import files in its folder, as a script can.

    Modules from an older version of these files, or of the same name from the folder of another
    plugin, are removed first.
    """
    parts = [Path(os.path.relpath(file, path.parent)).parts for file in files if file != path]
    for top in {names[0].removesuffix(".py") for names in parts}:
        family = [name for name in sys.modules if f"{name}.".startswith(f"{top}.")]
        origins = [getattr(sys.modules[name], "__file__", None) for name in family]
        found = [Path(origin).resolve() for origin in origins if origin is not None]
        known = [file for file in found if file in _imported_files]
        if any(_imported_files[file] != files.get(file) for file in known):
            for name in family:
                del sys.modules[name]
    importlib.invalidate_caches()
    sys.path.insert(0, str(path.parent))
    # Bytecode would miss edits within one second, and be written into run folders.
    writes = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = writes
        sys.path.remove(str(path.parent))
    _imported_files.update({file: content for file, content in files.items() if file != path})


def _refuse_parameters(part: Part) -> None:
    """Refuse annotations that cannot be represented in YAML."""
    from pydantic import create_model
    from pydantic.errors import PydanticUserError

    try:
        fields = part.parameters.model_fields
    except (NameError, TypeError, PydanticUserError) as error:
        raise PluginError(
            f"the annotations of {part.kind} '{part.name}' cannot be read: {error}.",
            place=part.place,
        ) from None
    for name, field in fields.items():
        own: dict[str, Any] = {name: (field.annotation, field)}
        try:
            # Defaults that JSON cannot represent warn here and are an error when they are read.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                create_model(
                    name, __config__=part.parameters.model_config, **own
                ).model_json_schema()
        except PydanticUserError:
            raise PluginError(
                f"the type of parameter '{name}' of {part.kind} '{part.name}' cannot be"
                f" represented in YAML: {_named(field.annotation)}.",
                place=part.place,
                remedy="Use a number, string, list or mapping, such as list[float].",
            ) from None


def _named(annotation: object) -> str:
    if isinstance(annotation, type):
        return f"{annotation.__module__}.{annotation.__qualname__}".removeprefix("builtins.")
    return str(annotation)


class _Stopped(BaseException):
    """Raised to end an import. A plugin does not catch it by ``except Exception``."""


@contextmanager
def _guarded(where: str, files: set[str], limit: float | None) -> Iterator[None]:
    """Replace every error of an import by a ``PluginError`` with the file and the line."""
    try:
        with exit_refused(_exit_on_import), _alarm(limit):
            yield
    except PluginError as error:
        error.place = error.place or last_line(error, files) or where
        raise
    except _Stopped as error:
        raise PluginError(
            f"{error}.",
            place=last_line(error, files) or where,
            remedy="Fix the plugin: move code that takes long or ends the process into a function.",
        ) from error
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        reason, found = str(error).rstrip("."), last_line(error, files)
        if isinstance(error, SyntaxError):
            reason, found = error.msg, place(error.filename or where, error.lineno)
        raise PluginError(
            f"the plugin raised {type(error).__name__} on import: {reason}.",
            place=found or where,
            remedy="Fix the plugin; --traceback shows where it failed.",
        ) from error


def _exit_on_import(status: int) -> BaseException:
    return _Stopped(f"the plugin called os._exit({status}) on import")


@contextmanager
def exit_refused(error_of: Callable[[int], BaseException]) -> Iterator[None]:
    """Let ``os._exit`` raise an error instead, except in child processes."""
    real, owner = os._exit, os.getpid()
    guarded = True

    def leave(status: int) -> NoReturn:
        if guarded and os.getpid() == owner:
            raise error_of(status)
        real(status)

    os._exit = leave
    try:
        yield
    finally:
        os._exit = real
        guarded = False


@contextmanager
def _alarm(seconds: float | None) -> Iterator[None]:
    """Stop code that runs longer than ``seconds``; only delay a pending alarm of the caller."""
    main = threading.current_thread() is threading.main_thread()
    if seconds is None or not main or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: object) -> None:
        raise _Stopped(f"the import of the plugin took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    begun = time.monotonic()
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            left = max(left - (time.monotonic() - begun), 1e-3)
            signal.setitimer(signal.ITIMER_REAL, left, interval)
