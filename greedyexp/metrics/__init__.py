"""Metrics: how far an estimate is from the truth or the data."""
