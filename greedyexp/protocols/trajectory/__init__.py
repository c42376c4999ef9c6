"""What happens from iteration to iteration."""
