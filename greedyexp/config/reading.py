"""YAML text as documents with places."""

from __future__ import annotations

from pathlib import Path

from greedyexp.config.document import Document, Place
from greedyexp.core.errors import ConfigError
from greedyexp.core.yaml_text import load_with_lines


def read_file(path: str | Path) -> Document:
    """Read a YAML file.

    Raises
    ------
    ConfigError
        If the file cannot be read, is not UTF-8 or is not YAML.
    """
    path = Path(path)
    place = str(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"the file cannot be read: {(error.strerror or str(error)).lower()}.", place=place
        ) from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            "the file is not UTF-8 text.", place=f"{place}:{line}", remedy="Save it as UTF-8."
        ) from None
    return read_text(text, place)


def read_text(text: str, source: str, *, lines: bool = True) -> Document:
    """Read YAML from a string.

    Parameters
    ----------
    text : str
        One YAML document.
    source : str
        Name of the text in errors.
    lines : bool
        False for a value on a command line, which has no line numbers.

    Raises
    ------
    ConfigError
        As ``load_with_lines``.
    """
    data, places = load_with_lines(text, source, lines=lines)
    return Document(data, {keys: Place(source, line) for keys, line in places.items()})
