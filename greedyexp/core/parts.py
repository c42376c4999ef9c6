"""One named part: the decorated function, its parameters, and what was declared of it."""

from __future__ import annotations

import inspect
import os
import traceback
import typing
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

# Arguments that whoever calls an algorithm gives, and no experiment sets.
GIVEN = ("grid", "rng")


@dataclass(frozen=True)
class RecordKind:
    """One kind of row that a protocol writes; the column ``record`` names the kind of each row.

    Parameters
    ----------
    name : str
        The value of the column ``record``.
    keys : tuple of str
        Columns that distinguish the rows of this kind within one replicate.
    remedy : str
        A sentence that says how to make the protocol write such rows.
    columns : tuple of str
        Measured columns that only rows of this kind have.
    """

    name: str
    keys: tuple[str, ...]
    remedy: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """One registered function.

    Parameters
    ----------
    kind : str
        ``generator``, ``algorithm``, ``protocol``, ``metric``, ``figure`` or ``table``.
    name : str
        What a YAML file calls it.
    function : callable
        The decorated function.
    title : str
        How figures and tables call it.
    paper : str
        Where it comes from: paper and equation, algorithm or figure number.
    requires : tuple of str
        Traits a problem must have: ``truth``, ``multi_task``, ``noise_std``, ``test_rows``,
        ``labels``, ``chains``, ``moments``, ``spread_label``; ``rows``, which all have but those
        that provide ``population``, and ``one_response``, which all have but those that provide
        ``multi_task``. ``sparse`` and ``population`` are provided but never required: see
        ``takes_sparse``, ``takes_population``.
    extra : dict
        What only this kind has: ``provides``, ``check``, ``shape``, ``reads``, ``facts``,
        ``describe`` and ``unseeded`` (generators), ``yields``, ``check``, ``theory``,
        ``theory_requires``, ``guarantee``, ``prediction``, ``needs``, ``takes_sparse``,
        ``takes_population``, ``theorems`` and ``stops`` (algorithms), ``takes``, ``metrics``,
        ``columns``, ``records``, ``tunes``, ``check``, ``needs`` and ``needs_for`` (protocols),
        ``better``, ``binary``, ``of`` and ``text`` (metrics), ``columns`` (figures, tables).
    """

    kind: str
    name: str
    function: Callable
    title: str
    paper: str = ""
    requires: tuple[str, ...] = ()
    extra: dict = field(default_factory=dict)

    @cached_property
    def parameters(self) -> type:
        """A pydantic model of the keyword-only arguments; unknown keys are refused."""
        from pydantic import ConfigDict, create_model

        hints = typing.get_type_hints(self.function, include_extras=True)
        fields = {}
        for argument in inspect.signature(self.function).parameters.values():
            if argument.kind is inspect.Parameter.KEYWORD_ONLY and argument.name not in GIVEN:
                default = ... if argument.default is inspect.Parameter.empty else argument.default
                fields[argument.name] = (hints.get(argument.name, typing.Any), default)
        return create_model(
            self.name,
            __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=True),
            **fields,
        )

    @property
    def shipped(self) -> bool:
        """Whether it comes with the package; others are plugins or parts of a session."""
        return (getattr(self.function, "__module__", None) or "").startswith("greedyexp.")

    @property
    def place(self) -> str | None:
        """``file:line`` of the function."""
        return place_of(self.function)

    @property
    def takes_grid(self) -> bool:
        """Whether the algorithm returns a path and can be asked for given tuning values."""
        given = "grid" in inspect.signature(self.function).parameters
        return given and self.extra.get("yields", "estimates") == "estimates"

    @property
    def takes_rng(self) -> bool:
        """Whether the algorithm draws at random."""
        return self.kind == "algorithm" and "rng" in inspect.signature(self.function).parameters

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    def needs(self, params: dict) -> tuple[str, ...]:
        """Traits a problem must have for these parameters, beside ``requires``."""
        needs = self.extra.get("needs")
        return tuple(needs(**params)) if needs else ()

    def seeding(self, params: dict) -> dict:
        """The parameters of a generator that enter random streams."""
        left_out = self.extra.get("unseeded", ())
        return {name: value for name, value in params.items() if name not in left_out}

    def provides(self, params: dict) -> frozenset[str]:
        """Traits of the problems a generator makes with these parameters."""
        traits = self.extra.get("provides", ())
        return frozenset(traits(**params) if callable(traits) else traits)


def place_of(function: Callable) -> str | None:
    """``file:line`` of a function, the file relative to the current folder where it is below it.

    None for what was not read from Python source.
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else place(code.co_filename, code.co_firstlineno)


def last_line(error: BaseException, files: Container[str]) -> str | None:
    """``file:line`` of the innermost of the files that an error passed through; None without."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename in files]
    return place(frames[-1].filename, frames[-1].lineno) if frames else None


def place(file: str | Path, line: int | None = None) -> str:
    """``file:line``, or the file alone, relative to the current folder where it is below it."""
    path = Path(file)
    if path.is_relative_to(os.getcwd()):
        path = path.relative_to(os.getcwd())
    return str(path) if line is None else f"{path}:{line}"
