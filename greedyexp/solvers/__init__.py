"""Minimisers that algorithms and protocols share.

l1_ball           a risk over an l1 ball
l1_ball_starts    points close to its minimiser
l1_ball_face      Newton steps on a face of the ball
l1_path           a smooth loss with an l1 penalty, along a path
row_paths         least squares with a penalty on rows, along a path
row_penalties     these penalties, their duals and their paths on moments
working_set       the same paths on designs of many features
lasso_active_set  the exact Lasso
gauge             steps of the ultimate method
greedy_selection  one run of forward-backward greedy selection, with its states
greedy_rules      scores of the features to add, and costs of those to drop
refit             certificate of least-squares fits made in Gram form
"""
