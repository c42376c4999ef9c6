"""Claims of a paper: a small language, statistics from the tidy table, and verdicts.

setting      the names that the claims of an experiment may use
language     expressions, quantities, linear forms and tests
rules        what a test must satisfy
parser       translation of the text of a claim to tests
entries      claims in the entries of an experiment file
table        rows, groups and replicates that claims use
estimates    estimates of quantities in one cell of the table, with intervals
contrasts    linear contrasts of estimates
decisions    p-values and verdicts of single tests
data_sets    relations in every row, for which data sets are counted
evaluation   all claims of an experiment, corrected for multiple testing
looks        the same at several looks, if claims decide where trials continue
judging      the claims in the settings of a run
report       verdicts in words and as the contents of ``claims.json``
"""
