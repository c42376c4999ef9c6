"""Packages with entry points, whose files are elsewhere on a Dask worker."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import yaml
from dask_processes import Cluster

pytestmark = pytest.mark.deep

_PARTS = """\
import numpy as np

from greedyexp import algorithm

from .helpers import value


@algorithm("offered")
def offered(problem):
    \"\"\"The same number for all coefficients.\"\"\"
    return np.full(problem.truth.shape, value())
"""
_HELPERS = "def value():\n    return {value}\n"


def install(site, *, version: str = "1.0", value: float = 0.5):
    """Write a package with an entry point, as pip installs it, to a folder."""
    info = site / f"offered-{version}.dist-info"
    package = site / "offered"
    info.mkdir(parents=True)
    package.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: offered\nVersion: {version}\n")
    (info / "entry_points.txt").write_text("[greedyexp.plugins]\noffered = offered.parts\n")
    (package / "__init__.py").write_text("")
    (package / "parts.py").write_text(_PARTS)
    (package / "helpers.py").write_text(_HELPERS.format(value=value))
    return site


@pytest.fixture
def run(tmp_path):
    """Run an experiment with a package of the client on a worker that has another folder for it."""
    file = tmp_path / "lab.yaml"
    settings = {
        "name": "lab",
        "data": {"generator": "gaussian", "n_samples": 20, "p": 16, "sparsity": 2},
        "trials": 4,
        "algorithms": ["offered"],
        "metrics": ["frobenius_error"],
    }
    file.write_text(yaml.safe_dump(settings))
    here = install(tmp_path / "here")

    def started(there, *options: str) -> subprocess.CompletedProcess:
        cluster = Cluster(tmp_path)
        try:
            cluster.start_worker(path=there)
            command = [sys.executable, "-m", "greedyexp", "run", str(file), "--engine", "dask"]
            command += ["--scheduler", cluster.address, "--out", str(tmp_path / "results")]
            return subprocess.run(
                [*command, *options],
                env=os.environ | {"PYTHONPATH": str(here)},
                capture_output=True,
                text=True,
                timeout=240,
            )
        finally:
            cluster.close()

    return started


def test_equal_code_in_another_folder_computes(run, tmp_path):
    done = run(install(tmp_path / "there", version="1.1"))
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "results/lab/quick/lab.csv").read_text().splitlines()) == 5


def test_other_code_is_refused_with_the_versions(run, tmp_path):
    done = run(install(tmp_path / "there", version="1.1", value=0.7))
    assert done.returncode == 2
    assert "code of offered 1.0 here, 1.1 (differs in helpers.py) on tcp://" in done.stderr
    assert "Install the same versions there." in done.stderr


def test_a_worker_without_the_package_is_refused(run, tmp_path):
    done = run(tmp_path / "there")
    assert done.returncode == 2
    assert "code of offered 1.0 here, not installed on tcp://" in done.stderr


def test_a_worker_that_cannot_import_the_engine_is_refused(run, tmp_path):
    """As one without greedyexp, or with a version that has no engine for Dask."""
    there = tmp_path / "there"
    there.mkdir()
    (there / "sitecustomize.py").write_text(
        "import sys\nsys.modules['greedyexp.runner.dask'] = None\n"
    )
    done = run(there)
    assert done.returncode == 2
    assert "cannot compute: ModuleNotFoundError: " in done.stderr
    assert "Install greedyexp" in done.stderr
