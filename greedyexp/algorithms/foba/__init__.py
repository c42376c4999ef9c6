"""Greedy selection on a convex smooth loss, with and without backward steps.

gradient  FoBa-gdt and Forward-gdt, selection by the gradient
gain      FoBa-obj and Forward-obj, selection by the gain
_path     paths from one run, and the stopping thresholds of theory
"""
