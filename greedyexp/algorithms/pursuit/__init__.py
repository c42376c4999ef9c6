"""Orthogonal matching pursuit, over single features or over rows."""
