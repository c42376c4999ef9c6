"""Greedy selection on a convex smooth loss, with and without backward steps.

gradient  FoBa-gdt and Forward-gdt, selection by the gradient
gain      FoBa-obj and Forward-obj, selection by the gain
_rules    scores of the features to add, and costs of those to drop
_run      one run, with its states
_path     paths from one run, and the stopping thresholds of theory
"""
