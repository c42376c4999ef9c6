"""The results of a run, shared by claims, figures and tables.

- ``context``: facts about the run that the tidy table lacks
- ``records``: rows of the tidy table, chosen, checked and grouped
- ``columns``: columns that separate points; only replicates are averaged
- ``described``: what the columns of a table mean, and their words
- ``curves``: points of curves, which are medians with bands or means with intervals
- ``comparisons``: means of metrics by algorithm, their differences and ratios
- ``successes``: counts and shares of successes, thresholds where success crosses a level
- ``theorems``: rows about theorems, their bounds and accuracies
- ``notes``: what the numbers of a figure or a table are
- ``words``: values of columns in words
- ``text``: words of figures, tables and notes
"""
