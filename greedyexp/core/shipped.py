"""The configs that come with greedyexp, and their JSON Schema."""

from __future__ import annotations

from pathlib import Path

from greedyexp.core.errors import ConfigError, did_you_mean

_PACKAGE = Path(__file__).resolve().parents[1]
SCHEMA = "greedyexp.schema.json"
# Folders with more files are not searched for a similar name.
_MOST_FILES = 50


def configs() -> dict[str, Path]:
    """Return all shipped configs by name, from the package or else from a checkout."""
    for folder in _folders():
        found = {path.stem: path for path in sorted(folder.glob("*.yaml"))}
        if found:
            return found
    return {}


def schema() -> Path:
    """Return the file with the JSON Schema of experiments, which lies beside the configs."""
    files = [folder / SCHEMA for folder in _folders()]
    return next((file for file in files if file.is_file()), files[0])


def _folders() -> tuple[Path, Path]:
    """Return the folder of the shipped configs in the package and that in a checkout."""
    return _PACKAGE / "configs", _PACKAGE.parent / "configs"


def locate(source: str) -> Path:
    """Return the file for a path or the name of a shipped config.

    Raises
    ------
    ConfigError
        If there is no such file and no shipped config of that name.
    """
    path = Path(source)
    if path.is_file():
        return path
    known = configs()
    name = source.removesuffix(".yaml")
    if name in known:
        return known[name]
    if path.is_dir():
        raise ConfigError("this is a folder, not a YAML file.", place=source)
    raise ConfigError(
        "there is no such file and no shipped config of that name.",
        place=source,
        remedy=did_you_mean(path.name, [*known, *_neighbours(path)]),
    )


def _neighbours(path: Path) -> list[str]:
    """Return the names of the YAML files in the folder of a missing file, unless there are many."""
    try:
        names = [item.name for item in path.parent.iterdir() if item.suffix in (".yaml", ".yml")]
    except OSError:
        return []
    return names if len(names) <= _MOST_FILES else []


def description(path: Path) -> str:
    """Return the description of a config; empty if it has none or cannot be read."""
    # Commands that read no YAML start without it.
    from greedyexp.core.yaml_text import load_yaml

    try:
        content = load_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ConfigError):
        return ""
    text = content.get("description", "") if isinstance(content, dict) else ""
    return str(text or "").strip()
