"""Matching pursuit and related descent methods on least squares, studied iterate by iterate.

coordinate_descent  Gauss-Southwell coordinate descent, plain and proximal
gradient_descent    gradient descent, plain and proximal
rmp                 regularised matching pursuit
ultimate            the ultimate method, each step solved exactly
ultimate_inner      the ultimate method, each step solved by an inner loop
_descent            the checked arrays of one task, and compiled steps
"""
