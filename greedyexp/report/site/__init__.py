"""A static HTML report of run folders: ``greedyexp report``.

- ``build``: the folder of pages, its assets and the copies of files
- ``index_page``, ``run_page``, ``comparison_page``: what the pages show
- ``forest``: the tests of claims as forest plots
- ``interactive``, ``axes``, ``artists``, ``legends``, ``mathtext``: figures of matplotlib as
  figures of Plotly
- ``behind``: the rows behind the points of a figure
- ``templates/``, ``assets/``: HTML, CSS and JavaScript
"""
