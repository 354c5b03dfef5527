"""Rows in files and frames: a source, its columns and its numbered chunks."""
