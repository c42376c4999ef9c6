"""Matching pursuit and related descent methods on least squares, studied iterate by iterate.

coordinate_descent  Gauss-Southwell coordinate descent, plain and proximal; regularised MP
gradient_descent    gradient descent, plain and proximal
ultimate            the ultimate method, each step solved exactly or by an inner loop
_descent            the checked arrays of one task, and compiled steps
"""
