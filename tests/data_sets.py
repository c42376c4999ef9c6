"""A data set with the layout of the digits and twenty rows, and a server to fetch it from."""

from __future__ import annotations

import contextlib
import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

from greedyexp.datasets.catalogue import Dataset, Member
from greedyexp.datasets.digits_mfeat import DATASET

WIDTHS = (3, 2, 2, 4, 2, 1)


def values(seed: int = 0) -> list[np.ndarray]:
    """One table for each view, rounded to what ``text`` writes."""
    rng = np.random.default_rng(seed)
    return [np.round(rng.normal(0, 9, (20, width)), 4) for width in WIDTHS]


def text(table: np.ndarray) -> str:
    """One space between values, a line feed after each row."""
    return "".join(" ".join(f"{value:.4f}" for value in row) + "\n" for row in table)


def contents(tables: list[np.ndarray]) -> dict[str, bytes]:
    """File name to content."""
    names = [member.name for member in DATASET.members]
    return {name: text(table).encode() for name, table in zip(names, tables, strict=True)}


def record(files: dict[str, bytes], **changed) -> Dataset:
    """A record whose pins are those of the given contents."""
    members = tuple(
        Member(name, hashlib.sha256(content).hexdigest(), (20, width))
        for (name, content), width in zip(files.items(), WIDTHS, strict=True)
    )
    return replace(DATASET, members=members, **changed)


def write(folder: Path, files: dict[str, bytes]) -> Path:
    """The files in a folder."""
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def as_zip(files: dict[str, bytes]) -> bytes:
    """An archive as web sites serve it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def as_tar(files: dict[str, bytes], mode: str = "w") -> bytes:
    """The files in the folder ``mfeat`` of a tar archive."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"mfeat/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


class Server:
    """Answers by path; ``asked`` lists the paths in order.

    ``answers`` maps a path to (status, body, announced length).
    """

    def __init__(self, address: str):
        self.address = address
        self.answers: dict[str, tuple[int, bytes, int]] = {}
        self.asked: list[str] = []

    def offer(
        self, path: str, body: bytes, *, status: int = 200, length: int | str | None = None
    ) -> str:
        """Serve a body and return its address."""
        self.answers[path] = (status, body, len(body) if length is None else length)
        return self.address + path


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    """A server on this machine, for as long as the context lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            server.asked.append(self.path)
            status, body, length = server.answers.get(self.path, (404, b"", 0))
            self.send_response(status)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server = Server(f"http://127.0.0.1:{http.server_port}")
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
