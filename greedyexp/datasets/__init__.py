"""Public data sets: where they come from, how they are checked, where they lie.

A data set is one module of this package with a record ``DATASET`` and a function ``load``; it is
found by that. Nothing is downloaded unless a user asks for it.
"""
