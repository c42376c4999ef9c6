"""Measure the engine `dask` against `processes` on two workers of this machine.

First the seconds of an experiment (by default phase_transition in the profile quick), in turn with
each engine. Then rows that cost nothing: rows a second, processor time and peak memory of each
process, for a number of rows and for a quarter of it. The scheduler and the worker of Dask are
processes of their own in the runs called "dask".

Run with ``python benchmarks/measure_dask.py [--rows 1000000] [--repeat 3] [--only rows]``; it
writes to a temporary folder only.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from measure_runner import PLUGIN

PROGRAM = """
import json, resource, sys
from greedyexp import config, runner
settings, folder, how, trials = json.loads(sys.argv[1])
experiment = config.load(settings, profile="quick", trials=trials)
report = runner.run(experiment, folder, runner.RunOptions(progress=False, **how))
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "wall": report.wall_seconds, "rows": report.computed,
    "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss / 1024,
}))
"""
ENGINES = ("processes", "dask local", "dask")


class Watched:
    """A process of Dask: its processor time and its peak memory."""

    def __init__(self, *command: str):
        self.process = subprocess.Popen(
            [sys.executable, "-m", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._watched = psutil.Process(self.process.pid)
        self.peak = 0.0
        self._over = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while not self._over.wait(0.2):
            with suppress(psutil.Error):
                self.peak = max(self.peak, self._watched.memory_info().rss / 2**20)

    def cpu(self) -> tuple[float, float]:
        """Return the seconds of the process and of its children that have ended."""
        times = self._watched.cpu_times()
        return times.user + times.system, times.children_user + times.children_system

    def end(self) -> None:
        self._over.set()
        self.process.kill()
        self.process.wait()


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, Watched, Watched]]:
    """Yield the scheduler file of a cluster of one worker with two threads, and its processes."""
    file = folder / f"scheduler{time.monotonic_ns()}.json"
    options = ("--scheduler-file", str(file), "--no-dashboard")
    scheduler = Watched("distributed.cli.dask_scheduler", "--port", "0", *options)
    worker = Watched("distributed.cli.dask_worker", "--nthreads", "2", "--no-nanny", *options)
    try:
        while not file.exists():
            time.sleep(0.1)
        yield str(file), scheduler, worker
    finally:
        worker.end()
        scheduler.end()


def run(settings: object, folder: Path, engine: str, trials: int | None = None) -> dict:
    """Run with two workers and return what was measured."""
    target = str(folder / str(time.monotonic_ns()) / "quick")

    def client(how: dict) -> dict:
        before = sum(psutil.Process().cpu_times()[2:4])
        arguments = json.dumps([settings, target, how, trials])
        command = [sys.executable, "-c", PROGRAM, arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        return found | {"all cpu": sum(psutil.Process().cpu_times()[2:4]) - before}

    if engine == "processes":
        return client({"engine": "processes", "jobs": 2})
    if engine == "dask local":
        return client({"engine": "dask", "jobs": 2})
    with cluster(folder) as (file, scheduler, worker):
        found = client({"engine": "dask", "scheduler": file})
        of_scheduler, of_worker = scheduler.cpu(), worker.cpu()
        return found | {
            "scheduler cpu": of_scheduler[0],
            "scheduler peak": scheduler.peak,
            "worker cpu": of_worker[0],
            "worker peak": worker.peak,
            "all cpu": found["all cpu"] + sum(of_scheduler) + sum(of_worker),
        }


def empty_rows(folder: Path, trials: int) -> dict:
    plugin = folder / "bench_parts.py"
    plugin.write_text(PLUGIN)
    return {
        "name": "bench",
        "plugins": [str(plugin)],
        "data": {"generator": "bench_data"},
        "trials": trials,
        "algorithms": ["bench_nothing"],
        "metrics": ["frobenius_error"],
    }


def show(engine: str, found: dict) -> None:
    numbers = ", ".join(f"{name} {value:.1f}" for name, value in found.items())
    print(f"{engine}: {numbers}; rows/s {found['rows'] / found['wall']:.0f}", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--repeat", type=int, default=3)
    arguments.add_argument("--config", default="configs/phase_transition.yaml")
    arguments.add_argument("--trials", type=int)
    arguments.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    arguments.add_argument("--only", choices=("rows", "experiment"))
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.only != "rows":
            print(f"{given.config}, quick, two workers; seconds and MB", flush=True)
            for _ in range(given.repeat):
                for engine in given.engines:
                    show(engine, run(given.config, folder, engine, given.trials))
        if given.only != "experiment":
            for rows in (given.rows // 4, given.rows):
                print(f"{rows} empty rows, two workers; seconds and MB", flush=True)
                for engine in given.engines:
                    show(engine, run(empty_rows(folder, rows), folder, engine))


if __name__ == "__main__":
    main()
