"""How much to do within limits of time and memory, and what it is expected to take."""
