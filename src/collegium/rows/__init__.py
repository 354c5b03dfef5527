"""Rows of data: chunks of them, how they are cut, scaled, and which are nearest."""
