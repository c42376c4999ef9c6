"""Figures of success probabilities.

- ``phase_transition``: success against a control parameter
- ``transition_threshold``: its crossings of a level, against a property of the data
- ``threshold_limit``: their limit for infinite problems
- ``phase_diagram``: success in a plane, with its contour
- ``_predictions``: predicted transitions and the success that noise allows
"""
