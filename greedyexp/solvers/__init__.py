"""Minimisers that algorithms and protocols share."""
