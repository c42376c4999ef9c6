"""The experiments that come with greedyexp, found by name."""

from __future__ import annotations

from pathlib import Path

from greedyexp.core.errors import ConfigError, did_you_mean

PACKAGE = Path(__file__).resolve().parents[1]
# More files than this in a folder are not looked through for the one that was meant.
MOST_FILES = 50


def configs() -> dict[str, Path]:
    """Every shipped config by name: those inside the package, else those beside it (a checkout)."""
    for folder in (PACKAGE / "configs", PACKAGE.parent / "configs"):
        found = {path.stem: path for path in sorted(folder.glob("*.yaml"))}
        if found:
            return found
    return {}


def locate(source: str) -> Path:
    """The file a user means: a path, or the bare name of a shipped config.

    Raises
    ------
    ConfigError
        When there is no such file and no shipped config of that name.
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
        remedy=did_you_mean(path.name, [*known, *_beside(path)]),
    )


def _beside(path: Path) -> list[str]:
    """Names of the YAML files in the folder of an absent one; none of them when it is crowded."""
    try:
        names = [item.name for item in path.parent.iterdir() if item.suffix in (".yaml", ".yml")]
    except OSError:
        return []
    return names if len(names) <= MOST_FILES else []


def description(path: Path) -> str:
    """The description of a config, or an empty string when it has none or cannot be read."""
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return ""
    text = content.get("description", "") if isinstance(content, dict) else ""
    return str(text or "").strip()
