"""Chunks send Gaussian messages, a committee adds them up. Read `message.py` first."""
