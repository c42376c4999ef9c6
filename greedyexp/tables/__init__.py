"""Tables: functions that reduce the tidy table to the rows and columns of a printed table.

- ``comparison``: means of metrics and seconds of fits
- ``features``: selected features
- ``slopes``: growth of steps
- ``thresholds``: where success crosses a level
- ``_output``: cells, and the files of a table
"""
