"""Monotone transforms of a target: logarithm, Yeo and Johnson's powers, normal scores."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import boxcox1p

from ..numerics.records import record
from ..rows.scaling import Scaling
from .scores import LARGEST, NormalScores
from .tuning import TUNING

Array = np.ndarray
KINDS = ("log", "yeo-johnson", "rank")
#: Larger exponents are cut to this, so that numbers stay finite.
FARTHEST = 700.0


@record("transforms.target/1")
@dataclass(frozen=True, eq=False)
class TargetTransform:
    """t = T(y) of one output, increasing.

    "log": log y. "yeo-johnson": with z = (y − centre)/scale, ((1 + z)^λ − 1)/λ for z ≥ 0 and
    −((1 − z)^(2 − λ) − 1)/(2 − λ) below (Yeo and Johnson 2000). "rank": `NormalScores`.
    """

    kind: str
    centre: float = 0.0
    scale: float = 1.0
    power: float = 1.0  # λ
    scores: NormalScores | None = None

    @classmethod
    def of(cls, kind: str, y: Array, w: Array) -> TargetTransform:
        """Make a transform from targets (n,) with weights w; the same in any order of them."""
        if kind == "log":
            check_positive(y)
            return cls(kind)
        if kind == "rank":
            return cls(kind, scores=NormalScores.of(y, w))
        if kind != "yeo-johnson":
            raise ValueError(f"a target transform is one of {KINDS}, not {kind!r}")
        order = np.lexsort((w, y))
        y, w = y[order], w[order]
        scaling = Scaling.robust(y[:, None], w)
        one = cls(kind, float(scaling.centre[0]), float(scaling.scale[0]))
        return replace(one, power=most_likely_power(one._standard(y), w))

    @property
    def parameters(self) -> int:
        """How many numbers it has that were chosen by y."""
        if self.scores is not None:
            return int(self.scores.knots.size)
        return 0 if self.kind == "log" else 1

    def within(self, y: Array) -> Array:
        """Whether T(y) exists: y ≤ 0 has no logarithm, and probability zero."""
        return y > 0.0 if self.kind == "log" else np.ones(y.shape, dtype=bool)

    def forward(self, y: Array) -> Array:
        """T(y)."""
        if self.kind == "log":
            check_positive(y)
            return np.log(y)
        if self.scores is not None:
            return self.scores.forward(y)
        return yeo_johnson(self._standard(y), self.power)

    def backward(self, t: Array) -> Array:
        """T⁻¹(t), finite for all finite t; beyond the range of T a bound."""
        if self.kind == "log":
            return np.exp(np.clip(t, -FARTHEST, FARTHEST))
        if self.scores is not None:
            return self.scores.backward(t)
        z = np.where(
            t < 0.0, -_inverse(-t, 2.0 - self.power), _inverse(np.maximum(t, 0.0), self.power)
        )
        with np.errstate(over="ignore"):
            return np.clip(self.centre + self.scale * z, -LARGEST, LARGEST)

    def log_slope(self, y: Array) -> Array:
        """log dT/dy, which is added to log densities of t for those of y."""
        if self.kind == "log":
            check_positive(y)
            return -np.log(y)
        if self.scores is not None:
            return self.scores.log_slope(y)
        return yeo_johnson_log_slope(self._standard(y), self.power) - np.log(self.scale)

    def _standard(self, y: Array) -> Array:
        """z = (y − centre)/scale, within ±LARGEST."""
        with np.errstate(over="ignore"):
            return np.clip((y - self.centre) / self.scale, -LARGEST, LARGEST)


def check_positive(y: Array) -> None:
    if not (y > 0.0).all():
        raise ValueError(
            f"y has a value of {np.min(y):.6g}, which has no logarithm: give "
            "transforms='yeo-johnson' or Transform(y=None) for y that are not all positive"
        )


def yeo_johnson(z: Array, power: float) -> Array:
    """T of standardised targets, within ±LARGEST."""
    with np.errstate(over="ignore"):
        up, down = boxcox1p(np.maximum(z, 0.0), power), boxcox1p(np.maximum(-z, 0.0), 2.0 - power)
    return np.clip(np.where(z < 0.0, -down, up), -LARGEST, LARGEST)


def yeo_johnson_log_slope(z: Array, power: float) -> Array:
    """(λ − 1) log(1 + |z|) with the sign of z."""
    return (power - 1.0) * np.log1p(np.abs(z)) * np.where(z < 0.0, -1.0, 1.0)


def _inverse(t: Array, power: float) -> Array:
    """z with ((1 + z)^λ − 1)/λ = t ≥ 0; a large z where λ < 0 and there is none."""
    with np.errstate(over="ignore"):
        if abs(power) < 1e-15:
            exponent = np.maximum(t, 0.0)
        else:
            exponent = np.log1p(np.maximum(power * np.maximum(t, 0.0), -1.0 + 1e-16)) / power
    return np.expm1(np.minimum(exponent, FARTHEST))


def most_likely_power(z: Array, w: Array) -> float:
    """Maximise Σw log N(T(z); mean, variance) + Σw log T′(z) + log N(λ; 1, s²) over λ.

    Mean and variance are the most likely ones for each λ. λ is within [0, 2], where the range of T
    is the whole line, so that densities integrate to one.
    """
    share, total = w / w.sum(), float(w.sum())

    def negative(power: float) -> float:
        t = yeo_johnson(z, power)
        size = float(np.abs(t).max()) or 1.0
        t = t / size
        variance = max(float(share @ (t - share @ t) ** 2), 1e-26)
        value = share @ yeo_johnson_log_slope(z, power) - 0.5 * np.log(variance) - np.log(size)
        return -float(value) * total + 0.5 * ((power - 1.0) / TUNING.power_spread) ** 2

    powers = TUNING.powers
    found = minimize_scalar(negative, bounds=powers, method="bounded", options={"xatol": 1e-6})
    best = min((*powers, 1.0, float(found.x)), key=negative)
    return float(best)
