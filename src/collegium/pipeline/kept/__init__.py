"""Where rows are: in memory (`memory.py`) or on disk (`disk.py`); `kept.py` is the protocol."""
