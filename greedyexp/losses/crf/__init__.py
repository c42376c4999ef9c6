"""Conditional random fields of chains."""
