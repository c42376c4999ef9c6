"""Check what is in the source distribution and in the wheel that was built from it.

The wheel has every file of the package with the same bytes as the checkout, so it equals a wheel
that is built from the checkout. The source distribution has the checkout without results.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = (".ci/", ".github/", "results/")


def tracked() -> dict[str, bytes]:
    """Return the files of the checkout that are under version control."""
    answer = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name: (ROOT / name).read_bytes() for name in answer.stdout.splitlines()}


def in_source(archive: Path) -> dict[str, bytes]:
    """Return the files of a source distribution, without its own metadata."""
    with tarfile.open(archive) as opened:
        files = {
            member.name.partition("/")[2]: opened.extractfile(member).read()  # type: ignore[union-attr]
            for member in opened
            if member.isfile()
        }
    del files["PKG-INFO"]
    return files


def in_wheel(archive: Path) -> dict[str, bytes]:
    """Return the files of a wheel, without its metadata and compiled modules."""
    with zipfile.ZipFile(archive) as opened:
        names = [name for name in opened.namelist() if ".dist-info/" not in name]
        compiled = [name for name in names if name.endswith((".so", ".pyd"))]
        if not compiled:
            sys.exit(f"{archive.name} has no compiled kernels.")
        return {name: opened.read(name) for name in names if name not in compiled}


def differences(archive: Path, found: dict[str, bytes], expected: dict[str, bytes]) -> list[str]:
    """Say which files an archive lacks, has in excess, or has with other bytes."""
    missing = [f"lacks {name}" for name in sorted(expected.keys() - found.keys())]
    excess = [f"has {name}, too" for name in sorted(found.keys() - expected.keys())]
    common = sorted(expected.keys() & found.keys())
    changed = [f"has another {name}" for name in common if expected[name] != found[name]]
    return [f"{archive.name} {what}" for what in missing + excess + changed]


def main(folder: Path) -> None:
    """Check the two distributions in a folder."""
    (source,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    files = tracked()
    wrong = differences(
        source,
        in_source(source),
        {name: content for name, content in files.items() if not name.startswith(LEFT_OUT)},
    )
    package = {name: content for name, content in files.items() if name.startswith("greedyexp/")}
    package |= {f"greedyexp/{name}": files[name] for name in files if name.startswith("configs/")}
    wrong += differences(wheel, in_wheel(wheel), package)
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{source.name} and {wheel.name}: what the checkout has")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
