"""The command line: parse, call, print; what failed in a run is read back from its table."""

from __future__ import annotations

import os
from collections.abc import Sequence

from greedyexp.cli import signals, streams


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    args : sequence of str, optional
        Arguments without the program name. When they are not given, those of this process are
        used, and signals and standard streams are handled for it until it ends.

    Returns
    -------
    int
        0 done, 1 some replicates failed, 2 user error, 4 a claim refuted, 5 inconclusive, 70
        internal error, 129, 130 or 143 ended by SIGHUP, Ctrl-C or SIGTERM, 141 output was closed
        early.
    """
    own = args is None
    with signals.raising(for_good=own):
        try:
            if own:
                streams.open_missing()
            # Imported here: a signal may arrive while it is imported.
            from greedyexp.cli.app import answer

            code = answer(args)
        except KeyboardInterrupt as error:
            code = signals.answer(error)
        if own and signals.ended(code):
            # The sentence is written. While Python shut down, it would wait for a reader that does
            # not read, and a further signal would print a traceback.
            os._exit(code)
    streams.drop_unread()
    return code


__all__ = ["main"]
