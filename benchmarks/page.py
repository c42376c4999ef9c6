"""Run every benchmark that has a peer, and write docs/performance.md with its figure.

Each script ``bench_*.py`` runs in a process of its own, and so does ``measure_scale.py``, whose
table is part of the page. Fails if a ratio is below the one that DESIGN.md promises, or if a
promise was not measured. Scripts can be named to measure only these; the page is then not written.
Run: python benchmarks/page.py [SCRIPT ...]
"""

from __future__ import annotations

import ast
import json
import math
import platform
import re
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import matplotlib.pyplot as plt
from _measuring import Comparison
from measure_scale import slope

FOLDER = Path(__file__).parent
REPOSITORY = FOLDER.parent
PAGE = REPOSITORY / "docs" / "performance.md"
PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "celer", "adelie", "spams-bin", "skscope", "jax"),
    *("scs", "clarabel"),
)
PROMISES = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([\d.]+) \|$", re.MULTILINE)

Promises = dict[tuple[str, str], float]


def read_promises() -> Promises:
    """Return the least ratios that DESIGN.md promises, by work and peer."""
    text = (REPOSITORY / "DESIGN.md").read_text()
    section = text.partition("## Promised speed")[2].partition("\n## ")[0]
    return {(what, peer): float(least) for what, peer, least in PROMISES.findall(section)}


def measure(script: Path) -> list[dict]:
    """Run a script and return what it writes."""
    print(f"== {script.name}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "found.json"
        subprocess.run([sys.executable, script, "--json", target], check=True)
        return json.loads(target.read_text())


def faults(found: list[Comparison], promises: Promises) -> list[str]:
    """Return a sentence for every promise that is broken or was not measured."""
    measured = {(one.what, one.peer): one.ratio for one in found}
    texts = []
    for (what, peer), least in promises.items():
        if (what, peer) not in measured:
            texts.append(f"{what}: the ratio to {peer} was not measured.")
        elif measured[what, peer] < least:
            ratio = measured[what, peer]
            texts.append(f"{what}: {ratio:.2f} times as fast as {peer}, {least:g} promised.")
    return texts


def processor() -> str:
    """Return the name of the processor, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def versions() -> str:
    """Return the versions of Python, greedyexp and the peers that are installed."""
    found = [f"Python {platform.python_version()}", f"greedyexp {version('greedyexp')}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def growth(rows: list[dict]) -> list[str]:
    """Return the lines of a table of the rows of ``measure_scale.py``."""
    lines = [
        "",
        "## Growth with the number of features",
        "",
        "Two tasks that share 30% of their supports, s = p / 10 nonzero coefficients each (fewer",
        "if the designs would take more than 5 GiB) and n = s log(p - 1.7 s) rows, that is,",
        "theta = 1. The greedy dirty model fits both tasks, the others one. Memory is what a fit",
        "takes beyond its data. Seconds are those of the machine above; what carries over are the",
        "slopes on logarithmic axes. The Lasso forms no Gram matrix of more than 1024 features,",
        "forward greedy none of more than 2048 and the greedy dirty model none of more than 4096,",
        "so their slopes mix two methods. `python benchmarks/measure_scale.py` measures the table.",
        "",
        "| | n x p | s | seconds | MiB | scikit-learn: seconds | MiB |",
        "|---|---|---|---|---|---|---|",
    ]
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        for row in own:
            cells = [method, f"{row['n']} x {row['p']}", str(row["s"])]
            for side in ("our", "their"):
                seconds, size = row["ours" if side == "our" else "theirs"], row[f"{side}_bytes"]
                cells += ["", ""] if seconds is None else [f"{seconds:.2g}", f"{size / 2**20:.0f}"]
            lines.append(f"| {' | '.join(cells)} |")
        ends = [slope(own, name) for name in ("ours", "our_bytes", "theirs", "their_bytes")]
        cells = ["" if math.isnan(end) else f"**{end:.1f}**" for end in ends]
        lines.append(f"| {method} | slope | | {' | '.join(cells)} |")
    return lines


def purpose(script: str) -> list[str]:
    """Return the lines of the docstring of a script, without the command that runs it."""
    text = ast.get_docstring(ast.parse((FOLDER / script).read_text())) or ""
    return text.partition("\nRun: ")[0].rstrip().splitlines()


def page(found: dict[str, list[Comparison]], promises: Promises) -> str:
    """Return the text of the page without the table of growth."""
    lines = [
        "# Speed",
        "",
        "How many times as fast as another implementation greedyexp is: the ratio of processor",
        "times on one thread, or of wall times for the maximum-cut relaxation. Both sides are",
        "measured in turns, in one process or, for times to start, each in new processes. A ratio",
        "below 1 means that the other implementation is faster. Seconds depend on the machine;",
        "only the last table has them. `make bench` writes this page and fails if a ratio is below",
        "the one that [DESIGN.md](../DESIGN.md) promises.",
        "",
        f"Measured on: {processor()}; {versions()}.",
        "",
        "![Ratios of processor times, with those that are promised](performance.png)",
    ]
    for script, rows in found.items():
        lines += ["", f"## `benchmarks/{script}`", "", *purpose(script), ""]
        lines += ["| work | compared with | times as fast | promised | |", "|---|---|---|---|---|"]
        for one in rows:
            least = promises.get((one.what, one.peer))
            promised = "" if least is None else f"{least:g}"
            ratio = f"{one.ratio:.2g}" if one.ratio < 10 else f"{one.ratio:.0f}"
            lines.append(f"| {one.what} | {one.peer} | {ratio} | {promised} | {one.remark} |")
    return "\n".join(lines) + "\n"


def draw(found: list[Comparison], promises: Promises, target: Path) -> None:
    """Draw the ratios for which DESIGN.md promises a least value."""
    found = [one for one in found if (one.what, one.peer) in promises]
    places = range(len(found), 0, -1)
    ratios = [one.ratio for one in found]
    least = [promises[one.what, one.peer] for one in found]
    figure, axes = plt.subplots(figsize=(9, 1 + 0.2 * len(found)), layout="constrained")
    axes.axvline(1.0, color="0.6", linewidth=1)
    axes.hlines(places, 1.0, ratios, color="0.8", linewidth=1)
    axes.plot(ratios, places, "o", color="#0072b2", label="measured")
    axes.plot(least, places, "|", color="#d55e00", ms=11, mew=2, label="promised")
    axes.set_xscale("log")
    axes.set_yticks(places, [f"{one.what}  |  {one.peer}" for one in found], fontsize=7)
    axes.set_ylim(0.3, len(found) + 0.7)
    axes.set_xlabel("times as fast as the peer")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)
    figure.savefig(target, dpi=130)
    plt.close(figure)


def main() -> None:
    named = [FOLDER / Path(name).name for name in sys.argv[1:]]
    scripts = named or sorted(FOLDER.glob("bench_*.py"))
    found = {script.name: [Comparison(**row) for row in measure(script)] for script in scripts}
    every = [one for rows in found.values() for one in rows]
    promises = read_promises()
    if named:
        measured = {(one.what, one.peer) for one in every}
        promises = {key: least for key, least in promises.items() if key in measured}
    else:
        table = growth(measure(FOLDER / "measure_scale.py"))
        PAGE.write_text(page(found, promises) + "\n".join(table) + "\n")
        draw(every, promises, PAGE.with_suffix(".png"))
        print(f"wrote {PAGE.relative_to(REPOSITORY)}")
    broken = faults(every, promises)
    if broken:
        sys.exit("\n".join(["Promises that are broken or were not measured:", *broken]))


if __name__ == "__main__":
    main()
