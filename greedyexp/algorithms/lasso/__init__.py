"""Losses with sparsity-inducing penalties, along a path of weights.

lasso           least squares with an l1 penalty, task by task
group_lasso     least squares with an l1/linf penalty
group_lasso_l2  least squares with an l1/l2 penalty
l1_path         any loss with an l1 penalty
"""
