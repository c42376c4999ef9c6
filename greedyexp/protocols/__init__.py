"""Protocols: evaluate an algorithm on a problem and return rows of results.

base: setup, columns, outcome, recorded iterations.
problem_contract: checks of problems, the results of generators.
contracts: checks of the results of generators, algorithms and metrics.
fitting: fit, tune, measure, and iterate until certified.
information: a robust extended Bayesian information criterion.
recovery: protocol ``recovery``, one row per replicate with every metric.
selection: protocol ``selection``, one path measured at several sizes.
constants: protocol ``constants``, a constant of the design with its bounds.
trajectory: protocol ``trajectory``, the convergence of an iterative method.
tradeoff: protocols ``tradeoff`` and ``tightness``, accuracy against the number of features.
"""
