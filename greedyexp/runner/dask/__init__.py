"""The engine that sends batches to the workers of Dask.

- ``engine``: which batches are sent, and what follows from the answers
- ``connection``: the connection to a scheduler, and what it reports
- ``clusters``: the scheduler to use, or the cluster to start
- ``remote``: the function that Dask workers run
- ``compatibility``: whether a worker would compute the same rows
"""
