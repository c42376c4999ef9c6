"""Drawing every figure of a run from its table and its resolved configuration."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path

import yaml

from greedyexp import registry
from greedyexp.errors import StorageError
from greedyexp.frames.context import Context
from greedyexp.report.folders import read_frame, table_of


def draw(folder: Path) -> list[Path]:
    """Draw the figures of one run folder as PNG and PDF under ``figures/``.

    Parameters
    ----------
    folder : Path
        Holds ``config.yaml`` and the table; the journal is not needed.

    Returns
    -------
    list of Path
        Files written, PNG before PDF.

    Raises
    ------
    StorageError
        When the table or the configuration is missing or unreadable.
    ConfigError
        When a figure does not exist or names a column that the table does not have.
    """
    import matplotlib.pyplot as plt

    from greedyexp.figures.style import use_style

    config_text, config = _read_config(folder / "config.yaml")
    table = table_of(folder)
    if table is None:
        raise StorageError("there is no table to draw from.", place=str(folder))
    registry.load_plugins([p for p in config.get("plugins", []) if Path(p).is_file()])
    frame = read_frame(table)
    if frame.empty:
        return []
    use_style()
    metadata = _metadata(folder, config_text)
    written = []
    for name, params, stem in _figures(config):
        part = registry.find("figure", name)
        model = part.parameters(**params)
        values = {key: getattr(model, key) for key in part.parameters.model_fields}
        picture = part.function(frame, _context(folder, config), **values)
        try:
            written += _save(picture, folder / "figures" / stem, metadata)
        finally:
            plt.close(picture)
    return written


def _read_config(path: Path) -> tuple[str, dict]:
    try:
        text = path.read_text(encoding="utf-8")
        config = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = str(error).partition("\n")[0]
        raise StorageError(f"not a readable configuration ({reason}).", place=str(path)) from None
    if not isinstance(config, dict) or "name" not in config:
        raise StorageError("this is not the configuration of a run.", place=str(path))
    return text, config


def _entries(items: list) -> list[tuple[str, dict]]:
    """``name`` or ``{name: parameters}`` as pairs."""
    return [(item, {}) if isinstance(item, str) else next(iter(item.items())) for item in items]


def _figures(config: dict) -> list[tuple[str, dict, str]]:
    """Name, parameters and file stem of each figure; a repeated name gets a number."""
    seen: dict[str, int] = {}
    result = []
    for name, params in _entries(config.get("figures", [])):
        seen[name] = seen.get(name, 0) + 1
        result.append((name, params or {}, name if seen[name] == 1 else f"{name}_{seen[name]}"))
    return result


def _context(folder: Path, config: dict) -> Context:
    known = registry.parts("algorithm")
    algorithms, titles = {}, {}
    for name, params in _entries(config["algorithms"]):
        label = (params or {}).get("label", name)
        algorithms[label] = name
        titles[label] = known[name].title if name in known and label == name else label
    paper = config.get("paper") or {}
    source = ", ".join(str(paper[k]) for k in ("key", "figure") if paper.get(k))
    return Context(
        name=config["name"],
        profile=folder.name,
        trials=config["trials"],
        source=source,
        algorithms=algorithms,
        titles=titles,
    )


def _metadata(folder: Path, config_text: str) -> dict[str, str]:
    commit = "unknown"
    manifest = folder / "manifest.json"
    # A figure can be drawn without knowing the commit.
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        commit = str(json.loads(manifest.read_text(encoding="utf-8"))["git"]["commit"])
    digest = hashlib.sha256(config_text.encode()).hexdigest()[:16]
    return {"config": digest, "commit": commit}


def _save(picture, stem: Path, metadata: dict[str, str]) -> list[Path]:
    note = f"greedyexp config {metadata['config']} commit {metadata['commit']}"
    files = [stem.with_suffix(".png"), stem.with_suffix(".pdf")]
    try:
        stem.parent.mkdir(parents=True, exist_ok=True)
        picture.savefig(files[0], metadata={"Description": note, "Software": "greedyexp"})
        # Without the creation date, the same table gives the same file.
        picture.savefig(files[1], metadata={"Subject": note, "CreationDate": None})
    except OSError as error:
        raise StorageError(
            f"the figure cannot be written ({error.strerror or error}).", place=str(stem.parent)
        ) from None
    return files
