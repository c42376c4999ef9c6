"""Statistics as pure functions.

contrasts      intervals of linear combinations of estimates, and the correlations they need
crossing       crossing of a level by a logistic curve of success
looks          repeated looks at tests
means          Student's interval, and Fieller's for a ratio of means
multiplicity   Holm's method for several tests
peaks          positions at which curves are largest
proportions    intervals and exact tests for success probabilities
rising         crossing of a level by success that rises, without a model
sequential     intervals for trials whose number or position depended on results
two_samples    differences between two samples, paired or independent, with tests
"""
