"""Methods of other packages, so that figures compare with them.

estimator        any estimator with the interface of scikit-learn, by its import path
lasso_paths      Lasso paths of celer and scikit-learn
sklearn_lars     least angle regression of scikit-learn
sklearn_omp      orthogonal matching pursuit of scikit-learn
skglm_nonconvex  MCP and SCAD paths of skglm
abess_subsets    best subsets of abess
skscope_subsets  best subsets of skscope

_construction    estimators from import paths and parameters
_linear_model    the coefficients of a fitted estimator
_tasks           paths of packages that fit one response at a time
"""
