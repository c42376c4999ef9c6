"""Draw the figures and write the tables of a run from its CSV and its configuration."""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from greedyexp.core import registry
from greedyexp.core.errors import ConfigError, PluginError, UserError, last_line, message_of
from greedyexp.core.parts import Display
from greedyexp.core.plugins import exit_refused
from greedyexp.core.run_files import CONFIG
from greedyexp.core.signals import Interrupted
from greedyexp.core.trust import CodeNotRun
from greedyexp.experiment.design import Design, by_stem
from greedyexp.experiment.messages import dotted
from greedyexp.experiment.parameters import Parameters
from greedyexp.report.figure_notes import metadata, note_of
from greedyexp.report.kept import KeptFiles
from greedyexp.report.look import Look
from greedyexp.results.columns import (
    refuse_separation_by_results,
    separating_columns,
    settings_of,
    where_of,
    with_panels,
)
from greedyexp.results.records import (
    NO_SECONDS,
    NoSeconds,
    require_columns,
    rows_where,
    with_sizes,
)
from greedyexp.results.text import title_text
from greedyexp.runner.own_files import note_left_alone
from greedyexp.runner.run_contents import Run, read_run
from greedyexp.runner.run_folder import Replaced, retried

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(
    folder: Path,
    out: Path | None = None,
    *,
    keep: bool = False,
    look: Look | None = None,
    tell: Callable[[str], object] | None = None,
) -> list[Path]:
    """Draw the figures of one run folder under ``figures/`` and write its tables under ``tables/``.

    If a figure or a table fails, the others are still written.

    Parameters
    ----------
    folder : Path
        Contains ``config.yaml`` and the tidy table; the journal is not needed.
    out : Path, optional
        Write below this folder instead, for example because the run folder is read-only.
    keep : bool
        Keep figures and tables of the run folder that are up to date.
    look : Look, optional
        Which figures to draw, and how; a changed look needs ``out``. With names of figures or a
        changed look, no tables are written.
    tell : callable, optional
        Called with a sentence for each figure and table that needs seconds of fits which the run
        does not have, or code which the user has not agreed to run; its files stay as they are. By
        default this is an error.

    Returns
    -------
    list of Path
        Files written or kept: each figure as PNG and PDF, then each table as CSV, Markdown and
        LaTeX. Files that the user has edited or put in their places are not among them; they stay,
        and a note on stderr says so.

    Raises
    ------
    StorageError
        If the table or the configuration is missing or unreadable, or a file cannot be written.
    ConfigError
        If a figure or a table does not exist, has a wrong parameter, or names a column that the
        CSV does not have; the error names the entry of ``config.yaml``. An error without a file
        names the folder. If there are several errors, the first is raised after everything else is
        drawn.
    PluginError
        If a figure or a table of a plugin fails or has a wrong result; the error names the line.
    """
    try:
        return _drawn(folder, out, keep, look or Look(), tell)
    except UserError as error:
        if str(folder) not in (error.place or ""):
            error.place = ": ".join([str(folder), *([error.place] if error.place else [])])
        raise


@dataclass(frozen=True)
class Listed:
    """A figure or a table of the configuration.

    Parameters
    ----------
    kind : {"figure", "table"}
    index : int
        Its place in the list.
    name : str
    given : dict
        Its parameters as written.
    stem : str
        Name of its files, relative to the run folder and without a suffix.
    texts : dict
        Its ``title`` and ``caption``, as far as given.
    """

    kind: Literal["figure", "table"]
    index: int
    name: str
    given: dict[str, Any]
    stem: str
    texts: dict[str, str]

    @property
    def name_of_file(self) -> str:
        return self.stem.partition("/")[2]

    @property
    def settings(self) -> list[Any]:
        return [self.name, self.given, self.texts]


@retried
def _drawn(
    folder: Path,
    out: Path | None,
    keep: bool,
    look: Look,
    tell: Callable[[str], object] | None,
) -> list[Path]:
    source = read_run(folder)
    chosen = _chosen(listed(source.design), look)
    kept = KeptFiles(source, out)
    known = {one.stem: kept.files(one.stem, one.settings) if keep else None for one in chosen}
    if keep and all(known.values()):
        return [file for files in known.values() for file in files or ()]
    if source.frame.empty:
        return []
    drawing = Drawing(source, kept, look)
    written: list[Path] = []
    errors: list[Exception] = []
    for one in chosen:
        try:
            written += known[one.stem] or drawing.draw(one)
        except Replaced:
            raise
        except Exception as error:  # The others can still be drawn. The error is raised below.
            entry = f"{folder / CONFIG}: {dotted((f'{one.kind}s', one.index, one.name))}"
            if tell is not None and isinstance(error, (NoSeconds, CodeNotRun)):
                why = error if isinstance(error, CodeNotRun) else f"{NO_SECONDS}."
                tell(f"{entry} is left as it is: {why}")
                continue
            if isinstance(error, ConfigError):
                error.place = f"{entry}: {error.place}" if error.place else entry
            errors.append(error)
    note_left_alone(kept.left_alone)
    if errors:
        raise errors[0]
    return written


class Drawing:
    """Draw figures and write tables from one table of results.

    Parameters
    ----------
    source : Run
    kept : KeptFiles or None
        Where the files are written; None if none is.
    look : Look
    """

    def __init__(self, source: Run, kept: KeptFiles | None, look: Look):
        self._source, self._kept, self._look = source, kept, look
        # Figures that do not need the columns of a missing plugin are still drawn.
        self._measured = source.design.known_measured
        self._keys = [one.name for one in self._measured if one.apart]
        self._settings, self._sized = settings_of(source.frame), with_sizes(source.frame)

    def draw(self, one: Listed) -> list[Path]:
        """Draw one figure or write one table; return its files but for those of the user."""
        assert self._kept is not None
        if one.kind == "table":
            from greedyexp.tables._output import table_files

            table = self.table(one)
            contents = table_files(table, table.attrs["title"])
        else:
            contents = self._drawn(one)
        files = {f"{one.stem}.{suffix}": content for suffix, content in contents.items()}
        return self._kept.write(one.stem, one.settings, files)

    def _drawn(self, one: Listed) -> dict[str, bytes]:
        from greedyexp.figures._plot.typeset import typeset

        source, look = self._source, self._look
        note = note_of(source, one.texts.get("caption", ""), look.options(one.name_of_file))
        with self.picture(one) as picture:
            below = " ".join(picture.get_supxlabel().split())
            typeset(picture)
            if look.style == "paper":
                # A journal prints the note in the caption.
                picture.supxlabel("")
            return _saved(picture, {**note, "note": below}, look.formats)

    def table(self, one: Listed) -> pd.DataFrame:
        """Return one table, with its title in ``attrs``."""
        part = registry.find("table", one.name)
        with _plugin_guarded(part):
            params = self._params(part, one)
            table = _result(part, params, self._source, pd.DataFrame, "a pandas DataFrame")
            table.attrs.setdefault("title", part.title)
            return table

    @contextlib.contextmanager
    def picture(self, one: Listed) -> Iterator[Figure]:
        """Give one figure, drawn but not saved, inside a ``with`` block.

        Settings of matplotlib that it changes are restored at the end of the block.
        """
        part = registry.find("figure", one.name)
        with _plugin_guarded(part):
            params = self._params(part, one)
            source = self._source.altered(
                rows_where(self._source.frame, self._look.rows(part, params)),
                replace(self._source.context, title=self._title(one, params)),
            )
            with _drawn_by(part, params, source, self._look) as picture:
                yield picture

    def _params(self, part: Display, one: Listed) -> Mapping[str, Any]:
        """Return the parameters of a figure or a table.

        Raises
        ------
        ConfigError
            If a parameter is wrong, or names a column that the table does not have.
        CodeNotRun
            If the figure or table is code that was not run.
        """
        if part.stands_in:
            # Raises the reason.
            part.function()
        params = Parameters(part).read_all(one.given)
        refuse_separation_by_results(part, params, self._source.frame, self._keys)
        require_columns(self._sized, separating_columns(part, params))
        return with_panels(part, params, [self._settings], self._measured)

    def _title(self, one: Listed, params: Mapping[str, Any]) -> str:
        """Return the title of a figure; empty if the figure finds it itself."""
        if "title" in one.texts or not self._look.where:
            return one.texts.get("title", "")
        return title_text({**(params.get("where") or {}), **self._look.where}, self._source.context)


def _chosen(found: list[Listed], look: Look) -> list[Listed]:
    """Return the figures that are drawn, and the tables unless figures were asked for."""
    figures = look.chosen([one.name_of_file for one in found if one.kind == "figure"])
    tables = not (look.figures or look.changed)
    return [
        one for one in found if (tables if one.kind == "table" else one.name_of_file in figures)
    ]


def listed(design: Design) -> list[Listed]:
    """Return the figures, then the tables."""
    kinds: tuple[Literal["figure", "table"], ...] = ("figure", "table")
    return [
        Listed(kind, index, name, given, f"{kind}s/{stem}", design.texts(kind)[index])
        for kind in kinds
        for index, (stem, (name, given)) in enumerate(by_stem(design.drawn(kind)).items())
    ]


@contextlib.contextmanager
def _drawn_by(
    part: Display, params: Mapping[str, Any], source: Run, look: Look
) -> Iterator[Figure]:
    """Draw one figure in a style of the package; settings that it changes are restored."""
    import matplotlib
    from matplotlib.figure import Figure

    from greedyexp.figures._plot.style import use_style

    # A plugin may draw by pyplot, which keeps figures open.
    before = _open_figures()
    with matplotlib.rc_context():
        use_style(look.style, look.width)
        try:
            picture = _result(part, params, source, Figure, "a matplotlib Figure")
            yield picture
        finally:
            for number in _open_figures() - before:
                sys.modules["matplotlib.pyplot"].close(number)


def _open_figures() -> set[int]:
    pyplot = sys.modules.get("matplotlib.pyplot")
    return set(pyplot.get_fignums()) if pyplot else set()


def _result(part: Display, params: Mapping[str, Any], source: Run, wanted: type, words: str) -> Any:
    """Call a figure or a table. A plugin may change its frame and the working directory.

    A plugin with a parameter ``where`` gets the chosen rows alone, on which the check of
    averages relies.
    """
    folder = os.getcwd()
    rows = source.frame if part.shipped else rows_where(source.frame, where_of(params))
    try:
        result = part.function(rows.copy(), source.context, **params)
    finally:
        os.chdir(folder)
    if not isinstance(result, wanted):
        raise PluginError(
            f"{part.kind} '{part.name}' must return {words} but returned {type(result).__name__}.",
            place=part.place,
            remedy="Fix the plugin.",
        )
    return result


@contextlib.contextmanager
def _plugin_guarded(part: Display) -> Iterator[None]:
    """Turn exceptions of a plugin's figure or table into ``PluginError``.

    Exceptions that a user can fix are kept.
    """
    if part.shipped:
        try:
            yield
        except (ValueError, RecursionError) as error:
            frames = traceback.walk_tb(error.__traceback__)
            if any("mathtext" in frame.f_code.co_filename for frame, _ in frames):
                raise ConfigError(
                    f"{part.kind} '{part.name}' has a text with mathematics between dollar signs"
                    " that cannot be typeset.",
                    remedy=r"Correct its title and labels, or write \$ for a dollar sign.",
                ) from None
            raise
        return
    try:
        with exit_refused(lambda status: RuntimeError(f"it called os._exit({status})")):
            yield
    except (UserError, Interrupted):
        raise
    except BaseException as error:
        message = message_of(error).rstrip(".")
        raise PluginError(
            f"{part.kind} '{part.name}' raised {type(error).__name__}: {message}.",
            place=last_line(error, {inspect.getsourcefile(part.function) or ""}) or part.place,
            remedy="Fix the plugin; --traceback shows where it failed.",
        ) from error


def _saved(picture: Any, note: Mapping[str, Any], formats: Sequence[str]) -> dict[str, bytes]:
    """Return the files of a figure by their formats."""
    arrange(picture)
    files = {}
    for suffix, about in metadata(note).items():
        if suffix in formats:
            stream = io.BytesIO()
            picture.savefig(stream, format=suffix, metadata=about)
            files[suffix] = stream.getvalue()
    return files


def arrange(picture: Figure) -> None:
    """Find the layout once, for all formats: ``savefig`` would draw each file twice for it."""
    from matplotlib import rcParams

    engine = picture.get_layout_engine()
    dpi = rcParams["savefig.dpi"]
    if engine is not None and dpi != "figure":
        picture.set_dpi(dpi)
        engine.execute(picture)
        picture.set_layout_engine("none")
