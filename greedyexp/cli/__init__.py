"""The command line: parse, call, print."""

from greedyexp.cli.app import main

__all__ = ["main"]
