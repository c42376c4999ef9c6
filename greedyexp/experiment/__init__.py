"""The model of an experiment, whether loaded from a file or read from the folder of a run.

messages      error messages for values, and how messages show values and key paths
parameters    validation of the parameters of a part
wording       their types, ranges and descriptions in words
sweep         ranges and the names that a sweep varies
settings      the model of an experiment file and of the settings of a run
own_keys      the keys of entries beside parameters, such as labels and titles
variants      the algorithms of the table that the sweep of an entry makes
design        what readers of a run ask its settings: labels, columns of the protocol, words
model         the validated experiment
stored_parts  parts of plugins as data, for readers that do not run plugins
resampling    replicates that are drawn from the rows of one finite data set
"""
