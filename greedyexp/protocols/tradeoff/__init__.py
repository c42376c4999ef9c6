"""Accuracy against the number of features.

tradeoff: the protocol that compares runs with reference predictors and with theorems.
tightness: the protocol on a distribution for which few features are provably not enough.
_run: estimates of an algorithm after given numbers of steps.
_bounds: reference predictors and the theorems about them.
_rows: rows of protocol ``tradeoff``.
"""
