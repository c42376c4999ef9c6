"""Estimators of single entries plus whole rows.

dirty_lasso   convex dirty model, an l1 plus an l1/linf penalty
greedy_dirty  greedy dirty model, forward-backward selection of entries and rows
"""
