"""Losses with sparsity-inducing penalties, along a path of weights.

lasso           least squares with an l1 penalty, task by task
adaptive_lasso  the same with weights from a ridge regression
group_lasso     least squares with an l1/linf or an l1/l2 penalty
l1_path         any loss with an l1 penalty
"""
