"""Committed figures in the documentation: with their captions, and next to the parts they show."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from greedyexp.core import registry, shipped
from greedyexp.core.part import Part
from greedyexp.experiment.design import by_stem

# Width of the figure of a part in pixels, and lines of a table with its header.
_SMALL, _FEW = 420, 5
_IMAGE = re.compile(r"^!\[([^\]]*)\]\(\S*results/(\w+)/paper/figures/(\w+)\.png\)$", re.M)


@dataclass(frozen=True)
class Picture:
    """A figure of a committed run.

    Parameters
    ----------
    file : Path
    run, paper : str
        Name of the experiment, and the key of its paper; empty if it has none.
    title, caption : str
    shows : set of (kind, name)
        The parts that it shows, or that made its rows.
    """

    file: Path
    run: str
    paper: str
    title: str
    caption: str
    shows: frozenset[tuple[str, str]]

    def directive(self, folder: Path, text: str = "", width: int | None = None) -> str:
        """Return the figure as a directive of MyST on a page in a folder."""
        lines = [f"```{{figure}} {os.path.relpath(self.file, folder)}", f":alt: {self.title}"]
        # A page of parts has many figures: each is loaded when it comes into view.
        lines += [f":width: {width}px", ":loading: lazy"] if width else []
        return "\n".join([*lines, "", text or self.caption, "```"])

    def own(self, part: Part) -> bool:
        """Return True if the part is of the paper of the experiment."""
        authors = self.paper.rpartition(" ")[0]
        return bool(authors) and authors in str(dict(part.properties()).get("paper", ""))


def results(root: Path) -> list[Path]:
    """Return the run folders of the paper profile of shipped experiments that have figures."""
    runs = [root / "results" / name / "paper" for name in sorted(shipped.configs())]
    return [run for run in runs if any((run / "figures").glob("*.png"))]


def pictures(run: Path) -> list[Picture]:
    """Return the figures of a run in their order."""
    settings = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    drawn = [next(iter(one.items())) for one in settings["figures"]]
    return [
        Picture(
            run / "figures" / f"{stem}.png",
            run.parent.name,
            (settings.get("paper") or {}).get("key", ""),
            title := given.get("title") or registry.find("figure", kind).title,
            given.get("caption") or title,
            frozenset(_shown(settings, kind, given)),
        )
        for stem, (kind, given) in by_stem(drawn).items()
    ]


def picture_of(part: Part, known: Sequence[Picture]) -> Picture | None:
    """Return the first figure that shows a part, of its own paper if there is one."""
    found = [one for one in known if (part.kind, part.name) in one.shows]
    return next((one for one in found if one.own(part)), found[0] if found else None)


def small(picture: Picture, folder: Path, pages: Path) -> str:
    """Return a small figure with its run, for the page of a part."""
    link = os.path.relpath(pages / f"{picture.run}.md", folder)
    text = f"Figure: {picture.title}, from [`{picture.run}`]({link})."
    return picture.directive(folder, text, _SMALL)


def first_rows(name: str, root: Path, folder: Path, pages: Path) -> str:
    """Return the first rows of the narrowest committed table of a name; empty if there is none."""
    files = []
    for run in results(root):
        settings = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
        written = [next(iter(one.items())) for one in settings.get("tables", [])]
        stems = [stem for stem, (kind, _) in by_stem(written).items() if kind == name]
        files += [run / "tables" / f"{stem}.md" for stem in stems]
    if not files:
        return ""
    known = {file: file.read_text(encoding="utf-8").splitlines() for file in files}
    file = min(files, key=lambda one: known[one][0].count("|"))
    run_name = file.parents[2].name
    link = os.path.relpath(pages / f"{run_name}.md", folder)
    rows = [line for line in known[file] if line.startswith("|")][:_FEW]
    return "\n".join([f"The first rows of a table of [`{run_name}`]({link}):", "", *rows])


def with_captions(text: str, folder: Path, pages: Path, root: Path) -> str:
    """Replace images of committed figures by figures with captions and links to their runs.

    Parameters
    ----------
    text : str
        A page in Markdown.
    folder : Path
        The folder of the page.
    pages : Path
        The folder with the page of each run.
    root : Path
        The repository.
    """

    def replaced(match: re.Match[str]) -> str:
        run = root / "results" / match[2] / "paper"
        (picture,) = [one for one in pictures(run) if one.file.stem == match[3]]
        link = os.path.relpath(pages / f"{picture.run}.md", folder)
        text = f"{picture.caption} [All figures of `{picture.run}`]({link})."
        return picture.directive(folder, text)

    return _IMAGE.sub(replaced, text)


def _shown(
    settings: Mapping[str, Any], kind: str, given: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield the parts of the rows that a figure shows, and the figure itself."""
    where = given.get("where") or {}
    yield "figure", kind
    protocol = settings["protocol"]
    yield "protocol", protocol if isinstance(protocol, str) else next(iter(protocol))
    data = settings["data"] if isinstance(settings["data"], list) else [settings["data"]]
    for block in data:
        if _chosen([block.get("label", "")], where.get("data")):
            yield "generator", block["generator"]
    for entry in settings["algorithms"]:
        name, own = (entry, {}) if isinstance(entry, str) else next(iter(entry.items()))
        if _chosen([(own or {}).get("label", name)], where.get("algorithm")):
            yield "algorithm", name
    named = (given.get(key) or {} for key in ("success", "bounds"))
    for name in (*(given.get("metrics") or ()), *(name for one in named for name in one.values())):
        yield "metric", name


def _chosen(labels: Iterable[str], wanted: Any) -> bool:
    """Return True if a figure shows rows with one of the labels; ``rmp (lam=0.1)`` is of rmp."""
    if wanted is None:
        return True
    entries = [
        str(one).partition(" (")[0] for one in (wanted if isinstance(wanted, list) else [wanted])
    ]
    return any(label in entries or label in wanted for label in labels)
