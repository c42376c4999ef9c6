"""Record the output of the tool, and compare two records.

Use it to check that a change of the code does not change any output:

    make freeze FROZEN=build/before
    ... change the code ...
    make freeze FROZEN=build/after
    python scripts/freeze.py compare build/before build/after

A record is a folder with a subfolder for each part:

- ``smoke``: the CSV files of the smoke profile of every config in ``configs``;
- ``results``: the figures, tables and verdicts of every run in ``results``; of each figure also
  its points, texts, colours and limits;
- ``experiments``: settings, names of folders and key components of every config, and the answers
  to 2,000 broken ones;
- ``interface``: the output of ``schema``, ``list`` and ``show``.

The file ``DIGESTS`` in the folder has one line for each recorded file. ``record --part smoke``
records a single part; a comparison covers the parts that both records have.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIGESTS = "DIGESTS"

# Other versions of numpy and BLAS, and other processors, round the last digits of sums differently.
RELATIVE, ABSOLUTE = 1e-9, 1e-12
# Paths of files start with the folder of the checkout, which differs between records.
_CHECKOUT = re.compile(r"\S+/(?=(?:greedyexp|configs)/)")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def record(folder: Path, parts: tuple[str, ...]) -> None:
    """Record the given parts in a folder; other parts recorded there before are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in parts:
        shutil.rmtree(folder / part, ignore_errors=True)
        (folder / part).mkdir()
        _PARTS[part](folder / part)
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != DIGESTS)
    lines = [f"{_digest(path)}  {path.relative_to(folder)}\n" for path in paths]
    (folder / DIGESTS).write_text("".join(lines))
    print(f"{len(lines)} files recorded in {folder}")


def compare(before: Path, after: Path) -> int:
    """Print every file that differs, in the parts that both records have; return 1 if any does.

    Files whose numbers differ by rounding only are printed too, but do not count as different.
    """
    one, other = _read(before), _read(after)
    parts = {_part(name) for name in one} & {_part(name) for name in other}
    if not parts:
        sys.exit(f"{before} and {after} have no recorded part in common")
    names = sorted(name for name in one.keys() | other.keys() if _part(name) in parts)
    different = 0
    for name in names:
        if one.get(name) == other.get(name):
            continue
        if name not in one or name not in other:
            verdict = "only before" if name in one else "only after"
        else:
            verdict = _difference(before / name, after / name)
        if verdict == "same":
            continue
        different += verdict != "rounding"
        print(f"{verdict:12} {name}")
    print(f"{', '.join(sorted(parts))}: {len(names)} files, {different} differ")
    return int(different > 0)


def _smoke(folder: Path) -> None:
    runs = folder / "runs"
    # One process, so that rows are computed in the same order each time.
    options = ("--profile", "smoke", "--engine", "serial", "--out", str(runs), "--quiet")
    _greedyexp("run", *sorted(map(str, ROOT.glob("configs/*.yaml"))), *options)
    for table in sorted(runs.glob("*/smoke/*.csv*")):
        content = table.read_bytes()
        content = gzip.decompress(content) if table.suffix == ".gz" else content
        if not table.name.startswith("timings"):
            (folder / table.name.removesuffix(".gz")).write_bytes(content)
    shutil.rmtree(runs)


def _results(folder: Path) -> None:
    results = str(ROOT / "results")
    _run(str(ROOT / "scripts" / "frozen_figures.py"), results, str(folder))
    (folder / "verify.json").write_text(_greedyexp("verify", results, "--json", codes=(0, 4)))


def _interface(folder: Path) -> None:
    (folder / "schema.json").write_text(_greedyexp("schema"))
    listed = _greedyexp("list")
    (folder / "list.txt").write_text(listed)
    # In this process: starting a new process for each of a hundred parts would take minutes.
    from click.testing import CliRunner

    from greedyexp.cli.app import greedyexp

    names = {line.split()[0] for line in listed.splitlines() if line.startswith("  ")}
    for name in sorted(names):
        shown = CliRunner().invoke(greedyexp, ["show", name], obj={"traceback": False})
        (folder / f"show-{name}.txt").write_text(shown.output)


def _experiments(folder: Path) -> None:
    _run(str(ROOT / "scripts" / "frozen_experiments.py"), str(folder))


_PARTS = {
    "smoke": _smoke,
    "results": _results,
    "experiments": _experiments,
    "interface": _interface,
}


def _greedyexp(*arguments: str, codes: tuple[int, ...] = (0,)) -> str:
    return _run("-m", "greedyexp", *arguments, codes=codes)


def _run(*arguments: str, codes: tuple[int, ...] = (0,)) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
    if done.returncode not in codes:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _part(name: str) -> str:
    return name.partition("/")[0]


def _read(folder: Path) -> dict[str, str]:
    """The digest of every recorded file, by its path in the record."""
    lines = (folder / DIGESTS).read_text().splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _difference(before: Path, after: Path) -> str:
    """Return "same", "different" (in words), "numbers", "rounding", or the share of pixels."""
    if before.suffix == ".png":
        return f"{_pixels(before, after):.2%} pixels"
    one, other = (_CHECKOUT.sub("", path.read_text()) for path in (before, after))
    if one == other:
        return "same"
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return "different"
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    close = all(
        math.isclose(float(a), float(b), rel_tol=RELATIVE, abs_tol=ABSOLUTE) for a, b in pairs
    )
    return "rounding" if close else "numbers"


def _pixels(before: Path, after: Path) -> float:
    """Return the share of pixels that differ; 1 if the sizes do."""
    import numpy as np
    from matplotlib.image import imread

    one, other = imread(before), imread(after)
    if one.shape != other.shape:
        return 1.0
    return float(np.any(np.abs(one - other) > 0.02, axis=-1).mean())


def main() -> int:
    """Run from the command line."""
    sys.path.insert(0, str(ROOT))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--part", choices=list(_PARTS), action="append")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.command == "compare":
        return compare(given.before, given.after)
    record(given.folder, tuple(given.part or _PARTS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
