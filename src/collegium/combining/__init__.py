"""Experts that answer on their own, combined jointly or query by query."""
