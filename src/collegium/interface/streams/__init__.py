"""Streams: rows that wait, arriving rows that are predicted first, progressive scores."""
