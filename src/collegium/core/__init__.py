"""The mathematics: NumPy, SciPy and numba only; no estimators, no input or output, no globals."""
