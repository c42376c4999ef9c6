"""Metrics of an estimate or of a path of estimates.

classification   errors of classification
optimisation     objective values and step counts that an algorithm reports
oracle_errors    errors against the best fit on the true support, and their bounds
regression       errors of coefficients and of predictions
support          which coefficients are nonzero
word_errors      errors in labelling the words of chains
"""
