"""Public workflows run pinned actions, and the tests on every version that the package names."""

from __future__ import annotations

import re
from importlib.metadata import metadata

import yaml
from cli_process import REPOSITORY

FOLDER = REPOSITORY / ".github" / "workflows"


def test_actions_are_pinned_and_jobs_may_only_read():
    uses = [
        line
        for file in FOLDER.glob("*.yml")
        for line in file.read_text("utf-8").splitlines()
        if "uses:" in line
    ]
    assert len(uses) > 10
    for line in uses:
        assert re.search(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), line
    for file in FOLDER.glob("*.yml"):
        assert yaml.safe_load(file.read_text("utf-8"))["permissions"] == {"contents": "read"}


def test_tests_run_on_every_version_of_python_that_the_package_names():
    jobs = yaml.safe_load((FOLDER / "tests.yml").read_text("utf-8"))["jobs"]
    classifiers = metadata("greedyexp").get_all("Classifier")
    named = [each.rpartition(" ")[2] for each in classifiers if " :: 3." in each]
    assert jobs["tests"]["strategy"]["matrix"]["python-version"] == named
    assert {"run": "make test-lowest"} in jobs["lowest"]["steps"]
    (setup,) = (step for step in jobs["lowest"]["steps"] if "setup-python" in step.get("uses", ""))
    assert setup["with"]["python-version"] == named[0]
