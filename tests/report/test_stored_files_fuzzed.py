"""Whatever stands in the files of a run folder, every reader answers in a sentence and in time."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import re
import shutil
import sqlite3
import time

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kept_registry import kept_registry

import greedyexp
from greedyexp import cli
from greedyexp.core.errors import UserError
from greedyexp.figures._plot import style
from greedyexp.runner.run_contents import digests_of
from greedyexp.runner.run_folder import folders

EXPERIMENT = """
name: small
trials: 3
data: {generator: gaussian, n_samples: 20, sparsity: 2, noise_std: 0.1, sweep: {p: [5, 8]}}
algorithms: [{omp: {n_atoms: 2, label: "OMP $k$"}}, forward_gdt]
metrics: [sign_support, support_size]
figures: [{comparison: {row: p, metrics: [support_size], title: "Size $k$"}}]
tables: [{comparison: {row: p, metrics: [support_size]}}]
claims: [{id: a, quote: b, test: "mean(forward_gdt, support_size) < 9"}]
"""
# Seconds of a processor that a reader may take.
PATIENCE = 20.0
TEXTS = ("config.yaml", "manifest.json", "claims.json", "outputs.json")
TABLES = ("small.csv", "timings.csv")

HOSTILE = [
    *(None, True, -1, 0, 1e308, 10**30, float("nan"), "", "\x1b[31mred\x07", "$" + "{" * 99 + "$"),
    *("\ud800", "../../etc/passwd", [], {}, [[]], {"": {}}, "x" * 100_000, "a\nb", "\0"),
]


def deep(levels):
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


values = st.sampled_from([*HOSTILE, deep(90), deep(600)]) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@pytest.fixture(scope="module", autouse=True)
def _coarse_figures():
    """Commands draw hundreds of figures, at which nobody looks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(style.SETTINGS, "savefig.dpi", 20)
        yield


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run, with its verdicts and figures."""
    folder = tmp_path_factory.mktemp("fuzzed")
    (folder / "small.yaml").write_text(EXPERIMENT)
    with kept_registry(), contextlib.redirect_stderr(io.StringIO()):
        out = folder / "results"
        assert (
            cli.main(["run", str(folder / "small.yaml"), "--engine", "serial", "--out", str(out)])
            == 0
        )
    (made,) = folders(out)
    return made


def places(value, path=()):
    """The paths to all values inside plain data."""
    yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, one in inner:
        yield from places(one, (*path, key))


def structural(draw, content: bytes, load, dump) -> bytes:
    """Replace, remove or rename one value of a mapping."""
    data = load(content)
    *above, last = draw(st.sampled_from([path for path in places(data) if path]))
    parent = data
    for key in above:
        parent = parent[key]
    how = draw(st.sampled_from(["replace", "replace", "remove", "rename"]))
    if how == "replace":
        parent[last] = draw(values)
    elif how == "rename" and isinstance(parent, dict):
        parent[draw(st.text(max_size=8))] = parent.pop(last)
    else:
        del parent[last]
    return dump(data).encode("utf-8", "surrogatepass")


def bytewise(draw, content: bytes) -> bytes:
    """Cut, repeat, overwrite or insert some bytes."""
    start = draw(st.integers(0, len(content)))
    end = draw(st.integers(start, min(len(content), start + 50)))
    insert = draw(
        st.binary(max_size=20)
        | st.sampled_from(
            [b"\0" * 9, b"\xff\xfe", b"[" * 5000, b"&a [*a]", b'"' * 3, b"," * 20_000]
        )
    )
    return content[:start] + insert + content[end:]


def cells(draw, content: bytes) -> bytes:
    """Change one cell, column or row of a table."""
    rows = [line.split(",") for line in content.decode().splitlines()]
    row, column = draw(st.integers(0, len(rows) - 1)), draw(st.integers(0, len(rows[0]) - 1))
    words = [
        "",
        "nan",
        "inf",
        "-1",
        "1e400",
        "9" * 50,
        "0.5",
        '"a,b"',
        "\x1b]0;x\x07",
        "x" * 200_000,
    ]
    how = draw(st.sampled_from(["cell", "cell", "column", "row", "short", "long"]))
    if how == "cell":
        rows[row][column] = draw(st.sampled_from(words) | st.text(max_size=5))
    elif how == "column":
        word = draw(st.sampled_from(words))
        rows = [
            line if index == 0 else [*line[:column], word, *line[column + 1 :]]
            for index, line in enumerate(rows)
        ]
    elif how == "row":
        rows = [*rows, rows[row]]
    else:
        rows[row] = rows[row][:column] if how == "short" else rows[row] * 2
    return "\n".join(",".join(line) for line in rows).encode("utf-8", "surrogatepass")


def resealed(folder) -> None:
    """Write the digests of the changed files into the manifest, as an attacker would."""
    with contextlib.suppress(Exception):
        manifest = json.loads((folder / "manifest.json").read_bytes())
        manifest["digests"] = digests_of(folder)
        (folder / "manifest.json").write_text(json.dumps(manifest))


def change_journal(draw, path) -> None:
    statements = [
        "UPDATE outcomes SET rows = '[[1]]'",
        "UPDATE outcomes SET seconds = 'long'",
        "UPDATE outcomes SET message = x'ff'",
        "UPDATE outcomes SET status = CAST(x'ff' AS TEXT)",
        "UPDATE outcomes SET facts = zeroblob(1000000)",
        "UPDATE meta SET value = x'00ff' WHERE name = 'shard'",
        "UPDATE meta SET value = '3/2' WHERE name = 'shard'",
        "UPDATE meta SET value = x'ff' WHERE name = 'origin'",
        "UPDATE meta SET value = 'a' || char(0) WHERE name = 'origin'",
        "UPDATE components SET content = '{}'",
        "UPDATE components SET content = '[' || content",
        "UPDATE components SET digest = 1 WHERE rowid = 1",
        "CREATE VIEW seen AS SELECT * FROM outcomes",
        "CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM outcomes; END",
        "ALTER TABLE outcomes RENAME COLUMN seconds TO minutes",
        "ALTER TABLE meta ADD COLUMN more GENERATED ALWAYS AS (length(name))",
        "DELETE FROM meta",
        "DROP TABLE components",
    ]
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(draw(st.sampled_from(statements)))
        database.commit()
    if draw(st.booleans()):
        path.write_bytes(bytewise(draw, path.read_bytes()))


def change(draw, folder) -> None:
    """Change one file of a run folder, with or without the digests of the manifest."""
    name = draw(st.sampled_from([*TEXTS, *TEXTS, *TABLES, "small.csv.gz", "journal.sqlite"]))
    path, whole = folder / name, draw(st.booleans())
    if name == "journal.sqlite":
        change_journal(draw, path)
    elif name == "small.csv.gz":
        table = folder / "small.csv"
        packed = gzip.compress(table.read_bytes())
        path.write_bytes(bytewise(draw, packed) if whole else packed[: len(packed) // 2])
        table.unlink()
    elif whole:
        path.write_bytes(bytewise(draw, path.read_bytes()))
    elif name in TABLES:
        path.write_bytes(cells(draw, path.read_bytes()))
    else:
        load, dump = (json.loads, json.dumps)
        if name.endswith("yaml"):
            load, dump = (yaml.safe_load, yaml.safe_dump)
        path.write_bytes(structural(draw, path.read_bytes(), load, dump))
    if draw(st.booleans()):
        resealed(folder)


def commands(folder, other, out):
    return [
        ["status", folder],
        ["verify", folder],
        ["plot", folder],
        ["explain", folder],
        ["compare", folder, other],
        ["compare", other, folder],
        ["report", folder, "--out", out / "site"],
        ["run", folder / "config.yaml", "--dry-run", "--out", out],
        ["merge", folder, "--into", out / "merged"],
    ]


def answered(arguments) -> str:
    """Call the command line; return what is wrong with its answer."""
    stream, before = io.StringIO(), time.process_time()
    with kept_registry(), contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        code = cli.main([*map(str, arguments)])
    said, seconds = stream.getvalue(), time.process_time() - before
    wrong = {
        f"exit code {code}": code not in range(7),
        "traceback": "Traceback" in said,
        "control characters": any(ord(one) < 32 and one not in "\n\t\r" for one in said),
        f"{seconds:.0f} s": seconds > PATIENCE,
        f"{len(said)} characters": len(said) > 20_000,
    }
    named = ", ".join(what for what, is_so in wrong.items() if is_so)
    return named and f"{arguments[0]}: {named}: {said[-1500:]}"


def in_manifest(**changes):
    def change(folder):
        path = folder / "manifest.json"
        path.write_text(json.dumps({**json.loads(path.read_bytes()), **changes}))

    return change


def in_settings(**changes):
    def change(folder):
        path = folder / "config.yaml"
        path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **changes}))
        resealed(folder)

    return change


def in_table(old, new):
    def change(folder):
        path = folder / "small.csv"
        assert old in path.read_bytes()
        path.write_bytes(path.read_bytes().replace(old, new))
        resealed(folder)

    return change


def in_column(name, *cells, rows=None):
    """Fill a column with these cells in turn, in a table of so many rows."""

    def change(folder):
        path = folder / "small.csv"
        header, *lines = csv.reader(path.read_text().splitlines())
        column = header.index(name)
        with path.open("w", newline="") as stream:
            write = csv.writer(stream).writerow
            write(header)
            for number in range(rows or len(lines)):
                line = lines[number % len(lines)]
                write([*line[:column], cells[number % len(cells)], *line[column + 1 :]])
        resealed(folder)

    return change


def packed(folder):
    (folder / "small.csv.gz").write_bytes(gzip.compress(bytes(600 << 20), 1))
    (folder / "small.csv").unlink()


def in_journal(statement):
    def change(folder):
        with contextlib.closing(sqlite3.connect(folder / "journal.sqlite")) as database:
            database.execute(statement)
            database.commit()

    return change


MANIFEST = ("status", "verify", "compare", "explain", "plot", "merge", "replay")
TABLE = ("verify", "compare", "plot", "replay")
JOURNAL = ("explain", "merge")
CASES = [
    (in_manifest(git=5), "manifest.json: .*git must be a mapping", MANIFEST),
    (in_manifest(jobs=-1), "manifest.json: .*jobs must be at least 0", MANIFEST),
    (in_manifest(merged=[{"packages": []}]), r"merged\[0\].packages", MANIFEST),
    (in_manifest(extra=deep(200)), "nested too deeply", MANIFEST),
    (in_settings(name=deep(200)), "config.yaml: .*nested more than 100", MANIFEST[:-1]),
    (in_settings(readings=[1]), r"config.yaml: readings\[0\]", MANIFEST[:-1]),
    (in_settings(name="../small"), "config.yaml: name: .*letters, digits", MANIFEST[:-1]),
    (in_table(b",ok,", b",o\0k,"), "small.csv: .*bytes of zero", TABLE),
    (in_table(b",ok,", b",\xff\xfe,"), "small.csv: .*utf-8", TABLE),
    (in_table(b",ok,", b",\x1b[31m" + b"y" * 10**6 + b","), r"status '\\x1b\[31myyy", TABLE),
    (in_table(b"sparsity,", b"sparsity," * 3000), "small.csv: .*more than 2000 columns", TABLE),
    (in_table(b"oracle", b"oracle,1"), "small.csv: .*more cells than its header", TABLE),
    (in_column("support_size", "1e308"), "'support_size' .* value 1e[+]308, .*1e[+]100", TABLE),
    (in_column("support_size", "1", "-inf"), "'support_size' .* the value -inf", TABLE),
    (in_column("p", "6", "5"), "column 'p' of the table has 6, which the settings", TABLE),
    (in_column("n_samples", *map(str, range(200_000)), rows=200_000), "'n_samples' .* 0,", TABLE),
    (
        in_column("algorithm", *("l" * 50_000 + one for one in "abc")),
        "has 'llll.* \\.\\.\\.",
        TABLE,
    ),
    (packed, "small.csv.gz: .*more than 512 MB", ("verify",)),
    (in_journal("CREATE VIEW v AS SELECT 1"), "not a journal of greedyexp", JOURNAL),
    (in_journal("UPDATE outcomes SET rows = x'00'"), "journal.sqlite: ", ("merge",)),
    (in_journal("UPDATE outcomes SET message = CAST(x'ff' AS TEXT)"), "not UTF-8", ("merge",)),
    (in_journal("UPDATE outcomes SET seconds = 'long'"), "journal.sqlite: ", JOURNAL),
]


@pytest.mark.parametrize(("changed", "words", "readers"), CASES)
def test_a_hostile_file_is_refused_in_a_sentence(
    finished, tmp_path, impatient, capsys, changed, words, readers
):
    folder = tmp_path / "small" / "quick"
    shutil.copytree(finished, folder)
    changed(folder)
    for arguments in commands(folder, finished, tmp_path):
        if arguments[0] in readers and arguments[1] == folder:
            with kept_registry():
                assert cli.main([*map(str, arguments)]) == 2, arguments
            said = capsys.readouterr().err
            assert re.search(words, said), (arguments, said)
            assert len(said.splitlines()) == 1
            assert len(said) < 1500


def check(examples, finished, tmp):
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=examples < 100,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def holds(data):
        shutil.rmtree(tmp, ignore_errors=True)
        folder = tmp / "small" / "quick"
        shutil.copytree(finished, folder)
        change(data.draw, folder)
        faults = [fault for one in commands(folder, finished, tmp) if (fault := answered(one))]
        with contextlib.suppress(UserError):
            run = greedyexp.open(folder)
            repr(run), run.rows, run.claims
        assert not faults, "\n".join(faults)

    holds()


def test_a_dozen_changed_files(finished, tmp_path, impatient):
    check(12, finished, tmp_path / "copy")


@pytest.mark.deep
def test_many_changed_files(finished, tmp_path, impatient):
    check(300, finished, tmp_path / "copy")
