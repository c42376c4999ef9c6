"""Matching pursuit with refits, on single features and on rows."""
