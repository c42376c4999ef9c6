"""Figures of protocol ``trajectory``: convergence, its rates, accuracies and coordinates."""
