"""Data sets: found, checked to the last digit, downloaded whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import resource
import socket
import subprocess
import sys
from pathlib import Path

import data_sets
import numpy as np
import pytest
from cli_process import environment
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from greedyexp.core.errors import DataError, StorageError
from greedyexp.datasets import catalogue, fetching, places
from greedyexp.datasets.catalogue import Member
from greedyexp.datasets.digits_mfeat import DATASET, load

# Of the six files as UCI distributes them, from github.com/kumarmudit404-droid/PrismFlow, and the
# width of a column in them.
UCI = {
    "mfeat-fou": ("d2bed48a4d302efe77bd80d52e16a211e99efe6fee9baf1c28dcc199c43c50ad", 12),
    "mfeat-fac": ("83be9bc9fd50c6dd0b0532f6b6101956f1cf51c71b33f22d3f0cd2b5befb31b5", 5),
    "mfeat-kar": ("db832668544497d0c06a2c1d1bfa0e17ba672812b7cfa6ed19f0941e19e1d7fa", 15),
    "mfeat-pix": ("70a1cd033add46614464a8740ddc23c3693765985bde52ccb6b702bff23b64f1", 3),
    "mfeat-zer": ("d4a0e302f2f61e823b906f78818c7c0ef078c0bbc23022affd6607d60ecfe4f3", 14),
    "mfeat-mor": ("8767b326d874f096de06d525a2df4e610f4e9dfe91e29c250d8a3054907e3b61", 15),
}

real = pytest.mark.skipif(
    places.find(DATASET) is None, reason="the digits are neither in GREEDYEXP_DATA nor fetched"
)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A machine with an empty cache and no folder of data sets."""
    monkeypatch.delenv(places.VARIABLE, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(places, "cache", lambda: tmp_path / "cache" / "data")
    return tmp_path


@pytest.fixture
def server():
    with data_sets.serving() as running:
        yield running


@pytest.fixture
def files():
    return data_sets.contents(data_sets.values())


def cached(home):
    """Everything in the cache, by path, with contents."""
    root = home / "cache" / "data"
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else None
        for path in root.rglob("*")
    }


# --- the digits themselves --------------------------------------------------------------------


@real
def test_the_digits_have_the_published_shapes_and_classes():
    X, labels = load()
    assert X.shape == (2000, 649)
    assert X.dtype == np.float64
    assert np.bincount(labels).tolist() == [200] * 10
    assert np.all(np.diff(labels) >= 0)
    assert np.isfinite(X).all()
    widths = [member.shape[1] for member in DATASET.members]
    assert widths == [76, 216, 64, 240, 47, 6]
    pixels = X[:, 356:596]
    assert set(np.unique(pixels)) == set(range(7))


@real
def test_the_rows_belong_to_the_digits_they_are_said_to():
    X, labels = load()
    karhunen = X[:, 292:356]
    fitted = LinearDiscriminantAnalysis().fit(karhunen[::2], labels[::2])
    assert fitted.score(karhunen[1::2], labels[1::2]) > 0.9


@real
@pytest.mark.parametrize("member", DATASET.members, ids=lambda member: member.name)
def test_padded_to_the_column_widths_of_uci_the_text_has_the_digest_of_ucis_file(member):
    folder = places.located(DATASET)
    path = places.files(DATASET, folder)[DATASET.members.index(member)]
    digest, width = UCI[member.name]
    rows = places.read(path, member).splitlines()
    padded = b"".join(b"".join(v.rjust(width) for v in row.split()) + b"\n" for row in rows)
    assert hashlib.sha256(padded).hexdigest() == digest


def test_every_data_set_says_where_it_is_from():
    records = catalogue.known()
    assert "digits_mfeat" in records
    for name, record in records.items():
        assert record.name == name
        assert all(url.startswith("https://") for url in (record.page, *record.urls))
        assert record.licence
        assert record.citation
    with pytest.raises(DataError, match="Did you mean 'digits_mfeat'"):
        catalogue.find("digits_mfeats")


# --- pins -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    [
        b"1.50 2\n-3 4e1\n",
        b"   1.50    2\n     -3  4e1\n",
        b"1.50\t2 \r\n-3\t4e1\r\n",
        b"\n1.50 2\n\n-3 4e1",
    ],
)
def test_padding_and_line_ends_do_not_matter(tmp_path, written):
    member = Member("t", hashlib.sha256(b"1.50 2\n-3 4e1\n").hexdigest(), (2, 2))
    for path, content in ((tmp_path / "t", written), (tmp_path / "t.gz", gzip.compress(written))):
        path.write_bytes(content)
        assert places.read(path, member) == b"1.50 2\n-3 4e1\n"


@pytest.mark.parametrize(
    "written", [b"1.51 2\n-3 4e1\n", b"1.50 2\n3 4e1\n", b"1.50 2 -3 4e1\n", b"1.50 2\n", b""]
)
def test_any_other_value_or_row_is_refused(tmp_path, written):
    member = Member("t", hashlib.sha256(b"1.50 2\n-3 4e1\n").hexdigest(), (2, 2))
    (tmp_path / "t").write_bytes(written)
    with pytest.raises(DataError, match="not those of the published data set"):
        places.read(tmp_path / "t", member)


@pytest.mark.parametrize("keep", [0.5, -4])
def test_a_damaged_gz_file_is_refused(tmp_path, files, keep):
    whole = gzip.compress(files["mfeat-fou"])
    part = whole[: int(len(whole) * keep)] if keep > 0 else whole[:keep] + b"\0\0\0\0"
    (tmp_path / "mfeat-fou.gz").write_bytes(part)
    with pytest.raises(DataError, match=r"mfeat-fou\.gz: this is not a readable \.gz file"):
        places.read(tmp_path / "mfeat-fou.gz", data_sets.record(files).members[0])


# --- places and the loader --------------------------------------------------------------------


@pytest.mark.parametrize("compressed", [False, True])
def test_the_loader_puts_the_views_side_by_side(home, monkeypatch, compressed):
    tables = data_sets.values()
    files = data_sets.contents(tables)
    stored = files
    if compressed:
        stored = {f"{name}.gz": gzip.compress(content) for name, content in files.items()}
    data_sets.write(home / "own" / "mfeat", stored)
    monkeypatch.setenv(places.VARIABLE, str(home / "own"))
    X, labels = load(data_sets.record(files))
    assert np.array_equal(X, np.hstack(tables))
    assert labels.tolist() == sorted([*range(10)] * 2)
    assert not X.flags.writeable
    assert load(data_sets.record(files))[0] is X


def test_the_loader_sees_that_a_file_has_changed(home, files):
    folder = data_sets.write(home / "cache" / "data" / "mfeat", files)
    load(data_sets.record(files))
    (folder / "mfeat-kar").write_bytes(files["mfeat-kar"].replace(b"1", b"2", 1))
    os.utime(folder / "mfeat-kar", ns=(1, 1))
    with pytest.raises(DataError, match=r"mfeat-kar: .* Run `greedyexp data fetch digits_mfeat`"):
        load(data_sets.record(files))


def test_the_users_folder_goes_before_the_cache(home, files, monkeypatch):
    record = data_sets.record(files)
    with pytest.raises(DataError, match="is not in the cache"):
        places.located(record)
    monkeypatch.setenv(places.VARIABLE, str(home / "own"))
    with pytest.raises(DataError, match=r"neither in .*own/mfeat.*nor in .*data/mfeat.*fetch"):
        places.located(record)
    cached = data_sets.write(home / "cache" / "data" / "mfeat", files)
    assert places.located(record) == cached
    own = data_sets.write(home / "own" / "mfeat", files)
    assert places.located(record) == own
    (own / "mfeat-pix").unlink()
    assert places.located(record) == cached


def test_a_file_that_is_missing_is_named(home, files, monkeypatch):
    record = data_sets.record(files)
    monkeypatch.setenv(places.VARIABLE, str(home / "own"))
    with pytest.raises(DataError, match=r"\(the cache\); .*/own does not exist\. Run"):
        places.located(record)
    own = data_sets.write(home / "own" / "mfeat", files)
    (own / "mfeat-pix").unlink()
    with pytest.raises(DataError, match=r"\(the cache\); .*/own/mfeat lacks mfeat-pix\. Run"):
        places.located(record)
    (own / "mfeat-kar").unlink()
    with pytest.raises(DataError, match=r"/own/mfeat lacks mfeat-.{3}, mfeat-.{3}\. Run"):
        places.located(record)
    (home / "file").write_text("no folder")
    monkeypatch.setenv(places.VARIABLE, str(home / "file"))
    cached = data_sets.write(home / "cache" / "data" / "mfeat", files)
    (cached / "mfeat-zer").unlink()
    with pytest.raises(DataError, match=r"/file is not a folder; .*mfeat lacks mfeat-zer\. Run"):
        places.located(record)


def test_a_bad_file_of_the_users_own_is_refused_with_a_remedy(home, files, monkeypatch):
    own = data_sets.write(home / "own" / "mfeat", files)
    (own / "mfeat-mor").write_bytes(b"1\n" * 20)
    monkeypatch.setenv(places.VARIABLE, str(home / "own"))
    for use in (load, fetching.fetch):
        with pytest.raises(DataError, match=r"mfeat-mor: .*unset GREEDYEXP_DATA"):
            use(data_sets.record(files))


# --- downloads --------------------------------------------------------------------------------


def archives(files):
    tar = data_sets.as_tar(files)
    return {
        "zip": data_sets.as_zip(files),
        "tar in zip": data_sets.as_zip({"mfeat.tar": tar, "mfeat.info": b"about"}),
        "tar": tar,
        "tar.gz": data_sets.as_tar(files, "w:gz"),
    }


@pytest.mark.parametrize("kind", ["zip", "tar in zip", "tar", "tar.gz"])
def test_a_download_is_unpacked_once_and_used_again(home, server, files, kind):
    record = data_sets.record(files, urls=(server.offer("/a", archives(files)[kind]),))
    folder = fetching.fetch(record)
    assert folder == places.located(record)
    assert cached(home) == {"mfeat": None} | {f"mfeat/{n}": c for n, c in files.items()}
    assert fetching.fetch(record) == folder
    assert server.asked == ["/a"]
    assert fetching.fetch(record, force=True) == folder
    assert server.asked == ["/a", "/a"]
    assert len(cached(home)) == 7


def test_a_damaged_copy_in_the_cache_is_replaced(home, server, files):
    record = data_sets.record(files, urls=(server.offer("/a", data_sets.as_zip(files)),))
    folder = fetching.fetch(record)
    (folder / "mfeat-pix").write_bytes(b"0\n")
    fetching.fetch(record)
    assert (folder / "mfeat-pix").read_bytes() == files["mfeat-pix"]
    (folder / "mfeat-pix").unlink()
    fetching.fetch(record)
    assert len(cached(home)) == 7
    assert server.asked == ["/a"] * 3


def test_files_of_the_user_in_the_cache_stay(home, server, files):
    record = data_sets.record(files, urls=(server.offer("/a", data_sets.as_zip(files)),))
    folder = fetching.fetch(record)
    (folder / "notes").mkdir()
    (folder / "notes" / "mine.txt").write_bytes(b"mine")
    fetching.fetch(record, force=True)
    assert (folder / "notes" / "mine.txt").read_bytes() == b"mine"
    assert len(cached(home)) == 9


def test_the_second_address_is_tried_when_the_first_fails(home, server, files):
    urls = (server.address + "/gone", server.offer("/a", data_sets.as_zip(files)))
    fetching.fetch(data_sets.record(files, urls=urls))
    assert server.asked == ["/gone", "/a"]
    assert len(cached(home)) == 7


def test_a_good_copy_of_the_users_own_is_not_downloaded(home, server, files, monkeypatch):
    own = data_sets.write(home / "own" / "mfeat", files)
    monkeypatch.setenv(places.VARIABLE, str(home / "own"))
    record = data_sets.record(files, urls=(server.offer("/a", data_sets.as_zip(files)),))
    assert fetching.fetch(record) == own
    assert server.asked == []
    assert fetching.fetch(record, force=True) == home / "cache" / "data" / "mfeat"
    assert places.located(record) == own


def flagged(archive, place, value):
    """Return a zip with a number in the headers of all files changed, local and central."""
    changed = bytearray(archive)
    for mark, start in ((b"PK\x03\x04", place), (b"PK\x01\x02", place + 2)):
        for found in re.finditer(re.escape(mark), archive):
            changed[found.start() + start] = value
    return bytes(changed)


def nested(depth):
    content = b""
    for _ in range(depth):
        content = data_sets.as_zip({"inner.zip": content})
    return content


def bomb(name):
    return data_sets.as_zip({name: bytes(6 << 20)})


def bad_answers(files):
    other = data_sets.contents(data_sets.values(seed=1))
    whole = data_sets.as_zip(files)
    half = whole[: len(whole) // 2]
    lacking = {name: content for name, content in files.items() if name != "mfeat-zer"}
    return {
        "other values": (200, data_sets.as_zip(other), None, "mfeat-fou: the values"),
        "cut, said to be whole": (200, half, None, "not a complete zip or tar archive"),
        "cut on the way": (200, half, len(whole), "interrupted|no connection|not a complete zip"),
        "not found": (404, b"", None, "the server answered 404 Not Found"),
        "broken server": (503, b"", None, "the server answered 503 Service Unavailable"),
        "a web page": (200, b"<html>log in</html>", None, "not a complete zip or tar archive"),
        "empty": (200, b"", None, "not a complete zip or tar archive"),
        "length abc": (200, half, "abc", "not a complete zip or tar archive"),
        "encrypted": (200, flagged(whole, 6, 1), None, "File 'mfeat-fou' is .*password"),
        "odd compression": (200, flagged(whole, 8, 97), None, "not a complete .*compression"),
        "many archives": (200, nested(120), None, "more than 100 archives"),
        "bomb": (200, bomb("mfeat-fou"), None, "more than 4 MB"),
        "bomb inside": (200, bomb("a.zip"), None, "more than 4 MB"),
        "bomb of gzip": (200, gzip.compress(bytes(6 << 20)), None, "more than 4 MB"),
        "a file lacking": (200, data_sets.as_zip(lacking), None, "has no file 'mfeat-zer'"),
    }


@pytest.mark.parametrize("before", [False, True], ids=["empty cache", "full cache"])
@pytest.mark.parametrize("case", list(bad_answers(data_sets.contents(data_sets.values()))))
def test_a_bad_download_leaves_the_cache_as_it_was(home, server, files, case, before, monkeypatch):
    monkeypatch.setattr(fetching, "_MOST_BYTES", 4 << 20)
    if before:
        data_sets.write(home / "cache" / "data" / "mfeat", files)
    else:
        (home / "cache" / "data").mkdir(parents=True)
    state = cached(home)
    status, body, length, words = bad_answers(files)[case]
    url = server.offer("/a", body, status=status, length=length)
    with pytest.raises(DataError, match=f"^{url}: .*({words}).*GREEDYEXP_DATA") as caught:
        fetching.fetch(data_sets.record(files, urls=(url,)), force=True)
    assert "\n" not in str(caught.value)
    assert cached(home) == state


def test_the_next_address_is_tried_after_an_unreadable_archive(home, server, files, monkeypatch):
    monkeypatch.setattr(fetching, "_MOST_BYTES", 4 << 20)
    for number, body in enumerate((nested(120), bomb("mfeat-fou"), b"PK", b"\x1f\x8b")):
        bad = server.offer(f"/bad-{number}", body, length="abc" if number else None)
        good = server.offer(f"/good-{number}", data_sets.as_zip(files))
        folder = fetching.fetch(data_sets.record(files, urls=(bad, good)), force=True)
        assert (folder / "mfeat-fou").is_file()


def test_no_server_at_all_is_one_sentence(home, files):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/a.zip"
    with pytest.raises(DataError, match="there is no connection to the server"):
        fetching.fetch(data_sets.record(files, urls=(url,)))
    assert cached(home) == {}


def test_a_silent_server_is_not_waited_for_without_end(home, files, monkeypatch):
    monkeypatch.setattr(fetching, "TIMEOUT", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/a.zip"
        with pytest.raises(DataError, match="the server did not answer for"):
            fetching.fetch(data_sets.record(files, urls=(url,)))


def test_a_cache_that_cannot_be_written_to_is_named(home, server, files):
    (home / "cache").write_text("a file where the folder should be")
    record = data_sets.record(files, urls=(server.offer("/a", data_sets.as_zip(files)),))
    with pytest.raises(StorageError, match=r"data/mfeat: the data set cannot be .*GREEDYEXP_DATA"):
        fetching.fetch(record)


def test_two_processes_may_fetch_at_once(home, server, files, monkeypatch):
    """The other one is done just before the checked data are moved to the cache."""
    record = data_sets.record(files, urls=(server.offer("/a", data_sets.as_zip(files)),))
    real = Path.rename

    def rename(path, target):
        monkeypatch.setattr(Path, "rename", real)
        data_sets.write(target, files)
        return real(path, target)

    monkeypatch.setattr(Path, "rename", rename)
    folder = fetching.fetch(record)
    assert folder == places.located(record)
    assert cached(home) == {"mfeat": None} | {f"mfeat/{n}": c for n, c in files.items()}


# Runs in a process of its own, whose files must stay small.
FULL = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import data_sets
from greedyexp.datasets import fetching, places
places.cache = lambda: Path({root!r})
files = data_sets.contents(data_sets.values())
fetching.fetch(data_sets.record(files, urls=({url!r},)))
"""


def test_a_disk_that_fills_up_leaves_nothing_behind(home, server, files):
    url = server.offer("/a", data_sets.as_zip(files | {"mfeat.info": os.urandom(200_000)}))
    root = home / "cache" / "data"
    code = FULL.format(tests=os.path.dirname(data_sets.__file__), root=str(root), url=url)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment() | {"NO_PROXY": "127.0.0.1", "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "StorageError" in done.stderr.splitlines()[-1]
    assert "the data set cannot be written: File too large" in done.stderr
    assert cached(home) == {}


@pytest.mark.parametrize("step", ["retrieve", "unpack", "check"])
def test_an_interrupt_leaves_the_cache_as_it_was(home, server, files, monkeypatch, step):
    data_sets.write(home / "cache" / "data" / "mfeat", files)
    state = cached(home)
    record = data_sets.record(files, urls=(server.offer("/a", data_sets.as_zip(files)),))
    owner, name = {
        "retrieve": (fetching, "_retrieve"),
        "unpack": (fetching, "unpack"),
        "check": (fetching.places, "texts"),
    }[step]
    whole = getattr(owner, name)

    def interrupted(*given):
        whole(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetching.fetch(record, force=True)
    assert cached(home) == state


def test_names_in_an_archive_cannot_lead_out_of_the_folder(home, server, files):
    hostile = {f"../../{name}": content for name, content in files.items()}
    record = data_sets.record(files, urls=(server.offer("/a", data_sets.as_tar(hostile)),))
    fetching.fetch(record)
    assert {path.name for path in home.iterdir()} == {"cache"}
    assert len(cached(home)) == 7
