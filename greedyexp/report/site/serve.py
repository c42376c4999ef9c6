"""Serve a report to the browser of this machine: its own files, and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Collection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from greedyexp.report.site.build import POLICY

_HEADERS = {
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def server_of(folder: Path, files: Collection[str]) -> ThreadingHTTPServer:
    """Return a server of a report at a free port of this machine.

    A request must name the server as its host: another name may be that of a web site that has
    been given the address of this machine. No links are followed.

    Parameters
    ----------
    folder : Path
    files : collection of str
        The files of the report by their paths below the folder.
    """
    root, known = folder.resolve(), frozenset(files)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = self._answer()
            if content is not None:
                self.wfile.write(content)

        def do_HEAD(self) -> None:
            self._answer()

        def _answer(self) -> bytes | None:
            """Send the head of the answer; return the contents of the file, None for an error."""
            hosts = [f"{name}:{server.server_port}" for name in ("127.0.0.1", "localhost")]
            if self.headers.get_all("Host") not in [[host] for host in hosts]:
                self.send_error(421, "This server has another name")
                return None
            path = self.path.partition("?")[0]
            name = unquote(path, errors="surrogateescape").removeprefix("/")
            if not name or name.endswith("/"):
                name += "index.html"
            file = root / name
            if name not in known or file.resolve() != file or not file.is_file():
                self.send_error(404)
                return None
            content = file.read_bytes()
            kind = guess_type(file.name)[0] or "application/octet-stream"
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8" if "text" in kind else kind)
            self.send_header("Content-Length", str(len(content)))
            for header, value in _HEADERS.items():
                self.send_header(header, value)
            self.end_headers()
            return content

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    server = _Server(("127.0.0.1", 0), Handler)
    return server


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing if the browser has gone, or a file has."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)
