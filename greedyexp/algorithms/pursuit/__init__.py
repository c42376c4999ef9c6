"""Orthogonal matching pursuit.

omp     over single features, task by task, and over rows, all tasks together
_refit  certificate of least-squares fits made in Gram form
"""
