"""The tidy table of a run: who made it, what counts as success, how rows are chosen."""
