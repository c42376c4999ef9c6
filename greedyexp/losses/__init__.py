"""Convex smooth losses bound to data: values, derivatives and minimisers over a support.

loss            the interface of losses and fits
binding         find a loss by name and bind it to a problem
risk            risks over rows or over a distribution
squared         least squares
logistic        the logistic loss
multinomial     the multinomial logistic loss
sample          losses of predictions and responses, from three functions
poisson         the Poisson loss
squared_hinge   the squared hinge loss
huber           the Huber loss
recession       directions along which a loss falls forever
smoothed        common part of the smoothed losses
absolute        the smoothed absolute loss
hinge           the smoothed hinge loss
population      least squares over a distribution
crf             conditional random fields
crf_likelihood  their likelihood
crf_fit         their minimisers
logdet          Gaussian graphical models
signed_columns  columns of a design times labels
quadratic       quadratic losses and their fits
products_ahead  products with a large design for several columns at once
quasi_newton    BFGS with an inverse Hessian that is kept
"""
