"""CITATION.cff says what the package says of itself."""

from __future__ import annotations

from importlib.metadata import metadata

import yaml
from cli_process import REPOSITORY

import greedyexp

# What version 1.2.0 of the format requires, and the other keys in use.
REQUIRED = {"cff-version", "message", "title", "authors"}
OTHERS = {"type", "abstract", "version", "license", "keywords"}


def test_the_citation_agrees_with_the_package():
    cited = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text("utf-8"))
    stated = metadata("greedyexp")
    assert REQUIRED <= cited.keys() <= REQUIRED | OTHERS
    assert cited["cff-version"] == "1.2.0"
    assert cited["type"] == "software"
    assert all(author.get("name") or author.get("family-names") for author in cited["authors"])
    assert cited["title"] == stated["Name"]
    assert cited["abstract"] == stated["Summary"]
    assert cited["version"] == stated["Version"] == greedyexp.__version__
    assert cited["license"] == stated["License-Expression"]
    assert cited["keywords"] == stated["Keywords"].split(",")
