"""Explain answers: effects of columns, contributions to single predictions, nearest rows."""
