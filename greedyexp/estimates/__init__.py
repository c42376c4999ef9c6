"""What algorithms return: a path of estimates, or an iteration that is driven step by step."""
