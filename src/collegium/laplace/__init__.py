"""The generalised committee: likelihoods that are not Gaussian, by Laplace's approximation."""
