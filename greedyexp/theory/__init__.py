"""Closed forms: constants, bounds and thresholds with their equation numbers."""
