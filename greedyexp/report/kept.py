"""Which figures, tables and verdicts of a run folder are up to date.

The record of the run folder has two digests of each: of everything that it is made from (rows,
settings, code and libraries) and of the files themselves. A run makes again only what has changed.
Without the record, everything is made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from greedyexp.core.files import make_folder
from greedyexp.core.run_files import CLAIMS
from greedyexp.experiment.design import by_stem
from greedyexp.runner.digests import content_digest, data_digest, installation
from greedyexp.runner.run_contents import Run
from greedyexp.runner.run_folder import RunFolder

_LIBRARIES = ("numpy", "scipy", "pandas", "matplotlib", "pillow", "fonttools", "pydantic")
# Settings from which only some outputs are made; the others belong to all.
_OWN_SETTINGS = ("figures", "tables", "claims")


class KeptFiles:
    """The outputs of a run folder: which are up to date, and how they are written.

    Parameters
    ----------
    run : Run
    out : Path, optional
        The folder of the outputs instead of the run folder.

    Attributes
    ----------
    left_alone : set of Path
        Files of the user that were not replaced.
    """

    def __init__(self, run: Run, out: Path | None = None):
        self._run, self._out = run, out
        self._folder = out or run.folder
        drawn = {f"{kind}s": by_stem(run.design.drawn(kind)) for kind in ("figure", "table")}
        stems = [f"{home}/{stem}" for home, listed in drawn.items() for stem in listed]
        # An earlier version has left no record in its run folders; other folders are the user's.
        self._names = [CLAIMS, *stems] if out is None else []
        self._copies = run.design.plugins if out is None else []
        self.left_alone: set[Path] = set()
        self._common = common_inputs(run)

    def files(self, name: str, settings: Any) -> list[Path] | None:
        """Return the files of an output if it is up to date, otherwise None.

        Parameters
        ----------
        name : str
            Such as ``figures/comparison``.
        settings : plain data
            The settings that only this output depends on.
        """
        if self._common is None:
            return None
        inputs = data_digest([self._common, settings])
        return RunFolder(self._folder).outputs(self._names).current(name, inputs)

    def write(self, name: str, settings: Any, contents: Mapping[str, bytes]) -> list[Path]:
        """Write the files of an output, but for those that are the user's; return the others.

        Parameters
        ----------
        name : str
        settings : plain data
        contents : mapping of str to bytes
            Contents by paths below the folder; without any, the former files are removed.

        Raises
        ------
        Replaced
            If a run has replaced the state since it was read.
        StorageError
            If a file cannot be written, or the folder has the outputs of another run.
        """
        if self._out:
            make_folder(self._out)
        with nullcontext() if self._out else self._run.unchanged():
            outputs = RunFolder(self._folder).outputs(self._names, self._copies)
            run = self._run.folder
            if self._out and self._out.resolve() != run.resolve():
                outputs.require_source(run, self._out if RunFolder(self._out).has_manifest else run)
            written = outputs.replace(name, data_digest([self._common, settings]), contents)
            self.left_alone |= outputs.left_alone
            return written


def common_inputs(run: Run) -> str | None:
    """Return a digest of what all outputs depend on; None if it cannot be known."""
    installed = installation(_LIBRARIES)
    if run.design.plugins or not installed:
        # Plugins may read any file, package or variable.
        return None
    shared = {key: value for key, value in run.design.settings.items() if key not in _OWN_SETTINGS}
    rows = [run.digests["table"], content_digest(run.timings or b"")]
    done = (run.manifest.get("replicates") or {}).get("done")
    return data_digest([shared, run.design.profile, rows, done, installed])
