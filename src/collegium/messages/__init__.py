"""The one idea: chunks send Gaussian messages, a committee adds them. Read `message.py` first."""
