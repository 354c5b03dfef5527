"""Regression filters: a function-space prior projected onto a basis (Zhu & Rohwer 1995)."""
