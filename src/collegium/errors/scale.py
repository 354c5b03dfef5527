"""The scale of errors as a fitted model keeps it, one per output."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..numerics.records import record
from ..rows.groups import count_of
from .basis import ScaleBasis, ScaleFunction
from .decision import Gain, calibrated
from .degrees import cross_fit, cross_fit_constant
from .density import Margins, log_t_density
from .features import ScaleInputs
from .fitting import learn_scale
from .tuning import TUNING

Array = np.ndarray


@record("scale.output/1")
@dataclass(frozen=True, eq=False)
class OutputScale:
    """(y − m)/sd ~ t_ν(0, e^(g/2)) for one output; N(0, 1) without g."""

    function: ScaleFunction | None  # g; None: `level` everywhere
    nu: float
    kappa: float  # variance of y: κ sd² ((1 − ρ)e^g + ρ)
    rho: float
    least: float  # smallest scale of y
    gain: Gain  # of held-out rows, whether it was enough or not
    level: float = 0.0
    most: float = np.inf  # largest log sd of held-out rows, where the scale is constant

    @classmethod
    def constant(cls, gain: Gain | None = None) -> OutputScale:
        return cls(None, np.inf, 1.0, 1.0, 0.0, gain or Gain())

    @classmethod
    def learn(
        cls, inputs: ScaleInputs, output: int, errors: Array, weight: Array, resolution: float,
        before: Array | None = None, group: Array | None = None, *, always: bool = False,
        nats: float = TUNING.decision.nats,
    ) -> OutputScale:  # fmt: skip
        """Learn from held-out rows: errors y − m of one output (n,), weights with mean one.

        Where y has steps of Δ, squared errors are e² + Δ²/12: their size without rounding. A
        varying scale is used if held-out rows gain enough by it, else a constant one with heavy
        tails if they gain enough by that; `before`: the log densities that they are compared
        with, by default those of N(0, sd²). `group`: codes of groups, of which a scale is learnt
        that holds for others. `always`: use it whatever they gain; `nats`: total gain that is
        enough for a constant scale.
        """
        log_sd, least = inputs.log_sd[:, output], floor(resolution, errors)
        bound, z = _least(log_sd, least), errors * np.exp(-log_sd)
        blurred = np.hypot(z, np.exp(0.5 * bound))
        basis = ScaleBasis.of(inputs, output, weight)
        learnt = learn_scale(basis, blurred, weight)
        cross = cross_fit(learnt, blurred, weight, bound, group)
        old = log_t_density(z**2, 0.0, np.inf) if before is None else before + log_sd
        gain = Gain.of(cross.log_density(z), old, weight, group)
        if not (gain.enough or always):
            cross = cross_fit_constant(blurred, weight, bound, group)
            new = cross.log_density(z)
            tails = Gain.of(new, old, weight, group)
            # for two numbers a few outliers may decide: further outliers will be like them
            if not (tails.enough or weight @ (new - old) > nats):
                return cls.constant(gain)
            kappa, rho = calibrated(z, cross.g, weight, group, always=group is not None)
            most = float(log_sd.max())
            return cls(None, cross.nu, kappa, rho, least, tails, cross.offset, most)
        function = basis.function(learnt.theta, learnt.mode.w)
        function = replace(function, constant=function.constant + cross.offset)
        always = always or group is not None
        kappa, rho = calibrated(z, cross.g, weight, group, always=always)
        return cls(function, cross.nu, kappa, rho, least, gain)

    def moved(self, ratio: float, shift: float) -> OutputScale:
        """Adapt to targets ratio·y + shift."""
        own = self.function
        if own is not None:
            own = replace(own, standard=own.standard.moved(ratio, shift))
        most = self.most + float(np.log(ratio))
        return replace(self, function=own, least=ratio * self.least, most=most)

    @property
    def normal(self) -> bool:
        """Whether errors are N(0, sd²)."""
        return self.function is None and np.isinf(self.nu)

    def log_scale(self, inputs: ScaleInputs, output: int) -> Array:
        """g  (n,)."""
        log_sd = inputs.log_sd[:, output]
        if self.normal:
            return np.zeros(log_sd.size)
        if self.function is None:
            return np.maximum(self.level * self.known(log_sd), _least(log_sd, self.least))
        g = self.function(inputs, output) * self.known(log_sd)
        return np.maximum(g, _least(log_sd, self.least))

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
        resolution: Array | None = None, before: Array | None = None,
        group: Array | None = None, *, always: bool = False, nats: float = TUNING.decision.nats,
    ) -> ErrorScale:  # fmt: skip
        """Learn from held-out rows, y (n, p), weights (n,), and the steps of each y (p,).

        The result is the same in any order of the rows. `before` (n, p), `group` (n,), `always`,
        `nats`: see `OutputScale.learn`.
        """
        n, p = y.shape
        w = np.ones(n) if weight is None else weight / weight.mean()
        if n == 0 or count_of(None, w) < TUNING.decision.fewest:
            return cls.identity(p)
        if group is not None and (group == group[0]).all():
            return cls.identity(p)
        steps = np.zeros(p) if resolution is None else resolution
        errors = y - inputs.mean
        order = np.lexsort((*errors.T, w, *inputs.place.T[::-1]))
        inputs, errors, w = inputs.take(order), errors[order], w[order]
        old = [None] * p if before is None else list(before[order].T)
        if group is not None:
            group = group[order]
            w = w * (count_of(group, w) / n)
        return cls(
            tuple(
                OutputScale.learn(
                    inputs,
                    k,
                    errors[:, k],
                    w,
                    float(steps[k]),
                    old[k],
                    group,
                    always=always,
                    nats=nats,
                )
                for k in range(p)
            )
        )

    def moved(self, ratio: Array, shift: Array) -> ErrorScale:
        """Adapt to targets ratio·y + shift, ratio and shift (p,)."""
        each = zip(self.outputs, ratio, shift)
        return ErrorScale(tuple(one.moved(float(a), float(b)) for one, a, b in each))

    @property
    def normal(self) -> bool:
        """Whether errors of all outputs are N(0, sd²)."""
        return all(one.normal for one in self.outputs)

    @property
    def needs_near(self) -> bool:
        """Whether `log_scale` reads the errors of nearby rows."""
        return any(
            one.function is not None and one.function.slopes.size == 3 for one in self.outputs
        )

    def log_scale(self, inputs: ScaleInputs) -> Array:
        """g, the log of the squared scale of (y − m)/sd  (n, p)."""
        return np.stack([one.log_scale(inputs, k) for k, one in enumerate(self.outputs)], axis=1)

    def predictive(self, inputs: ScaleInputs) -> Margins:
        """Make the distribution of y: density, quantiles, draws."""
        scale = np.exp(inputs.log_sd + 0.5 * self.log_scale(inputs))
        return Margins(inputs.mean, scale, np.array([one.nu for one in self.outputs]))

    def variance(self, inputs: ScaleInputs) -> Array:
        """κ sd² ((1 − ρ)e^g + ρ), at least the smallest squared scale: the variance of a Gaussian
        around the mean  (n, p)."""
        kappa, rho = np.array([(one.kappa, one.rho) for one in self.outputs]).T
        least = [_least(s, one.least) for s, one in zip(inputs.log_sd.T, self.outputs)]
        known = [one.known(log_sd) for log_sd, one in zip(inputs.log_sd.T, self.outputs)]
        factor = kappa ** np.stack(known, axis=1)
        factor = factor * ((1.0 - rho) * np.exp(self.log_scale(inputs)) + rho)
        return np.exp(2.0 * inputs.log_sd) * np.maximum(factor, np.exp(np.stack(least, axis=1)))


def floor(resolution: float, errors: Array) -> float:
    """Δ/√12, the standard deviation of the error of rounding to steps of Δ.

    Zero where most errors are smaller: then y has steps but is not rounded, like the levels of a
    planned experiment.
    """
    hidden = resolution / float(np.sqrt(12.0))
    return hidden if np.quantile(np.abs(errors), TUNING.floor.rounded) >= hidden else 0.0


def _least(log_sd: Array, least: float) -> Array:
    """g at the smallest scale of y: `least`, or 10⁻⁴ standard deviations  (n,)."""
    with np.errstate(divide="ignore"):
        return 2.0 * np.maximum(np.log(least) - log_sd, np.log(TUNING.floor.finest))


def resolution(y: Array) -> Array:
    """Find the steps in which each output varies; 0 where fewer than half of the values are tied.

    The step is the 10 % quantile of the gaps between neighbouring values.
    """
    found = np.zeros(y.shape[1])
    for k, column in enumerate(y.T):
        values, count = np.unique(column, return_counts=True)
        if values.size > 1 and count[count > 1].sum() >= TUNING.floor.tied * column.size:
            found[k] = np.quantile(np.diff(values), TUNING.floor.odd)
    return found
