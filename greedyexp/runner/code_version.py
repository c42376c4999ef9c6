"""The version of a part's code: a hash of its syntax and of all modules that it imports.

Docstrings, comments and formatting do not change the version; everything else does. Imports are
read from the source. Imports inside greedyexp count and, for a plugin, imports of files in its
folder and of other files that no distribution has installed, and all files that it read while it
was imported. What a distribution has installed counts by its version. A compiled kernel counts by
its C++ file and the headers that this file includes.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import greedyexp
from greedyexp.core import reading
from greedyexp.core.errors import PluginError
from greedyexp.core.packages import distributions_of, version_of
from greedyexp.core.parsed_sources import ImportStatement, ParsedSource, parsed, syntax_of
from greedyexp.core.parts import Algorithm, Generator, LossKind, Metric, Protocol
from greedyexp.core.plugins import (
    files_of,
    import_folder,
    load_plugins,
    without_added_folders,
)
from greedyexp.core.run_files import PLUGINS
from greedyexp.core.trust import remember_run

ROOT = Path(greedyexp.__file__).resolve().parent

# Parts that compute rows; figures and tables only read them.
_ROW_KINDS = (Generator, Algorithm, LossKind, Protocol, Metric)
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


class Surroundings(NamedTuple):
    """What code outside of greedyexp depends on, besides its files.

    Parameters
    ----------
    packages : dict of str to str or None
        Versions of the distributions that it imports; None for one that is not installed.
    variables : dict of str to str
        Hashes of the variables of the environment that it read while it was imported.
    """

    packages: dict[str, str | None]
    variables: dict[str, str]


def surroundings(
    paths: Iterable[Path], known: dict[Path, SourceFile] | None = None
) -> Surroundings:
    """Return what source files and all that they import depend on."""
    files = {path: source for each in paths for path, source in sources(each, known).items()}
    names = {name for source in files.values() for name in source.packages}
    variables = {item for source in files.values() for item in source.variables}
    return Surroundings({name: version_of(name) for name in sorted(names)}, dict(sorted(variables)))


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

    def remember(self, folder: Path) -> None:
        """Remember that the user has run this code, which a run folder will have."""
        remember_run({f"{PLUGINS}/{name}": source for name, source in self.files.items()}, folder)


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
    for number, plugin in enumerate(Path(os.path.realpath(one)) for one in plugins):
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


def require_importable(plugins: Sequence[str]) -> None:
    """Raise ``PluginError`` if plugins would not have in a run folder what they have in theirs.

    A plugin may read or import files outside of its folder. Then its copy is imported in another
    folder, and must find the same files there.

    Parameters
    ----------
    plugins : sequence of str
        Absolute paths of plugins that are loaded.
    """
    needed = {plugin: _beyond(Path(os.path.realpath(plugin))) for plugin in plugins}
    if not any(needed.values()):
        return
    copies = plugin_sources(plugins)
    try:
        with TemporaryDirectory() as folder, without_added_folders():
            home = Path(folder).resolve() / PLUGINS
            for name, content in copies.files.items():
                (home / name).parent.mkdir(parents=True, exist_ok=True)
                (home / name).write_bytes(content)
            for plugin, entry in zip(plugins, copies.entries, strict=True):
                with suppress(PluginError):
                    load_plugins([home / entry])
                    needed[plugin] -= _beyond(home / entry)
    finally:
        load_plugins(plugins)
    for plugin, missing in needed.items():
        if missing:
            raise PluginError(
                f"the plugin reads or imports {min(missing)}, which its copy in a run folder would"
                " not find.",
                place=plugin,
                remedy="Move the file into the folder of the plugin.",
            )


def _beyond(plugin: Path) -> set[Path]:
    """Return the files outside of its folder that a plugin depends on, but for installed ones."""
    files = (path for path in sources(plugin) if not path.is_relative_to(plugin.parent))
    return {path for path in files if not reading.is_installed(str(path))}


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
        The counted files that it imports, or that it read while it was imported.
    packages : tuple of str
        The distributions that it imports, for code outside of greedyexp.
    variables : tuple of (str, str)
        The variables of the environment that it read while it was imported, with their hashes.
    """

    version: str
    text: str
    imports: tuple[Path, ...]
    packages: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The name of the file, below the folder of greedyexp if it is there."""
        return self.version.rpartition(" ")[0]

    @property
    def syntax(self) -> str:
        """The hash of the syntax."""
        return self.version.rpartition(" ")[2]


def _source(path: Path) -> SourceFile:
    # Read anew by each run: workers load the file that is now on the disk, even if this process has
    # imported an earlier version, and an edit may leave size and time as they were.
    content = path.read_bytes()
    if path.suffix in (".py", *_CPP):
        source = _read(path, content)
    else:
        source = SourceFile(f"{path.name} {_digest(content)}", _digest(content), ())
    if path.is_relative_to(ROOT):
        return source
    files, packages = [*source.imports, *sorted(reading.files_read(path))], set()
    # Also imports that its text does not tell, such as those by importlib.
    statements = [ImportStatement(name, (), 0) for name in reading.modules_imported(path)]
    if path.suffix == ".py":
        statements += parsed(content.decode("utf-8")).imports
    for statement in statements:
        more = _outside(_absolute(statement, path), statement.names, path)
        files += more[0]
        packages |= {*more[1]}
    if reading.is_installed(str(path)):
        # Also modules that the package imports in ways that its source does not tell.
        top = path.relative_to(import_folder(path)).parts[0]
        packages |= {*distributions_of(top.removesuffix(".py"))}
    variables = tuple(reading.variables_read(path).items())
    return replace(
        source, imports=tuple(files), packages=tuple(sorted(packages)), variables=variables
    )


@cache
def _read(path: Path, content: bytes) -> SourceFile:
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    if path.suffix in _CPP:
        text = content.decode("utf-8")
        syntax = _digest(" ".join(_CPP_COMMENT.sub("", text).split()).encode())
        imports = [path.parent / name for name in _CPP_INCLUDE.findall(text)]
    else:
        source = parsed(content.decode("utf-8"))
        syntax, imports = source.syntax, list(_imports(source, path))
        compiled = path.with_suffix(".cpp")
        if compiled.is_file():
            imports.append(compiled)
    return SourceFile(f"{name} {syntax}", _digest(content), tuple(imports))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _imports(source: ParsedSource, path: Path) -> Iterator[Path]:
    for statement in source.imports:
        yield from _locate(_absolute(statement, path), statement.names)


def _absolute(node: ImportStatement, path: Path) -> str:
    """Return the absolute dotted name of the module of an import statement."""
    if node.level == 0:
        return node.module
    folder, package = import_folder(path), path.parents[node.level - 1]
    # A folder without __init__.py may be a package, too, but which one is not known.
    prefix = package.relative_to(folder).parts if package.is_relative_to(folder) else ()
    return ".".join((*prefix, *filter(None, [node.module])))


def _locate(module: str, names: tuple[str, ...]) -> Iterator[Path]:
    """Yield the counted files of greedyexp that an import statement reads."""
    module = greedyexp.FORMER.get(module, module)
    if module == "greedyexp":
        for name in names:
            # `from greedyexp import Problem` is resolved lazily by greedyexp itself.
            target = greedyexp._LAZY.get(name, f"greedyexp.{name}")
            yield from _inside(target.split(".")[1:], ())
    elif module.startswith("greedyexp."):
        yield from _inside(module.split(".")[1:], names)


def _outside(
    module: str, names: tuple[str, ...], importer: Path
) -> tuple[list[Path], tuple[str, ...]]:
    """Return the files and the distributions that code outside of greedyexp imports."""
    parts, folder = module.split("."), import_folder(importer)
    if parts[0] in ("", "greedyexp"):
        return [], ()
    # The package of the importer counts file by file, wherever it is installed.
    inside = importer.relative_to(folder).parts[0] == parts[0]
    files = list(files_of(folder if inside else importer.parent, parts, names))
    if files or parts[0] in sys.stdlib_module_names:
        return files, ()
    for origin in _origins(parts[0]):
        # A folder on the path of Python, or a package that is installed for editing.
        if not reading.is_installed(str(origin)):
            root = origin.parents[1] if origin.stem == "__init__" else origin.parent
            compiled = origin.is_file() and origin.suffix != ".py"
            files += [origin] if compiled else files_of(root, parts, names)
    return files, distributions_of(parts[0])


def _origins(module: str) -> list[Path]:
    """Return the file of a top-level module or, without one, its folders; nothing is imported."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return []
    if spec is None:
        return []
    if spec.has_location and spec.origin is not None:
        return [Path(spec.origin).resolve()]
    return [Path(folder).resolve() for folder in spec.submodule_search_locations or ()]


def _inside(parts: list[str], names: tuple[str, ...]) -> Iterator[Path]:
    if parts[0] == "api":
        # `solve` looks up its algorithm by name at run time, so all of them count.
        yield from sorted((ROOT / "algorithms").rglob("*.py"))
        yield from files_of(ROOT, parts, names)
    elif parts[0] in counted_packages(ROOT):
        yield from files_of(ROOT, parts, names)
