"""The verdict on every claim of a run folder, from its table and its configuration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from greedyexp import registry
from greedyexp.claims.evaluation import Judged, evaluate_claims
from greedyexp.claims.model import Claim, compile_claim, family_of
from greedyexp.claims.record import as_json, record
from greedyexp.claims.setting import setting_of
from greedyexp.errors import ConfigError
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
    if judged or contents["readings"]:
        write_text(target, as_json(contents))
    else:
        target.unlink(missing_ok=True)
    return Verified(folder, source.context.name, source.context.profile, judged, contents)


def _judged(source: Source) -> list[Judged]:
    config = source.config
    if not config.get("claims"):
        return []
    try:
        metrics = [registry.find("metric", name) for name in config["metrics"]]
        setting = setting_of(config, metrics, source.frame.columns)
        claims = [_claim(entry, setting, family_of(config)) for entry in config["claims"]]
    except ConfigError as error:
        error.place = error.place or str(source.folder / "config.yaml")
        raise
    return evaluate_claims(claims, source.frame, setting)


def _claim(entry, setting, family: str) -> Claim:
    if not isinstance(entry, dict) or not {"id", "quote", "test"} <= entry.keys():
        raise ConfigError("a claim lacks its id, its quote or its test.")
    return compile_claim(entry, setting, family)
