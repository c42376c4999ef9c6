"""Methods of other packages, so that figures compare with them.

estimator        any estimator with the interface of scikit-learn, by its import path
celer_lasso      the Lasso path of celer
skglm_nonconvex  MCP and SCAD paths of skglm
abess_subsets    best subsets of abess
graphical_lasso  graphical models with an l1 penalty, of scikit-learn
skscope_subsets  best subsets of skscope

_construction    estimators from import paths and parameters
_linear_model    the coefficients of a fitted estimator
_tasks           paths of packages that fit one response at a time
"""
