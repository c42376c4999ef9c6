"""The results of a run, shared by claims, figures and tables.

- ``context``: facts about the run that the tidy table lacks
- ``records``: rows of the tidy table, chosen, checked and grouped
- ``columns``: columns that separate points; only replicates are averaged
- ``legend``: what the columns of a table mean
- ``summaries``: medians over replicates with bands, means of metrics with intervals
- ``successes``: counts of successes, and notes on them
- ``thresholds``: where success crosses a level
- ``theorems``: rows about theorems, their bounds and accuracies
- ``pairs``: differences and ratios of two algorithms on the same data
- ``words``: columns and their values in words
- ``text``: words of figures, tables and notes
"""
