"""Runs under random faults: processes killed and stopped, a full disk, two runs of one folder.

Each fault falls on a run of its own process group, at a random moment. The run is started again
until it is complete. ``Tally`` counts what the faults did to the rows.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from dask_processes import Cluster
from runner_lab import rows_of

PARTS = '''
import os
import time

import numpy as np

from greedyexp import Problem, algorithm, generator


def note(part, problem):
    line = f"{part} {problem.facts['draw']!r}\\n".encode()
    log = os.open("LOG", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, line)
    os.close(log)


@generator("faults_data", provides=("truth",))
def data(rng, *, n: int = 12):
    """Gaussian rows; `draw` tells data sets apart."""
    X = rng.standard_normal((n, 4))
    y = X[:, 0] + 0.5 * rng.standard_normal(n)
    truth = np.eye(4)[:, :1]
    return Problem((X,), (y,), truth, 0.5, 1, {"draw": float(rng.random())})


@algorithm("faults_ridge")
def ridge(problem, *, pause: float = 0.0):
    """Ridge regression after a pause."""
    time.sleep(pause)
    note("ridge", problem)
    X, y = problem.X[0], problem.y[0]
    return np.linalg.solve(X.T @ X + np.eye(4), X.T @ y)[:, None]


@algorithm("faults_median")
def median(problem):
    """One number for all coefficients."""
    note("median", problem)
    return np.full((4, 1), np.median(problem.y[0]))
'''

RUN = """
import sys
from pathlib import Path
from greedyexp import config, runner
from greedyexp.core.errors import UserError
engine, scheduler = sys.argv[3:]
jobs = 2 if engine == "processes" else None
options = runner.RunOptions(
    engine=engine, jobs=jobs, scheduler=scheduler or None, progress=False, retry_failed=True
)
try:
    runner.run(config.load(sys.argv[1]), Path(sys.argv[2]), options)
except UserError as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""

# A run of the whole experiment takes at least TRIALS * 2 * PAUSE seconds of one worker.
TRIALS, PAUSE = 100, 0.01


@dataclass
class Tally:
    """What faults did to the rows of one engine.

    Parameters
    ----------
    faults : Counter
        Number of faults of each kind.
    runs : int
        Processes that were started to complete the experiments.
    complete : int
        Experiments that were completed, whose tables were compared byte by byte.
    lost : int
        Replicates that were in a journal before a fault and missing after it.
    changed : int
        Rows of a table that the undisturbed run does not have, and complete tables that differ.
    rows : int
        Replicates of the completed experiments.
    computed : int
        Replicates that were computed for them, ``rows`` if none was computed twice.
    """

    faults: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    complete: int = 0
    lost: int = 0
    changed: int = 0
    rows: int = 0
    computed: int = 0

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(self.faults.items()))
        return (
            f"{self.faults.total()} faults ({kinds}) in {self.runs} runs of {self.complete}"
            f" experiments with {self.rows} replicates: {self.lost} lost, {self.changed} changed,"
            f" {self.computed - self.rows} computed twice"
        )

    def write(self, path: Path) -> None:
        """Write the numbers as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")


class FaultLab:
    """Experiments of one engine under faults, drawn from a seed.

    Parameters
    ----------
    folder : Path
        Empty folder for everything.
    engine : str
    seed : int
    """

    def __init__(self, folder: Path, engine: str, seed: int):
        self._folder, self._engine = folder, engine
        self._rng = np.random.default_rng(seed)
        self._log = folder / "calls.log"
        # Seconds of an undisturbed run, its start included.
        self._usual = 0.0
        (folder / "parts.py").write_text(PARTS.replace("LOG", str(self._log)))
        self.tally = Tally()
        self.kinds: dict[str, Callable[[subprocess.Popen], None]] = {
            "kill the run": lambda run: os.kill(run.pid, signal.SIGKILL),
            "kill the group": lambda run: os.killpg(run.pid, signal.SIGKILL),
            "stop the run": lambda run: self._stop(run.pid),
            "full disk": self._fill_disk,
            "second run": self._second_run,
        }
        self._cluster = _FaultyCluster(folder, self._rng) if engine == "dask" else None
        if self._cluster is not None:
            self.kinds |= self._cluster.kinds
        if engine == "processes":
            self.kinds["kill a worker"] = lambda run: _kill(self._drawn(children(run.pid)))
            self.kinds["stop a worker"] = lambda run: self._stop(self._drawn(children(run.pid)))

    def close(self) -> None:
        """End the cluster, if there is one."""
        if self._cluster is not None:
            self._cluster.close()

    def complete_one(self, faults: int) -> None:
        """Run one experiment under at most this many faults, and compare its table."""
        name = f"lab{self.tally.complete}"
        config = self._config(name)
        results, whole = self._folder / name, self._folder / f"{name}-whole"
        with suppress(FileNotFoundError):
            self._log.unlink()
        begin = time.monotonic()
        undisturbed = self._start(config, whole, "serial")
        assert undisturbed.wait() == 0, undisturbed.stderr.read()
        self._usual = time.monotonic() - begin
        expected = (whole / f"{name}.csv").read_bytes()
        computed_before = len(self._calls())
        known, before = set(rows_of(whole / f"{name}.csv")), set()
        end = self.tally.faults.total() + faults
        complete = False
        while not complete:
            disturbed = self.tally.faults.total()
            run = self._start(config, results, self._engine)
            self.tally.runs += 1
            while self.tally.faults.total() < end and self._still_running(run):
                kind = str(self._rng.choice(list(self.kinds)))
                self.tally.faults[kind] += 1
                self.kinds[kind](run)
            complaint = self._complaint(run)
            self._end_group(run)
            after = finished(results)
            self.tally.lost += len(before - after)
            before = after
            table = results / f"{name}.csv"
            content = table.read_bytes() if table.exists() else b""
            # A worker that is killed from outside leaves an error, which the next run retries.
            rows = [row for row in content.decode().splitlines()[1:] if ",error," not in row]
            self.tally.changed += len(set(rows) - known)
            complete = run.returncode == 0 and content == expected
            if self.tally.faults.total() == disturbed:
                assert complete, complaint
        self.tally.complete += 1
        self.tally.rows += computed_before
        self.tally.computed += len(self._calls()) - computed_before

    def _config(self, name: str) -> Path:
        experiment = {
            "name": name,
            "seed": int(self._rng.integers(2**31)),
            "plugins": ["parts.py"],
            "data": {"generator": "faults_data", "sweep": {"n": [8, 12]}},
            "trials": TRIALS,
            "algorithms": [{"faults_ridge": {"pause": PAUSE}}, "faults_median"],
            "metrics": ["frobenius_error"],
        }
        path = self._folder / f"{name}.yaml"
        path.write_text(json.dumps(experiment))
        return path

    def _start(self, config: Path, results: Path, engine: str) -> subprocess.Popen:
        scheduler = self._cluster.address if engine == "dask" and self._cluster else ""
        return subprocess.Popen(
            [sys.executable, "-c", RUN, str(config), str(results), engine, scheduler],
            start_new_session=True,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _calls(self) -> list[str]:
        return self._log.read_text().splitlines() if self._log.exists() else []

    def _still_running(self, run: subprocess.Popen) -> bool:
        """Wait for a random part of an undisturbed run; return False if the run ends before."""
        with suppress(subprocess.TimeoutExpired):
            run.wait(self._rng.uniform(0, self._usual))
        return run.poll() is None

    def _complaint(self, run: subprocess.Popen) -> str:
        """Wait for the end of a run, and return what it wrote to standard error."""
        while True:
            with suppress(subprocess.TimeoutExpired):
                return run.communicate(timeout=1)[1]
            # Workers end some time after their scheduler.
            if self._cluster is not None:
                self._cluster.repair()

    def _stop(self, pid: int | None) -> None:
        _stop(pid, self._rng.uniform(0, 0.5))

    def _drawn(self, processes: list[int]) -> int | None:
        return int(self._rng.choice(processes)) if processes else None

    def _fill_disk(self, run: subprocess.Popen) -> None:
        """Let no file of the run grow any more, as on a full disk."""
        with suppress(ProcessLookupError):
            sizes = [file.stat().st_size for file in self._folder.glob("*/journal.sqlite*")]
            _, hard = resource.prlimit(run.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(run.pid, resource.RLIMIT_FSIZE, (max(sizes, default=0), hard))

    def _second_run(self, run: subprocess.Popen) -> None:
        """Start the same command beside the first, and kill it if it does not give up at once."""
        config, results = run.args[3:5]
        second = self._start(Path(config), Path(results), self._engine)
        self.tally.runs += 1
        try:
            second.communicate(timeout=self._rng.uniform(1, 5))
        except subprocess.TimeoutExpired:
            # It has the folder, because the first had not reached it yet or has ended.
            os.killpg(second.pid, signal.SIGKILL)
            second.communicate()

    def _end_group(self, run: subprocess.Popen) -> None:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)


class _FaultyCluster(Cluster):
    """A Dask cluster of two workers with nannies, which is repaired after each fault."""

    def __init__(self, folder: Path, rng: np.random.Generator):
        super().__init__(folder)
        self._rng = rng
        self._nannies: list[subprocess.Popen] = []
        self.repair()
        self.kinds: dict[str, Callable[[subprocess.Popen], None]] = {
            "kill a worker": lambda _: _kill(self._worker()),
            "kill all workers": lambda _: self._kill_all_workers(),
            "kill a nanny": lambda _: self._kill_nanny(),
            "kill the scheduler": lambda _: self._kill_scheduler(),
            "stop a worker": lambda _: _stop(self._worker(), self._rng.uniform(0, 2)),
        }

    def _worker(self) -> int | None:
        """Return a process that a nanny has started, and that starts those that compute."""
        nanny = self._nannies[int(self._rng.integers(len(self._nannies)))]
        found = children(nanny.pid)
        return int(self._rng.choice(found)) if found else None

    def _kill_all_workers(self) -> None:
        for nanny in self._nannies:
            os.killpg(nanny.pid, signal.SIGKILL)
            nanny.wait()
        self.repair()

    def _kill_nanny(self) -> None:
        nanny = self._nannies[int(self._rng.integers(len(self._nannies)))]
        nanny.kill()
        nanny.wait()
        self.repair()

    def _kill_scheduler(self) -> None:
        self.scheduler.kill()
        self.scheduler.wait()
        time.sleep(self._rng.uniform(0, 2))
        self.repair()

    def repair(self) -> None:
        """Start what has ended."""
        if self.scheduler.poll() is not None:
            self.start_scheduler()
        self._nannies = [nanny for nanny in self._nannies if nanny.poll() is None]
        while len(self._nannies) < 2:
            self._nannies.append(self.start_worker("--nanny"))


def _kill(pid: int | None) -> None:
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _stop(pid: int | None, seconds: float) -> None:
    """Stop a process for some seconds."""
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(seconds)
            os.kill(pid, signal.SIGCONT)


def children(pid: int) -> list[int]:
    """Return the processes that a process has started and that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid and fields[0] != "Z":
                found.append(int(stat.parent.name))
    return sorted(found)


def finished(results: Path) -> set[bytes]:
    """Return the keys of the replicates in a journal that did not fail."""
    path = results / "journal.sqlite"
    if not path.exists():
        return set()
    with sqlite3.connect(path) as journal:
        return {key for (key,) in journal.execute("SELECT key FROM outcomes WHERE status = 'ok'")}
