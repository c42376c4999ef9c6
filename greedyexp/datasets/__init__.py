"""Public data sets: their sources, checks and places on disk.

- ``catalogue``: the records of data sets, and the list of all.
- ``places``: where data sets are on disk, and the check of their contents.
- ``fetching``: downloads.
- ``own``: the place of a user's own data file.
- ``digits_mfeat``, ``leukemia``, ``libsvm_binary``, ``uci_adl_binary``: one data set each, with a
  record ``DATASET`` and a function ``load``.

Nothing is downloaded unless a user asks for it.
"""
