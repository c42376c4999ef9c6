"""Statistics as pure functions.

contrasts      intervals of linear combinations of estimates, and the correlations they need
crossing       where a rising success probability crosses a level
means          Student's interval, and Fieller's for a ratio of means
multiplicity   Holm's method for several tests
proportions    intervals and exact tests for success probabilities
sequential     which interval fits trials whose number or place depended on results
"""
