"""Statistics as pure functions.

bounded_sums   exact tests of sums of independent bounded variables, such as of proportions
contrasts      intervals of linear combinations of estimates, and the correlations they need
crossing       crossing of a level by a logistic curve of success
direction      whether success rises or falls along a column
level          the confidence level of intervals and tests, and its words
limits         a line through estimates, extrapolated to 0
means          Student's interval, Fieller's for a ratio of means, and positions of peaks
multiplicity   Holm's method for several tests, and repeated looks at tests
proportions    intervals and exact tests for success probabilities
rising         crossing of a level by success that rises, without a model
rounding       which differences between numbers are rounding errors
row_shares     intervals for shares of test rows over splits of one data set
sequential     intervals for trials whose number or position depended on results
two_samples    differences between two samples, paired or independent, with tests
"""
