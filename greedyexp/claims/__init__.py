"""Claims of a paper: a small language, statistics from the tidy table, verdicts."""
