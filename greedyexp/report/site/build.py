"""The folder of a report: pages, assets that they share, and copies of the files of runs."""

from __future__ import annotations

import base64
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import distribution
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tqdm import tqdm

from greedyexp import __version__
from greedyexp.core.errors import ConfigError, UserError
from greedyexp.report.source import run_folders
from greedyexp.runner.files import unwritable

# A file by which the folder of a report is known, so that only such a folder is replaced.
MARK = ".greedyexp-report"
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
        Runs that could not be read.
    """

    index: Path
    runs: int
    errors: list[UserError]


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
        The folder to write; an earlier report is replaced as a whole.
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
    from greedyexp.report.site.comparison_page import comparison_page
    from greedyexp.report.site.index_page import index_page

    with _replacing(out) as draft:
        pages, errors = [], []
        for found in tqdm(
            _pages(folders, jobs), "report", len(folders), ncols=79, disable=not progress
        ):
            if isinstance(found, UserError):
                errors.append(found)
                continue
            _write_run(found, draft, templates)
            pages.append(found)
        if not pages:
            raise errors[0]
        comparisons = []
        for number, (a, b) in enumerate(compared, 1):
            name = f"comparison_{number}"
            content, files = comparison_page(a, b, name)
            _write(draft / f"{name}.html", _page(templates, "comparison", content, "."))
            for file, data in files.items():
                _write(draft / file, data)
            comparisons.append({"title": content["title"], "file": f"{name}.html", **content})
        content = index_page(pages, comparisons, [str(error) for error in errors])
        _write(draft / "index.html", _page(templates, "index", content, "."))
        _write_assets(draft / "assets")
        _write(draft / MARK, f"{__version__}\n".encode())
    return Report(out / "index.html", len(pages), errors)


def _templates() -> Any:
    """Return the templates.

    Raises
    ------
    ConfigError
        If a package of the extra ``report`` is not installed.
    """
    try:
        import jinja2
        import plotly  # noqa: F401
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
    found.filters["size"] = _as_size
    found.filters["duration"] = _as_duration
    found.globals["built"] = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    found.globals["version"] = __version__
    return found


def _as_json(value: Any) -> Any:
    """Return JSON for a script element, which ends at the first ``</``."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028"))


def _as_size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{max(count / 1e3, 0.1):.1f} kB"


def _as_duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.3g} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _pages(folders: Sequence[Path], jobs: int | None) -> Iterator[Any]:
    """Yield the page of each run, or the error that prevents it, in the order of the folders."""
    jobs = min(jobs or os.cpu_count() or 1, len(folders))
    if jobs == 1:
        yield from map(_page_or_error, folders)
        return
    # Plugins of one run may not meet those of another in one process; forks would copy threads.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_page_or_error, folders)


def _page_or_error(folder: Path) -> Any:
    from greedyexp.report.site.run_page import run_page

    try:
        return run_page(folder)
    except UserError as error:
        return error


def _page(templates: Any, name: str, content: dict[str, Any], root: str) -> bytes:
    text: str = templates.get_template(f"{name}.html").render(page=content, root=root)
    return text.encode("utf-8")


def _write_run(page: Any, draft: Path, templates: Any) -> None:
    folder = draft / page.place
    _write(folder / "index.html", _page(templates, "run", page.content, "../.."))
    for name, data in page.files.items():
        _write(folder / name, data)
    # Pages without a server cannot read files, but they can load scripts.
    table = base64.b64encode(page.table).decode("ascii")
    _write(folder / "rows.js", f'greedyexp.table("{table}");\n'.encode())


def _write_assets(folder: Path) -> None:
    import plotly

    for file in sorted((_HERE / "assets").iterdir()):
        _write(folder / file.name, file.read_bytes())
    library = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    _write(folder / "plotly.min.js", library.read_bytes())
    notices = [one for one in distribution("plotly").files or () if one.name == "LICENSE.txt"]
    for notice in notices:
        _write(folder / "plotly.LICENSE.txt", notice.read_binary())


def _write(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def _refuse_other_files(out: Path, folders: Sequence[Path]) -> None:
    if out.exists() and not out.is_dir():
        raise ConfigError("this is a file, not a folder.", place=str(out), remedy="Rename it.")
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).is_file():
        raise ConfigError(
            "this folder has other files, which a report would replace.",
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
    """Yield a new folder that replaces ``out`` at the end, so that a report is whole or absent."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
        try:
            yield draft
            draft.chmod(0o755)
            if out.exists():
                shutil.rmtree(out)
            draft.rename(out)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise unwritable(out, error) from error
