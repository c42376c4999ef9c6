"""Return values of algorithms.

path       estimates along a grid of tuning parameters
sparse     estimates that hold their selected coefficients only
iteration  an iterative method that is driven step by step
profiles   coefficients along a path, and their picture
solution   the result of greedyexp.solve
"""
