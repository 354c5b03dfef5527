"""Combine Gaussian predictions at common query points, wherever they come from.

Jointly, with full covariances: `bayesian` (Tresp 2000, eqs 3–5), `independent` and
`correlated` (his sec. 6: no prior). Query by query: see `pointwise`.

A prediction N(m, S) made from a prior N(p, P) is a message of precision S⁻¹ − P⁻¹ about f. Both
inverses are large where queries lie close, and neither exists where a fixed basis has fewer
functions than there are queries. So f is written as m₀ + Bv, BBᵀ = P, without the directions that
P excludes. In v the prior is N(0, I), S has eigenvalues s in [0, 1], and the message has
precision 1/s − 1 along each: never negative, and zero where nothing was learnt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..messages.message import Belief, Message, normalise
from ..numerics import linalg
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class JointGaussian:
    """A joint prediction of f, without noise, at q points: N(mean, covariance)."""

    mean: Array  # (q,) or (q, p)
    covariance: Array  # (q, q)


def bayesian(
    predictions: Sequence[JointGaussian],
    prior: Array | JointGaussian,
    prior_mean: float | Array = 0.0,
    *,
    priors: Sequence[JointGaussian] | None = None,
) -> JointGaussian:
    """p(f) Π p(f | Dᵢ)/pᵢ(f): multiply posteriors, count the prior once.

    prior: covariance (q, q), with `prior_mean`, or a JointGaussian.
    priors: the prior of each predictor; by default all have `prior`, and
    this is Tresp (2000), eqs 4–5: cov⁻¹ = Σ covᵢ⁻¹ − (M−1)P⁻¹. Where priors differ, directions
    that a predictor's own prior all but excludes are left to the others.
    """
    q, p = _shape(predictions)
    if isinstance(prior, JointGaussian):
        if np.any(np.asarray(prior_mean) != 0.0):
            raise ValueError("prior_mean is given twice: `prior` is a JointGaussian and has a mean")
        prior_mean, prior = prior.mean, prior.covariance
    common = JointGaussian(_columns(prior_mean, q, p, "prior_mean"), _covariance(prior, q, "prior"))
    given = _checked_all(predictions, common.covariance)
    if priors is not None and len(priors) != len(given):
        raise ValueError(f"priors has {len(priors)} Gaussians for {len(given)} predictions")
    coordinates = _Coordinates.of(common.covariance, TUNING.negligible)
    r = coordinates.root.shape[1]
    rows = np.eye(r, r + p)  # the prior's rows: v = 0, each to a deviation of one
    for i, prediction in enumerate(given):
        start = common if priors is None else _checked(priors[i], f"priors[{i}]", q, p)
        same = np.array_equal(start.covariance, common.covariance)
        own = coordinates if same else _Coordinates.of(start.covariance, TUNING.own_negligible)
        T = None if same else own.inverse @ coordinates.root
        rows = _reduced(rows, own.message(prediction, start.mean, common.mean, T))
    return _answer(coordinates, common.mean, rows, np.ndim(predictions[0].mean))


def independent(predictions: Sequence[JointGaussian]) -> JointGaussian:
    """(Σ covᵢ⁻¹)⁻¹ Σ covᵢ⁻¹ fᵢ: unbiased, independent estimators; `bayesian` without a prior.

    Where all are certain, their means are averaged.
    """
    given = _checked_all(predictions, *[g.covariance for g in predictions])
    centre = np.mean([g.mean for g in given], axis=0)
    # Every covariance lies below their sum, which takes the prior's place as a scale.
    coordinates = _Coordinates.of(np.sum([g.covariance for g in given], axis=0), TUNING.negligible)
    rows = np.empty((0, coordinates.root.shape[1] + centre.shape[1]))
    for each in given:
        rows = _reduced(rows, coordinates.message(each, None, centre))
    return _answer(coordinates, centre, rows, np.ndim(predictions[0].mean))


def correlated(means: Sequence[Array], covariance: Array) -> JointGaussian:
    """Best linear unbiased combination of M estimators with a joint covariance Ω (Mq, Mq).

    A = (IᵀΩ⁻¹I)⁻¹IᵀΩ⁻¹, I the identity of the q points stacked M times.
    """
    if len(means) == 0:
        raise ValueError("means is empty: give at least one estimator's")
    M, shape = len(means), np.shape(means[0])
    columns = [
        _columns(mean, shape[0], int(np.prod(shape[1:])), f"means[{i}]")
        for i, mean in enumerate(means)
    ]
    stacked, q = np.concatenate(columns), shape[0]
    if np.shape(covariance) != (M * q, M * q):
        raise ValueError(
            f"covariance has shape {np.shape(covariance)}, but {M} estimators at {q} points need "
            f"({M * q}, {M * q})"
        )
    covariance = _covariance(covariance, M * q, "covariance")
    # Ω in units of each point's largest deviation: jitter means the same everywhere.
    sd = np.sqrt(np.maximum(covariance.diagonal(), 0.0)).reshape(M, q).max(axis=0)
    unit = np.tile(np.where(sd > 0.0, sd, 1.0), M)
    L, _ = linalg.cholesky(covariance / unit / unit[:, None], 1.0, nugget=linalg.JITTERS[0])
    A = linalg.solve_lower(L, np.tile(np.eye(q), (M, 1)))  # Ω^(−½)I
    b = linalg.solve_lower(L, stacked / unit[:, None])
    belief = _normalised(linalg.gram(A.T), A.T @ b)
    mean = unit[:q, None] * belief.mean
    spread = belief.spread(np.diag(sd))  # points that all are certain of stay certain
    return JointGaussian(mean.reshape(shape), linalg.gram(spread.T))


@dataclass(frozen=True, eq=False)
class _Coordinates:
    """P = BBᵀ and AB = I, without the directions that P excludes.

    B = diag(sd) Q E^½ from the eigenvalues E of P's correlations: points of small and of no
    prior variance stand beside those of large.
    """

    root: Array  # B  (q, r)
    inverse: Array  # A  (r, q)
    rounding: Array  # variance in v that may be rounding, rounding/E  (r,)

    @classmethod
    def of(cls, covariance: Array, negligible: float) -> _Coordinates:
        sd = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
        unit = np.where(sd > 0.0, sd, np.inf)
        E, Q = np.linalg.eigh(covariance / unit / unit[:, None])
        kept = E > max(negligible, E.size * np.finfo(float).eps)
        E, Q = E[kept], Q[:, kept]
        return cls(sd[:, None] * Q * np.sqrt(E), (Q / np.sqrt(E)).T / unit, TUNING.rounding / E)

    def message(
        self, given: JointGaussian, prior_mean: Array | None, centre: Array, T: Array | None = None
    ) -> Array:
        """Message of N(m, S) about v as rows [A, b]: Av = b, each to a deviation of one.

        f = centre + B'v, T = AB'.

        With a prior N(p, BBᵀ): U(1/s − 1)Uᵀ about a = A(f − p), UsUᵀ = ASAᵀ; without: U(1/s)Uᵀ.
        No row is more precise than rounding allows.
        """
        s, U = np.linalg.eigh(_symmetric(self.inverse @ given.covariance @ self.inverse.T))
        W = U.T if T is None else U.T @ T  # Uᵀa = W v + a constant
        rounding = np.minimum(self.rounding @ U**2, 0.5)
        s = np.maximum(s, rounding)
        origin = centre if prior_mean is None else prior_mean
        precision = 1.0 / s
        if prior_mean is not None:
            precision = np.where(s < 1.0 - rounding, precision - 1.0, 0.0)
        # Precision beyond 1/rounding is no information.
        share = 1.0 / np.maximum(TUNING.rounding * precision * (W**2).sum(axis=1), 1.0)
        shift = U.T @ (self.inverse @ (given.mean - origin)) / s[:, None]
        shift = shift - precision[:, None] * (U.T @ (self.inverse @ (centre - origin)))
        some = precision > 0.0
        root, shift = np.sqrt(share * precision)[some, None], (share[:, None] * shift)[some]
        return np.hstack([root * W[some], shift / root])


def _reduced(rows: Array, more: Array) -> Array:
    """Stack rows and reduce them by QR to as many as there are columns.

    No precision is formed, so that the least certain predictor is not lost to rounding.
    """
    return np.asarray(np.linalg.qr(np.vstack([rows, more]), mode="r"))


def _answer(coordinates: _Coordinates, centre: Array, rows: Array, ndim: int) -> JointGaussian:
    """f = centre + Bv, Rv = c to a deviation of one: mean centre + BR⁻¹c, covariance BR⁻¹R⁻ᵀBᵀ."""
    r = coordinates.root.shape[1]
    L = np.ascontiguousarray(rows[:r, :r].T)
    mean = centre + coordinates.root @ linalg.solve_upper(L, rows[:r, r:])
    spread = linalg.solve_lower(L, np.ascontiguousarray(coordinates.root.T))
    return JointGaussian(mean[:, 0] if ndim == 1 else mean, linalg.gram(spread.T))


def _normalised(precision: Array, shift: Array) -> Belief:
    """The belief with this precision and shift; its evidence is not used."""
    return normalise(Message(precision, shift, np.zeros(shift.shape[1])))


def _symmetric(A: Array) -> Array:
    return 0.5 * (A + A.T)


# --- checks --------------------------------------------------------------------------------------


def _shape(predictions: Sequence[JointGaussian]) -> tuple[int, int]:
    """Number of points and outputs, equal in all predictions."""
    if len(predictions) == 0:
        raise ValueError("predictions is empty: give at least one")
    if not all(isinstance(given, JointGaussian) for given in predictions):
        raise ValueError("predictions must be a list of JointGaussian(mean, covariance)")
    shape = np.shape(predictions[0].mean)
    if len(shape) not in (1, 2):
        raise ValueError(f"predictions[0].mean has shape {shape}, not (q,) or (q, p)")
    for i, given in enumerate(predictions):
        if np.shape(given.mean) != shape:
            raise ValueError(
                f"predictions[{i}].mean has shape {np.shape(given.mean)}, but that of "
                f"predictions[0] {shape}: predict at the same points"
            )
    return shape[0], shape[1] if len(shape) == 2 else 1


def _checked_all(predictions: Sequence[JointGaussian], *sizes: Array) -> list[JointGaussian]:
    """Check means (q, p) and covariances; rounding errors are relative to `sizes`."""
    q, p = _shape(predictions)
    size = max(float(np.abs(each).max(initial=0.0)) for each in sizes)
    return [_checked(given, f"predictions[{i}]", q, p, size) for i, given in enumerate(predictions)]


def _checked(given: JointGaussian, name: str, q: int, p: int, size: float = 0.0) -> JointGaussian:
    return JointGaussian(
        _columns(given.mean, q, p, f"{name}.mean"),
        _covariance(given.covariance, q, f"{name}.covariance", size),
    )


def _columns(mean: float | Array, q: int, p: int, name: str) -> Array:
    """Return a mean as (q, p); one value, or one per point, serves all outputs."""
    values = np.asarray(mean, dtype=float)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} has values that are not finite")
    if values.shape == (q,):
        values = values[:, None]
    if values.shape not in ((), (q, 1), (q, p)):
        raise ValueError(f"{name} has shape {values.shape}, but there are {q} points, {p} outputs")
    return np.broadcast_to(values, (q, p))


def _covariance(covariance: Array, q: int, name: str, size: float = 0.0) -> Array:
    values = np.asarray(covariance, dtype=float)
    if values.shape != (q, q):
        raise ValueError(f"{name} has shape {values.shape}, not ({q}, {q})")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} has values that are not finite")
    size = max(size, float(np.abs(values).max(initial=0.0)))
    if np.abs(values - values.T).max(initial=0.0) > 1e-8 * size:
        raise ValueError(f"{name} is not symmetric")
    if values.diagonal().min(initial=0.0) < -1e-8 * size:
        raise ValueError(f"{name} has negative variances")
    return _symmetric(values)
