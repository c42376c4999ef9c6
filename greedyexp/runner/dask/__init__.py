"""The engine that sends batches to the workers of Dask.

- ``engine``: what is sent to workers, and what follows from their answers
- ``work_queue``: which worker gets which batch, and what follows when a worker dies
- ``connection``: the connection to a scheduler, and what it reports
- ``clusters``: the scheduler to use, or the cluster to start
- ``remote``: the functions that Dask workers run
- ``compatibility``: whether a worker would compute the same rows
"""
