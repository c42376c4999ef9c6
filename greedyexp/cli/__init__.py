"""The command line: parse, call, print; what failed in a run is read back from its table."""

from greedyexp.cli.app import main

__all__ = ["main"]
