"""Matching pursuit over the sign vectors and its descent relatives."""
