"""Score predictive distributions: are forecasts sharp, and are their error bars right?

Arrays are (n,), which is (n, 1), or (n, p) for p outputs. ``sample_weight`` (n,) weights the rows:
weight 2 counts a row twice, 0 not at all. ``multioutput`` "uniform_average" gives the mean over
outputs, a float, and "raw_values" an array (p,). Losses are better when smaller, scorers when
greater.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import erf, ndtr, ndtri
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import UNCHANGED, MetadataRequest

__all__ = ["PredictiveScorer", "calibration_error", "coverage", "coverage_scorer", "crps"]
__all__ += ["crps_scorer", "interval_score", "interval_score_scorer", "nlpd", "nlpd_scorer"]
__all__ += ["pinball", "pit"]

#: Nodes of an integral over probabilities, ∫₀¹ f(p) dp = Σₖ wₖ f(pₖ): the midpoint rule in v,
#: p = v²(3 - 2v), denser towards both tails. The CRPS of a normal or a t is right to 1e-3.
_V = (np.arange(100) + 0.5) / 100
PROBABILITIES, SHARES = _V * _V * (3 - 2 * _V), 6 * _V * (1 - _V) / 100


def nlpd(y_true, y_mean, y_std, *, sample_weight=None, multioutput="uniform_average"):
    """-log N(y | μ, σ²) = ½ ((y - μ) / σ)² + log σ + ½ log 2π, averaged over the rows.

    The negative log predictive density (Good, 1952, JRSS B 14), in nats. A forecast with σ = 0
    scores -inf where y = μ and +inf elsewhere. One +inf makes the average +inf.

    Parameters
    ----------
    y_true, y_mean, y_std : array-like of shape (n,) or (n, p)
    sample_weight, multioutput : see `collegium.metrics`

    Examples
    --------
    >>> round(nlpd([0.0, 1.0], [0.0, 0.0], [1.0, 1.0]), 4)
    1.1689
    """
    error, std, z = _gaussian(y_true, y_mean, y_std)
    with np.errstate(all="ignore"):
        loss = 0.5 * z * z + np.log(std) + 0.5 * np.log(2 * np.pi)
    return _average(np.where((std == 0) & (error != 0), np.inf, loss), sample_weight, multioutput)


def crps(y_true, y_mean, y_std, *, sample_weight=None, multioutput="uniform_average"):
    """∫ (F(x) - 1{x ≥ y})² dx = (y - μ)(2Φ(z) - 1) + σ (2φ(z) - 1/√π), z = (y - μ) / σ, averaged.

    The continuous ranked probability score of F = N(μ, σ²), in the units of y (Gneiting, Raftery,
    Westveld & Goldman, 2005, Mon. Weather Rev. 133). A forecast with σ = 0 scores abs(y - μ).

    Parameters
    ----------
    y_true, y_mean, y_std : array-like of shape (n,) or (n, p)
    sample_weight, multioutput : see `collegium.metrics`

    Examples
    --------
    >>> round(crps([0.0, 3.0], [0.0, 1.0], [1.0, 0.0]), 4)
    1.1168
    """
    error, std, z = _gaussian(y_true, y_mean, y_std)
    with np.errstate(all="ignore"):
        # 2Φ(z) - 1 = erf(z/√2); with y - μ, not σz, before it the limit σ → 0 needs no case
        density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
        loss = error * erf(z / np.sqrt(2)) + std * (2 * density - 1 / np.sqrt(np.pi))
    return _average(loss, sample_weight, multioutput)


def coverage(y_true, lower, upper, *, sample_weight=None, multioutput="uniform_average"):
    """Mean of 1{l ≤ y ≤ u}: the share of the observations inside their intervals.

    It should be near the nominal level, and the intervals short: `interval_score` combines the two
    (Gneiting, Balabdaoui & Raftery, 2007, JRSS B 69, on calibration and sharpness).

    Parameters
    ----------
    y_true, lower, upper : array-like of shape (n,) or (n, p); an end may be infinite
    sample_weight, multioutput : see `collegium.metrics`

    Examples
    --------
    >>> coverage([1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 3.0, 5.0], [2.0, 2.0, 3.0, 6.0])
    0.75
    """
    y, l, u = _columns(y_true=y_true, lower=lower, upper=upper)
    return _average((l <= y) & (y <= u), sample_weight, multioutput)


def interval_score(
    y_true, lower, upper, *, coverage=0.95, sample_weight=None, multioutput="uniform_average"
):
    """(u - l) + 2/α (l - y)₊ + 2/α (y - u)₊ with α = 1 - coverage, averaged over the rows.

    Width plus a penalty for each miss (Gneiting & Raftery, 2007, JASA 102, sec. 6.2); smallest
    in expectation where l and u are the α/2 and 1 - α/2 quantiles of y.

    Parameters
    ----------
    y_true, lower, upper : array-like of shape (n,) or (n, p); an infinite end scores +inf
    coverage : float in (0, 1), the nominal share of observations inside
    sample_weight, multioutput : see `collegium.metrics`

    Examples
    --------
    >>> round(interval_score([0.0, 3.0], [-1.0, -1.0], [1.0, 1.0], coverage=0.9), 4)
    22.0
    """
    _check_level(coverage)
    y, l, u = _columns(y_true=y_true, lower=lower, upper=upper)
    miss = np.maximum(l - y, 0) + np.maximum(y - u, 0)
    return _average(u - l + 2 / (1 - coverage) * miss, sample_weight, multioutput)


def pinball(y_true, y_quantile, q, *, sample_weight=None, multioutput="uniform_average"):
    """max(p (y - x), (p - 1)(y - x)) with x the quantile at p, averaged over rows and levels p.

    The loss that is smallest in expectation where x is the p-quantile of y (Koenker & Bassett,
    1978, Econometrica 46). Twice its integral over all levels is the CRPS.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, p)
    y_quantile : array-like of the shape of y_true, with several levels these on a last axis
        What ``quantile(X, q)`` of a regressor returns.
    q : float or 1-d array-like, the levels, in (0, 1)
    sample_weight, multioutput : see `collegium.metrics`

    Examples
    --------
    >>> round(pinball([0.0, 3.0], [1.0, 1.0], 0.9), 4)
    0.95
    >>> round(pinball([0.0, 3.0], [[0.0, 1.0], [0.0, 1.0]], [0.5, 0.9]), 4)
    0.85
    """
    levels = _levels(q)
    each = _by_level(y_quantile, levels)
    loss = 0.0
    for p, one in zip(np.atleast_1d(levels), each):
        y, x = _columns(y_true=y_true, y_quantile=one)
        loss = loss + np.maximum(p * (y - x), (p - 1) * (y - x)) / levels.size
    return _average(loss, sample_weight, multioutput)


def pit(y_true, y_mean, y_std):
    """Φ((y - μ) / σ): the position of each observation in its forecast distribution.

    The probability integral transform, an array of the shape of y_true; uniform on [0, 1] if the
    forecasts are calibrated (Dawid, 1984, JRSS A 147). With σ = 0 it is 0, 1, or ½ where y = μ.

    Parameters
    ----------
    y_true, y_mean, y_std : array-like of shape (n,) or (n, p)

    Examples
    --------
    >>> pit([0.0, 1.0, -2.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]).round(3)
    array([0.5  , 0.841, 0.023])
    """
    return ndtr(_gaussian(y_true, y_mean, y_std)[2]).reshape(np.shape(y_true))


def calibration_error(y_true, y_mean, y_std, *, sample_weight=None, multioutput="uniform_average"):
    """1/99 Σₖ |p̂ₖ - pₖ|, p̂ₖ = share of the rows with PIT ≤ pₖ, at the levels pₖ = 1 %, …, 99 %.

    The error of Kuleshov, Fenner & Ermon (2018, ICML), absolute instead of squared; n calibrated
    rows score about 0.31/√n by chance. It is blind to sharpness: read it beside `crps`.

    Parameters
    ----------
    y_true, y_mean, y_std : array-like of shape (n,) or (n, p)
    sample_weight, multioutput : see `collegium.metrics`

    Examples
    --------
    >>> round(calibration_error([-1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]), 4)
    0.0844
    """
    u = ndtr(_gaussian(y_true, y_mean, y_std)[2])
    gaps = [_mean(u <= p, sample_weight) - p for p in np.arange(1, 100) / 100]
    return _average(np.abs(gaps), None, multioutput)


def _check_level(coverage):
    if coverage is not None and not 0 < coverage < 1:
        raise ValueError(f"coverage must be between 0 and 1, such as 0.95; got {coverage!r}")


def _levels(q):
    """Levels of quantiles as an array, () or (k,)."""
    try:
        levels = np.asarray(q, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"q must hold levels between 0 and 1: {error}") from error
    if levels.ndim > 1 or levels.size == 0 or not ((levels > 0) & (levels < 1)).all():
        raise ValueError(f"q must be one or several levels between 0 and 1, such as 0.9; got {q!r}")
    return levels


def _by_level(y_quantile, levels):
    """One array of the shape of y per level, from one or from several on a last axis."""
    try:
        found = np.asarray(y_quantile)
    except ValueError as error:
        raise ValueError(f"y_quantile must be an array: {error}") from error
    if levels.ndim and found.shape[-1:] != levels.shape:
        raise ValueError(
            f"y_quantile has shape {found.shape}; give {levels.size} quantiles, one for each level "
            "of q, on its last axis"
        )
    return np.moveaxis(found, -1, 0) if levels.ndim else [found]


def _columns(**arrays):
    """Convert the arrays, y_true first, to (n, p) floats; a ValueError names a bad argument."""
    columns = {}
    for name, array in arrays.items():
        try:
            a = np.asarray(array, dtype=float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must hold real numbers only: {error}") from error
        columns[name] = a = a.reshape(-1, 1) if a.ndim < 2 else a
        if a.ndim > 2 or a.size == 0 or a.shape != columns["y_true"].shape:
            raise ValueError(f"{name} has shape {a.shape}; give n > 0 rows, in the shape of y_true")
        if (~np.isfinite(a) & (a != {"lower": -np.inf, "upper": np.inf}.get(name))).any():
            raise ValueError(f"{name} has NaN or infinite values; drop those rows or repair them")
        if name == "y_std" and (a < 0).any():
            raise ValueError("y_std has negative values; give standard deviations, at least 0")
        if name == "upper" and (columns["lower"] > columns["upper"]).any():
            raise ValueError(
                "lower is greater than upper in some rows; swap or repair the ends (these are ends "
                "of intervals, as predict_interval has them, and not means and deviations)"
            )
    return columns.values()


def _gaussian(y_true, y_mean, y_std):
    """y - μ, σ and z = (y - μ) / σ, each (n, p); at σ = 0, z is ±inf, or 0 where y = μ."""
    y, mean, std = _columns(y_true=y_true, y_mean=y_mean, y_std=y_std)
    with np.errstate(all="ignore"):
        error = y - mean
        return error, std, np.where(error == 0, 0.0, error / std)


def _mean(values, weight):
    """Σᵢ wᵢ vᵢ / Σᵢ wᵢ over the first axis; w = 0 excludes vᵢ, and +inf outweighs -inf."""
    if weight is not None:
        w = np.asarray(weight, dtype=float)
        if w.shape != values.shape[:1] or not (np.isfinite(w) & (w >= 0)).all() or not w.any():
            raise ValueError(f"sample_weight must be {len(values)} finite weights >= 0, not all 0")
        values, weight = values[w > 0], w[w > 0]
    with np.errstate(all="ignore"):
        mean = np.average(values, axis=0, weights=weight)
    return np.where((values == np.inf).any(axis=0), np.inf, mean)


def _average(values, sample_weight, multioutput):
    """Average over the rows of values (n, p), then over the outputs by ``multioutput``."""
    if not isinstance(multioutput, str) or multioutput not in ("raw_values", "uniform_average"):
        raise ValueError(f"multioutput must be 'uniform_average' or 'raw_values': {multioutput!r}")
    raw = _mean(values, sample_weight)
    return raw if multioutput == "raw_values" else float(_mean(raw, None))


class NormalForecast:
    """N(μ, σ²) by ``predict(X, return_std=True)``, for models without a density of their own."""

    def __init__(self, model, X, y, **exposure):
        y_mean, y_std = model.predict(X, return_std=True, **exposure)
        self.y, self.mean, self.std = _columns(y_true=y, y_mean=y_mean, y_std=y_std)

    def nlpd(self, weight):
        return nlpd(self.y, self.mean, self.std, sample_weight=weight)

    def crps(self, weight):
        return crps(self.y, self.mean, self.std, sample_weight=weight)

    def interval(self, level):
        half = ndtri(0.5 + 0.5 * level) * self.std
        return self.mean - half, self.mean + half


class OwnForecast:
    """The predictive distribution of a model with ``log_density`` and ``quantile``."""

    def __init__(self, model, X, y, **exposure):
        (self.y,) = _columns(y_true=y)
        self.log_density = partial(model.log_density, X, y, **exposure)
        self.quantile = partial(model.quantile, X, **exposure)

    def nlpd(self, weight):
        loss = -np.reshape(self.log_density(), self.y.shape)
        return _average(loss, weight, "uniform_average")

    def crps(self, weight):
        """2 ∫₀¹ (1{y < q(p)} - p)(q(p) - y) dp: twice the pinball loss, over all quantiles."""
        above = np.stack(self._quantiles(PROBABILITIES), axis=-1) - self.y[..., None]
        loss = 2 * ((above > 0) - PROBABILITIES) * above @ SHARES
        return _average(loss, weight, "uniform_average")

    def interval(self, level):
        return self._quantiles(np.array([0.5 - 0.5 * level, 0.5 + 0.5 * level]))

    def _quantiles(self, p):
        """Return one array (n, p) per probability."""
        return np.moveaxis(np.reshape(self.quantile(p), (*self.y.shape, p.size)), -1, 0)


def _forecast(estimator, X, y, **exposure):
    """Make the forecast of y; a search uses its best estimator, a pipeline its last step."""
    while hasattr(estimator, "best_estimator_"):
        estimator = estimator.best_estimator_
    last, Xt = estimator, X
    if isinstance(estimator, Pipeline):
        last, Xt = estimator[-1], estimator[:-1].transform(X) if len(estimator) > 1 else X
    if hasattr(last, "log_density") and hasattr(last, "quantile"):
        return OwnForecast(last, Xt, y, **exposure)
    return NormalForecast(estimator, X, y, **exposure)


def _nlpd_loss(forecast, weight, _):
    return forecast.nlpd(weight)


def _crps_loss(forecast, weight, _):
    return forecast.crps(weight)


def _coverage_gap(forecast, weight, level):
    """|share inside - level|, averaged over the columns, so that they cannot cancel."""
    lower, upper = forecast.interval(level)
    inside = (lower <= forecast.y) & (forecast.y <= upper)
    return float(np.abs(_mean(inside, weight) - level).mean())


def _interval_loss(forecast, weight, level):
    ends = forecast.interval(level)
    return interval_score(forecast.y, *ends, coverage=level, sample_weight=weight)


@dataclass(frozen=True)
class PredictiveScorer:
    """-loss of an estimator's predictive distribution: a scorer for scikit-learn's ``scoring=``.

    An estimator with ``log_density`` and ``quantile``, like all regressors here, is scored by its
    own distribution; others by the normal of ``predict(X, return_std=True)``. A fitted search is
    scored by its ``best_estimator_``, so that nested cross-validation works, and a pipeline by its
    last step. The CRPS of an estimator's own distribution is twice the pinball loss of 100
    quantiles (right to 1e-3 for a normal and a t). For another level of the interval,
    ``dataclasses.replace(coverage_scorer, coverage=0.8)``.

    Examples
    --------
    >>> from sklearn.linear_model import BayesianRidge
    >>> from sklearn.model_selection import cross_val_score
    >>> X = np.arange(20.0)[:, None]
    >>> cross_val_score(BayesianRidge(), X, np.sin(X[:, 0]), cv=2, scoring=crps_scorer).shape
    (2,)
    """

    loss: Callable[..., float]  # (forecast, weight, coverage)
    coverage: float | None = None  # of the interval, for losses of intervals
    weight_request: bool | str | None = None  # metadata routing of sample_weight
    exposure_request: bool | str | None = None  # metadata routing of exposure

    def __call__(self, estimator, X, y, sample_weight=None, exposure=None):
        if is_classifier(estimator):
            raise ValueError(
                f"{type(estimator).__name__} is a classifier, and this scorer is for regressors: "
                "give scoring='neg_log_loss' or 'neg_brier_score'"
            )
        _check_level(self.coverage)
        given = {} if exposure is None else {"exposure": exposure}
        return -self.loss(_forecast(estimator, X, y, **given), sample_weight, self.coverage)

    def set_score_request(self, *, sample_weight=UNCHANGED, exposure=UNCHANGED):
        """Return a copy with other requests: True, False, None or an alias."""
        asked = {"weight_request": sample_weight, "exposure_request": exposure}
        return replace(self, **{k: v for k, v in asked.items() if v != UNCHANGED})

    def get_metadata_routing(self):
        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self.weight_request)
        request.score.add_request(param="exposure", alias=self.exposure_request)
        return request

    def _accept_sample_weight(self):  # for scikit-learn's searches without metadata routing
        return True


nlpd_scorer = PredictiveScorer(_nlpd_loss)
crps_scorer = PredictiveScorer(_crps_loss)
coverage_scorer = PredictiveScorer(_coverage_gap, coverage=0.95)
interval_score_scorer = PredictiveScorer(_interval_loss, coverage=0.95)
