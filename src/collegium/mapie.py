"""Conformity scores in standard deviations, for MAPIE.

score = collegium.mapie.StdConformityScore(model)
SplitConformalRegressor(model, conformity_score=score, prefit=True).conformalize(X, y)
"""

from __future__ import annotations

from typing import Any

from .numerics.libraries import library


class _StdScore:
    """(y − μ(x)) / σ(x): intervals that are wide where the model is unsure.

    Parameters
    ----------
    model : fitted regressor of collegium, of one output
        It tells σ, the standard deviation of a new observation. Without MAPIE
        `predict_interval(method="split")` does more: it keeps heavy tails and skew too.
    """

    def __init__(self, model: Any):
        super().__init__(sym=True, consistency_check=False)  # type: ignore[call-arg]
        self.model = model

    def get_signed_conformity_scores(self, y: Any, y_pred: Any, *, X: Any, **more: Any) -> Any:
        """(y − μ)/σ of calibration rows  (n,)."""
        return (y - y_pred) / self._std(X)

    def get_estimation_distribution(
        self, y_pred: Any, conformity_scores: Any, *, X: Any, **more: Any
    ) -> Any:
        """μ + score·σ at queries  (n, scores)."""
        return y_pred + conformity_scores * self._std(X)[:, None]

    def _std(self, X: Any) -> Any:
        return self.model.predict(X, return_std=True)[1]


def __getattr__(name: str) -> Any:
    """Make the class when it is first asked for: its base is MAPIE's."""
    if name != "StdConformityScore":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    base = library("mapie.conformity_scores", "mapie", "collegium.mapie").BaseRegressionScore
    own = {"__doc__": _StdScore.__doc__, "__module__": __name__}
    found = globals()[name] = type(name, (_StdScore, base), own)
    return found
