"""Compiled inner loops: plain float64 arrays in, no validation, no input or output."""
