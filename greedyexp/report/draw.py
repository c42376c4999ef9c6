"""Drawing every figure and writing every table of a run from its CSV and its configuration."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from greedyexp import registry
from greedyexp.errors import ConfigError, StorageError, UserError
from greedyexp.experiment.mistakes import dotted
from greedyexp.experiment.parameters import Parameters
from greedyexp.experiment.protocol import measured_of
from greedyexp.frames.entries import entries
from greedyexp.frames.results import refuse_told_by_results
from greedyexp.report.source import Source, read_source
from greedyexp.report.tabulate import write_table
from greedyexp.runner.files import replacing


def draw(folder: Path) -> list[Path]:
    """Draw the figures of one run folder under ``figures/`` and write its tables under ``tables/``.

    One that cannot be drawn does not keep the others from it.

    Parameters
    ----------
    folder : Path
        Holds ``config.yaml`` and the tidy table; the journal is not needed.

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
    """
    try:
        return _drawn(folder)
    except UserError as error:
        if str(folder) not in (error.place or ""):
            error.place = ": ".join([str(folder), *([error.place] if error.place else [])])
        raise


def _drawn(folder: Path) -> list[Path]:
    from greedyexp.figures.style import use_style

    source = read_source(folder)
    if source.frame.empty:
        return []
    use_style()
    note = _fingerprint(source)
    written: list[Path] = []
    errors: list[Exception] = []
    keys = _keys_of(source.config)
    for kind in ("figure", "table"):
        for index, (name, given, stem) in enumerate(_listed(source.config, kind)):
            try:
                part = registry.find(kind, name)
                params = Parameters(part).read_all(given)
                refuse_told_by_results(part, params, source.frame, keys)
                made = part.function(source.frame, source.context, **params)
                target = folder / f"{kind}s" / stem
                if kind == "figure":
                    written += _save(made, target, note)
                else:
                    written += write_table(made, made.attrs.get("title", part.title), target)
            except Exception as error:  # The others can still be drawn; it is raised below.
                if isinstance(error, ConfigError):
                    entry = f"{folder / 'config.yaml'}: {dotted((f'{kind}s', index, name))}"
                    error.place = f"{entry}: {error.place}" if error.place else entry
                errors.append(error)
    if errors:
        raise errors[0]
    return written


def _keys_of(config: dict) -> list[str]:
    """Columns of the protocol by which figures may tell lines and panels apart."""
    # A protocol that is no more, or a setting of it that was edited, leaves all the others.
    with contextlib.suppress(ConfigError):
        return [one.name for one in measured_of(config) if one.apart]
    return []


def _listed(config: dict, kind: str) -> Iterator[tuple[str, dict, str]]:
    """Name, parameters and file stem of each figure or table; a repeated name gets a number."""
    seen: dict[str, int] = {}
    for name, given in entries(config, f"{kind}s"):
        seen[name] = seen.get(name, 0) + 1
        yield name, given, name if seen[name] == 1 else f"{name}_{seen[name]}"


def _fingerprint(source: Source) -> str:
    commit = "unknown"
    manifest = source.folder / "manifest.json"
    # A figure can be drawn without knowing the commit.
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        commit = str(json.loads(manifest.read_text(encoding="utf-8"))["git"]["commit"])
    digest = hashlib.sha256(source.config_text.encode()).hexdigest()[:16]
    return f"greedyexp config {digest} commit {commit}"


def _save(picture, stem: Path, note: str) -> list[Path]:
    import matplotlib.pyplot as plt

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
    finally:
        plt.close(picture)
    return files
