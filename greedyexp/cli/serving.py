"""A folder of pages, served on this machine."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


def serve(folder: Path, *, opened: bool = False) -> None:
    """Serve a folder at a free port of this machine until Ctrl-C.

    Parameters
    ----------
    folder : Path
    opened : bool
        Also show it in the browser.
    """
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        address = f"http://127.0.0.1:{server.server_port}/"
        click.echo(f"{address} (Ctrl-C ends it)")
        if opened:
            click.launch(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo()
