"""The model of an experiment, whether loaded from a file or read from the folder of a run.

messages    error messages for values, and how messages show values and key paths
parameters  validation of the parameters of a part
wording     their types, ranges and descriptions in words
sweep       ranges and the names that a sweep varies
variants    entries of ``algorithms`` and the algorithms of the table
model       the validated experiment
design      the settings of a run: sweeps, labels of the table, columns of the protocol
"""
