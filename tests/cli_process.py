"""The command line as users meet it, and a small experiment to run."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from kept_registry import kept_registry

from greedyexp import cli

REPOSITORY = Path(__file__).resolve().parents[1]

PLUGIN = '''
"""Data and algorithms that cost nothing."""
import os
import time

import numpy as np

from greedyexp import Problem, algorithm, generator


@generator("toy_data", provides=("truth", "noise_std"))
def toy_data(rng, *, n_samples: int = 10, p: int = 4):
    """Gaussian data without noise, one nonzero coefficient."""
    truth = np.zeros((p, 1))
    truth[0] = 1.0
    X = rng.standard_normal((n_samples, p))
    return Problem((X,), (X @ truth[:, 0],), truth, 0.0, 1)


@algorithm("toy_exact")
def toy_exact(problem):
    """The truth itself."""
    return problem.truth


@algorithm("toy_broken")
def toy_broken(problem):
    """Fails on every problem."""
    raise ValueError("toy_broken cannot do this")


@algorithm("toy_slow")
def toy_slow(problem):
    """Notes that it was called, and takes TOY_SECONDS."""
    with open("calls.log", "a") as log:
        log.write(".")
    time.sleep(float(dict(os.environ).get("TOY_SECONDS", 0)))
    return problem.truth
'''

CONFIG = """\
name: {name}
description: A toy.
seed: 7
plugins: [toy_plugin.py]
data:
  generator: toy_data
  sweep: {{n_samples: [6, 8]}}
trials: 3
algorithms: {algorithms}
metrics: [support]
figures: []
profiles:
  smoke: {{trials: 2}}
"""


def environment() -> dict[str, str]:
    """This environment with the checkout importable from any folder and output buffered."""
    paths = [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]
    # pytest-xdist sets the width of the terminal for its workers.
    left_out = ("PYTHONUNBUFFERED", "COLUMNS")
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "MPLBACKEND": "Agg"}


def greedyexp(
    *arguments: str | Path, cwd: Path, timeout: float = 60
) -> subprocess.CompletedProcess:
    """Run ``python -m greedyexp`` in a folder and wait for it."""
    return subprocess.run(
        [sys.executable, "-m", "greedyexp", *map(str, arguments)],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def answer(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess:
    """Return what ``greedyexp`` returns, from this process.

    It serves fixtures that several tests share; the fixture ``call`` serves single tests.
    """
    with (
        kept_registry(),
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(io.StringIO()) as printed,
        redirect_stderr(io.StringIO()) as errors,
    ):
        patch.chdir(cwd)
        patch.setenv("MPLBACKEND", "Agg")
        code = cli.main([*map(str, arguments)])
    return subprocess.CompletedProcess(arguments, code, printed.getvalue(), errors.getvalue())


def write_toy(folder: Path, name: str = "toy", algorithms: str = "[toy_exact]") -> Path:
    """A config and its plugin; returns the config."""
    (folder / "toy_plugin.py").write_text(PLUGIN)
    config = folder / f"{name}.yaml"
    config.write_text(CONFIG.format(name=name, algorithms=algorithms))
    return config


def refused(result: subprocess.CompletedProcess, *words: str) -> None:
    """Assert that a process ended with exit code 2 and one sentence that holds the words."""
    assert result.returncode == 2, result.stderr
    assert "Traceback" not in result.stderr
    assert "Internal error" not in result.stderr
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert errors == result.stderr.splitlines()[-1:], result.stderr
    for word in words:
        assert word in errors[0]
