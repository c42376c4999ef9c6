"""Data generators: functions of parameters and a random stream that return a Problem.

- ``gaussian``, ``multitask_overlap``, ``two_class_gaussian``: Gaussian designs (``_regression``:
  their common parts).
- ``gaussian_graph``: Gaussian variables whose dependences form a graph.
- ``signs``, ``spread_label``: features that are signs.
- ``synthetic_chains``, ``simulated_home``, ``uci_adl``, ``casas``: labelled chains
  (``_labelled_chains``: from recorded intervals to chains and problems).
- ``digits_mfeat``, ``leukemia``, ``libsvm_binary``: public data sets.
- ``file``: a user's own data (``_tables``: .npz, .csv and .parquet files).
"""
