"""Judge the claims of a run from its table and its configuration."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from greedyexp.claims.challenge import Challenged, challenge
from greedyexp.claims.decisions import Verdict
from greedyexp.claims.evaluation import JudgedClaim
from greedyexp.claims.judging import Verdicts, judge, read_for
from greedyexp.claims.report import as_json, record, stored_verdicts
from greedyexp.core.errors import StorageError, placed_in
from greedyexp.core.run_files import CLAIMS, CONFIG, OUTPUTS
from greedyexp.report.kept import KeptFiles
from greedyexp.runner.own_files import note_left_alone
from greedyexp.runner.run_contents import Run, read_run
from greedyexp.runner.run_folder import Replaced, retried
from greedyexp.runner.tables import refuse_damaged

_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass(frozen=True)
class Verified:
    """The claims of one run.

    Parameters
    ----------
    folder : Path
    name, profile : str
    judged : list of JudgedClaim
        Empty if the experiment makes no claims.
    contents : dict
        Contents of ``claims.json``.
    part : str
        Part of the run in the table, such as ``3 of 12 replicates``; empty if it is complete.
    unwritten : str
        Reason if ``claims.json`` could not be written; empty otherwise.
    """

    folder: Path
    name: str
    profile: str
    judged: list[JudgedClaim]
    contents: dict[str, Any]
    part: str = ""
    unwritten: str = ""


@retried
def verify(folder: Path, *, write: bool = True) -> Verified:
    """Judge the claims of one run folder.

    Parameters
    ----------
    folder : Path
        Contains ``config.yaml`` and the table; the journal is not needed.
    write : bool
        Write ``claims.json``. Claims in a read-only folder are judged too.

    Raises
    ------
    StorageError
        If the table or the configuration is missing, unreadable or damaged, if they belong to
        different runs, or if ``claims.json`` cannot be written although the folder is writable.
    ConfigError
        If a claim of the configuration cannot be read.
    """
    source = read_run(folder)
    verified = verified_source(source)
    return replace(verified, unwritten=_write(source, verified.contents) if write else "")


@retried
def challenged(folder: Path) -> tuple[Verified, list[Challenged]]:
    """Judge the tests of supported claims on altered tables; write nothing.

    Raises
    ------
    StorageError, ConfigError
        As ``verify``.
    """
    source = read_run(folder)
    verified = verified_source(source)
    judged = {one.claim.id: one.verdict for one in verified.judged}
    if Verdict.SUPPORTED not in judged.values():
        return verified, []
    claims, frame, setting = read_for(source.design, source.frame)
    supported = [one for one in claims if judged[one.id] is Verdict.SUPPORTED]
    return verified, challenge(supported, frame, setting)


@retried
def verdicts(folder: Path, *, keep: bool = False) -> dict[str, Any]:
    """Return the contents of ``claims.json``, and write it.

    Parameters
    ----------
    folder : Path
    keep : bool
        Read ``claims.json`` if it is up to date.

    Raises
    ------
    StorageError, ConfigError
        As ``verify``.
    """
    source = read_run(folder)
    if keep and KeptFiles(source).files(CLAIMS, source.design.settings.get("claims")):
        with suppress(ValueError):
            return stored_verdicts(folder / CLAIMS)
    contents = verified_source(source).contents
    _write(source, contents)
    return contents


def verified_source(source: Run) -> Verified:
    """Judge the claims of a run folder that has been read; write nothing.

    Raises
    ------
    StorageError, ConfigError
        As ``verify``.
    """
    design, context = source.design, source.context
    found = _judged(source)
    contents = record(design.settings, context.profile, found, source.digests)
    name, profile = context.name, context.profile
    return Verified(source.folder, name, profile, found.judged, contents, context.part)


def _write(source: Run, contents: Mapping[str, Any]) -> str:
    """Write ``claims.json``, or remove it if there is nothing to write.

    Returns
    -------
    str
        The reason if there is no permission to write; otherwise empty.
    """
    target = source.folder / CLAIMS
    wanted = as_json(contents) if contents["claims"] or contents["readings"] else None
    if wanted is None and not target.exists():
        return ""
    files = {} if wanted is None else {CLAIMS: wanted.encode("utf-8")}
    try:
        # A folder of a repository, which has no record, stays as it is.
        recorded = (source.folder / OUTPUTS).exists()
        if not recorded and target.is_file() and target.read_bytes() == files.get(CLAIMS):
            return ""
        kept = KeptFiles(source)
        kept.write(CLAIMS, source.design.settings.get("claims"), files)
        note_left_alone(kept.left_alone)
    except Replaced:
        raise
    except (StorageError, OSError) as error:
        system = error if isinstance(error, OSError) else error.__cause__
        reason = getattr(system, "strerror", None) or str(error)
        if getattr(system, "errno", None) in _READ_ONLY:
            return reason
        raise StorageError(
            f"the verdicts cannot be written ({reason}).",
            place=str(target),
            remedy="Look at free space and permissions, or verify a copy of the folder.",
        ) from None
    return ""


def _judged(source: Run) -> Verdicts:
    if not source.design.settings.get("claims"):
        return Verdicts([])
    with placed_in(source.folder / CONFIG):
        measured = source.design.measured
        # A run may be kept without its seconds; claims about them are inconclusive then.
        kinds = {one.name: one.kind for one in measured if one.kind not in ("text", "seconds")}
        numeric = [name for name, kind in kinds.items() if kind != "key"]
        binary = [name for name, kind in kinds.items() if kind == "success"]
        refuse_damaged(source.frame, source.table, kinds, numeric, binary)
        return judge(source.design, source.frame)
