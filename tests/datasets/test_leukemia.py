"""The leukemia data: read by position, pinned by values, fetched file by file."""

from __future__ import annotations

import csv
import gzip
import hashlib
from dataclasses import replace

import data_sets
import numpy as np
import pytest
from cli_process import refused

from greedyexp.core.errors import DataError
from greedyexp.datasets import catalogue, fetching, places
from greedyexp.datasets.catalogue import Member
from greedyexp.datasets.leukemia import AML, DATASET, load, values

GENES = ["AFFX-BioB_at", "X1_s_at", "D2_f_at", "Z3_at"]
# Samples of the two files, in the disorder of the real ones, and the classes of 26 to 31.
NUMBERS = ([27, 31, 26], [29, 28, 30])
CLASSES = [1, 1, -1, -1, -1, -1]

real = pytest.mark.skipif(
    places.find(DATASET) is None, reason="leukemia is neither in GREEDYEXP_DATA nor fetched"
)
own = places.own_folder()
needs_csv = pytest.mark.skipif(
    own is None or not (own / "leukemia" / "leukemia.arff.gz").is_file(),
    reason="GREEDYEXP_DATA names no folder with other copies of the leukemia data",
)


def table(seed: int = 0) -> np.ndarray:
    """Intensities of six samples, numbers 26 to 31, in four genes."""
    return np.random.default_rng(seed).integers(-900, 70_000, (6, len(GENES)))


def text(numbers, rows, *, call: str = "A", end: str = "\t\n", about: str = "gene, of use (x)"):
    """A file with the layout of the Broad Institute's."""
    header = ["Gene Description", "Gene Accession Number"]
    lines = ["\t".join(header + [f"{number}\tcall" for number in numbers]) + "\n"]
    for gene, column in zip(GENES, rows.T, strict=True):
        lines.append("\t".join([about, gene, *(f"{value}\t{call}" for value in column)]) + end)
    return "".join(lines).encode()


def contents(X: np.ndarray, **how) -> dict[str, bytes]:
    """Both files, by name."""
    names = [member.name for member in DATASET.members]
    return {
        name: text(numbers, X[np.array(numbers) - 26], **how)
        for name, numbers in zip(names, NUMBERS, strict=True)
    }


def record(files: dict[str, bytes], **changed):
    """The data set with the pins of these contents."""
    members = tuple(
        Member(name, hashlib.sha256(places.canonical(values(c))).hexdigest(), (4, 3), values)
        for name, c in files.items()
    )
    return replace(DATASET, members=members, **changed)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A machine with an empty cache and no folder of data sets."""
    monkeypatch.delenv(places.VARIABLE, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(places, "cache", lambda: tmp_path / "cache")
    return tmp_path


@pytest.fixture
def server():
    with data_sets.serving() as running:
        yield running


# --- reading ----------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("end", ["\t\n", "\n", "\t\r\n"])
def test_samples_come_in_the_order_of_their_numbers(home, packed, end):
    X = table()
    files = contents(X, end=end)
    stored = {f"{n}.gz": gzip.compress(c) for n, c in files.items()} if packed else files
    data_sets.write(home / "cache" / "leukemia", stored)
    read = load(record(files))
    assert np.array_equal(read.X, X)
    assert read.X.dtype == np.float64
    assert read.labels.tolist() == CLASSES
    assert read.genes == tuple(GENES)
    assert not read.X.flags.writeable
    assert not read.labels.flags.writeable
    assert load(record(files)) is read


def test_the_classes_are_those_of_the_paper():
    # 27 and 11 of the 38 samples of the first file, 20 and 14 of the 34 others.
    assert len(set(AML)) == 25
    assert len([number for number in AML if number <= 38]) == 11
    assert max(AML) <= 72


# --- pins -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [{"call": "P"}, {"about": ""}, {"about": '"any"  text'}, {"end": "\n"}, {"end": "\t\r\n"}],
)
def test_descriptions_calls_and_line_ends_do_not_count(tmp_path, how):
    member = record(contents(table())).members[0]
    (tmp_path / "file").write_bytes(contents(table(), **how)[member.name])
    written = places.read(tmp_path / "file", member).decode().splitlines()
    assert written[0] == "27 31 26"
    assert written[1] == " ".join([GENES[0], *(str(table()[i, 0]) for i in (1, 5, 0))])
    assert len(written) == 5


def changed_files():
    whole = contents(table())["data_set_ALL_AML_train.txt"]
    lines = whole.splitlines(keepends=True)
    digit = str(table()[1, 2]).encode()
    return {
        "a digit": whole.replace(digit, digit[:-1] + (b"1" if digit[-1:] == b"0" else b"0"), 1),
        "a sample number": whole.replace(b"\t31\t", b"\t32\t", 1),
        "a gene": whole.replace(b"X1_s_at", b"X1_at", 1),
        "genes exchanged": b"".join([lines[0], lines[2], lines[1], *lines[3:]]),
        "a gene lacking": b"".join(lines[:-1]),
        "a column lacking": b"\n".join(line.rsplit(b"\t", 3)[0] for line in lines),
        "header lacking": b"".join(lines[1:]),
        "a column more in the header": whole.replace(b"call\n", b"call\t37\n", 1),
        "nothing": b"",
        "one line end": b"\n",
        "a web page": b"<html>\n<p>log in</p>\n</html>",
        "any bytes": np.random.default_rng(0).bytes(3000),
    }


@pytest.mark.parametrize("case", changed_files())
def test_any_other_value_is_refused_in_a_sentence(home, case):
    files = contents(table())
    known = record(files)
    content = changed_files()[case]
    assert content != files["data_set_ALL_AML_train.txt"]
    data_sets.write(home / "cache" / "leukemia", files | {"data_set_ALL_AML_train.txt": content})
    with pytest.raises(DataError, match=r"train\.txt: the values in this file are not") as caught:
        load(known)
    assert str(caught.value).endswith("Run `greedyexp data fetch leukemia` to download it again.")
    assert "\n" not in str(caught.value)


# --- fetching ---------------------------------------------------------------------------------


def test_files_are_fetched_one_by_one_from_a_folder(home, server):
    files = contents(table())
    for name, content in files.items():
        server.offer(f"/folder/{name}", content)
    known = record(files, urls=(server.address + "/folder/",))
    folder = fetching.fetch(known)
    assert folder == home / "cache" / "leukemia"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files
    assert server.asked == [f"/folder/{name}" for name in files]
    assert [path.name for path in folder.parent.iterdir()] == ["leukemia"]
    assert np.array_equal(load(known).X, table())
    fetching.fetch(known)
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (404, b"", "data_set_ALL_AML_independent.txt: the server answered 404"),
        (200, b"<html>log in</html>", "data_set_ALL_AML_independent.txt: the values in this file"),
        (200, contents(table(1))["data_set_ALL_AML_independent.txt"], "not those of the published"),
    ],
)
def test_one_bad_file_leaves_the_cache_as_it_was(home, server, status, body, words):
    files = contents(table())
    first, second = files
    server.offer(f"/folder/{first}", files[first])
    server.offer(f"/folder/{second}", body, status=status)
    known = record(files, urls=(server.address + "/folder/",))
    with pytest.raises(DataError, match=words) as caught:
        fetching.fetch(known)
    assert str(caught.value).startswith(f"{server.address}/folder/: the data set 'leukemia' cannot")
    assert list((home / "cache").iterdir()) == []
    # An archive at a second address still serves.
    archive = server.offer("/all.zip", data_sets.as_zip(files))
    fetching.fetch(replace(known, urls=(*known.urls, archive)))
    assert np.array_equal(load(known).X, table())


def test_the_commands_know_the_data_set(home, server, call, monkeypatch):
    files = contents(table())
    for name, content in files.items():
        server.offer(f"/folder/{name}", content)
    known = record(files, urls=(server.address + "/folder/",))
    monkeypatch.setattr(catalogue, "known", lambda: {"leukemia": known})
    refused(call("data", "where", "leukemia", cwd=home), "greedyexp data fetch leukemia")
    folder = str(home / "cache" / "leukemia")
    assert call("data", "fetch", "leukemia", cwd=home).stdout == folder + "\n"
    assert call("data", "where", "leukemia", cwd=home).stdout == folder + "\n"
    assert folder in call("data", "list", cwd=home).stdout
    assert "data_set_ALL_AML_train.txt" in call("show", "leukemia", cwd=home).stdout
    data_sets.write(home / "own" / "leukemia", files | {"data_set_ALL_AML_train.txt": b"1"})
    monkeypatch.setenv(places.VARIABLE, str(home / "own"))
    refused(call("data", "fetch", "leukemia", cwd=home), "train.txt: the values", "Replace it")


# --- the real data ----------------------------------------------------------------------------


@real
def test_the_data_have_the_published_shapes_and_classes():
    read = load()
    assert read.X.shape == (72, 7129)
    assert len(set(read.genes)) == 7129
    assert np.array_equal(read.X, np.round(read.X))
    assert (read.X.min(), read.X.max()) == (-28400, 71369)
    assert (np.count_nonzero(read.labels == 1), np.count_nonzero(read.labels == -1)) == (47, 25)
    for member, path in zip(
        DATASET.members, places.files(DATASET, places.located(DATASET)), strict=True
    ):
        rows = places.read(path, member).splitlines()
        assert (len(rows) - 1, len(rows[0].split())) == member.shape


@real
@needs_csv
def test_the_classes_are_those_of_the_published_list():
    with open(own / "leukemia" / "actual.csv", newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert [int(row["patient"]) for row in rows] == list(range(1, 73))
    sign = {"ALL": 1, "AML": -1}
    assert load().labels.tolist() == [sign[row["cancer"]] for row in rows]


@real
@needs_csv
def test_the_table_is_that_of_another_copy():
    with gzip.open(own / "leukemia" / "leukemia.arff.gz", "rt") as opened:
        lines = opened.read().splitlines()
    names = [line.split()[1] for line in lines if line.startswith("@attribute")]
    rows = [line.split(",") for line in lines if line and not line.startswith("@")]
    read = load()
    assert np.array_equal(read.X, np.array([row[:-1] for row in rows], dtype=float))
    assert read.labels.tolist() == [{"ALL": 1, "AML": -1}[row[-1].strip("'")] for row in rows]
    assert [*read.genes, "CLASS"] == names
