"""The convergence of an iterative method.

trajectory: the protocol, its columns and rows.
_course: run and record an iteration.
_optimum: the exact optimum, the bounds and predictions of the gap.
"""
