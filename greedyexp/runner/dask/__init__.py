"""The engine that sends batches to the workers of Dask.

- ``engine``: which worker computes which batch, and what happens when workers die
- ``link``: the connection to a scheduler, and what it reports
- ``clusters``: the scheduler to use, or the cluster to start
- ``remote``: the functions that Dask workers run
- ``agreement``: whether a worker would compute the same rows
"""
