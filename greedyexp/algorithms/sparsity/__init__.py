"""Algorithms that trade accuracy for sparsity."""
