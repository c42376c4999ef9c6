"""A Dask cluster of real processes on this machine, for the tests of the runner."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress


class Cluster:
    """A scheduler and workers, each a process of its own."""

    def __init__(self, folder, protocol: str = "tcp", options: tuple[str, ...] = ()):
        self.folder, self.options = folder, options
        self.scheduler_file = folder / "scheduler.json"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"{protocol}://127.0.0.1:{self.port}"
        self.processes: list[subprocess.Popen] = []
        self.scheduler = self.start_scheduler()

    def start_scheduler(self) -> subprocess.Popen:
        place = ("--host", self.address, "--scheduler-file", str(self.scheduler_file))
        self.scheduler = self._start("dask_scheduler", *place, "--no-dashboard")
        return self.scheduler

    def start_worker(self, *options: str, threads: int = 1, path=None) -> subprocess.Popen:
        """Start a worker; ``path`` is a folder of packages that only it has."""
        options = options or ("--no-nanny",)
        return self._start(
            "dask_worker",
            self.address,
            "--nthreads",
            str(threads),
            "--no-dashboard",
            *options,
            path=path,
        )

    def _start(self, module: str, *options: str, path=None) -> subprocess.Popen:
        log = (self.folder / f"{module}{len(self.processes)}.log").open("w")
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{module}", *options, *self.options],
            stdout=log,
            stderr=log,
            cwd=self.folder,
            env=os.environ | ({} if path is None else {"PYTHONPATH": str(path)}),
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def close(self) -> None:
        for process in self.processes:
            for signum in (signal.SIGCONT, signal.SIGKILL):
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signum)
            process.wait()
