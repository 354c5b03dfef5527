"""Few rows: predictions averaged over hyperparameters and over three priors of length scales.

Read `model.py` (kernel, priors, evidence), then `maps.py`, `laplace.py`, `stacking.py`; the result
is an `Averaged` (`averaged.py`), which answers with a mixture of Gaussians (`mixture.py`).
"""
