"""Pages of the documentation that are made from the code and from other files of the repository."""

from __future__ import annotations

import inspect
import json
import os
import re
from pathlib import Path
from typing import Any

import statements
import yaml
from pictures import Picture, first_rows, picture_of, pictures, results, small, with_captions

from greedyexp.cli.commands.show import without_sections
from greedyexp.core import registry
from greedyexp.core.part import Part
from greedyexp.core.parts import KINDS
from greedyexp.experiment.wording import parameter_rows

INTRODUCTIONS = {
    "generator": "A generator makes the data of a replicate. Name one under `data`.",
    "algorithm": "An algorithm fits the data. List those to compare under `algorithms`.",
    "loss": "A loss is what an algorithm with the parameter `loss` minimises.",
    "protocol": "A protocol calls an algorithm and makes the rows of a replicate.",
    "metric": "A metric is a number for each estimate. List metrics under `metrics`.",
    "figure": "A figure is drawn from the table of a run. List figures under `figures`.",
    "table": "A table sums up the rows of a run. List tables under `tables`.",
}

# Documents elsewhere in the repository that are pages, too.
ELSEWHERE = ("DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/*.md")
FOLDER = Path("reference/generated")

_LINK = re.compile(r"\[([^\]]*)\]\(([^()\s]+)\)")


def write(docs: Path) -> None:
    """Write the generated pages into the folder of the documentation."""
    root, pages = docs.parent, docs / FOLDER
    pages.mkdir(parents=True, exist_ok=True)
    for pattern in ELSEWHERE:
        for path in root.glob(pattern):
            text = path.read_text(encoding="utf-8").replace("{code-cell} ipython3", "python")
            _replace(pages / path.name, linked(text, path, pages, docs))
    drawn = [picture for run in results(root) for picture in pictures(run)]
    for kind in KINDS:
        _replace(pages / f"{_plural(kind)}.md", parts_page(kind, drawn, root, pages))
    _replace(pages / "experiment_files.md", experiment_page(docs.parent))
    _replace(pages / "gallery.md", gallery(docs.parent))
    _replace(pages / "verdicts.md", verdicts_page(docs.parent))
    _replace(pages / "runs.md", runs_page(docs.parent))
    _replace(pages / "statements.md", statements_page(docs))
    (pages / "results").mkdir(exist_ok=True)
    for run in results(docs.parent):
        page = pages / "results" / f"{run.parent.name}.md"
        _replace(page, results_page(run, page.parent))


def linked(text: str, source: Path, folder: Path, docs: Path) -> str:
    """Return a document with links that work in the site.

    Parameters
    ----------
    text, source : str and Path
        The document, and its file, from which its relative links start.
    folder : Path
        The folder of the page in the site.
    docs : Path
        Links to documents outside this folder lead to their generated pages. Links to folders
        outside become plain text.
    """
    elsewhere = {path for pattern in ELSEWHERE for path in docs.parent.glob(pattern)}

    def replaced(match: re.Match[str]) -> str:
        shown, (target, _, anchor) = match[1], match[2].partition("#")
        path = Path(os.path.normpath(source.parent / target))
        own = path.is_relative_to(docs) and folder == source.parent
        if "://" in target or not target or own:
            return match[0]
        if path in elsewhere:
            path = docs / FOLDER / path.name
        elif path.is_dir() or (path.suffix == ".md" and not path.is_relative_to(docs)):
            return shown
        return f"[{shown}]({os.path.relpath(path, folder)}{'#' * bool(anchor)}{anchor})"

    return _LINK.sub(replaced, text)


def read(app: Any, name: str, source: list[str]) -> None:
    """Adapt the links and the figures of a page when Sphinx reads it."""
    docs = Path(app.srcdir)
    path = docs / f"{name}.md"
    if not path.is_relative_to(docs / FOLDER):
        text = linked(source[0], path, path.parent, docs)
        source[0] = with_captions(text, path.parent, docs / FOLDER / "results", docs.parent)


def _replace(path: Path, text: str) -> None:
    """Write a page if it has changed, so that Sphinx reads only new ones."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _plural(kind: str) -> str:
    return "losses" if kind == "loss" else f"{kind}s"


def parts_page(kind: str, drawn: list[Picture], root: Path, pages: Path) -> str:
    """Return a page on all parts of a kind: description, example, properties and parameters."""
    parts = sorted(registry.parts(kind).values(), key=lambda part: part.name)
    blocks = [f"# {_plural(kind).capitalize()}", INTRODUCTIONS[kind]]
    blocks.append(
        _table(("name", "what"), [(f"[`{p.name}`](#{_anchor(p)})", p.title) for p in parts])
    )
    for part in parts:
        blocks += [f"({_anchor(part)})=", f"## `{part.name}`: {part.title}"]
        words = without_sections(inspect.getdoc(part.function) or "")
        blocks.append(_prose(words))
        facts = [(name, text) for name, text in part.properties() if text]
        if facts:
            blocks.append(_table(("", ""), facts))
        picture = picture_of(part, drawn)
        if picture:
            blocks.append(small(picture, pages, pages / "results"))
        if kind == "table":
            blocks.append(first_rows(part.name, root, pages, pages / "results"))
        rows = parameter_rows(part)
        if rows:
            heading = ("parameter", "type", "default", "range", "description")
            blocks.append(_table(heading, [(f"`{row[0]}`", *row[1:]) for row in rows]))
    return "\n\n".join(block for block in blocks if block) + "\n"


def experiment_page(root: Path) -> str:
    """Return a page on the keys of an experiment file, from its JSON Schema."""
    schema = json.loads((root / "configs" / "greedyexp.schema.json").read_text(encoding="utf-8"))
    rows = [
        (
            f"`{key}`",
            "yes" if key in schema["required"] else "",
            _default(one),
            one.get("description", ""),
        )
        for key, one in schema["properties"].items()
    ]
    return "\n\n".join(
        [
            "# Experiment files",
            "An experiment is a YAML file with these keys. `greedyexp check FILE` validates one,"
            " and [editors](../../guide/editors.md) complete its keys.",
            _table(("key", "required", "default", "meaning"), rows),
            "The keys of each part are its parameters: [generators](generators.md),"
            " [algorithms](algorithms.md), [protocols](protocols.md), [figures](figures.md) and"
            " [tables](tables.md). [Claims](../../guide/claims.md) and"
            " [adaptive trials](../../guide/adaptive_trials.md) have pages of their own.\n",
        ]
    )


def gallery(root: Path) -> str:
    """Return a page with a picture of each shipped experiment that has committed results."""
    cards = []
    for run in results(root):
        name = run.parent.name
        settings = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
        paper = settings.get("paper") or {}
        source = ", ".join(text for text in (paper.get("key"), paper.get("figure")) if text)
        first = min((run / "figures").glob("*.png"))
        picture = Path("../../..") / first.relative_to(root)
        lines = [f":::{{grid-item-card}} {name}", f":img-top: {picture.as_posix()}"]
        lines += [f":link: results/{name}", ":link-type: doc", ""]
        lines += [
            " ".join(settings["description"].split()),
            "",
            f"*{source}*" if source else "",
            "",
        ]
        lines += [f"`greedyexp run {name} --profile paper`", ":::"]
        cards.append("\n".join(lines))
    grid = "\n".join(["::::{grid} 1 2 2 3", ":gutter: 3", "", *cards, "::::"])
    words = "The experiments that come with greedyexp, with one figure of each."
    hidden = "\n".join(["```{toctree}", ":hidden:", ":glob:", "", "results/*", "```"])
    return (
        f"# Gallery\n\n{words} [All of them](../../experiments.md), with their papers.\n\n{grid}"
        f"\n\n{hidden}\n"
    )


def results_page(run: Path, folder: Path) -> str:
    """Return a page on a committed run: all figures with their captions, and all verdicts."""
    name = run.parent.name
    settings = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    blocks = [f"# {name}", " ".join(settings["description"].split())]
    blocks.append(f"`greedyexp run {name} --profile paper`")
    blocks += [picture.directive(folder) for picture in pictures(run)]
    # An experiment without claims has no such file.
    verdicts = run / "claims.json"
    if verdicts.is_file():
        judged = json.loads(verdicts.read_text(encoding="utf-8"))["claims"]
        rows = [(f"{c['quote']} ({c['place']})", c["verdict"], _decisive(c)) for c in judged]
        blocks += ["## Claims", _table(("statement", "verdict", "tests"), rows)]
    return "\n\n".join(blocks) + "\n"


def verdicts_page(root: Path) -> str:
    """Return a page on the claims of all committed results, the refuted ones first."""
    claims = []
    for path in sorted((root / "results").glob("*/paper/claims.json")):
        judged = json.loads(path.read_text(encoding="utf-8"))
        claims += [(judged["experiment"], claim) for claim in judged["claims"]]
    words = {"refuted": "Refuted", "inconclusive": "Open", "supported": "Supported"}
    counts = {word: sum(c["verdict"] == word for _, c in claims) for word in words}
    blocks = [
        "# Verdicts",
        f"Of {len(claims)} claims, {counts['supported']} are supported, {counts['refuted']} refuted"
        f" and {counts['inconclusive']} open with the trials of the paper profiles. [How claims are"
        " judged](../../guide/claims.md).",
    ]
    for verdict, heading in words.items():
        blocks.append(f"## {heading}")
        rows = [
            (
                f"[`{name}`](results/{name}.md): {claim['id']}",
                f"{claim['quote']} ({claim['place']})",
                _decisive(claim),
            )
            for name, claim in claims
            if claim["verdict"] == verdict
        ]
        blocks.append(_table(("claim", "statement", "tests"), rows))
    return "\n\n".join(blocks) + "\n"


def statements_page(docs: Path) -> str:
    """Return a page on the statements of the papers: what shows each, and the verdict."""
    listed, judged = statements.statements(docs), statements.verdicts(docs.parent)
    shown = sum(statement.shown for statement in listed)
    blocks = [
        "# Statements of the papers",
        f"Of {len(listed)} statements, {shown} are shown to hold or not: by claims of experiments,"
        " by tests of this repository, or by a counterexample under"
        " [misprints](../../misprints.md). For the others, the table says why not.",
    ]
    for paper in dict.fromkeys(statement.paper for statement in listed):
        rows = [statements.row(item, judged) for item in listed if item.paper == paper]
        heading = ("statement", "kind", "what it says", "shown by", "verdict")
        blocks += [f"## {paper}", _table(heading, rows)]
    return "\n\n".join(blocks) + "\n"


def runs_page(root: Path) -> str:
    """Return a page on what the committed runs took, with the commit and the verdicts of each."""
    rows, hours = [], 0.0
    for manifest in sorted((root / "results").glob("*/paper/manifest.json")):
        name = manifest.parents[1].name
        run = json.loads(manifest.read_text(encoding="utf-8"))
        hours += run["algorithm_seconds"] / 3600
        verdicts = manifest.with_name("claims.json")
        judged = json.loads(verdicts.read_text(encoding="utf-8")) if verdicts.is_file() else {}
        found = [claim["verdict"] for claim in judged.get("claims", [])]
        rows.append(
            (
                f"[`{name}`](results/{name}.md)",
                run["replicates"]["done"],
                f"{run['algorithm_seconds']:.0f}",
                *(found.count(verdict) for verdict in ("supported", "refuted", "inconclusive")),
                f"`{run['git']['commit'][:7]}`" + (", with changes" if run["git"]["dirty"] else ""),
            )
        )
    heading = ("experiment", "replicates", "seconds", "supported", "refuted", "open", "commit")
    return (
        "\n\n".join(
            [
                "# Committed runs",
                f"The paper profiles of all experiments took {hours:.1f} hours of one core. The"
                " seconds are those of the algorithms, on cores that often had other work. A"
                " replicate is one fit or trajectory. `make paper` computes all of them again.",
                _table(heading, rows),
            ]
        )
        + "\n"
    )


def _decisive(claim: dict[str, Any]) -> str:
    """Return the sentence of the first test with the verdict of the claim, and how many have it."""
    tests = [test for test in claim["tests"] if test["verdict"] == claim["verdict"]]
    if not tests:
        return claim["reason"]
    return f"{len(tests)} of {len(claim['tests'])}. {tests[0]['sentence']}"


def _anchor(part: Part) -> str:
    return f"{part.kind}-{part.name.replace('_', '-')}"


def _table(heading: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
    lines += ["| " + " | ".join(_cell(text) for text in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(text: Any) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")


def _default(schema: dict[str, Any]) -> str:
    return f"`{json.dumps(schema['default'])}`" if "default" in schema else ""


def _prose(text: str) -> str:
    """Return a docstring in Markdown: its headings in bold, its formulas as they are."""
    lines = text.splitlines()
    shown = []
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if set(line) == {"-"} and len(line) >= 3:
            continue
        shown.append(f"**{line}**\n" if set(after) == {"-"} and len(after) >= 3 else line)
    return "\n".join(shown).replace("``", "`").replace("*", "\\*").replace("\\*\\*", "**")
