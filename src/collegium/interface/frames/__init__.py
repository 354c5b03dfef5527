"""Frames and files as rows, and answers written to files."""
