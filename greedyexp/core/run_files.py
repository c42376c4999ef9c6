"""The names of the files and folders of a run folder."""

from __future__ import annotations

CONFIG = "config.yaml"
MANIFEST = "manifest.json"
CLAIMS = "claims.json"
TIMINGS = "timings.csv"
JOURNAL = "journal.sqlite"
# The list of the figures, tables, verdicts and copies of plugins that greedyexp has written.
OUTPUTS = "outputs.json"
PLUGINS = "plugins"
# The kinds of outputs that settings list, with the suffixes of their files.
SUFFIXES = {"figures": ("png", "pdf"), "tables": ("csv", "md", "tex")}

# An experiment has none of these names, since its table is named after it.
TAKEN_NAMES = frozenset(
    name.partition(".")[0]
    for name in (CONFIG, MANIFEST, CLAIMS, TIMINGS, JOURNAL, OUTPUTS, PLUGINS, *SUFFIXES)
)

# Locks: of a run, and held briefly while a state is replaced or an output is written.
LOCK, SWITCH = ".lock", ".switch"
# The next state of the folder. A file with its manifest makes it the state of the folder.
NEXT, DRAFT = ".next", f".{MANIFEST}.tmp"
# Version 0.2 has written the next state to one folder and renamed it to the other.
UNFINISHED, FINISHED = ".unfinished", ".finished"
# Version 0.2 has noted there that all replicates are finished.
COMPLETE = ".complete"
