"""Figures: tidy frames in, matplotlib figures out."""
