"""Figures of success probabilities.

- ``phase_transition``: success against a control parameter
- ``thresholds``: crossings of a level of success, and their limit for infinite problems
- ``_successes``: counts of successes, and notes shared by all three figures
- ``_predictions``: predicted transitions and the success that noise allows
"""
