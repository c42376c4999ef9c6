"""Minima of a smooth loss with an l1 penalty."""
