"""Accuracy against the number of features."""
