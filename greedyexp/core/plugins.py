"""Plugins: Python files of users and installed packages, which register parts on import.

A plugin file is identified by its contents and those of the files that it imports from its folder
or reads while it is imported, not by its path. They are compiled without Python's bytecode cache,
which misses edits within one second.
"""

from __future__ import annotations

import faulthandler
import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
)
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, NoReturn

import greedyexp
from greedyexp.core import reading, registry
from greedyexp.core.errors import PluginError, last_line, message_of, place
from greedyexp.core.packages import installed_plugins
from greedyexp.core.parsed_sources import parsed
from greedyexp.core.part import Part
from greedyexp.core.trust import require_agreed


@dataclass(frozen=True)
class _Plugin:
    """An imported plugin: its file (None for an entry point) and its parts."""

    file: Path | None
    parts: tuple[Part, ...]


# Keys are identities of files, or entry points.
_loaded: dict[object, _Plugin] = {}
# Folders of plugins.
_folders: set[Path] = set()
# Folders that plugins have added to the path of Python.
_added: set[str] = set()
# Files of modules that plugins imported, with their identities at that time.
_helpers: dict[Path, str] = {}


def load_plugins(paths: Iterable[str | Path], *, stand_ins: Iterable[Part] = ()) -> None:
    """Import these Python files and all installed entry points, and publish their parts.

    Entry points belong to the group ``greedyexp.plugins``. Files with equal contents and equal
    imports from their folders are one plugin, which is imported once. A part from a file that is
    not in ``paths`` may be replaced by a part of the same kind and name. It is restored when its
    file is loaded again.

    Parameters
    ----------
    paths : iterable of path
    stand_ins : iterable of Part
        Parts that stand in for those of plugins which are not run. An installed plugin and the
        session of the user take precedence.

    Raises
    ------
    PluginError
        If a file is missing or raises on import, or if two plugins, or a plugin and greedyexp, have
        a part of the same kind and name. No part is changed then.
    """
    files = [Path(os.path.realpath(path)) for path in paths]
    greedyexp.provide_former_modules(file.read_bytes() for file in files if file.is_file())
    named: dict[object, _Plugin] = {entry: _of_entry_point(entry) for entry in installed_plugins()}
    named.update(_of_file(path) for path in files)
    new: dict[tuple[str, str], Part] = {}
    for plugin in named.values():
        for part in plugin.parts:
            known = new.setdefault((part.kind, part.name), part)
            if known is not part:
                raise registry.already_registered(part, known)
    earlier = {id(part) for one in _loaded.values() if one.file for part in one.parts}

    def replaceable(known: Part) -> bool:
        return known.stands_in or id(known) in earlier

    for part in stand_ins:
        current = registry.lookup(part.kind, part.name)
        if current is None or current.shipped or replaceable(current):
            new.setdefault((part.kind, part.name), part)
    registry.make_current(list(new.values()), replaceable)


@contextmanager
def without_added_folders() -> Iterator[None]:
    """Remove folders that plugins have added to the path of Python inside a ``with`` block."""
    path = [*sys.path]
    sys.path = [entry for entry in path if entry not in _added]
    try:
        yield
    finally:
        sys.path = path


def _of_entry_point(entry: EntryPoint) -> _Plugin:
    if entry not in _loaded:
        where = f"plugin '{entry.name}' ({entry.value})"
        with registry.collecting() as parts, reading.noting(), _guarded(where, set()):
            entry.load()
        _loaded[entry] = _Plugin(None, tuple(parts))
    return _loaded[entry]


def _of_file(path: Path) -> tuple[str, _Plugin]:
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
        known = _Plugin(path, _imported(path, files, identity))
        # Only now it is known what the plugin reads.
        identity = _current(path)
        _loaded[identity] = known
    return identity, known


def _unchanged(path: Path, identity: str) -> bool:
    return path.is_file() and _current(path) == identity


def _current(path: Path) -> str:
    return _identity(path, _read(path))


def _read(path: Path) -> dict[Path, bytes]:
    """Return the contents of a plugin file and of all files that it is known to depend on."""
    found: dict[Path, bytes] = {}
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found[file] = file.read_bytes()
            # Python says what is wrong with a source when it is imported.
            with suppress(SyntaxError, ValueError):
                for one in parsed(importlib.util.decode_source(found[file])).imports:
                    if one.module:
                        waiting.extend(files_of(file.parent, one.module.split("."), one.names))
            waiting.extend(reading.files_read(file))
    return found


def _identity(path: Path, files: dict[Path, bytes]) -> str:
    digest = hashlib.sha256(hashlib.sha256(files[path]).digest())
    others = {os.path.relpath(file, path.parent): content for file, content in files.items()}
    del others[path.name]
    for name, content in sorted(others.items()):
        digest.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    noted = [f"{reading.variables_read(file)} {reading.modules_imported(file)}" for file in files]
    digest.update("\n".join(sorted(noted)).encode())
    return digest.hexdigest()


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


def _imported(path: Path, files: dict[Path, bytes], identity: str) -> tuple[Part, ...]:
    """Import a plugin file and return the parts that it registers."""
    name = f"greedyexp_plugin_{identity[:16]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    reading.forget(path)
    require_agreed(path, path, files[path])
    try:
        with (
            registry.collecting() as parts,
            reading.noting(),
            _importable(path, files),
            _guarded(place(path), set(map(str, files))),
        ):
            exec(compile(files[path], str(path), "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - see trust
            for part in parts:
                part.check_parameters()
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return tuple(parts)


class _FromSource(SourceFileLoader):
    """Compile a module from its source, as if the time of the source were unknown.

    Stored bytecode would miss edits within one second, be written into run folders, and could be
    that of other code.
    """

    def path_stats(self, path: Any) -> Any:
        raise OSError

    def source_to_code(  # type: ignore[override]  # no static method since Python 3.4
        self, data: Any, path: Any, *, _optimize: int = -1
    ) -> Any:
        require_agreed(file := Path(os.path.realpath(path)), file, data)
        return super().source_to_code(data, path, _optimize=_optimize)


def _compile_sources(folder: Path) -> None:
    """Import all modules below a folder without stored bytecode from now on."""
    _folders.add(folder)
    if _finder not in sys.path_hooks:
        sys.path_hooks.insert(0, _finder)
    for cached in [*sys.path_importer_cache]:
        if folder in (Path(cached), *Path(cached).parents):
            sys.path_importer_cache.pop(cached)


def _finder(place: str) -> FileFinder:
    if not os.path.isdir(place):
        raise ImportError
    for folder in (Path(place), *Path(place).parents):
        if folder in _folders:
            compiled = (ExtensionFileLoader, EXTENSION_SUFFIXES)
            return FileFinder(place, (_FromSource, SOURCE_SUFFIXES), compiled)
        # The packages of an environment may lie below a plugin.
        if str(folder) in sys.path:
            break
    raise ImportError


@contextmanager
def _importable(path: Path, files: dict[Path, bytes]) -> Iterator[None]:
    """Allow a plugin to import files in its folder, as a script can.

    Modules that other plugins have imported, or older versions of these files, are removed first: a
    module of the same name may be in another folder, and an import is noticed only if the module is
    not imported yet.
    """
    stale: set[str] = set()
    for name, module in list(sys.modules.items() if _helpers else ()):
        file = Path(getattr(module, "__file__", None) or "").resolve()
        if file in _helpers and (file not in files or _helpers[file] != _current(file)):
            stale.add(name.partition(".")[0])
    for name in list(sys.modules):
        if name.partition(".")[0] in stale:
            del sys.modules[name]
    importlib.invalidate_caches()
    _compile_sources(path.parent)
    sys.path.insert(0, str(path.parent))
    try:
        yield
    finally:
        sys.path.remove(str(path.parent))
    others = {file for file in {*files, *_read(path)} if file.suffix == ".py"} - {path}
    _helpers.update({file: _current(file) for file in others})


@contextmanager
def _guarded(where: str, files: set[str]) -> Iterator[None]:
    """Replace every error of an import by a ``PluginError`` with the file and the line."""
    try:
        # A plugin does not catch SystemExit by ``except Exception``.
        with exit_refused(lambda status: SystemExit(f"os._exit({status})")), _surroundings_kept():
            yield
    except PluginError as error:
        error.place = error.place or last_line(error, files) or where
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        found, said = last_line(error, files), message_of(error).rstrip(".")
        if isinstance(error, SyntaxError):
            found = place(error.filename or where, error.lineno)
        raise PluginError(
            f"the plugin raised {type(error).__name__} on import{said and f': {said}'}.",
            place=found or where,
            remedy="Fix the plugin; --traceback shows where it failed.",
        ) from error


@contextmanager
def _surroundings_kept() -> Iterator[None]:
    """Restore the current folder and the standard streams, and refuse a plugin that changed them.

    Folders that it has removed from the path of Python are added again, and a lower limit of
    recursion is raised again. A file that is opened later would get the number of a closed stream,
    and all output with it. If the import crashes the process, its place is printed.
    """
    folder, streams = Path.cwd(), (sys.stdin, sys.stdout, sys.stderr)
    copies = {number: os.dup(number) for number in range(3) if _identified(number)}
    before = {number: _identified(number) for number in copies}
    path, depth = [*sys.path], sys.getrecursionlimit()
    watched = not faulthandler.is_enabled() and 2 in copies
    if watched:
        faulthandler.enable(2, all_threads=False)
    changed = []
    try:
        yield
    finally:
        sys.setrecursionlimit(max(depth, sys.getrecursionlimit()))
        sys.path = sys.path if isinstance(sys.path, list) else path
        sys.path += [entry for entry in path if entry not in sys.path]
        _added.update(entry for entry in sys.path if entry not in path)
        if watched:
            faulthandler.disable()
        if not folder.samefile("."):
            changed.append("changed the current folder")
            os.chdir(folder)
        closed = any(stream is not None and stream.closed for stream in streams)
        if closed or before != {number: _identified(number) for number in copies}:
            changed.append("closed or replaced a standard stream")
        sys.stdin, sys.stdout, sys.stderr = streams
        for number, copy in copies.items():
            os.dup2(copy, number)
            os.close(copy)
    if changed:
        raise PluginError(
            f"the plugin {' and '.join(changed)} on import.", remedy="Move this into a function."
        )


def _identified(descriptor: int) -> tuple[int, int] | None:
    """Return the identity of an open file; None if it is closed."""
    try:
        about = os.fstat(descriptor)
    except OSError:
        return None
    return about.st_dev, about.st_ino


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
