"""Few rows: average predictions over hyperparameters and over three priors of length scales.

Read `model.py` (kernel, priors, evidence), then `maps.py`, `stacking.py`; the result is an
`Averaged` (`averaged.py`), which predicts a mixture of Gaussians (`mixture.py`).
"""
