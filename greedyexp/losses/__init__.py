"""Convex smooth losses bound to data: values, derivatives and minimisers over a support."""
