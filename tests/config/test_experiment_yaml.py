"""Reading YAML: the scalars of YAML 1.2, lines, and files that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from experiment_parts import message

from greedyexp.config.document import Document, Place, read_file, read_text
from greedyexp.core.errors import ConfigError
from greedyexp.core.yaml_text import dump_yaml, load_yaml


def value(text):
    return read_text(text, "x.yaml").data


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e-4", 1e-4),
        ("1E5", 1e5),
        ("-2.5e+3", -2500.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("1_000", 1000),
        ("-7", -7),
        ("0", 0),
        (".inf", float("inf")),
        ("-.inf", float("-inf")),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("yes", "yes"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("010", "010"),
        ("2020-01-01", "2020-01-01"),
        ("e5", "e5"),
        (".", "."),
        ("-", None),
        ("'1e-4'", "1e-4"),
        ("1.2.3", "1.2.3"),
    ],
)
def test_scalars(text, expected):
    got = value(f"[{text}]" if text != "-" else "- ")
    assert got == ([] if text == "" else [expected])
    if got:
        assert type(got[0]) is type(expected)


def test_nan_is_a_number():
    assert value("a: .nan")["a"] != value("a: .nan")["a"]


def test_keys_are_their_text():
    assert value("1: a\ntrue: b\n0.30: c\n") == {"1": "a", "true": "b", "0.30": "c"}


def test_places_of_keys_and_items():
    doc = read_text("a: 1\nb:\n  c: [1,\n      2]\n  d:\n    - x\n    - y: 3\n", "f.yaml")
    lines = {
        ("a",): 1,
        ("b",): 2,
        ("b", "c"): 3,
        ("b", "c", 0): 3,
        ("b", "c", 1): 4,
        ("b", "d"): 5,
        ("b", "d", 0): 6,
        ("b", "d", 1, "y"): 7,
        ("b", "d", 1, "y", "nothing", "here"): 7,
        (): 1,
    }
    assert {keys: doc.place(keys).line for keys in lines} == lines


def test_places_follow_what_is_replaced_and_removed():
    doc = read_text("a:\n  - 1\n  - 2\nb:\n  c: 3\n", "f.yaml")
    doc.graft(("a",), Document([7, 8], {(): Place("--set a")}))
    assert (doc.data["a"], doc.place(("a", 1))) == ([7, 8], Place("--set a"))
    doc.remove(("b", "c"))
    assert (doc.data["b"], doc.place(("b", "c"))) == ({}, Place("f.yaml", 4))


def test_aliases_and_merge_keys():
    text = "base: &b {p: 1, s: 2}\nother: {<<: *b, s: 3}\ntwo: {<<: [{p: 5}, *b]}\nsame: *b\n"
    assert value(text) == {
        "base": {"p": 1, "s": 2},
        "other": {"p": 1, "s": 3},
        "two": {"p": 5, "s": 2},
        "same": {"p": 1, "s": 2},
    }


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: [1\nb: 2", 2, "not valid YAML"),
        ("a: 1\n\tb: 2", 2, "tab"),
        ("a: b: c", 1, "not valid YAML"),
        ("a: 1\na: 2", 2, "the key 'a' is given twice (first in line 1)"),
        ("x:\n  a: {b: 1, c: 2,\n    b: 3}", 3, "'b' is given twice (first in line 2)"),
        ("a: 1\n---\nb: 2", 2, "another document"),
        ("a: *nobody", 1, "undefined alias"),
        ("a: &x [*x]", 1, "alias"),
        ("a: 1\n? [1, 2]\n: 3", 2, "a key must be a word"),
        ("a: 1\nb: !!python/object:os.system x", 2, "tag"),
        ("a: 1\nb: !!int x", 2, "cannot be read as a number"),
        ("a: " + "9" * 5000, 1, "cannot be read as a number"),
        ("<<: 3", 1, "'<<' takes a mapping"),
    ],
)
def test_bad_yaml_names_the_line(text, line, words):
    with pytest.raises(ConfigError) as caught:
        read_text(text, "x.yaml")
    assert caught.value.place == f"x.yaml:{line}"
    assert words in caught.value.message


def test_control_characters_are_refused():
    with pytest.raises(ConfigError, match=r"the text contains the character U\+0000"):
        read_text("a: 1\nb: \x00", "x.yaml")


def test_exponential_aliases_are_refused():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 9)]
    with pytest.raises(ConfigError, match="more than 100000 values"):
        read_text("\n".join(lines), "x.yaml")


def test_deep_nesting_is_refused():
    with pytest.raises(ConfigError, match=r"x\.yaml"):
        read_text("[" * 5000, "x.yaml")


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    assert "no such file" in message(tmp_path / "transitions.yaml")
    assert "cannot be read" in message(tmp_path)
    latin = tmp_path / "latin.yaml"
    latin.write_bytes("name: a\ndescription: café\n".encode("latin-1"))
    assert message(latin).startswith(f"{latin}:2: the file is not UTF-8")
    empty = tmp_path / "empty.yaml"
    for text in ("", "# nothing\n", "---\n"):
        empty.write_text(text)
        assert "the file is empty" in message(empty)
    for text in ("- a\n- b\n", "just words"):
        empty.write_text(text)
        assert "must be" in message(empty) or "is a mapping of settings" in message(empty)

    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert "cannot be read: permission denied" in message(latin)


def test_a_byte_order_mark_is_no_text(tmp_path):
    path = tmp_path / "bom.yaml"
    path.write_bytes(b"\xef\xbb\xbfname: a\n")
    assert read_file(path).data == {"name": "a"}


def test_texts_that_look_like_numbers_come_back_as_texts():
    words = [
        "1e5",
        "1E-4",
        ".5",
        "5.",
        "010",
        "yes",
        "12:30",
        "null",
        "~",
        "=",
        "<<",
        "0x1f",
        "1_0",
    ]
    data = {"label": words, **dict.fromkeys(words, 1e16), "numbers": [1e-5, 1e16, 3, True, None]}
    assert load_yaml(dump_yaml(data)) == data


LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join(9 * [f'*a{i - 1}'])}]\n" for i in range(1, 30)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LAUGHS, "more than 100000 values"),
        ("#" * 10_000_001, "more than 10000000 characters"),
        ("a: &a " + "x" * 200_000 + "\nb: [" + "*a, " * 100 + "]", "more than 10000000 characters"),
        ("a: " + "[" * 500 + "]" * 500, "nested more than 100 levels deep"),
        ("a: " + "{<<: " * 500 + "{}" + "}" * 500, "nested more than 100 levels deep"),
        ("[" * 100_000, "exceeded maximum nesting depth"),
    ],
    ids=["laughs", "comment", "texts", "levels", "merges", "brackets"],
)
def test_texts_that_stand_for_too_much_are_refused_at_once(text, words):
    with pytest.raises(ConfigError, match=words):
        load_yaml(text)
