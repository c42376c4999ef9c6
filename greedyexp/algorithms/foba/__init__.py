"""Greedy selection on a convex smooth loss, with and without backward steps.

foba_gdt     forward-backward selection by the gradient
foba_obj     forward-backward selection by the gain
forward_gdt  forward selection by the gradient
forward_obj  forward selection by the gain
_rules       scores of what to take, costs of what to drop
_run         one run, with its states
_path        paths from one run, and the stopping thresholds of theory
"""
