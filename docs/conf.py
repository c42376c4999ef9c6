"""Settings of Sphinx; ``make docs`` builds the documentation in ``build/docs``."""

from __future__ import annotations

import sys
from pathlib import Path

import greedyexp

sys.path.insert(0, str(Path(__file__).parent))
import generated

project = "greedyexp"
author = "The authors of greedyexp"
version = release = greedyexp.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 4
# Blocks without a language are command lines.
highlight_language = "none"

autodoc_typehints = "none"
numpydoc_show_class_members = False
autosummary_generate = True

html_theme = "pydata_sphinx_theme"
html_title = "greedyexp"
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
}


def setup(app):
    app.connect("builder-inited", lambda app: generated.write(Path(app.srcdir)))
    app.connect("source-read", generated.read)
