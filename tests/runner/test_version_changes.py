"""What differs between the versions and the data files of two runs."""

from __future__ import annotations

import pytest

from greedyexp.runner.manifest import changed_files, version_changes

CLEAN = {"commit": "a" * 40, "dirty": False}
DIRTY = {"commit": "a" * 40, "dirty": True}
UNCOMMITTED = f"{'a' * 12} with uncommitted changes"
SAME = {
    "git": CLEAN,
    "greedyexp": "0.1.0",
    "python": "3.11.7",
    "packages": {"numpy": "2.0", "celer": "0.7"},
}


@pytest.mark.parametrize(
    ("changes", "forward", "backward"),
    [
        ({}, [], []),
        (
            {"git": {"commit": "b" * 40, "dirty": False}},
            [f"commit {'a' * 12} -> {'b' * 12}"],
            [f"commit {'b' * 12} -> {'a' * 12}"],
        ),
        ({"git": None}, [f"commit {'a' * 12} -> unknown"], [f"commit unknown -> {'a' * 12}"]),
        (
            {"git": DIRTY},
            [f"commit {'a' * 12} -> {UNCOMMITTED}"],
            [f"commit {UNCOMMITTED} -> {'a' * 12}"],
        ),
        ({"greedyexp": "0.2.0"}, ["greedyexp 0.1.0 -> 0.2.0"], ["greedyexp 0.2.0 -> 0.1.0"]),
        ({"python": "3.12.0"}, ["python 3.11.7 -> 3.12.0"], ["python 3.12.0 -> 3.11.7"]),
        (
            {"packages": {"numpy": "2.1", "celer": "0.7"}},
            ["numpy 2.0 -> 2.1"],
            ["numpy 2.1 -> 2.0"],
        ),
        # Of algorithms that only one of the runs has, or not recorded by an earlier version.
        ({"packages": {"numpy": "2.0"}}, ["celer 0.7 -> none"], ["celer none -> 0.7"]),
        (
            {"packages": {"numpy": "2.0", "celer": None}},
            ["celer 0.7 -> none"],
            ["celer none -> 0.7"],
        ),
        (
            {"packages": None},
            ["numpy 2.0 -> none", "celer 0.7 -> none"],
            ["numpy none -> 2.0", "celer none -> 0.7"],
        ),
        # What is no version.
        ({"machine": {"cores": 2}, "started": "now"}, [], []),
    ],
)
def test_versions_that_differ(changes, forward, backward):
    other = {**SAME, **changes}
    assert version_changes(SAME, other) == forward
    assert version_changes(other, SAME) == backward


def test_uncommitted_changes_are_equal_to_nothing():
    dirty = {**SAME, "git": DIRTY}
    assert version_changes(dirty, dirty) == [f"commit {UNCOMMITTED} -> {UNCOMMITTED}"]


def test_manifests_without_versions_do_not_differ():
    assert version_changes({}, {}) == []


@pytest.mark.parametrize(
    ("known", "now", "changed"),
    [
        ({}, {}, []),
        ({"a": "1", "b": "2"}, {"a": "1", "b": "2"}, []),
        ({"a": "1", "b": "2"}, {"a": "9", "b": "2"}, ["a"]),
        ({"a": "1", "b": "2"}, {"b": "8", "a": "9"}, ["b", "a"]),
        # A file that only one of the runs reads has not changed.
        ({"a": "1"}, {"a": "1", "b": "2"}, []),
        ({"a": "1", "b": "2"}, {"a": "1"}, []),
        (None, {"a": "1"}, []),
    ],
)
def test_data_files_that_changed(known, now, changed):
    assert changed_files({"data_files": known}, now) == changed


def test_a_manifest_of_an_earlier_version_has_no_data_files():
    assert changed_files({}, {"a": "1"}) == []
