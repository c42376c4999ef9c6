"""Whether the code in a run folder may run.

A run folder has copies of the plugins of its experiment. They run if the user has run the same code
from an experiment, or has agreed to it: once (``--trust``) or for good (``greedyexp trust``). The
folder for settings of the user has the digests of all such code.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from greedyexp.core.errors import ConfigError, PluginError, StorageError
from greedyexp.core.listing import listed
from greedyexp.core.run_files import CLAIMS, CONFIG, JOURNAL, MANIFEST, OUTPUTS, PLUGINS, TIMINGS

# Names a folder to use instead of the one of the operating system.
VARIABLE = "GREEDYEXP_CONFIG"

# Files by which a folder with a ``config.yaml`` is known as that of a run; a stranger may have
# removed all but its code.
_OF_RUNS = (PLUGINS, MANIFEST, JOURNAL, OUTPUTS, CLAIMS, TIMINGS)
# Larger folders of plugins are refused.
_MOST_BYTES = 64_000_000
_MOST_FILES = 1000
_MOST_NAMED = 3

# What file managers leave in folders.
_OF_SYSTEMS = (".DS_Store", "Thumbs.db", "desktop.ini")

_consent: ContextVar[bool] = ContextVar("_consent", default=False)
# Digests of code that this process has run and could not remember.
_run_here: set[str] = set()
# Digests of the files whose code may run in this process, by the folder that has ``plugins/``.
_agreed: dict[Path, dict[Path, str]] = {}


class CodeNotRun(ConfigError):
    """Code of a run folder was not run, because the user has not agreed or it is missing."""


def plugin_files(home: Path, names: Sequence[str], folder: Path) -> list[Path]:
    """Return the plugin files of a run folder if they may run. Everything that runs them asks here.

    Parameters
    ----------
    home : Path
        The folder that has ``plugins/``.
    names : sequence of str
        The plugins in its ``config.yaml``.
    folder : Path
        The run folder, for messages.

    Raises
    ------
    CodeNotRun
        If the user has not agreed to this code, or a file is missing.
    StorageError
        If a name does not lead to a file below ``plugins/``, or there are links.
    """
    if not names:
        return []
    for name in names:
        parts = PurePosixPath(name).parts
        if len(parts) < 2 or parts[0] != PLUGINS or ".." in parts or "\\" in name:
            raise StorageError(
                f"the plugin {name!r} does not lie below {PLUGINS}/ in this run folder.",
                place=str(folder),
                remedy="Such a file is not run. Ask for a folder as `greedyexp run` has made it.",
            )
    files = stored_code(home)
    missing = [name for name in names if name not in files]
    if missing:
        raise CodeNotRun(
            f"there is no plugin file {missing[0]!r} in this folder.",
            place=str(folder),
            remedy="Ask for a folder with its plugins.",
        )
    digest = digest_of(files)
    if not (_consent.get() or digest in _run_here or digest in remembered()):
        raise CodeNotRun(
            f"you have not agreed to run the code of this folder ({listed(names, _MOST_NAMED)}).",
            place=str(folder),
            remedy=remedy_for(folder),
        )
    home = home.resolve()
    _agreed[home] = {
        home / name: hashlib.sha256(content).hexdigest() for name, content in files.items()
    }
    return [home / name for name in names]


def require_agreed(code: Path, file: Path, content: bytes | None = None) -> None:
    """Raise ``PluginError`` if code of a run folder reads a file there that is not agreed to.

    It may be code, or agreed code that somebody has replaced since.

    Parameters
    ----------
    code : Path
        The file of the code that reads. The paths have no links.
    file : Path
    content : bytes, optional
        What was read; by default the file is read.
    """
    for home, digests in _agreed.items():
        if code.is_relative_to(home) and file.is_relative_to(home):
            content = file.read_bytes() if content is None else content
            if digests.get(file) != hashlib.sha256(content).hexdigest():
                raise PluginError(
                    f"the plugin reads {file}, which is not among the files that you have agreed"
                    " to.",
                    place=str(code),
                    remedy="Ask for a folder as `greedyexp run` has made it.",
                )


def remedy_for(folder: Path) -> str:
    """Return the remedy if code of a run folder was not run."""
    return f"Look at the code, then use `greedyexp trust {shlex.quote(str(folder))}`."


def is_run_folder(config: Path) -> bool:
    """Return True if a YAML file is the ``config.yaml`` of a run folder."""
    # While a state is replaced, its files are in two places.
    config = config.resolve()
    home = config.parent.parent if config.parent.name.startswith(".") else config.parent
    near = (home, *home.glob(".[a-z]*"))
    return config.name == CONFIG and any(
        os.path.lexists(folder / name) for folder in near for name in _OF_RUNS
    )


def stored_code(home: Path) -> dict[str, bytes]:
    """Return the contents of the files below ``plugins/`` by their path.

    Files of file managers and stored bytecode, which is not run, are left out.

    Raises
    ------
    StorageError
        If there are links, special files, or more than anybody could look at.
    """
    files: dict[str, bytes] = {}
    waiting, count, size = [home / PLUGINS], 0, 0
    while waiting:
        path = waiting.pop()
        # A run may move its files meanwhile.
        with suppress(FileNotFoundError):
            about = path.lstat()
            count, size = count + 1, size + about.st_size
            if count > _MOST_FILES or size > _MOST_BYTES:
                raise _refused(home, "these files are too many or too large to be trusted.")
            if path.name in _OF_SYSTEMS or _is_bytecode(path):
                continue
            if stat.S_ISDIR(about.st_mode):
                waiting += islice(path.iterdir(), _MOST_FILES)
            elif not stat.S_ISREG(about.st_mode):
                raise _refused(home, "a file here is a link or a special file, so it is not run.")
            elif not str(path.relative_to(home)).isprintable():
                raise _refused(home, "a file here has a name that cannot be printed.")
            else:
                files[path.relative_to(home).as_posix()] = path.read_bytes()
    return files


def _is_bytecode(path: Path) -> bool:
    """Return True for the bytecode that Python stores; plugins are compiled from their sources."""
    return path.parent.name == "__pycache__" and path.suffix == ".pyc"


def _refused(home: Path, message: str) -> StorageError:
    remedy = "Ask for a folder as `greedyexp run` has made it."
    return StorageError(message, place=str(home / PLUGINS), remedy=remedy)


def digest_of(files: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of files with their names."""
    contents = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()


@contextmanager
def consent(given: bool = True) -> Iterator[None]:
    """Let the code of run folders run inside a ``with`` block, if ``given``."""
    token = _consent.set(given or _consent.get())
    try:
        yield
    finally:
        _consent.reset(token)


def consented() -> bool:
    """Return True inside ``consent``."""
    return _consent.get()


def remember(files: Mapping[str, bytes], folder: Path) -> None:
    """Remember that the user has agreed to code.

    Parameters
    ----------
    files : mapping of str to bytes
        Contents by the path below a run folder, as from ``stored_code``.
    folder : Path
        The run folder, which the list of remembered code shows.

    Raises
    ------
    OSError
        If the list cannot be written.
    """
    digest = digest_of(files)
    if digest in remembered():
        return
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    line = json.dumps({"digest": digest, "folder": str(folder.resolve()), "since": now})
    path = _list()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # One write at the end of the file, since several runs may remember at once.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        # It begins with a line end, since a full disk may have cut off the line before.
        os.write(descriptor, f"\n{line}\n".encode())
    finally:
        os.close(descriptor)


def remember_run(files: Mapping[str, bytes], folder: Path) -> None:
    """Remember code that the user runs from an experiment; for this process if it must be."""
    if files:
        try:
            remember(files, folder)
        except OSError:
            _run_here.add(digest_of(files))


def forget(digest: str) -> bool:
    """Forget code by its digest; return False if it was not remembered.

    Raises
    ------
    OSError
        If the list cannot be written.
    """
    entries = remembered()
    if entries.pop(digest, None) is None:
        return False
    path = _list()
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.writelines(f"{json.dumps(entry)}\n" for entry in entries.values())
    draft.replace(path)
    return True


def remembered() -> dict[str, dict[str, Any]]:
    """Return ``digest``, ``folder`` and ``since`` of all code that the user has agreed to."""
    try:
        lines = _list().read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    entries = {}
    for line in lines:
        try:
            entry = json.loads(line)
            entries[str(entry["digest"])] = entry
        except (ValueError, KeyError, TypeError, RecursionError):
            # Such as a line that was cut off by a full disk.
            continue
    return entries


def _list() -> Path:
    from platformdirs import user_config_path

    named = os.environ.get(VARIABLE, "")
    folder = Path(named) if named else user_config_path("greedyexp")
    if not folder.is_absolute():
        # It would be a folder below the current one, which may be somebody else's.
        raise FileNotFoundError(2, "the folder for settings must be an absolute path", str(folder))
    return folder / "trusted.jsonl"
