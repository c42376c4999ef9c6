"""Lasso, group Lasso and the l1 path of smooth losses."""
