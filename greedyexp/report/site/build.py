"""The folder of a report: pages, assets that they share, and copies of the files of runs."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tqdm import tqdm

from greedyexp import __version__
from greedyexp.core.errors import ConfigError, StorageError, UserError, lacks_memory, message_of
from greedyexp.core.files import make_folder, unwritable
from greedyexp.core.listing import CONTROL, duration, size
from greedyexp.core.trust import consent, consented
from greedyexp.report.source import places_of, run_folders
from greedyexp.runner.own_files import OwnFiles, note_left_alone
from greedyexp.stats.level import ALPHA, INTERVAL

if TYPE_CHECKING:
    from greedyexp.report.site.run_page import RunPage

# The list of the files of a report, by which its folder is known.
MARK = ".greedyexp-report"
# What pages may load: their own files. Browsers differ in whether these are one's own in a folder
# that is not served, so `file:` names them. Figures of plugins may have pictures inside.
POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:;"
    " img-src 'self' file: data:; base-uri 'none'; form-action 'none'"
)
_HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Report:
    """A report that has been written.

    Parameters
    ----------
    index : Path
        Its first page.
    runs : int
        Number of runs that have a page.
    errors : list of UserError
        Runs and comparisons without a page.
    files : frozenset of str
        Its files, by their paths below its folder.
    """

    index: Path
    runs: int
    errors: list[UserError]
    files: frozenset[str]


def build(
    path: Path,
    out: Path,
    *,
    compared: Sequence[tuple[Path, Path]] = (),
    jobs: int | None = None,
    progress: bool = False,
) -> Report:
    """Write a static HTML report of the runs at or below a path; run folders are not changed.

    Parameters
    ----------
    path : Path
    out : Path
        The folder to write. Files of an earlier report there are replaced or removed, unless they
        have been changed since; other files stay.
    compared : sequence of (Path, Path)
        Pairs of run folders to compare.
    jobs : int, optional
        Processes; by default one for each core.
    progress : bool
        Show a progress bar on stderr.

    Raises
    ------
    ConfigError
        If a package of the extra ``report`` is missing, or ``out`` has other files.
    StorageError
        If there is no run, no run can be read, or the folder cannot be written.
    """
    templates = _templates()
    folders = run_folders(path)
    _refuse_other_files(out, folders)
    from greedyexp.report.site.several_runs import comparison_page, index_page

    def run(place: str, page: RunPage) -> dict[str, bytes]:
        # The index must not fail for one of its lines.
        _page(templates, "index", index_page({place: page}, [], []), ".")
        return {**page.files, "index.html": _page(templates, "run", page.content, "../..")}

    def comparison(a: Path, b: Path, name: str) -> tuple[dict[str, Any], dict[str, bytes]]:
        content, files = comparison_page(a, b, name)
        return content, files | {f"{name}.html": _page(templates, "comparison", content, ".")}

    with _replacing(out) as draft:
        pages: dict[str, RunPage] = {}
        errors: list[UserError] = []
        done = zip(folders, places_of(folders), _pages(folders, jobs), strict=True)
        for folder, place, page in tqdm(
            done, "report", len(folders), ncols=79, disable=not progress
        ):
            files = page if isinstance(page, UserError) else _or_error(folder, run, place, page)
            if isinstance(files, UserError):
                errors.append(files)
                continue
            _write(draft / place, files)
            pages[place] = page
        if not pages:
            raise errors[0]
        comparisons = []
        for number, (a, b) in enumerate(compared, 1):
            name = f"comparison_{number}"
            made = _or_error(f"{a} and {b}", comparison, a, b, name)
            if isinstance(made, UserError):
                errors.append(made)
                continue
            _write(draft, made[1])
            comparisons.append({**made[0], "file": f"{name}.html"})
        content = index_page(pages, comparisons, [str(error) for error in errors])
        assets = {f"assets/{one.name}": one.read_bytes() for one in (_HERE / "assets").iterdir()}
        _write(draft, {"index.html": _page(templates, "index", content, "."), **assets})
        written = [path for path in draft.rglob("*") if path.is_file()]
        own = frozenset(path.relative_to(draft).as_posix() for path in written)
    return Report(out / "index.html", len(pages), errors, own)


def _templates() -> Any:
    """Return the templates.

    Raises
    ------
    ConfigError
        If a package of the extra ``report`` is not installed.
    """
    try:
        import jinja2
    except ImportError as error:
        raise ConfigError(
            f"a report needs the package '{error.name}', which is not installed.",
            remedy="Install it: pip install 'greedyexp[report]'.",
        ) from None
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    found.filters["json"] = _as_json
    found.filters["url"] = _as_url
    found.filters["size"] = size
    found.filters["duration"] = lambda seconds: "" if seconds is None else duration(seconds)
    found.globals["built"] = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    found.globals["version"] = __version__
    found.globals["policy"] = POLICY
    found.globals |= {"interval": INTERVAL, "alpha": f"{ALPHA:.0%}"}
    return found


def _as_json(value: Any) -> Any:
    """Return JSON for a script element, which ends at the first ``</``."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028"))  # noqa: S704 - escaped here


def _as_url(path: str) -> str:
    """Return a relative link to a file, whatever characters its path has."""
    return quote(os.fsencode(path))


def _pages(folders: Sequence[Path], jobs: int | None) -> Iterator[Any]:
    """Yield the page of each run, or the error that prevents it, in the order of the folders."""
    jobs = min(jobs or os.cpu_count() or 1, len(folders))
    if jobs == 1:
        yield from map(_page_or_error, folders)
        return
    make = partial(_page_or_error, trust=consented())
    # Plugins of one run may not meet those of another in one process; forks would copy threads.
    spawn = get_context("spawn")
    left = list(folders)
    with suppress(BrokenProcessPool), ProcessPoolExecutor(jobs, mp_context=spawn) as pool:
        for page in pool.map(make, folders):
            left.pop(0)
            yield page
    # A plugin has ended its process, and the pool with it. Each run that is left gets its own.
    for folder in left:
        with ProcessPoolExecutor(1, mp_context=spawn) as pool:
            yield _or_error(folder, pool.submit(make, folder).result)


def _page_or_error(folder: Path, trust: bool = False) -> Any:
    from greedyexp.report.site.run_page import run_page

    with consent(trust):
        return _or_error(folder, run_page, folder)


def _or_error(place: Path | str, make: Callable[..., Any], *given: Any) -> Any:
    """Return what is made of a run, or the error, so that one run does not cost the report."""
    try:
        return make(*given)
    except UserError as error:
        return error
    except Exception as error:
        if lacks_memory(error):
            remedy = "Close other programs, or raise the limit."
            return StorageError("there is not enough memory.", place=str(place), remedy=remedy)
        return StorageError(
            f"the page cannot be made ({type(error).__name__}: {message_of(error)}).",
            place=str(place),
            remedy="Look whether a file of the run was edited, or run the experiment again.",
        )


def _page(templates: Any, name: str, content: dict[str, Any], root: str) -> bytes:
    text: str = templates.get_template(f"{name}.html").render(page=content, root=root)
    # What is copied from a page must not control a terminal, and may have bytes that are no text.
    return CONTROL.sub("\ufffd", text).encode("utf-8", "replace")


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def _refuse_other_files(out: Path, folders: Sequence[Path]) -> None:
    if out.exists() and not out.is_dir():
        raise ConfigError("this is a file, not a folder.", place=str(out), remedy="Rename it.")
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).is_file():
        raise ConfigError(
            "this folder has other files and no report.",
            place=str(out),
            remedy="Name another folder by --out.",
        )
    place = out.resolve()
    for folder in (folder.resolve() for folder in folders):
        if place != folder and place not in folder.parents and folder not in place.parents:
            continue
        raise ConfigError(
            "this folder is that of a run, or lies in it, or has it inside.",
            place=str(out),
            remedy="Name another folder by --out.",
        )


@contextmanager
def _replacing(out: Path) -> Iterator[Path]:
    """Yield a folder for a report, whose files replace those of an earlier report at the end.

    All other files in ``out`` stay. The first page is written last, so a report that is new has it
    once it is complete.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="greedyexp-report-") as place:
            draft = Path(place)
            yield draft
            pages = sorted(
                (path for path in draft.rglob("*") if path.is_file()),
                key=lambda path: (path == draft / "index.html", path),
            )
            contents = {path.relative_to(draft).as_posix(): path for path in pages}
            make_folder(out)
            # An earlier version has not listed the files of its report.
            own = OwnFiles(out, MARK, {"report": contents})
            own.replace("report", __version__, contents)
            note_left_alone(own.left_alone)
    except OSError as error:
        raise unwritable(out, error) from error
