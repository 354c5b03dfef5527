"""Read pictures, and models that cost nothing."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin


class Known(RegressorMixin, BaseEstimator):
    """A model that says what it was told: y = 3x ± 1 with bars of half the length."""

    n_features_in_ = 1

    def __init__(self):
        self.model_ = None

    def predict(self, X, interval=None):
        mean = 3.0 * np.asarray(X, dtype=float)[:, 0]
        return mean if interval is None else (mean, mean - 0.5, mean + 0.5)


def label(ax, text):
    """The artists of a picture that the legend calls so."""
    handles, labels = ax.get_legend_handles_labels()
    found = [h for h, name in zip(handles, labels) if name.startswith(text)]
    assert found, labels
    return found[0]
