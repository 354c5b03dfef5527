"""Held-out rows: they check error bars, teach the scale of errors and weigh members."""
