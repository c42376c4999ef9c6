"""Which distribution installed a module, however it lists its modules."""

from __future__ import annotations

import importlib

import pytest

from greedyexp.core.packages import distribution_of, requires


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a distribution: its record of files, and what ``top_level.txt`` lists."""

    def install(name: str, files: list[str], listed: list[str] | None = None) -> None:
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))
        if listed is not None:
            (info / "top_level.txt").write_text("\n".join(listed))

    monkeypatch.syspath_prepend(str(tmp_path))
    yield install
    importlib.invalidate_caches()


def test_modules_are_listed_or_found_among_the_files(installed):
    installed("with-list", ["shape/__init__.py", "data/table.csv"], listed=["shape"])
    installed("without-list", ["colour/mix/__init__.py", "hue.cpython-310-x86_64-linux-gnu.so"])
    assert distribution_of("shape.edges") == "with-list"
    assert distribution_of("data") is None
    assert distribution_of("colour") == "without-list"
    assert distribution_of("hue") == "without-list"
    assert distribution_of("hu") is None


def test_scikit_learn_is_found_by_the_name_of_its_module():
    assert distribution_of("sklearn.linear_model") == "scikit-learn"


def test_a_requirement_may_be_optional():
    assert requires("greedyexp", "scikit_learn")
    assert not requires("numpy", "scikit-learn")
