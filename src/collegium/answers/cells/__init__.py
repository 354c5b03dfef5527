"""Answers by cells: queries near each other share the rows around the centre of their cell."""
