"""The dirty model: greedy, and by a convex program."""
