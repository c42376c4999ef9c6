"""Algorithms that trade accuracy for sparsity, and the minimiser they are compared with.

l1_ball                    the minimiser of a risk over an l1 ball
randomized_sparsification  random features of a predictor with a small l1 norm
forward_greedy             forward greedy selection over an l1 ball (Frank-Wolfe)
smoothed_forward_greedy    the same for a nonsmooth loss
fully_corrective           forward greedy selection with a refit after each step
replacement_steps          fully corrective selection improved by replacements
_risk                      the risk, its checks, and the points of a path
_frank_wolfe               runs over an l1 ball
_corrective                rules of fully corrective selections
"""
