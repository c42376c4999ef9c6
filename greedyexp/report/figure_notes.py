"""What a figure says about its rows, in the metadata of its files, and the run it belongs to."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from greedyexp.core.errors import StorageError
from greedyexp.core.files import read_bytes, reason
from greedyexp.core.stored import load_json
from greedyexp.runner.run_contents import Run, read_run
from greedyexp.runner.run_folder import RunFolder, folders, retried

_FORMATS = (".png", ".pdf")
_MARK = "greedyexp "
_REMEDY = "Name a figure that greedyexp has drawn, or the folder of a run."
# matplotlib writes a text in brackets, in which brackets and backslashes are escaped.
_SUBJECT = re.compile(rb"/Subject \(((?:[^()\\]|\\.)*)\)")
_ESCAPED = re.compile(rb"\\(.)")


def note_of(source: Run, caption: str = "", options: str = "") -> dict[str, Any]:
    """Return name, profile and seed of a run, its commit, digests and a command.

    There are no dates or folders in it, so the same rows give the same bytes.

    Parameters
    ----------
    source : Run
    caption : str
        What to see in the figure; left out if empty.
    options : str
        Options of the command.

    Returns
    -------
    dict
        ``rows`` is the SHA-256 of the table, and ``command`` draws the figure from it. ``config``
        is a digest of ``config.yaml``. ``commit`` is None if the run has none.
    """
    design, commit = source.design, None
    # A figure can be drawn without the commit.
    with contextlib.suppress(TypeError, KeyError):
        commit = source.manifest["git"]["commit"]
    return {
        "name": design.name,
        "profile": design.profile,
        "seed": design.settings.get("seed"),
        "commit": commit,
        "config": hashlib.sha256(source.config_text.encode()).hexdigest()[:16],
        "rows": source.digests["table"],
        "command": f"greedyexp plot {shlex.quote(f'{design.name}/{design.profile}')}{options}",
        **({"caption": caption} if caption else {}),
    }


def metadata(note: Mapping[str, Any]) -> dict[str, dict[str, str | None]]:
    """Return the metadata of a figure's files by their format, for ``savefig``."""
    text = _MARK + json.dumps(dict(note))
    return {
        "png": {"Description": text, "Software": "greedyexp"},
        # Without the creation date, the same table gives the same file.
        "pdf": {"Subject": text, "CreationDate": None},
        "svg": {"Description": text, "Date": None},
    }


def is_figure(path: Path) -> bool:
    """Return True if a path names a PNG or PDF, which need not exist, and not a folder."""
    return path.suffix.lower() in _FORMATS and not path.is_dir()


def read_note(figure: Path) -> dict[str, Any]:
    """Return what a figure says about its rows; see ``note_of``.

    Parameters
    ----------
    figure : Path
        A PNG or PDF drawn by greedyexp.

    Raises
    ------
    StorageError
        If the file cannot be read or says nothing about its rows.
    """
    try:
        place = figure.resolve()
        content = read_bytes(place, place.parent)
    except (OSError, ValueError) as error:
        raise StorageError(
            f"this figure cannot be read: {reason(error)}.",
            place=str(figure),
            remedy=_REMEDY,
        ) from error
    text = _png_text(figure, content) if figure.suffix.lower() == ".png" else _pdf_text(content)
    try:
        note = load_json(text.removeprefix(_MARK)) if text.startswith(_MARK) else None
    except ValueError:
        note = None
    needed = ("name", "profile", "rows")
    if not isinstance(note, dict) or not all(isinstance(note.get(key), str) for key in needed):
        raise StorageError(
            "this figure does not say from which rows it was drawn.",
            place=str(figure),
            remedy="Name the folder of its run, or draw it again with `greedyexp plot`.",
        )
    return note


def run_of(figure: Path) -> Path:
    """Return the run folder with the rows of a figure.

    The run whose folder holds the figure is tried first, then all runs of its name below the folder
    ``results`` and below that of the figure.

    Raises
    ------
    StorageError
        If the figure says nothing about its rows, or no run has these rows.
    """
    note = read_note(figure)
    # A figure lies in a folder of its run.
    above = figure.resolve().parent.parent
    own = above if RunFolder(above).has_settings else None
    if own is not None and _has_rows(own, note["rows"]):
        return own
    for folder in (one for place in (Path("results"), figure.parent) for one in folders(place)):
        if folder.resolve().parent.name == note["name"] and _has_rows(folder, note["rows"]):
            return folder
    wrong = "no run here has the rows of this figure"
    if own is not None:
        wrong = f"the rows of the run in {own} are not those of this figure"
    raise StorageError(
        f"{wrong} ({note['name']}, {note['profile']}, rows {note['rows'][:12]}).",
        place=str(figure),
        remedy="Name the folder of the run, or draw the figure again with `greedyexp plot`.",
    )


def _has_rows(folder: Path, digest: str) -> bool:
    try:
        opened = retried(read_run)(folder)
    except StorageError:
        return False
    return opened.digests["table"] == digest


def _png_text(figure: Path, content: bytes) -> str:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(content)) as picture:
            return str(getattr(picture, "text", {}).get("Description", ""))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise StorageError(
            "this is not a PNG picture.",
            place=str(figure),
            remedy=_REMEDY,
        ) from error


def _pdf_text(content: bytes) -> str:
    found = _SUBJECT.search(content)
    return _ESCAPED.sub(rb"\1", found.group(1)).decode("latin-1") if found else ""
