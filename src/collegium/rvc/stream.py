"""Fitted state of local experts: start it, add rows, merge."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..engines.local import Serial, engine_for
from ..interface.checks.arguments import check_verbose, is_auto, number, whole_number
from ..interface.model import Model
from ..interface.streams.rates import Rates, bounded_log_density, check_rates
from ..interface.streams.waiting import Waiting
from ..interface.words.progress import Progress
from ..likelihoods.base import Scalar
from ..likelihoods.gaussian import Gaussian
from ..likelihoods.targets.units import Units
from ..numerics import memory
from ..numerics.records import record
from ..rows.metric import column_scales
from ..rows.partition import first_of_equals
from ..rows.reservoir import Reservoir
from ..rows.rows import Rows
from ..rows.scaling import Scaling
from .committee import Answer, LocalCommittee, StreamRules
from .experts import Experts
from .merging import merged_committees
from .tuning import TUNING
from .widths import Choice, WidthSelection, begin_selection, committees_held, fit

Array = np.ndarray
MODES = ("local", "paper")


@record("rvc.inputs/1")
@dataclass(frozen=True, eq=False)
class InputScaling:
    """x = centre + scale · (scaled x)."""

    centre: Array  # (d,)
    scale: Array  # (d,)

    @classmethod
    def of(cls, X: Array) -> InputScaling:
        size = np.maximum(np.abs(X).max(axis=0), 1e-300)
        return cls((X / size).mean(axis=0) * size, column_scales(X))

    def forward(self, X: Array) -> Array:
        with np.errstate(over="ignore"):
            found = X / self.scale - self.centre / self.scale
        return np.clip(found, -TUNING.farthest, TUNING.farthest)


@dataclass(frozen=True, eq=False)
class RVCOptions:
    """Checked arguments of an RVCRegressor."""

    local: bool
    rules: StreamRules
    centres: Array | str  # (M, d), "grow" or "grid"
    width: float | None
    b: float | None
    max_iter: int
    tol: float
    engine: Serial  # maps over experts
    learn_rows: int  # of `Waiting`
    rates: tuple[float, ...] = (1.0,)  # rules are of the slowest

    @classmethod
    def of(cls, e) -> RVCOptions:
        if not isinstance(e.mode, str) or e.mode not in MODES:
            raise ValueError(f"mode={e.mode!r}: give one of {MODES}")
        centres = e.centres
        if isinstance(centres, str):
            if centres not in ("grow", "grid"):
                raise ValueError(f"centres={centres!r}: give 'grow', 'grid' or an array")
        else:
            centres = _numbers(centres)
            if centres.ndim != 2 or not centres.size or not np.isfinite(centres).all():
                raise ValueError("centres: give a finite array of shape (experts, d)")
        positive = (lambda v: 0.0 < v < np.inf, "more than 0, or 'auto'")
        rates = check_rates(e.forgetting, TUNING.rates)
        rules = StreamRules(
            max_experts=whole_number(e.max_experts, "max_experts"),
            sweeps=whole_number(e.sweeps, "sweeps"),
            forgetting=rates[0],
            grow=isinstance(centres, str) and centres == "grow",
            add_below=number(e.add_below, "add_below", np.isfinite, "finite size"),
            alike=number(e.prune, "prune", lambda v: 0.0 <= v < 1.0, "at least 0 and below 1"),
        )
        check_verbose(e.verbose)
        local = e.mode == "local"
        most, least = TUNING.sweeps if local else TUNING.sweeps_published
        return cls(
            local=local, rules=rules, centres=centres,
            width=None if is_auto(e.width) else number(e.width, "width", *positive),
            b=None if is_auto(e.b) else number(e.b, "b", *positive),
            max_iter=most if is_auto(e.max_iter) else whole_number(e.max_iter, "max_iter"),
            tol=least if is_auto(e.tol) else number(
                e.tol, "tol", lambda v: 0.0 <= v < np.inf, "at least 0, or 'auto'"
            ),
            engine=engine_for(e.n_jobs),
            learn_rows=whole_number(e.start_rows, "start_rows"), rates=rates,
        )  # fmt: skip

    def beside(self, rate: float) -> RVCOptions:
        """Options for one of the rates."""
        return replace(self, rules=replace(self.rules, forgetting=rate), rates=(rate,))

    def check_memory(self, d: int, p: int, n: int = 0) -> None:
        """Refuse experts that this machine could not hold; n: rows that are fitted at once."""
        room = self.rules.max_experts
        if isinstance(self.centres, np.ndarray):
            room = max(room, len(self.centres))
        held = committees_held(self.local, self.width, self.b, n)
        held += (p - 1) * (1 if n else held // 2)  # the other outputs
        held *= len(self.rates)
        memory.refuse_beyond_machine(
            held * Experts.bytes(room, d, local=self.local),
            f"max_experts={room} with {d} columns",
            "give fewer, " + ("a width, or mode='paper'" if self.local else "or a width and b"),
        )

    def choice(self, X: Array, inputs: InputScaling) -> Choice:
        """Settings given by the user, with centres scaled; X scaled."""
        return Choice(
            self.local, self.rules, self.width, self.b, self._centres(X, inputs), self.max_iter,
            self.tol, self.engine,
        )  # fmt: skip

    def _centres(self, X: Array, inputs: InputScaling) -> Array | None:
        """Centres, scaled and distinct: merging streams joins experts with the same centre."""
        d = X.shape[1]
        if isinstance(self.centres, np.ndarray):
            if self.centres.shape[1] != d:
                raise ValueError(f"centres has {self.centres.shape[1]} columns, X has {d}")
            return _each_once(inputs.forward(self.centres))
        if self.centres == "grow":
            return None
        side = int(np.floor(self.rules.max_experts ** (1.0 / d) + 1e-9))
        if side < 2:
            raise ValueError(
                f"centres='grid' on {d} columns needs max_experts of at least {2.0**d:.0f}: give "
                "more, or centres='grow'"
            )
        axes = [np.linspace(low, high, side) for low, high in zip(X.min(0), X.max(0), strict=True)]
        mesh = np.meshgrid(*axes, indexing="ij")
        return _each_once(np.column_stack([axis.ravel() for axis in mesh]))


def _each_once(centres: Array) -> Array:
    first, _ = first_of_equals(centres)
    return centres[np.sort(first)]


def _numbers(values) -> Array:
    """Convert to an array of real numbers; an array without dimensions where that fails."""
    try:
        return np.array(values, dtype=float) if not np.iscomplexobj(values) else np.empty(())
    except (TypeError, ValueError):
        return np.empty(())


@record("rvc.stream/1")
@dataclass(frozen=True, eq=False)
class RVCStream(Model):
    """Fitted experts of each output, and the scales of X and y."""

    for_streams = ("waiting", "sample")

    inputs: InputScaling
    units: Units
    widths: tuple[WidthSelection, ...]  # one per output
    bounds: tuple[float, ...]  # Σ of the experts' bounds after `fit`, one per output
    n_iter: int  # sweeps of `fit`
    waiting: Waiting | None
    n_seen: int
    sample: Reservoir | None  # rows to check error bars by; None where the past fades
    looked_at: int  # rows when they were last checked

    def with_rows(self, rows: Rows) -> RVCStream:
        return self.predicted(rows)[0]

    def scored(self, rows: Rows) -> tuple[RVCStream, Array]:
        """Add rows; return the log density of each before it was added too, y scaled  (n,)."""
        stream, mean, variance = self.predicted(rows)
        y = self.scaling.forward(rows.y)
        return stream, bounded_log_density(y, mean, variance).sum(axis=1)

    def again_from(self, other: RVCStream) -> RVCStream:
        """Go on from the experts of another rate, by rules of this one."""
        pairs = zip(self.widths, other.widths, strict=True)
        widths = tuple(theirs.by_rules(own.best.rules) for own, theirs in pairs)
        sample = self.sample and self.sample.emptied()
        return replace(other, widths=widths, sample=sample, looked_at=other.n_seen)

    def predicted(self, rows: Rows) -> tuple[RVCStream, Array, Array]:
        """Add rows; return mean and variance (n, p) before each too, y scaled.

        After every `look_rows` rows of the stream, where they have grown by half, error bars are
        checked by a sample of all rows.
        """
        X, Y = self.inputs.forward(rows.X), self.scaling.forward(rows.y)
        if np.abs(Y).max(initial=0.0) > (most := TUNING.largest_target):
            raise ValueError(
                f"y has values {most:.0e} times the scale of the first rows: fit again"
            )
        stream = replace(self, bounds=(), n_iter=0)
        means, variances, start = np.empty(Y.shape), np.empty(Y.shape), 0
        while start < rows.w.size:
            stop = min(rows.w.size, start + TUNING.look_rows - stream.n_seen % TUNING.look_rows)
            part = slice(start, stop)
            stream, means[part], variances[part] = stream._within_look(
                X[part], Y[part], rows.take(part)
            )
            start = stop
        return stream, means, variances

    def _within_look(
        self, X: Array, Y: Array, rows: Rows
    ) -> tuple[RVCStream, Array, Array]:  # fmt: skip
        """`predicted`, for rows up to the next check at most; X, Y are these rows scaled."""
        found = [
            own.predicted(X, np.ascontiguousarray(y), rows.w)
            for own, y in zip(self.widths, Y.T, strict=True)
        ]
        n = self.n_seen + rows.w.size
        sample = None if self.sample is None else self.sample.add(rows.take(rows.w > 0))
        stream = replace(self, widths=tuple(own for own, _, _ in found), n_seen=n, sample=sample)
        if sample is not None and n % TUNING.look_rows == 0 and n >= TUNING.grown * self.looked_at:
            stream = stream._checked(sample.rows)
        means, variances = (np.column_stack(each) for each in list(zip(*found, strict=True))[1:])
        return stream, means, variances

    def _checked(self, rows: Rows) -> RVCStream:
        X, Y = self.inputs.forward(rows.X), self.scaling.forward(rows.y)
        widths = tuple(own.covering(X, y) for own, y in zip(self.widths, Y.T, strict=True))
        return replace(self, widths=widths, looked_at=self.n_seen)

    def answers(self, X: Array) -> list[Answer]:
        """Predict at X: one answer per output, y scaled."""
        X = self.inputs.forward(X)
        return [own.best.answer(X) for own in self.widths]

    @property
    def committees(self) -> tuple[LocalCommittee, ...]:
        return tuple(own.best for own in self.widths)

    @property
    def likelihoods(self) -> tuple[Scalar, ...]:  # type: ignore[override]
        """Gaussian; its noise is part of each answer."""
        return (Gaussian(0.0),) * len(self.widths)

    @property
    def forgetting(self) -> float:
        """λ: how much the past counts after each row that an expert uses in full."""
        return self.widths[0].best.rules.forgetting

    @property
    def settled(self) -> bool:
        """Whether scales and widths are final."""
        return self.waiting is None and all(own.rounds == 0 for own in self.widths)

    def experts(self, j: int) -> dict[str, Array]:
        """Line, noise and reach of every expert of output j, in the units of X and y."""
        committee, inputs = self.committees[j], self.inputs
        e, unit = committee.experts, committee.assumed.unit
        centre, scale = self.scaling.centre[j], self.scaling.scale[j]
        lengths = unit * inputs.scale
        return {
            "centre": inputs.centre + inputs.scale * e.centres[: e.size],
            "value": centre + scale * e.mu[: e.size, -1],
            "slope": scale * e.mu[: e.size, :-1] / lengths,
            "bandwidth": 1.0 / e.misfit(),
            "reach": committee.reach() * lengths,
            "noise": scale * np.sqrt(e.noise()),
            "rows": e.seen[: e.size].copy(),
        }


def started(rows: Rows, options: RVCOptions) -> RVCStream:
    """Start before any row is learnt; the rows given set the scales of X and y."""
    options.check_memory(rows.X.shape[1], rows.y.shape[1])
    inputs, scaling = InputScaling.of(rows.X), Scaling.of(rows.y, rows.w)
    X, Y = inputs.forward(rows.X), scaling.forward(rows.y)
    choice = options.choice(X, inputs)
    widths = tuple(
        begin_selection(choice, X, np.ascontiguousarray(y), rows.w, options.learn_rows) for y in Y.T
    )
    return RVCStream(inputs, Units(scaling), widths, (), 0, None, 0, _sample(rows, options), 0)


def begun(rows: Rows, options: RVCOptions) -> Any:
    """Start before any row is learnt: one stream per rate of forgetting, if there are several."""
    if len(options.rates) == 1:
        return started(rows, options)
    return Rates.start(lambda rate: started(rows, options.beside(rate)), options.rates)


def experts_by_rates(rows: Rows, options: RVCOptions, say: Progress) -> Any:
    """Fit all rows at once; of several rates follow the one that predicted best at the end."""
    if len(options.rates) == 1:
        return fitted_stream(rows, options, say)
    made = Rates.start(lambda rate: fitted_stream(rows, options.beside(rate), say), options.rates)
    return made.compared_by(begun(rows, options).models, rows)


def fitted_stream(rows: Rows, options: RVCOptions, say: Progress) -> RVCStream:
    """Fit all rows at once, by variational EM."""
    options.check_memory(rows.X.shape[1], rows.y.shape[1], rows.w.size)
    inputs, scaling = InputScaling.of(rows.X), Scaling.of(rows.y, rows.w)
    X, Y = inputs.forward(rows.X), scaling.forward(rows.y)
    choice = options.choice(X, inputs)
    found = [fit(choice, X, np.ascontiguousarray(y), rows.w, say) for y in Y.T]
    widths = tuple(WidthSelection.start((each.committee,), 0, 1, 0) for each in found)
    if not options.local and (left := sum(each.unconverged for each in found)):
        warnings.warn(
            f"mode='paper': the bounds of {left} of {sum(len(each.climbs) for each in found)} "
            f"experts were still growing after max_iter={options.max_iter} sweeps: give a larger "
            "max_iter or tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    bounds = tuple(each.bound for each in found)
    sweeps = max(each.sweeps for each in found)
    sample, n = _sample(rows, options), rows.w.size
    sample = None if sample is None else sample.add(rows)
    return RVCStream(inputs, Units(scaling), widths, bounds, sweeps, None, n, sample, n)


def _sample(rows: Rows, options: RVCOptions) -> Reservoir | None:
    if not options.local or options.rules.forgetting < 1.0:
        return None
    return Reservoir.start(TUNING.sample, rows.X.shape[1], rows.y.shape[1])


def merged_streams(streams: list[RVCStream], common: RVCStream | None) -> RVCStream:
    """Merge streams; `common`, the start of all of them, counts once."""
    first = streams[0]
    widths = []
    for output in range(len(first.widths)):
        shared = None if common is None else common.committees[output]
        committee = merged_committees([s.committees[output] for s in streams], shared)
        widths.append(WidthSelection.start((committee,), 0, 1, 0))
    seen = sum(s.n_seen for s in streams)
    seen -= 0 if common is None else (len(streams) - 1) * common.n_seen
    return replace(first, widths=tuple(widths), bounds=(), n_iter=0, waiting=None, n_seen=seen)
