"""The verdict on every claim of a run folder, from its table and its configuration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from greedyexp.claims.evaluation import Judged, evaluate_claims
from greedyexp.claims.model import BadClaim, Claim, compile_claim, family_of
from greedyexp.claims.record import as_json, record
from greedyexp.claims.setting import Setting, setting_of
from greedyexp.errors import ConfigError, StorageError
from greedyexp.experiment.claims import ClaimEntry
from greedyexp.experiment.mistakes import dotted
from greedyexp.experiment.parameters import BadValue, model_adapter, read_value
from greedyexp.experiment.protocol import measured_of
from greedyexp.report.source import Source, read_source
from greedyexp.runner.files import write_text


@dataclass(frozen=True)
class Verified:
    """The claims of one run.

    Parameters
    ----------
    folder : Path
    name, profile : str
    judged : list of Judged
        Empty when the experiment makes no claims.
    contents : dict
        What ``claims.json`` holds.
    """

    folder: Path
    name: str
    profile: str
    judged: list[Judged]
    contents: dict


def verify(folder: Path) -> Verified:
    """Judge the claims of one run folder and write its ``claims.json``.

    Parameters
    ----------
    folder : Path
        Holds ``config.yaml`` and the table; the journal is not needed.

    Raises
    ------
    StorageError
        When table or configuration are missing or unreadable, or the file cannot be written.
    ConfigError
        When a claim of the configuration cannot be read.
    """
    source = read_source(folder)
    judged = _judged(source)
    contents = record(source.config, source.context.profile, judged)
    target = folder / "claims.json"
    try:
        if judged or contents["readings"]:
            write_text(target, as_json(contents))
        else:
            target.unlink(missing_ok=True)
    except (StorageError, OSError) as error:
        system = error if isinstance(error, OSError) else error.__cause__
        raise StorageError(
            f"the verdicts cannot be written ({getattr(system, 'strerror', None) or error}).",
            place=str(target),
            remedy="Look at free space and permissions, or verify a copy of the folder.",
        ) from None
    return Verified(folder, source.context.name, source.context.profile, judged, contents)


def _judged(source: Source) -> list[Judged]:
    config = source.config
    entries = config.get("claims") or []
    if not entries:
        return []
    place = str(source.folder / "config.yaml")
    try:
        if not isinstance(entries, list):
            raise ConfigError("claims must be a list.")
        setting = setting_of(config, measured_of(config), source.frame.columns)
        family = family_of(config)
        claims = [_claim(entry, index, setting, family) for index, entry in enumerate(entries)]
    except ConfigError as error:
        error.place = f"{place}: {error.place}" if error.place else place
        raise
    return evaluate_claims(claims, source.frame, setting)


def _claim(entry, index: int, setting: Setting, family: str) -> Claim:
    """A claim of ``config.yaml``, which somebody may have edited since the run."""
    try:
        read = read_value(model_adapter(ClaimEntry), entry, "a claim")
        return compile_claim(read.model_dump(), setting, family)
    except BadValue as error:
        keys, message, remedy = error.found[0]
        wrong = ConfigError(message, remedy=remedy or None)
    except BadClaim as error:
        keys, wrong = error.keys, error
    wrong.place = dotted(("claims", index, *keys))
    raise wrong from None
