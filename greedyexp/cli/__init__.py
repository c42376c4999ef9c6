"""The command line.

- ``app``, ``options``: the command, its subcommands and shared options
- ``process``, ``failures``: signals, standard streams, error messages and exit codes
- ``plan``, ``summaries``, ``text``: words and tables that commands print
- ``completion``: names that a shell completes
- ``commands``: one module per subcommand
"""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Sequence

from greedyexp.cli import process

# New objects, and younger collections, before the next collection of each generation. With
# Python's own numbers, the search for cycles takes a sixth of the time of a command that draws.
_COLLECT_AFTER = (20_000, 50, 100)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    args : sequence of str, optional
        Arguments without the program name. By default, use the arguments of this process, and
        handle its signals and standard streams until it exits.

    Returns
    -------
    int
        0 done; 1 some replicates failed, a value differs or two runs differ beyond chance; 2 user
        error; 4 claim refuted; 5 claim inconclusive; 70 internal error; 129, 130 or 143 ended by
        SIGHUP, Ctrl-C or SIGTERM; 141 output closed early.
    """
    own = args is None
    with process.raising_signals(until_exit=own):
        try:
            if own:
                gc.set_threshold(*_COLLECT_AFTER)
                # The place in the code says nothing to users.
                warnings.formatwarning = lambda message, *_, **__: f"Warning: {message}\n"
                process.open_missing()
            # Imported here because a signal may arrive during the import.
            from greedyexp.cli.app import answer

            code = answer(args)
        except KeyboardInterrupt as error:
            code = process.report_interruption(error)
        if own and process.ended_by_signal(code):
            # The message has been written. A regular exit could wait for a blocked reader, and
            # another signal would print a traceback.
            os._exit(code)
    process.drop_unread()
    if own:
        # The exit need not search all objects for cycles.
        gc.freeze()
    return code


__all__ = ["main"]
