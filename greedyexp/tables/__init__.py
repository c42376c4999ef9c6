"""Tables: functions from the tidy table to rows and columns as a paper prints them.

- ``comparison``: means of metrics and seconds of fits
- ``features``: selected features
- ``slopes``: growth of steps
- ``_output``: cells, and the files of a table
"""
