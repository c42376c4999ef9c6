"""Sources are parsed once, and what is remembered equals what would be parsed."""

from pathlib import Path

import pytest

import greedyexp
from greedyexp.core import parsed_sources
from greedyexp.core.parsed_sources import ParsedSource, _parse, parsed

FILES = sorted(Path(greedyexp.__file__).parent.glob("runner/*.py"))


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A cache of its own."""
    file = tmp_path / "cache" / "sources.json"
    monkeypatch.setattr(parsed_sources, "_cache_file", lambda: file)
    return file


def remembered(file: Path) -> dict[str, ParsedSource]:
    """Return the cache as the next process reads it, after this one has written it."""
    parsed_sources._write(file, parsed_sources._known(file))
    parsed_sources._known.cache_clear()
    return parsed_sources._known(file)


def test_the_next_process_does_not_parse(file, monkeypatch):
    texts = [path.read_text() for path in FILES]
    first = [parsed(text) for text in texts]
    assert len(remembered(file)) == len(FILES)
    assert first == [_parse(text) for text in texts]
    monkeypatch.setattr(parsed_sources, "_parse", None)
    assert [parsed(text) for text in texts] == first


def test_an_edit_is_parsed_and_comments_are_not_code(file):
    one, comment, other = (parsed(text).syntax for text in ("x = 1", "x = 1  # one", "x = 2"))
    assert one == comment != other


@pytest.mark.parametrize("content", ["[damaged", "[]", '{"a": 1}', '{"a": ["b", [1]]}'])
def test_a_damaged_cache_is_ignored(file, content):
    file.parent.mkdir()
    file.write_text(content)
    assert parsed("import os").imports[0].module == "os"
    assert len(remembered(file)) == 1


def test_a_cache_that_cannot_be_written_costs_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(parsed_sources, "_cache_file", lambda: tmp_path / "file" / "sources.json")
    assert parsed("from . import a").imports[0].level == 1
    parsed_sources._write(tmp_path / "file" / "sources.json", {})
