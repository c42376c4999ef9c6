"""Compiled inner loops on plain float64 arrays, without validation, input or output.

- ``_compile``: the decorator of all kernels, and their cache.
- ``linear_algebra``, ``cholesky``, ``orthogonal_factor``: vectors and updated factorisations.
- ``gram_fit``, ``column_basis``: least squares on a changing support.
- ``omp``, ``greedy_dirty``: greedy selection in Gram form.
- ``row_penalty``, ``row_manifold``, ``row_path``: paths of Lasso, group lasso and dirty model.
- ``l2_path``: the path of the l1/l2 group lasso.
- ``scalar_losses``, ``logistic_columns``, ``logistic_lines``, ``logistic_newton``,
  ``clipped_lines``: losses of predictions and their minima along coordinates.
- ``chain_pass``, ``chain_moments``: labelled chains.
- ``descent_state``, ``coordinate_descent``: coordinate descent and matching pursuit.
- ``frank_wolfe``, ``frank_wolfe_margins``: forward greedy steps over an l1 ball.
- ``ultimate_inner``, ``gauge_step``: the step of the ultimate method.
- ``max_cut``: quadratic forms over sign vectors.

This file and those of subfolders hold no code: a kernel's cache does not depend on them.
"""
