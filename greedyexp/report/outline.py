"""What a ``config.yaml`` must have for a run folder to be read, whoever edited it since the run."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from greedyexp.config.mistakes import dotted
from greedyexp.config.parameters import BadValue, model_adapter, read_value
from greedyexp.config.protocol import DEFAULT
from greedyexp.core.errors import StorageError


class _Part(BaseModel):
    """The rest of it is not read here."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class _Rule(_Part):
    max: Annotated[int, Field(ge=1)]
    success: dict[str, str] = {}


class _Paper(_Part):
    key: str = ""
    figure: str = ""


class _Swept(_Part):
    sweep: dict[str, list | dict] | None = None


class _Algorithm(_Swept):
    label: str | None = None


_Algorithms = dict[str, _Algorithm | None]
_Drawn = dict[str, dict | None]


class _Run(_Part):
    name: str
    trials: Annotated[int, Field(ge=1)] | _Rule
    paper: _Paper | None = None
    plugins: list[str] = []
    protocol: str | Annotated[_Drawn, Field(min_length=1, max_length=1)] = DEFAULT
    data: _Swept | Annotated[list[_Swept], Field(min_length=1)]
    algorithms: list[str | Annotated[_Algorithms, Field(min_length=1, max_length=1)]]
    metrics: list[str] = []
    figures: list[str | Annotated[_Drawn, Field(min_length=1, max_length=1)]] = []
    tables: list[str | Annotated[_Drawn, Field(min_length=1, max_length=1)]] = []


def refuse_damaged(config: dict, place: str) -> None:
    """Refuse a configuration of which figures, tables and verdicts could not be made.

    Parameters
    ----------
    config : dict
        As ``config.yaml`` has it.
    place : str
        The file.

    Raises
    ------
    StorageError
        With the key that is missing or of the wrong kind.
    """
    read = {key: config[key] for key in _Run.model_fields if key in config}
    try:
        read_value(model_adapter(_Run), read, "")
    except BadValue as error:
        keys, message, remedy = error.found[0]
        where = f"{place}: {dotted(keys)}" if keys else place
        raise StorageError(message, place=where, remedy=remedy or None) from None
    if config.get("protocol", DEFAULT) == DEFAULT and "metrics" not in config:
        raise StorageError("'metrics' is missing.", place=place)
