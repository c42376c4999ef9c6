"""Limits of stored files."""

from __future__ import annotations

import gzip
import io

import pytest

from greedyexp.core import stored


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "Expecting"),
        ("NaN", "not a finite number"),
        ("[1e999]", "not a finite number"),
        ("[" * 101 + "]" * 101, "nested too deeply"),
        ("[" * 100_000, "nested too deeply"),
        ('"\\ud800"', "surrogates not allowed"),
        ("9" * 5000, "limit"),
        (b"\xff", "decode"),
    ],
)
def test_json_that_others_cannot_read_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        stored.load_json(text)


def test_a_packed_file_that_grows_without_bounds_is_refused(monkeypatch):
    monkeypatch.setattr(stored, "_MOST_UNPACKED", 1 << 20)
    assert stored.unzipped(gzip.compress(bytes(1 << 20))) == bytes(1 << 20)
    packed = gzip.compress(bytes(8 << 20))
    with pytest.raises(ValueError, match="more than 1 MB"):
        stored.unzipped(packed)
    with pytest.raises(ValueError, match="ended before"):
        stored.unzipped(packed[:100])


def test_a_stream_is_read_to_its_limit():
    assert stored.read_bounded(io.BytesIO(b"abc"), 3) == b"abc"
    with pytest.raises(stored.OversizedError):
        stored.read_bounded(io.BytesIO(b"abcd"), 3)
