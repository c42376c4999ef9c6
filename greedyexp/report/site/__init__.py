"""A static HTML report of run folders: ``greedyexp report``.

- ``build``: the folder of pages, its assets and the copies of files
- ``run_page``, ``several_runs``: what the pages show
- ``forest``: the tests of claims as forest plots
- ``svg``, ``legends``: figures as matplotlib draws them, with the places of their points
- ``kept_pages``: pages of runs that have not changed
- ``behind``: the rows behind the points of a figure
- ``serve``: the pages on a port of this machine
- ``templates/``, ``assets/``: HTML, CSS and JavaScript
"""
