"""Forward greedy selection with and without backward steps."""
