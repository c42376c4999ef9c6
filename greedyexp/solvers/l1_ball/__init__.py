"""Minimum of a risk over an l1 ball."""
