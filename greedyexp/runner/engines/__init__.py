"""Engines: where batches of replicates are computed."""
