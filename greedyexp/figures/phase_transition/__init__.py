"""Figures of success probabilities.

- ``phase_transition``: success against a control parameter
- ``thresholds``: where success crosses a level, and the limit for infinite problems
- ``_successes``: counts of successes, and the text of all three figures
- ``_predictions``: predicted transitions and the success that noise allows
"""
