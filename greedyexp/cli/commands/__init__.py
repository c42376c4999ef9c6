"""One command per file; heavy libraries are imported inside the functions."""
