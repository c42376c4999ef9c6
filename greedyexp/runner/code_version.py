"""The version of a part's code: a hash of its syntax and of the modules it builds on.

Docstrings, comments and formatting do not count; everything else does. Imports are read from the
source, not executed: those inside the package and, for a plugin, those of files beside it.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import greedyexp
from greedyexp.core.errors import PluginError
from greedyexp.core.plugins import files_of

ROOT = Path(greedyexp.__file__).resolve().parent

# What only starts, records or shows a computation; a change there changes no result.
HARNESS = ("core", "runner", "config", "cli", "report", "figures")

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def of_function(function: Callable, known: dict[Path, Source] | None = None) -> str:
    """Version of the code that a registered function runs.

    Parameters
    ----------
    known : dict of Path to Source, optional
        Files that count as they were when they were read; those read now are added.

    Raises
    ------
    PluginError
        When the source cannot be read, as for a function typed into a prompt.
    """
    path = source_of(function)
    if path is not None:
        return of_file(path, known)
    try:
        text = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    except (OSError, TypeError):
        raise PluginError(
            f"the source of '{getattr(function, '__name__', function)}' cannot be read, so its"
            " results could not be told from those of another version.",
            remedy="Put it in a file and name the file under `plugins:`.",
        ) from None
    return _digest(_syntax(text).encode())


def of_module(name: str, known: dict[Path, Source] | None = None) -> str:
    """Version of one module of the package and of what it builds on; ``known`` as above."""
    return of_file(Path(importlib.util.find_spec(name).origin).resolve(), known)


def of_file(path: Path, known: dict[Path, Source] | None = None) -> str:
    """Version of a source file and, transitively, of the modules it imports; ``known`` as above."""
    # Sorted names and hashes: moving a plugin or the package to another folder changes nothing.
    lines = sorted(source.version for source in sources(path, known).values())
    return _digest("\n".join(lines).encode())


def own_files(path: Path) -> list[Path]:
    """A plugin and, transitively, the files beside it that it imports."""
    found = [one for one in sources(path) if not one.is_relative_to(ROOT)]
    return [one for one in found if one.is_relative_to(path.parent)]


class PluginSources(NamedTuple):
    """The sources of an experiment's plugins, as a run folder keeps them below ``plugins/``.

    Parameters
    ----------
    entries : list of str
        The plugin files, in the order of the settings.
    files : dict of str to bytes
        These files and those in the same folder that they import.
    """

    entries: list[str]
    files: dict[str, bytes]


def plugin_sources(plugins: Iterable[str]) -> PluginSources:
    """Read the plugins of an experiment.

    Parameters
    ----------
    plugins : iterable of str
        Absolute paths.

    Raises
    ------
    PluginError
        When a source cannot be read.
    """
    entries: list[str] = []
    files: dict[str, bytes] = {}
    for number, plugin in enumerate(map(Path, plugins)):
        try:
            own = own_files(plugin)
            read = {one.relative_to(plugin.parent).as_posix(): one.read_bytes() for one in own}
        except (OSError, SyntaxError, ValueError) as error:
            raise PluginError(f"the plugin cannot be read: {error}.", place=str(plugin)) from None
        # Two plugins from different folders may have files of the same name.
        clash = any(files.get(name, source) != source for name, source in read.items())
        prefix = f"{number}/" if clash else ""
        files |= {f"{prefix}{name}": source for name, source in read.items()}
        entries.append(f"{prefix}{plugin.name}")
    return PluginSources(entries, files)


def source_of(function: Callable) -> Path | None:
    """The file that a function was read from; None for one typed into a prompt or a notebook."""
    try:
        name = inspect.getsourcefile(inspect.unwrap(function))
    except TypeError:
        return None
    return Path(name).resolve() if name is not None and Path(name).is_file() else None


def sources(path: Path, known: dict[Path, Source] | None = None) -> dict[Path, Source]:
    """A source file and, transitively, the files it imports that count; ``known`` as above."""
    known = {} if known is None else known
    found: dict[Path, Source] = {}
    waiting = [path]
    while waiting:
        current = waiting.pop()
        if current not in found:
            if current not in known:
                known[current] = _source(current)
            found[current] = known[current]
            waiting.extend(found[current].imports)
    return found


def text_of(path: Path) -> str:
    """The hash of a file's bytes, as in ``Source.text``."""
    return _digest(path.read_bytes())


def edited(path: Path, source: Source) -> bool:
    """Whether a file has other code now than when it was read; comments are no code."""
    try:
        return _digest(path.read_bytes()) != source.text and _source(path).version != source.version
    except (OSError, SyntaxError, UnicodeDecodeError):
        return True


@dataclass(frozen=True)
class Source:
    """One file as it was read.

    Parameters
    ----------
    version : str
        Its name and the hash of its syntax.
    text : str
        The hash of its bytes: what is equal needs no parsing to be compared.
    imports : tuple of Path
        The files it imports that count.
    """

    version: str
    text: str
    imports: tuple[Path, ...]


def _source(path: Path) -> Source:
    # Keyed by the time of the last change: in a long session workers load what is on the disk
    # now, not what the session imported an hour ago.
    return _read(path, path.stat().st_mtime_ns, path.stat().st_size)


@cache
def _read(path: Path, _changed: int, _size: int) -> Source:
    content = path.read_bytes()
    text = content.decode("utf-8")
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    version = f"{name} {_digest(_syntax(text).encode())}"
    return Source(version, _digest(content), tuple(_imports(ast.parse(text), path)))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _syntax(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        documented = isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False)
        if documented is not None and documented is not False:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(ast.fix_missing_locations(tree))


def _imports(tree: ast.Module, path: Path) -> list[Path]:
    found: list[Path] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.extend(_locate(alias.name, (), path))
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            found.extend(_locate(_absolute(node, path), names, path))
    return found


def _absolute(node: ast.ImportFrom, path: Path) -> str:
    """The dotted name an import is from, relative imports resolved."""
    if node.level == 0:
        return node.module or ""
    package = path.parents[node.level - 1]
    if package.is_relative_to(ROOT):
        prefix = ".".join(("greedyexp", *package.relative_to(ROOT).parts))
        return f"{prefix}.{node.module}" if node.module else prefix
    return node.module or ""


def _locate(module: str, names: tuple[str, ...], importer: Path) -> Iterator[Path]:
    """Source files that an import statement reads and that count."""
    if module == "greedyexp":
        for name in names:
            # `from greedyexp import Problem` is resolved lazily by the package itself.
            target = greedyexp._LAZY.get(name, f"greedyexp.{name}")
            yield from _inside(target.split(".")[1:], ())
    elif module.startswith("greedyexp."):
        yield from _inside(module.split(".")[1:], names)
    elif not importer.is_relative_to(ROOT) and module:
        yield from files_of(importer.parent, module.split("."), names)


def _inside(parts: list[str], names: tuple[str, ...]) -> Iterator[Path]:
    if parts[0] in HARNESS:
        return
    if parts[0] == "api":
        # `solve` finds its algorithm by name at run time: any of them may be meant.
        yield from sorted((ROOT / "algorithms").rglob("*.py"))
    yield from files_of(ROOT, parts, names)
