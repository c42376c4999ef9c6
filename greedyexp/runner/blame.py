"""Where in a plugin an exception was raised: for messages, tracebacks and the debugger."""

from __future__ import annotations

import inspect
import os
import pdb
import signal
import traceback
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from types import TracebackType

from greedyexp.core.errors import Interrupted
from greedyexp.core.parts import Part


class Blame:
    """Finds the code of plugins in a traceback, by the folders of their files.

    Parameters
    ----------
    parts : iterable of Part
        Those of the package are ignored.
    """

    def __init__(self, parts: Iterable[Part]):
        self._folders = {
            _folder(code.co_filename)
            for part in parts
            if not part.shipped
            and (code := getattr(inspect.unwrap(part.function), "__code__", None)) is not None
        }

    def place(self, error: BaseException) -> str:
        """``file:line`` of the innermost frame of a plugin, without folders; empty without one."""
        own = list(self._own(error))
        if not own:
            return ""
        return f"{PurePath(own[-1].tb_frame.f_code.co_filename).name}:{own[-1].tb_lineno}"

    def traceback(self, error: BaseException) -> str:
        """The traceback from the first frame of a plugin on; the whole one without such a frame."""
        first = next(self._own(error), error.__traceback__)
        return "".join(traceback.format_exception(type(error), error, first))

    def debug(self, error: BaseException) -> None:
        """Stop in the debugger, in the innermost frame of a plugin or where the error was raised.

        Raises
        ------
        Interrupted
            When the user quits the debugger.
        """
        own = list(self._own(error)) or list(_frames(error))
        chain = None
        for one in reversed(own):
            chain = TracebackType(chain, one.tb_frame, one.tb_lasti, one.tb_lineno)
        print("".join(traceback.format_exception_only(type(error), error)), end="")
        debugger = pdb.Pdb()
        debugger.reset()
        debugger.interaction(None, chain)
        if debugger.quitting:
            raise Interrupted(signal.SIGINT)

    def _own(self, error: BaseException) -> Iterator[TracebackType]:
        for one in _frames(error):
            if _folder(one.tb_frame.f_code.co_filename) in self._folders:
                yield one


def _frames(error: BaseException) -> Iterator[TracebackType]:
    found = error.__traceback__
    while found is not None:
        yield found
        found = found.tb_next


def _folder(file: str) -> str:
    """The folder of a source file; the name itself of code without a file, such as ``<stdin>``."""
    return file if file.startswith("<") else os.path.dirname(file)
