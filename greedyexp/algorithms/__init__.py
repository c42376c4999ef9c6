"""Tuning-path algorithms: one file each, named as in the papers."""
