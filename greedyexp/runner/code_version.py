"""The version of a part's code: a hash of its syntax and of all modules that it imports.

Docstrings, comments and formatting do not change the version; everything else does. Imports are
read from the source and not executed. Imports inside greedyexp count and, for a plugin, imports of
files in its folder. A compiled kernel counts by its C++ file and the headers
that this file includes.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import greedyexp
from greedyexp.core.errors import PluginError
from greedyexp.core.parts import Algorithm, Generator, Metric, Protocol
from greedyexp.core.plugins import files_of, import_folder
from greedyexp.runner.parsed_sources import ImportStatement, ParsedSource, parsed, syntax_of

ROOT = Path(greedyexp.__file__).resolve().parent

# Parts that compute rows; figures and tables only read them.
_ROW_KINDS = (Generator, Algorithm, Protocol, Metric)
# ``core`` (registration, plugins, errors) does not affect numbers. ``api`` is replaced by the
# algorithms that it can call (see ``_inside``).
_UNCOUNTED = {"core", "api"}
_PACKAGE_IMPORT = re.compile(r"^\s*(?:from|import)\s+greedyexp\.(\w+)", re.MULTILINE)

_CPP = (".cpp", ".hpp")
_CPP_COMMENT = re.compile(r"//[^\n]*")
_CPP_INCLUDE = re.compile(r'^#include "([\w.]+)"', re.MULTILINE)


@cache
def counted_packages(root: Path) -> frozenset[str]:
    """Return the packages below ``root`` that row-computing parts import, directly or not.

    A change in other packages, such as figures or the command line, does not change a row.
    """
    found: set[str] = set()
    waiting = {kind.package.partition(".")[2] for kind in _ROW_KINDS}
    while waiting:
        package = waiting.pop()
        found.add(package)
        single = root / f"{package}.py"
        for path in [single] if single.is_file() else (root / package).rglob("*.py"):
            waiting |= set(_PACKAGE_IMPORT.findall(path.read_text(encoding="utf-8")))
        waiting -= found | _UNCOUNTED
    return frozenset(found)


def of_function(function: Callable[..., Any], known: dict[Path, SourceFile] | None = None) -> str:
    """Return the version of the code that a registered function runs.

    Parameters
    ----------
    known : dict of Path to SourceFile, optional
        Files as they were when first read. Files that are read now are added.

    Raises
    ------
    PluginError
        If the source cannot be read, for example of a function typed at a prompt.
    """
    path = source_of(function)
    if path is not None:
        return of_file(path, known)
    try:
        typed = inspect.unwrap(function)
        # Python 3.13 and later would return the source of the command `python -c` for these.
        if inspect.getfile(typed) in ("<string>", "<stdin>"):
            raise OSError
        text = textwrap.dedent(inspect.getsource(typed))
    except (OSError, TypeError):
        raise PluginError(
            f"the source of '{getattr(function, '__name__', function)}' cannot be read, so its"
            " results could not be distinguished from those of another version.",
            remedy="Put it in a file and name the file under `plugins:`.",
        ) from None
    return syntax_of(text)


def of_module(name: str, known: dict[Path, SourceFile] | None = None) -> str:
    """Return the version of a module of greedyexp and of all modules that it imports."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return of_file(Path(spec.origin).resolve(), known)


def of_file(path: Path, known: dict[Path, SourceFile] | None = None) -> str:
    """Return the version of a source file and, transitively, of the modules that it imports."""
    # Names and hashes are sorted: moving a plugin or greedyexp to another folder changes nothing.
    lines = sorted(source.version for source in sources(path, known).values())
    return _digest("\n".join(lines).encode())


def source_of(function: Callable[..., Any]) -> Path | None:
    """Return the file of a function; None if it was typed at a prompt or in a notebook."""
    try:
        name = inspect.getsourcefile(inspect.unwrap(function))
    except TypeError:
        return None
    return Path(name).resolve() if name is not None and Path(name).is_file() else None


def sources(path: Path, known: dict[Path, SourceFile] | None = None) -> dict[Path, SourceFile]:
    """Return a source file and the counted files that it imports, directly or not."""
    known = {} if known is None else known
    found: dict[Path, SourceFile] = {}
    waiting = [path]
    while waiting:
        current = waiting.pop()
        if current not in found:
            if current not in known:
                known[current] = _source(current)
            found[current] = known[current]
            waiting.extend(found[current].imports)
    return found


class PluginSources(NamedTuple):
    """The sources of the plugins of an experiment, stored in a run folder below ``plugins/``.

    Parameters
    ----------
    entries : list of str
        The plugin files, in the order of the settings.
    files : dict of str to bytes
        Contents of these files and of the files in their folders that they import.
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
        If a source cannot be read.
    """
    entries: list[str] = []
    files: dict[str, bytes] = {}
    for number, plugin in enumerate(map(Path, plugins)):
        try:
            # The plugin and, transitively, the files in its folder that it imports.
            own = [one for one in sources(plugin) if one.is_relative_to(plugin.parent)]
            own = [one for one in own if not one.is_relative_to(ROOT)]
            read = {one.relative_to(plugin.parent).as_posix(): one.read_bytes() for one in own}
        except (OSError, SyntaxError, ValueError) as error:
            raise PluginError(f"the plugin cannot be read: {error}.", place=str(plugin)) from None
        # Two plugins from different folders may have files of the same name.
        clash = any(files.get(name, source) != source for name, source in read.items())
        prefix = f"{number}/" if clash else ""
        files |= {f"{prefix}{name}": source for name, source in read.items()}
        entries.append(f"{prefix}{plugin.name}")
    return PluginSources(entries, files)


def text_of(path: Path) -> str:
    """Return the hash of the bytes of a file, as in ``SourceFile.text``."""
    return _digest(path.read_bytes())


def edited(path: Path, source: SourceFile) -> bool:
    """Return True if the code of a file has changed since it was read; comments are not code."""
    try:
        return _digest(path.read_bytes()) != source.text and _source(path).version != source.version
    except (OSError, SyntaxError, UnicodeDecodeError):
        return True


@dataclass(frozen=True)
class SourceFile:
    """A source file as it was read.

    Parameters
    ----------
    version : str
        Name of the file and hash of its syntax.
    text : str
        Hash of its bytes; if these are unchanged, the syntax need not be compared.
    imports : tuple of Path
        The counted files that it imports.
    """

    version: str
    text: str
    imports: tuple[Path, ...]

    @property
    def name(self) -> str:
        """The name of the file, below the folder of greedyexp if it is there."""
        return self.version.rpartition(" ")[0]

    @property
    def syntax(self) -> str:
        """The hash of the syntax."""
        return self.version.rpartition(" ")[2]


def _source(path: Path) -> SourceFile:
    # Cached by the time of the last change: workers load the file that is now on the disk, even if
    # this process has imported an earlier version.
    return _read(path, path.stat().st_mtime_ns, path.stat().st_size)


@cache
def _read(path: Path, _changed: int, _size: int) -> SourceFile:
    content = path.read_bytes()
    text = content.decode("utf-8")
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    if path.suffix in _CPP:
        syntax = _digest(" ".join(_CPP_COMMENT.sub("", text).split()).encode())
        imports = [path.parent / name for name in _CPP_INCLUDE.findall(text)]
    else:
        source = parsed(text)
        syntax, imports = source.syntax, list(_imports(source, path))
        compiled = path.with_suffix(".cpp")
        if compiled.is_file():
            imports.append(compiled)
    return SourceFile(f"{name} {syntax}", _digest(content), tuple(imports))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _imports(source: ParsedSource, path: Path) -> Iterator[Path]:
    for statement in source.imports:
        yield from _locate(_absolute(statement, path), statement.names, path)


def _absolute(node: ImportStatement, path: Path) -> str:
    """Return the absolute dotted name of the module of an import statement."""
    if node.level == 0:
        return node.module
    folder, package = import_folder(path), path.parents[node.level - 1]
    # A folder without __init__.py may be a package, too, but which one is not known.
    prefix = package.relative_to(folder).parts if package.is_relative_to(folder) else ()
    return ".".join((*prefix, *filter(None, [node.module])))


def _locate(module: str, names: tuple[str, ...], importer: Path) -> Iterator[Path]:
    """Yield the counted source files that an import statement reads."""
    module = greedyexp.FORMER.get(module, module)
    if module == "greedyexp":
        for name in names:
            # `from greedyexp import Problem` is resolved lazily by greedyexp itself.
            target = greedyexp._LAZY.get(name, f"greedyexp.{name}")
            yield from _inside(target.split(".")[1:], ())
    elif module.startswith("greedyexp."):
        yield from _inside(module.split(".")[1:], names)
    elif not importer.is_relative_to(ROOT) and module:
        # A package that is not greedyexp counts if it is that of the importer. Other installed
        # packages do not.
        parts, folder = module.split("."), import_folder(importer)
        inside = importer.relative_to(folder).parts[0] == parts[0]
        yield from files_of(folder if inside else importer.parent, parts, names)


def _inside(parts: list[str], names: tuple[str, ...]) -> Iterator[Path]:
    if parts[0] == "api":
        # `solve` looks up its algorithm by name at run time, so all of them count.
        yield from sorted((ROOT / "algorithms").rglob("*.py"))
        yield from files_of(ROOT, parts, names)
    elif parts[0] in counted_packages(ROOT):
        yield from files_of(ROOT, parts, names)
