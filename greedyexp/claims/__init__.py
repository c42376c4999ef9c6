"""Claims of a paper: a small language, statistics from the tidy table, and verdicts.

setting        the names that the claims of an experiment may use
language       expressions, quantities, linear forms and tests
conditions     what a test must satisfy
parser         translation of the text of a claim to tests
entries        claims: the entries of an experiment file with their tests
table          rows, cells and replicates that claims use
estimates      estimates of quantities in one cell of the table, with intervals
combinations   linear contrasts of estimates
decisions      tests, what decides them, and their verdicts
data_sets      relations in every row, for which data sets are counted
evaluation     the tests of claims on a table
judging        verdicts on the claims of a run, corrected for multiple testing, look by look
challenge      whether the verdict of a supported claim can fail
report         verdicts in words and as the contents of ``claims.json``
"""
