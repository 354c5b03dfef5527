"""The shape of the code in numbers: sizes, names, imports, and what a call passes through.

    python -m benchmarks.studies.house [src/collegium] [--before other/src/collegium]

`tests/test_house.py` sets limits to these numbers, and names what is beyond them.
"""

PACKAGE = "collegium"
