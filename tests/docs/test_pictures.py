"""Committed figures on pages: all are there, with captions, next to parts that they show."""

import sys
from pathlib import Path

import pytest

from greedyexp.core import registry

REPOSITORY = Path(__file__).parents[2]
DOCS = REPOSITORY / "docs"


@pytest.fixture(scope="module")
def site():
    """Return the module that puts figures on pages; the documentation is not a package."""
    sys.path.insert(0, str(DOCS))
    try:
        import pictures

        yield pictures
    finally:
        sys.path.remove(str(DOCS))


@pytest.fixture(scope="module")
def drawn(site):
    return [picture for run in site.results(REPOSITORY) for picture in site.pictures(run)]


def test_every_committed_figure_is_on_the_page_of_its_run_with_a_caption(drawn):
    committed = set((REPOSITORY / "results").glob("*/paper/figures/*.png"))
    assert {picture.file for picture in drawn} == committed
    assert all(len(picture.caption) > 20 for picture in drawn)


def test_an_image_of_a_page_gets_its_caption_and_a_link_to_the_others(site, drawn):
    page = "before\n\n![Gaps](../../results/rmp_comparison/paper/figures/convergence.png)\n\nafter"
    folder, pages = DOCS / "papers", DOCS / "reference" / "generated" / "results"
    shown = site.with_captions(page, folder, pages, REPOSITORY)
    (picture,) = [one for one in drawn if one.run == "rmp_comparison"]
    assert shown.startswith("before\n\n```{figure} ../../results/rmp_comparison/")
    assert f"{picture.caption} [All figures of `rmp_comparison`](../reference/" in shown
    other = "![A photograph](house.png)"
    assert site.with_captions(other, folder, pages, REPOSITORY) == other


@pytest.mark.parametrize("kind", ["algorithm", "generator", "metric"])
def test_a_part_has_a_figure_that_shows_it(site, drawn, kind):
    for part in registry.parts(kind).values():
        picture = site.picture_of(part, drawn)
        showing = [one for one in drawn if (kind, part.name) in one.shows]
        assert (picture is None) == (not showing)
        if any(one.own(part) for one in showing):
            assert picture.own(part)


def test_a_figure_shows_what_it_chooses_alone(drawn):
    """A figure of best_subset_today has the four rules that choose the size for abess."""
    (only,) = [one for one in drawn if one.run == "best_subset_today" and "four ways" in one.title]
    assert {name for kind, name in only.shows if kind == "algorithm"} == {"abess"}
    bounded = [one for one in drawn if ("metric", "oracle_error_bound") in one.shows]
    assert [one.file.stem for one in bounded] == ["comparison_3"]
    homes = [one for one in drawn if one.run == "sensor_selection"]
    assert ("generator", "simulated_home") in homes[2].shows
    assert ("generator", "uci_adl") not in homes[2].shows


def test_a_table_has_its_first_rows_and_its_run(site):
    folder = DOCS / "reference" / "generated"
    shown = site.first_rows("slopes", REPOSITORY, folder, folder / "results")
    first, _, *rows = shown.split("\n")
    run = first.split("`")[1]
    assert first == f"The first rows of a table of [`{run}`](results/{run}.md):"
    written = (REPOSITORY / "results" / run / "paper" / "tables" / "slopes.md").read_text("utf-8")
    assert written.startswith("\n".join(rows))
    assert len(rows) == 5
    assert site.first_rows("no_such_table", REPOSITORY, folder, folder / "results") == ""
