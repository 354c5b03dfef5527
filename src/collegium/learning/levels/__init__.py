"""Columns of codes: find those that hold levels, and give levels scores, by held-out rows."""
