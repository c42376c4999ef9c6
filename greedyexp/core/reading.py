"""What the code of users reads: files, modules, and variables of the environment.

Python tells an audit hook about every file that it opens. A read belongs to the innermost code on
the stack that is neither Python's, nor of an installed package, nor of greedyexp. What a module
reads while it is imported is noted and counts like its source. What it reads later, while rows are
computed, must have been noted or declared: otherwise nobody would notice that it has changed.

Files that compiled code or another program opens are not seen, unless they are arguments of the
program, nor are variables that are read all at once, as in ``dict(os.environ)``.
"""

from __future__ import annotations

import builtins
import errno
import hashlib
import importlib.util
import opcode
import os
import stat
import sys
import sysconfig
import time
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Set
from contextlib import contextmanager, suppress
from functools import cache, wraps
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import greedyexp
from greedyexp.core.errors import PluginError, place
from greedyexp.core.packages import distributions_of
from greedyexp.core.trust import require_agreed

_ROOT = f"{Path(greedyexp.__file__).resolve().parent}{os.sep}"
# Code from here outwards works for greedyexp: it imports plugins and calls parts.
_CALLERS = tuple(f"{_ROOT}{name}{os.sep}" for name in ("core", "runner", "report", "config", "cli"))
# Its data have published checksums.
_DATASETS = f"{_ROOT}datasets{os.sep}"

_PLACES = ("lib", "lib64", "share", "etc", "bin")
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/run/", "/System/", "/Library/")
_INSTALLED = frozenset(("site-packages", "dist-packages"))

# Variables of a session or a machine. They tell programs where things are, not what to compute.
_SESSION = frozenset(
    (
        *("HOME", "USER", "LOGNAME", "SHELL", "TERM", "DISPLAY", "PWD", "PATH", "PYTHONPATH"),
        *("TMPDIR", "TEMP", "TMP", "COLUMNS", "LINES", "VIRTUAL_ENV", "CONDA_PREFIX"),
        "PYTHONHASHSEED",
    )
)
# Workers set these to 1. Threads inside a worker would only compete for the cores, and the order of
# their sums could change the last digit.
THREADS = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS"),
)

_IMPORT = opcode.opmap["IMPORT_NAME"]

# The clock of a file system is behind by up to this many seconds.
_TICK = 0.02


class _Read(NamedTuple):
    """One read of user code: of a file, a variable or a module.

    Parameters
    ----------
    code : Path
        File of the code.
    line : int
    kind : {"file", "variable", "module"}
    name : str
    """

    code: Path
    line: int
    kind: str
    name: str


# Kinds and names of what a module has read while it was imported.
_noted: defaultdict[Path, set[tuple[str, str]]] = defaultdict(set)
# What is done with a read, and the earliest time of a file that was made meanwhile.
_react: Callable[[_Read], None] | None = None
_since = 0.0
_refused: PluginError | None = None


def files_read(code: Path) -> set[Path]:
    """Return the files that a module has read while it was imported, as far as they exist."""
    return {file for file in map(Path, _names_of("file", code)) if file.is_file()}


def variables_read(code: Path) -> dict[str, str]:
    """Return hashes of the variables that a module has read while it was imported, by name."""
    return {name: variable_hash(name) for name in _names_of("variable", code)}


def modules_imported(code: Path) -> list[str]:
    """Return the modules that a module has imported meanwhile, but for import statements."""
    return _names_of("module", code)


def _names_of(kind: str, code: Path) -> list[str]:
    return sorted(name for noted, name in _noted.get(code, ()) if noted == kind)


def variable_hash(name: str) -> str:
    """Return a hash of the value of a variable, which may be secret; '' if it is not set."""
    value = os.environ._data.get(os.environ.encodekey(name))  # type: ignore[attr-defined]
    return "" if value is None else hashlib.sha256(repr(value).encode()).hexdigest()


def forget(code: Path) -> None:
    """Forget what a module has read, before it is imported again."""
    _noted.pop(code, None)


@contextmanager
def noting() -> Iterator[None]:
    """Note what modules of users read inside a ``with`` block, in which a plugin is imported."""
    with _reacting(lambda read: _noted[read.code].add((read.kind, read.name)), time.time()):
        yield


@contextmanager
def refusing(
    files: Container[Path], variables: Container[str], packages: Set[str], since: float
) -> Iterator[None]:
    """Refuse reads of users' code inside a ``with`` block, in which parts compute rows.

    Parameters
    ----------
    files : container of Path
        The files that count for rows. Their paths have no links.
    variables : container of str
        The variables that count for rows.
    packages : set of str
        The distributions that count for rows.
    since : float
        Files that have changed since this time were made by the run.
    """
    global _refused

    def refuse(read: _Read) -> None:
        global _refused
        if read.kind == "file":
            known, what = Path(read.name) in files, "reads"
        elif read.kind == "variable":
            known, what = read.name in variables, "reads the environment variable"
        else:
            # Other modules count by their files.
            known, what = packages >= {*_installed_with(read.name)}, "imports the package"
        if known:
            return
        _refused = PluginError(
            f"the plugin {what} {read.name} while rows are computed, so a change would not be"
            " noticed.",
            place=place(str(read.code), read.line),
            remedy="Do so when the plugin is imported, at the top of the file: then it counts for"
            " the rows. A generator can name its data files in `reads`.",
        )
        # The plugin may catch it; require_nothing_refused raises it again.
        raise _refused

    _refused = None
    try:
        with _reacting(refuse, since - _TICK):
            yield
    finally:
        _refused = None


def require_nothing_refused() -> None:
    """Raise the error of a read that was refused, also if the plugin has caught it."""
    if _refused is not None:
        raise _refused


@contextmanager
def _reacting(react: Callable[[_Read], None], since: float) -> Iterator[None]:
    global _react, _since
    _install()
    before = _react, _since
    _react, _since = react, since
    try:
        yield
    finally:
        _react, _since = before


@cache
def _install() -> None:
    """Watch all kinds of reads from now on; a hook cannot be removed, but does little."""
    sys.addaudithook(_audit)
    # Python tells the hook about the first import of a module only, whichever code made it.
    builtins.__import__ = _telling(builtins.__import__)
    importlib.import_module = _telling(importlib.import_module)
    environment: Any = type(os.environ)
    read, iterate = environment.__getitem__, environment.__iter__

    def read_one(self: Any, key: Any) -> Any:
        if _react is not None:
            _variable(os.fsdecode(key) if isinstance(key, (str, bytes)) else "")
        return read(self, key)

    def read_all(self: Any) -> Any:
        if _react is not None:
            _copy()
        return iterate(self)

    environment.__getitem__, environment.__iter__ = read_one, read_all


def _audit(event: str, given: tuple[Any, ...]) -> None:
    paths: Iterable[Any] = ()
    folder: Any = None
    if event == "open":
        path, _, flags = given
        # Such a call does not read what was there before.
        written = flags & (os.O_WRONLY | os.O_TRUNC | os.O_EXCL)
        paths = () if written else (path,)
    elif event == "import":
        # Only a compiled module has its file here.
        paths = given[1:2]
    elif event in ("ctypes.dlopen", "sqlite3.connect"):
        paths = given[:1]
    elif event == "subprocess.Popen" and not isinstance(given[1], (str, bytes)):
        # A program, its script and its data.
        paths, folder = (given[0], *given[1]), given[2]
    for path in paths:
        if isinstance(path, (str, bytes, os.PathLike)):
            _file(os.path.join(os.fsdecode(folder or ""), os.fsdecode(path)))


def _file(path: str) -> None:
    found = _reader()
    if found is None:
        return
    frame, loading = found
    if _is_stored_bytecode(path):
        # It may be that of other code, or older than an edit within one second. Python then
        # compiles the source.
        raise FileNotFoundError(errno.ENOENT, "stored bytecode is not run", path)
    with suppress(OSError, ValueError):
        path = os.path.realpath(path)
        require_agreed(Path(os.path.realpath(_file_of(frame))), Path(path))
        state = os.stat(path)
        own = os.path.dirname(os.path.realpath(_file_of(frame))) + os.sep
        foreign = is_installed(path) or (not path.startswith(own) and _is_foreign(path, loading))
        if stat.S_ISREG(state.st_mode) and state.st_ctime <= _since and not foreign:
            if loading:
                forget(Path(path))
            _tell(frame, "file", path)


def _is_stored_bytecode(path: str) -> bool:
    """Return True for bytecode that Python has stored for a file of users."""
    try:
        return path.endswith(".pyc") and not is_installed(importlib.util.source_from_cache(path))
    except ValueError:
        return False


def _telling(load: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that imports as another one does, and tells what no statement says."""

    @wraps(load)
    def telling(name: str, *given: Any, **options: Any) -> Any:
        module = load(name, *given, **options)
        # A relative import is one of a file.
        relative = name.startswith(".") or options.get("level") or any(given[3:])
        if _react is not None and not relative:
            frame = sys._getframe(1)
            if _is_users(frame) and not _is_stated(frame):
                _tell(frame, "module", name)
        return module

    return telling


def _is_stated(frame: FrameType) -> bool:
    """Return True in an import statement of a file, whose text has the name of the module."""
    code = frame.f_code
    return code.co_code[frame.f_lasti] == _IMPORT and not code.co_filename.startswith("<")


def _installed_with(module: str) -> tuple[str, ...]:
    """Return the distributions of an imported module, if it is one of an installed package."""
    top = sys.modules.get(module.partition(".")[0])
    places = [getattr(top, "__file__", None), *getattr(top, "__path__", ())]
    installed = any(is_installed(path) for path in places if path)
    return distributions_of(module) if installed else ()


def _tell(frame: FrameType, kind: str, name: str) -> None:
    if _react is not None:
        _react(_Read(Path(os.path.realpath(_file_of(frame))), frame.f_lineno, kind, name))


def _reader() -> tuple[FrameType, bool] | None:
    """Return the frame that a read belongs to, and whether a module is loaded; None if to none."""
    frame: FrameType | None = sys._getframe(3)
    loading: bool | None = None
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(("<frozen importlib", "<frozen zipimport")):
            # A library that is imported reads files of its own.
            if loading is False:
                return None
            loading = True
        elif not name.startswith("<frozen ") and name != __file__:
            file = _file_of(frame)
            if file.startswith((*_CALLERS, _DATASETS)):
                return None
            if _is_users(frame):
                return frame, bool(loading)
            loading = bool(loading)
        frame = frame.f_back
    return None


# The last instruction of a user that has read all variables at once.
_copying: tuple[object, int] | None = None


def _variable(name: str) -> None:
    frame = _reader_of_variables()
    if frame is None or name in _SESSION or name in THREADS:
        return
    if _copying != (frame.f_code, frame.f_lasti):
        _tell(frame, "variable", name)


def _copy() -> None:
    global _copying
    frame = _reader_of_variables()
    _copying = None if frame is None else (frame.f_code, frame.f_lasti)


def _reader_of_variables() -> FrameType | None:
    """Return the frame of a user's code that reads a variable itself, not through a library."""
    frame: FrameType | None = sys._getframe(3)
    own = {os.__file__, "<frozen os>", sys.modules["_collections_abc"].__file__}
    while frame is not None and frame.f_code.co_filename in (*own, "<frozen _collections_abc>"):
        frame = frame.f_back
    return frame if frame is not None and _is_users(frame) else None


def _is_users(frame: FrameType) -> bool:
    file = _file_of(frame)
    return bool(file) and not is_installed(file)


def _file_of(frame: FrameType) -> str:
    """Return the file of a frame; for code without a file, that of its module, or ''."""
    name = frame.f_code.co_filename
    return frame.f_globals.get("__file__") or "" if name.startswith("<") else name


@cache
def is_installed(path: str) -> bool:
    """Return True for a file of Python, of an installed package or of greedyexp."""
    path = os.path.realpath(path)
    library = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib"))
    installed = not _INSTALLED.isdisjoint(path.split(os.sep))
    return installed or path.startswith((_ROOT, *library))


@cache
def _system_places() -> tuple[str, ...]:
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, "/usr", "/usr/local", ""}
    return (*_SYSTEM, *(f"{prefix}/{name}/" for prefix in prefixes for name in _PLACES))


def _is_foreign(path: str, loading: bool) -> bool:
    """Return True for a file of the system, or for settings and caches of programs."""
    if path.startswith(_system_places()):
        return True
    own = os.path.relpath(path, os.path.expanduser("~"))
    return not loading and own.startswith(".") and not own.startswith("..")
