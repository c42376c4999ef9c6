"""The cache of compiled kernels: which edits recompile which files, and where the code is kept."""

import ast
import os
import shutil
import time
from functools import cache

import pytest
from platformdirs import user_cache_path

from greedyexp.kernels import _compile

KERNELS = _compile.PACKAGE / "kernels"
FILES = sorted(path for path in KERNELS.rglob("*.py") if path.name != "__init__.py")


@cache
def imported(path):
    """The kernel files that a file imports itself, by its syntax tree."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom):
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        inside = [name.split(".")[1:] for name in names if name.startswith("greedyexp.")]
        found |= {_compile.PACKAGE.joinpath(*parts).with_suffix(".py") for parts in inside if parts}
    return {path for path in found if path.is_file()}


def dependants(changed):
    """A file and all files that import it, directly or through others."""
    found = {changed}
    while more := {path for path in FILES if imported(path) & found} - found:
        found |= more
    return found


def digests(package):
    _compile._read.cache_clear()
    return {
        path: _compile.digest(package / path.relative_to(_compile.PACKAGE), package)
        for path in FILES
    }


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    package = tmp_path_factory.mktemp("copy") / "greedyexp"
    shutil.copytree(KERNELS, package / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    return package


def test_the_digest_does_not_depend_on_the_place_of_the_package(copied):
    assert digests(copied) == digests(_compile.PACKAGE)
    assert len(set(digests(copied).values())) == len(FILES)


@pytest.mark.parametrize("changed", FILES, ids=lambda path: path.stem)
def test_an_edit_changes_the_digests_of_the_files_that_depend_on_it_and_of_no_others(
    changed, copied
):
    before = digests(copied)
    target = copied / changed.relative_to(_compile.PACKAGE)
    text = target.read_text()
    target.write_text(f"{text}\nEDITED = True\n")
    after = digests(copied)
    target.write_text(text)
    assert {path for path in FILES if after[path] != before[path]} == dependants(changed)


@pytest.fixture
def fresh_caches(monkeypatch, tmp_path):
    """Empty folders for the user's cache and for temporary files."""
    monkeypatch.setattr(_compile, "user_cache_path", lambda name: tmp_path / "cache" / name)
    monkeypatch.setattr(_compile.tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    functions = _compile.cache_root, _compile._folder
    for function in functions:
        function.cache_clear()
    yield tmp_path
    for function in functions:
        function.cache_clear()


def twice(x):
    return 2 * x


def test_a_kernel_is_cached_in_the_folder_of_its_file(fresh_caches):
    assert _compile.kernel(twice)(2) == 4
    (folder,) = (fresh_caches / "cache" / "greedyexp" / "kernels").iterdir()
    assert folder.name.startswith("test_compile-")
    assert list(folder.rglob("*.nbi"))
    assert _compile.numba.config.CACHE_DIR == ""


def test_without_a_writable_cache_kernels_go_to_the_temporary_folder(fresh_caches):
    (fresh_caches / "cache").write_text("a file, so no folder can be made here")
    assert _compile.kernel(twice)(2) == 4
    (folder,) = fresh_caches.glob("tmp/greedyexp-*")
    assert list(folder.rglob("*.nbi"))
    assert folder.stat().st_mode & 0o077 == 0


def test_without_any_writable_folder_kernels_are_compiled_but_not_cached(fresh_caches):
    for name in ("cache", "tmp"):
        (fresh_caches / name).write_text("a file, so no folder can be made here")
    assert _compile.cache_root() is None
    assert _compile.kernel(fastmath=True)(twice)(2) == 4


def test_old_folders_of_the_same_file_are_deleted_when_a_new_one_is_made(fresh_caches):
    root = _compile.cache_root()
    month_ago = time.time() - _compile.UNUSED - 60
    for name in ("test_compile-0", "test_compile-1", "test_compile_other-0"):
        (root / name).mkdir()
        os.utime(root / name, (month_ago, month_ago))
    os.utime(root / "test_compile-1")
    _compile.kernel(twice)
    left = {path.name.partition("-")[2] for path in root.glob("test_compile-*")}
    assert "0" not in left
    assert len(left) == 2
    assert (root / "test_compile_other-0").is_dir()


def test_the_cache_of_the_package_is_in_use():
    assert _compile.cache_root().parent == user_cache_path("greedyexp")
