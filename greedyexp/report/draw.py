"""Drawing every figure and writing every table of a run from its CSV and its configuration."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pandas as pd

from greedyexp.core import registry
from greedyexp.core.errors import (
    ConfigError,
    Interrupted,
    PluginError,
    StorageError,
    UserError,
    last_line,
)
from greedyexp.core.parts import Display
from greedyexp.core.plugins import exit_refused
from greedyexp.experiment.design import Design
from greedyexp.experiment.messages import dotted
from greedyexp.experiment.parameters import Parameters
from greedyexp.protocols.measured import Measured
from greedyexp.report.source import Source, read_source
from greedyexp.report.tabulate import write_table
from greedyexp.results.averaging import settings_of, with_panels
from greedyexp.results.counts import require_columns
from greedyexp.results.results import refuse_told_by_results
from greedyexp.results.sizes import with_sizes
from greedyexp.runner.files import replacing
from greedyexp.runner.state import Replaced, retried, unchanged


def draw(folder: Path, out: Path | None = None) -> list[Path]:
    """Draw the figures of one run folder under ``figures/`` and write its tables under ``tables/``.

    One that cannot be drawn does not keep the others from it.

    Parameters
    ----------
    folder : Path
        Holds ``config.yaml`` and the tidy table; the journal is not needed.
    out : Path, optional
        Write below this folder instead, such as when the run folder is read-only.

    Returns
    -------
    list of Path
        Files written: each figure as PNG and PDF, then each table as CSV, Markdown and LaTeX.

    Raises
    ------
    StorageError
        When the table or the configuration is missing or unreadable, or a file cannot be written.
    ConfigError
        When a figure or a table does not exist, has a wrong parameter, or names a column that the
        CSV does not have; it names the entry of ``config.yaml``. An error that names no file names
        the folder. Of several errors it is the first, raised when all else is drawn.
    PluginError
        When a figure or a table of a plugin fails or returns something else; it names the line.
    """
    try:
        return retried(lambda: _drawn(folder, out))
    except UserError as error:
        if str(folder) not in (error.place or ""):
            error.place = ": ".join([str(folder), *([error.place] if error.place else [])])
        raise


def _drawn(folder: Path, out: Path | None) -> list[Path]:
    source = read_source(folder)
    if source.frame.empty:
        return []
    note = _fingerprint(source)
    written: list[Path] = []
    errors: list[Exception] = []
    measured = _measured(source.design)
    keys = [one.name for one in measured if one.apart]
    settings, sized = settings_of(source.frame), with_sizes(source.frame)
    for kind in ("figure", "table"):
        for index, (name, given, stem) in enumerate(_listed(source.design, kind)):
            try:
                part = registry.find(kind, name)
                target = (out or folder) / f"{kind}s" / stem
                writing = nullcontext() if out else unchanged(source.state)
                with _plugin_guarded(part):
                    params = Parameters(part).read_all(given)
                    refuse_told_by_results(part, params, source.frame, keys)
                    require_columns(sized, _apart(part, params))
                    params = with_panels(part, params, [settings], measured)
                    if kind == "figure":
                        written += _draw(part, params, source, target, note, writing)
                    else:
                        written += _tabulate(part, params, source, target, writing)
            except Replaced:
                raise
            except Exception as error:  # The others can still be drawn; it is raised below.
                if isinstance(error, ConfigError):
                    entry = f"{folder / 'config.yaml'}: {dotted((f'{kind}s', index, name))}"
                    error.place = f"{entry}: {error.place}" if error.place else entry
                errors.append(error)
    if errors:
        raise errors[0]
    return written


def _apart(part: Display, params: dict) -> list[str]:
    """The columns that separate the points of a figure or a table; none if it does not say."""
    apart = part.apart
    return list(apart(**params)) if apart else []


def _measured(design: Design) -> list[Measured]:
    """The columns of the protocol."""
    # If the protocol no longer exists or was edited, figures that do not need it are still drawn.
    with contextlib.suppress(ConfigError):
        return design.measured
    return []


def _listed(design: Design, kind: str) -> Iterator[tuple[str, dict, str]]:
    """Name, parameters and file stem of each figure or table; a repeated name gets a number."""
    seen: dict[str, int] = {}
    for name, given in design.drawn(kind):
        seen[name] = seen.get(name, 0) + 1
        yield name, given, name if seen[name] == 1 else f"{name}_{seen[name]}"


def _fingerprint(source: Source) -> str:
    commit = "unknown"
    # A figure can be drawn without knowing the commit.
    with contextlib.suppress(TypeError, KeyError):
        commit = str(source.state.manifest["git"]["commit"])
    digest = hashlib.sha256(source.state.config_text.encode()).hexdigest()[:16]
    return f"greedyexp config {digest} commit {commit}"


def _draw(
    part: Display,
    params: dict,
    source: Source,
    stem: Path,
    note: str,
    writing: AbstractContextManager,
) -> list[Path]:
    """Draw one figure in the package's style; settings that it changes are restored."""
    import matplotlib
    from matplotlib.figure import Figure

    from greedyexp.figures.style import use_style

    # A plugin may draw by pyplot, which keeps figures open.
    before = _open_figures()
    with matplotlib.rc_context():
        use_style()
        try:
            picture = _made(part, params, source)
            _refuse_other(part, picture, Figure, "a matplotlib Figure")
            with writing:
                return _save(picture, stem, note)
        finally:
            for number in _open_figures() - before:
                sys.modules["matplotlib.pyplot"].close(number)


def _open_figures() -> set[int]:
    pyplot = sys.modules.get("matplotlib.pyplot")
    return set(pyplot.get_fignums()) if pyplot else set()


def _tabulate(
    part: Display, params: dict, source: Source, stem: Path, writing: AbstractContextManager
) -> list[Path]:
    made = _made(part, params, source)
    _refuse_other(part, made, pd.DataFrame, "a pandas DataFrame")
    with writing:
        return write_table(made, made.attrs.get("title", part.title), stem)


def _made(part: Display, params: dict, source: Source):
    """What a figure or a table returns; a plugin may change its frame and the folder."""
    folder = os.getcwd()
    try:
        return part.function(source.frame.copy(), source.context, **params)
    finally:
        os.chdir(folder)


def _refuse_other(part: Display, made, wanted: type, words: str) -> None:
    if not isinstance(made, wanted):
        raise PluginError(
            f"{part.kind} '{part.name}' must return {words} but returned {type(made).__name__}.",
            place=part.place,
            remedy="Fix the plugin.",
        )


@contextlib.contextmanager
def _plugin_guarded(part: Display) -> Iterator[None]:
    """Report what a figure or a table of a plugin raises as a mistake of its author.

    Raises
    ------
    PluginError
        Instead of any exception but one that a user can mend.
    """
    if part.shipped:
        yield
        return
    try:
        with exit_refused(lambda status: RuntimeError(f"it called os._exit({status})")):
            yield
    except (UserError, Interrupted):
        raise
    except BaseException as error:
        said = " ".join(str(error).split()).rstrip(".")
        raise PluginError(
            f"{part.kind} '{part.name}' raised {type(error).__name__}: {said}.",
            place=last_line(error, {inspect.getsourcefile(part.function)}) or part.place,
            remedy="Fix the plugin; --traceback shows where it failed.",
        ) from error


def _save(picture, stem: Path, note: str) -> list[Path]:
    files = [stem.with_suffix(".png"), stem.with_suffix(".pdf")]
    try:
        stem.parent.mkdir(parents=True, exist_ok=True)
        with replacing(files[0]) as stream:
            about = {"Description": note, "Software": "greedyexp"}
            picture.savefig(stream, format="png", metadata=about)
        # Without the creation date, the same table gives the same file.
        with replacing(files[1]) as stream:
            about = {"Subject": note, "CreationDate": None}
            picture.savefig(stream, format="pdf", metadata=about)
    except (OSError, StorageError) as error:
        system = error if isinstance(error, OSError) else error.__cause__
        raise StorageError(
            f"the figure cannot be written ({getattr(system, 'strerror', None) or error}).",
            place=str(stem.parent),
        ) from None
    return files
