"""Protocols: a problem and an algorithm in, rows of results out."""
