"""``list``, ``show``, ``schema``: what a user can find out before writing a config."""

from __future__ import annotations

import json
import re

import pytest
from cli_process import PLUGIN, REPOSITORY, greedyexp, refused

from greedyexp.config import json_schema
from greedyexp.core import registry

DOCUMENTED = '''
from typing import Annotated, Literal

from pydantic import Field

from greedyexp import algorithm


@algorithm("documented", title="Documented", paper="Nobody 1900, equation 3", requires=("truth",))
def documented(
    problem,
    *,
    needed: int,
    fraction: Annotated[float, Field(gt=0, le=1, description="a share")] = 0.5,
    rule: Annotated[Literal["one", "two"], Field(description="a word")] = "one",
    sizes: Annotated[list[int] | None, Field(description="some sizes")] = None,
    cap: Annotated[float, Field(lt=9, description="a bound")] = 1,
):
    """First line.

    Second paragraph.

    Parameters
    ----------
    problem : Problem
        Only Python callers see this.

    Notes
    -----
    A note.

    Returns
    -------
    array
    """
'''


def test_list_is_aligned_and_plain_when_piped(tmp_path):
    result = greedyexp("list", "metrics", cwd=tmp_path)
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    # Other tests may have registered metrics of their own in this process.
    own = [
        name
        for name, part in registry.parts("metric").items()
        if part.function.__module__.startswith("greedyexp.")
    ]
    assert [line.split()[0] for line in lines] == own
    assert "\x1b" not in result.stdout
    starts = {re.match(r"\S+\s+", line).end() for line in lines}
    assert len(starts) == 1


def test_list_of_everything_has_each_kind_and_a_users_plugin(call, tmp_path, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "mine.py").write_text(PLUGIN)
    result = call("list", "--plugin", "mine.py", cwd=tmp_path)
    headings = [line for line in result.stdout.splitlines() if line and not line.startswith(" ")]
    assert headings == [
        "generators",
        "algorithms",
        "losses",
        "protocols",
        "metrics",
        "figures",
        "tables",
        "datasets",
        "configs",
    ]
    assert re.search(r"^  toy_exact +The truth itself\.$", result.stdout, re.MULTILINE)
    for config in (REPOSITORY / "configs").glob("*.yaml"):
        assert f"\n  {config.stem}" in result.stdout


def test_show_tells_type_default_range_and_description(call, tmp_path):
    (tmp_path / "mine.py").write_text(DOCUMENTED)
    text = call("show", "documented", "--plugin", "mine.py", cwd=tmp_path).stdout
    assert text.startswith(
        "algorithm documented: Documented\n\nFirst line.\n\nSecond paragraph.\n\n"
        "Notes\n-----\nA note.\n"
    )
    assert "Only Python callers" not in text
    assert "Returns" not in text
    assert re.search(r"^paper +Nobody 1900, equation 3$", text, re.MULTILINE)
    assert re.search(r"^requires +truth$", text, re.MULTILINE)
    table = [re.split(r"  +", line) for line in text.splitlines()[-6:]]
    assert table == [
        ["parameter", "type", "default", "range", "description"],
        ["needed", "int", "required"],
        ["fraction", "float", "0.5", "(0, 1]", "a share"],
        ["rule", "one | two", "one", "a word"],
        ["sizes", "list of int | none", "none", "some sizes"],
        ["cap", "float", "1", "< 9", "a bound"],
    ]


@pytest.mark.parametrize("kind", ["generator", "metric"])
def test_show_works_for_every_part_of_a_kind(kind):
    from greedyexp.cli.commands.show import part_words

    for name, part in registry.parts(kind).items():
        text = part_words(part)
        assert text.startswith(f"{kind} {name}: {part.title}")
        for parameter in part.parameters.model_fields:
            assert f"\n{parameter} " in text


def test_show_of_an_unknown_name_looks_over_all_kinds(call, tmp_path):
    refused(call("show", "gausian", cwd=tmp_path), "'gausian'", "Did you mean 'gaussian'?")
    refused(call("show", "row_suport", cwd=tmp_path), "Did you mean 'row_support'?")


def test_show_and_list_refuse_a_plugin_that_cannot_be_imported(call, tmp_path):
    (tmp_path / "broken.py").write_text("raise RuntimeError('no luck')\n")
    refused(call("list", "--plugin", "broken.py", cwd=tmp_path), "broken.py", "no luck")
    refused(call("show", "x", "--plugin", "absent.py", cwd=tmp_path), "absent.py")


def test_traceback_is_shown_only_when_asked_for(call, tmp_path):
    (tmp_path / "broken.py").write_text("raise RuntimeError('no luck')\n")
    before = call("--traceback", "list", "--plugin", "broken.py", cwd=tmp_path)
    after = call("list", "--plugin", "broken.py", "--traceback", cwd=tmp_path)
    for result in (before, after):
        assert result.returncode == 2
        assert "Traceback (most recent call last)" in result.stderr
        assert "RuntimeError: no luck" in result.stderr
        assert result.stderr.splitlines()[-1].startswith("Error: ")


def test_schema_prints_the_schema_of_experiments(call, tmp_path):
    result = call("schema", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == json_schema()
