"""The scale of errors as a fitted model keeps it, one per output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..numerics.records import record
from ..rows.groups import count_of
from .basis import ScaleBasis, ScaleFunction
from .decision import Gain, calibrated
from .degrees import CrossFit, cross_fit, cross_fit_constant, skewed
from .density import Intervals, Points, Seen
from .features import ScaleInputs
from .fitting import learn_scale
from .margins import Margins
from .tuning import TUNING
from .values import Values

Array = np.ndarray


@record("scale.output/1")
@dataclass(frozen=True, eq=False)
class OutputScale:
    """(y − m)/sd ~ t_ν(0, e^(g/2)) for one output, the t skewed by s; N(0, 1) without g."""

    function: ScaleFunction | None  # g; None: `level` everywhere
    nu: float
    kappa: float  # variance of y: κ sd² ((1 − ρ)e^g + ρ)
    rho: float
    least: float  # smallest scale of y
    gain: Gain  # of held-out rows, whether it was enough or not
    level: float = 0.0
    most: float = np.inf  # largest log sd of held-out rows, where the scale is constant
    skew: float = 0.0  # s
    values: Values | None = None  # that y takes; None: y is continuous
    rest: Array = field(default_factory=lambda: np.empty(0))  # quantiles of (y − m)/its sd

    @classmethod
    def constant(cls, gain: Gain | None = None, values: Values | None = None) -> OutputScale:
        return cls(None, np.inf, 1.0, 1.0, 0.0, gain or Gain(), values=values)

    @classmethod
    def learn(
        cls, inputs: ScaleInputs, output: int, errors: Array, weight: Array,
        values: Values | None = None, y: Array | None = None, before: Array | None = None,
        group: Array | None = None, *, always: bool = False, nats: float = TUNING.decision.nats,
    ) -> tuple[OutputScale, Array]:  # fmt: skip
        """Learn from held-out rows: errors y − m of one output (n,), weights with mean one.

        Where y (n,) has `values`, the likelihood of a row is the probability of its cell. A
        varying scale is used if held-out rows gain enough by it, else a constant one with heavy
        tails if they gain enough by that; either is skewed if they gain by that in turn. `before`:
        the log densities that they are compared with, by default those of N(0, sd²). `group`:
        codes of groups, of which a scale is learnt that holds for others. `always`: use it
        whatever they gain; `nats`: total gain that is enough for a constant scale.

        Also returns the log density of each error, by a scale learnt from other rows  (n,).
        """
        log_sd = inputs.log_sd[:, output]
        bound, z = least_log_scale(log_sd, 0.0), errors * np.exp(-log_sd)
        seen, blurred = seen_errors(errors, log_sd, values, y, bound)
        basis = ScaleBasis.of(inputs, output, weight)
        learnt = learn_scale(basis, blurred, weight)
        cross = cross_fit(learnt, blurred, weight, bound, group)
        old = seen.log_density(0.0, np.inf)
        if before is not None:
            old = before + log_sd + (old - Points(z).log_density(0.0, np.inf) if values else 0.0)
        gain = Gain.of(cross.log_density(seen), old, weight, group)
        own: ScaleFunction | None = None
        level, most = 0.0, np.inf
        if gain.enough or always:
            cross = _skewed(cross, seen, weight, bound, group)
            own = basis.function(learnt.theta, learnt.mode.w)
            own = replace(own, constant=own.constant + cross.offset)
            always = always or group is not None
        else:
            cross = cross_fit_constant(blurred, weight, bound, group)
            cross = _skewed(cross, seen, weight, bound, group)
            new = cross.log_density(seen)
            tails = Gain.of(new, old, weight, group)
            # for two numbers a few outliers may decide: further outliers will be like them
            if not (tails.enough or weight @ (new - old) > nats):
                return cls.constant(gain, values), old - log_sd
            gain, level, most, always = tails, cross.offset, float(log_sd.max()), group is not None
        g = np.maximum(cross.g, _coarse(log_sd, values, y))
        kappa, rho = calibrated(z, g, weight, group, always=always)
        sd = np.sqrt(kappa * ((1.0 - rho) * np.exp(g) + rho))
        rest = standard_quantiles(z / sd, weight, group)
        found = cls(own, cross.nu, kappa, rho, 0.0, gain, level, most, cross.skew, values, rest)
        return found, cross.log_density(seen) - log_sd

    def moved(self, ratio: float, shift: float) -> OutputScale:
        """Adapt to targets ratio·y + shift."""
        own = self.function
        if own is not None:
            own = replace(own, standard=own.standard.moved(ratio, shift))
        most, values = self.most + float(np.log(ratio)), self.values
        if values is not None:
            values = values.moved(ratio, shift)
        return replace(self, function=own, least=ratio * self.least, most=most, values=values)

    @property
    def normal(self) -> bool:
        """Whether errors are N(0, sd²)."""
        return self.function is None and np.isinf(self.nu) and self.skew == 0.0

    def log_scale(self, inputs: ScaleInputs, output: int) -> Array:
        """g  (n,)."""
        log_sd = inputs.log_sd[:, output]
        if self.normal:
            return np.zeros(log_sd.size)
        if self.function is None:
            return np.maximum(self.level * self.known(log_sd), least_log_scale(log_sd, self.least))
        g = self.function(inputs, output) * self.known(log_sd)
        return np.maximum(g, least_log_scale(log_sd, self.least))

    def known(self, log_sd: Array) -> Array:
        """1 up to the largest log sd of held-out rows, then falling to 0: errors near rows do not
        show those far from all rows  (n,). A constant scale above one (new groups) holds there."""
        if self.function is None and self.level >= 0.0:
            return np.ones(log_sd.shape)
        most = self.most
        if self.function is not None:
            own = self.function.standard
            most = own.centre[0] + own.spread[0] * own.high[0]
        return np.clip(1.0 - (log_sd - most) / TUNING.floor.fades, 0.0, 1.0)


@record("scale.scale/1")
@dataclass(frozen=True, eq=False)
class ErrorScale:
    """The distribution of y around predictions: Student's t with a scale per row."""

    outputs: tuple[OutputScale, ...]

    @classmethod
    def identity(cls, p: int = 1) -> ErrorScale:
        """Constant noise: y ~ N(m, sd²) for all outputs."""
        return cls((OutputScale.constant(),) * p)

    @classmethod
    def learn(
        cls, inputs: ScaleInputs, y: Array, weight: Array | None = None,
        values: Sequence[Values | None] = (), before: Array | None = None,
        group: Array | None = None, *, always: bool = False, nats: float = TUNING.decision.nats,
        of: Array | None = None,
    ) -> ErrorScale:  # fmt: skip
        """Learn from held-out rows, y (n, p), weights (n,), and the values that each y takes.

        The result is the same in any order of the rows. `before` (n, p), `group` (n,), `always`,
        `nats`: see `OutputScale.learn`. `of`: targets as they are, where y was moved with the
        means.
        """
        return cls.scored(
            inputs, y, weight, values, before, group, always=always, nats=nats, of=of
        )[0]

    @classmethod
    def scored(
        cls, inputs: ScaleInputs, y: Array, weight: Array | None = None,
        values: Sequence[Values | None] = (), before: Array | None = None,
        group: Array | None = None, *, always: bool = False, nats: float = TUNING.decision.nats,
        of: Array | None = None,
    ) -> tuple[ErrorScale, Array]:  # fmt: skip
        """Learn as `learn` does, and compute the log density of each y by a scale that was learnt
        from other rows: a scale knows the rows it was learnt from too well  (n, p)."""
        n, p = y.shape
        w = np.ones(n) if weight is None else weight / weight.mean()
        few = n == 0 or count_of(None, w) < TUNING.decision.fewest
        if few or (group is not None and (group == group[0]).all()):
            plain = tuple(OutputScale.constant(values=one) for one in values or [None] * p)
            return cls(plain), cls(plain).predictive(inputs).log_density(y if of is None else of)
        errors, own = y - inputs.mean, y if of is None else of
        order = np.lexsort((*errors.T, w, *inputs.place.T[::-1]))
        inputs, errors, w, own = inputs.take(order), errors[order], w[order], own[order]
        old = [None] * p if before is None else list(before[order].T)
        if group is not None:
            group = group[order]
            w = w * (count_of(group, w) / n)
        found = [
            OutputScale.learn(
                inputs, k, errors[:, k], w, values[k] if values else None, own[:, k], old[k], group,
                always=always, nats=nats,
            )
            for k in range(p)
        ]  # fmt: skip
        density = np.empty((n, p))
        density[order] = np.stack([each for _, each in found], axis=1)
        return cls(tuple(one for one, _ in found)), density

    def moved(self, ratio: Array, shift: Array) -> ErrorScale:
        """Adapt to targets ratio·y + shift, ratio and shift (p,)."""
        each = zip(self.outputs, ratio, shift)
        return ErrorScale(tuple(one.moved(float(a), float(b)) for one, a, b in each))

    @property
    def normal(self) -> bool:
        """Whether errors of all outputs are N(0, sd²)."""
        return all(one.normal for one in self.outputs)

    @property
    def discrete(self) -> bool:
        """Whether the y of an output has values of its own."""
        return any(one.values is not None for one in self.outputs)

    @property
    def needs_near(self) -> bool:
        """Whether `log_scale` reads the errors of nearby rows."""
        return any(
            one.function is not None and 2 in one.function.standard.kinds for one in self.outputs
        )

    def log_scale(self, inputs: ScaleInputs) -> Array:
        """g, the log of the squared scale of (y − m)/sd  (n, p)."""
        return np.stack([one.log_scale(inputs, k) for k, one in enumerate(self.outputs)], axis=1)

    def predictive(self, inputs: ScaleInputs) -> Margins:
        """Make the distribution of y: density, quantiles, draws."""
        scale = np.exp(inputs.log_sd + 0.5 * self.log_scale(inputs))
        nu, skew = np.array([(one.nu, one.skew) for one in self.outputs]).T
        values = tuple(one.values for one in self.outputs)
        return Margins(inputs.mean, scale, nu, skew if skew.any() else None, values)

    def variance(self, inputs: ScaleInputs) -> Array:
        """κ sd² ((1 − ρ)e^g + ρ), at least the smallest squared scale: the variance of a Gaussian
        around the mean  (n, p)."""
        kappa, rho = np.array([(one.kappa, one.rho) for one in self.outputs]).T
        least = [
            np.maximum(least_log_scale(s, one.least), _coarse(s, one.values, m))
            for s, m, one in zip(inputs.log_sd.T, inputs.mean.T, self.outputs)
        ]
        known = [one.known(log_sd) for log_sd, one in zip(inputs.log_sd.T, self.outputs)]
        factor = kappa ** np.stack(known, axis=1)
        floor = np.stack(least, axis=1)
        factor = factor * ((1.0 - rho) * np.exp(np.maximum(self.log_scale(inputs), floor)) + rho)
        return np.exp(2.0 * inputs.log_sd) * np.maximum(factor, np.exp(floor))


def standard_quantiles(rest: Array, weight: Array, group: Array | None = None) -> Array:
    """Quantiles of standardised errors at (k − ½)/K; none where rows are too few to show them."""
    t = TUNING.rest
    if count_of(group, weight) < t.fewest:
        return np.empty(0)
    order = np.argsort(rest, kind="stable")
    share = (np.cumsum(weight[order]) - 0.5 * weight[order]) / weight.sum()
    return np.interp((np.arange(t.number) + 0.5) / t.number, share, rest[order])


def _skewed(
    cross: CrossFit, seen: Seen, weight: Array, least: Array, group: Array | None
) -> CrossFit:
    """Skew the errors, if held-out rows gain enough by it."""
    other = skewed(cross, seen, weight, least, group)
    new, old = other.log_density(seen), cross.log_density(seen)
    enough = Gain.of(new, old, weight, group).enough
    return other if enough or weight @ (new - old) > TUNING.decision.nats else cross


def seen_errors(
    errors: Array, log_sd: Array, values: Values | None, y: Array | None, bound: Array
) -> tuple[Seen, Seen]:
    """Standardised errors as densities see them, and as the scale is learnt from them."""
    if values is None or y is None:
        z = errors * np.exp(-log_sd)
        return Points(z), Points(np.hypot(z, np.exp(0.5 * bound)))
    low, high = values.cell(y)
    tiny, none = 1e-6 * values.width(y), np.isnan(low)  # y that is no value is a point
    low, high = np.where(none, y - tiny, low), np.where(none, y + tiny, high)
    low, high = ((errors + (end - y)) * np.exp(-log_sd) for end in (low, high))
    cells = Intervals(low, high)
    return cells, cells


def _coarse(log_sd: Array, values: Values | None, y: Array | None) -> Array | float:
    """g at Δ/√12, the standard deviation of the rounding error."""
    if values is None or y is None:
        return -np.inf
    return 2.0 * (np.log(values.width(y) / np.sqrt(12.0)) - log_sd)


def least_log_scale(log_sd: Array, least: float) -> Array:
    """g at the smallest scale of y: `least`, or 10⁻⁴ standard deviations  (n,)."""
    with np.errstate(divide="ignore"):
        return 2.0 * np.maximum(np.log(least) - log_sd, np.log(TUNING.floor.finest))
