"""Subset of regressors, FITC, PITC, PIC, variational and Nyström methods."""
