"""The verdicts on the claims in the settings of a run, from its table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from greedyexp.claims.entries import BadClaim, compile_claim
from greedyexp.claims.evaluation import evaluate_claims
from greedyexp.claims.language import Claim
from greedyexp.claims.looks import Verdicts, evaluate_looks
from greedyexp.claims.setting import Setting, setting_of
from greedyexp.core.errors import ConfigError
from greedyexp.core.registry import lookup
from greedyexp.experiment.design import Design
from greedyexp.experiment.messages import dotted
from greedyexp.experiment.model import ClaimEntry
from greedyexp.experiment.parameters import BadValue, model_adapter, read_value

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


def judge(
    design: Design,
    frame: pd.DataFrame,
    arms: np.ndarray | None = None,
    before: Verdicts | None = None,
) -> Verdicts:
    """Judge the claims of a run, at several looks if the claims decide on the number of trials.

    Parameters
    ----------
    design : Design
        The settings of the run, with its claims.
    frame : DataFrame
        The tidy table.
    arms : array of int, shape (n,), optional
        The arm of each row, as in ``claims.table.Table``.
    before : Verdicts, optional
        Those of earlier looks at the rows.

    Raises
    ------
    ConfigError
        If a claim cannot be read.
    """
    columns = _columns(design, frame)
    setting = setting_of(design, design.measured, columns)
    claims, frame = _compiled(design, setting), frame.reindex(columns=columns)
    if design.looks is None:
        return Verdicts(evaluate_claims(claims, frame, setting))
    return evaluate_looks(claims, frame, setting, design.looks, arms, before)


def claims_of(design: Design, frame: pd.DataFrame) -> list[Claim]:
    """Return the claims in the settings of a run; see ``judge``."""
    return _compiled(design, setting_of(design, design.measured, _columns(design, frame)))


def _columns(design: Design, frame: pd.DataFrame) -> list[str]:
    """Return the columns of a table, with the facts that a table without data lacks.

    Such tables are of an unfinished run or of failures only.
    """
    parts = filter(None, (lookup("generator", name) for name in design.generators))
    return list(dict.fromkeys([*frame, *(fact for part in parts for fact in part.facts)]))


def _compiled(design: Design, setting: Setting) -> list[Claim]:
    entries = design.settings.get("claims") or []
    if not isinstance(entries, list):
        raise ConfigError("claims must be a list.")
    family = design.family
    return [_claim(entry, index, setting, family) for index, entry in enumerate(entries)]


def _claim(entry: Any, index: int, setting: Setting, family: str) -> Claim:
    """Compile a claim of ``config.yaml``, which may have been edited since the run."""
    try:
        read = read_value(model_adapter(ClaimEntry), entry, "a claim")
        return compile_claim(read.model_dump(), setting, family)
    except BadValue as error:
        keys, message, remedy = error.found[0]
        wrong = ConfigError(message, remedy=remedy or None)
    except BadClaim as error:
        keys, wrong = error.keys, ConfigError(error.message, remedy=error.remedy)
    wrong.place = dotted(("claims", index, *keys))
    raise wrong from None
