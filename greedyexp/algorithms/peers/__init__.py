"""Methods of other packages, so that figures compare with them.

estimator      any estimator with the interface of scikit-learn, by its import path
_construction  estimators from import paths and parameters
_linear_model  the coefficients of a fitted estimator
"""
