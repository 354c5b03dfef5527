"""A fitted model in words and shares, and progress of long work."""
