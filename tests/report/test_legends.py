"""Every entry of the legends of the committed figures belongs to something that is drawn."""

from pathlib import Path

import pytest

from greedyexp.figures._plot.typeset import typeset
from greedyexp.report.draw import Drawing, arrange, listed
from greedyexp.report.look import Look
from greedyexp.report.site.interactive import NotConvertible, interactive
from greedyexp.report.source import open_folder, source_of

RUNS = sorted(Path("results").glob("*/paper"))


@pytest.mark.deep
@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: folder.parent.name)
def test_every_entry_of_a_legend_is_drawn(folder):
    opened = open_folder(folder)
    drawing = Drawing(source_of(opened), None, Look())
    for one in listed(opened.design):
        if one.kind == "table":
            continue
        with drawing.picture(one) as picture:
            typeset(picture)
            arrange(picture)
            try:
                found = interactive(picture)
            except NotConvertible:
                # Planes of coloured cells.
                assert one.name == "phase_diagram"
                continue
        orphans = [
            entry["label"] for entry in found.legend if not entry["traces"] + entry["shapes"]
        ]
        assert not orphans, one.stem
