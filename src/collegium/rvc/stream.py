"""A stream heard by local experts: how it begins, and what it is after some rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..interface.arguments import check_verbose, is_auto, number, whole_number
from ..interface.model import Model
from ..interface.progress import Progress
from ..interface.stream import Waiting
from ..likelihoods.base import Scalar
from ..likelihoods.gaussian import Gaussian
from ..likelihoods.units import Units
from ..rows.metric import column_scales
from ..rows.rows import Rows
from ..rows.scaling import Scaling
from .choosing import Choice, begin, fit
from .committee import Answer, Habits, LocalCommittee
from .merging import merged_committees
from .race import Race

Array = np.ndarray
MODES = ("local", "paper")
#: Farthest that inputs may lie from those of the first rows, in their standard deviations: the
#: variance grows with the fourth power of the distance in units, and its square stays finite.
#: Largest y, in standard deviations of the first rows.
LARGEST_TARGET = 1e60
FARTHEST = 1e25


@dataclass(frozen=True, eq=False)
class InputScaling:
    """x = centre + scale · (what the core sees)."""

    centre: Array  # (d,)
    scale: Array  # (d,)

    @classmethod
    def of(cls, X: Array) -> InputScaling:
        size = np.maximum(np.abs(X).max(axis=0), 1e-300)
        return cls((X / size).mean(axis=0) * size, column_scales(X))

    def forward(self, X: Array) -> Array:
        with np.errstate(over="ignore"):
            found = X / self.scale - self.centre / self.scale
        return np.clip(found, -FARTHEST, FARTHEST)


@dataclass(frozen=True, eq=False)
class RVCOptions:
    """The arguments of an RVCRegressor, checked."""

    local: bool
    habits: Habits
    centres: Array | str  # (M, d), "grow" or "grid"
    width: float | None
    b: float | None
    max_iter: int
    tol: float
    learn_rows: int  # of `Waiting`

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
        habits = Habits(
            max_experts=whole_number(e.max_experts, "max_experts"),
            sweeps=whole_number(e.sweeps, "sweeps"),
            forgetting=number(
                e.forgetting, "forgetting", lambda v: 0.0 < v <= 1.0, "more than 0 and at most 1"
            ),
            grow=isinstance(centres, str) and centres == "grow",
            add_below=number(e.add_below, "add_below", np.isfinite, "finite size"),
            alike=number(e.prune, "prune", lambda v: 0.0 <= v < 1.0, "at least 0 and below 1"),
        )
        check_verbose(e.verbose)
        return cls(
            local=e.mode == "local", habits=habits, centres=centres,
            width=None if is_auto(e.width) else number(e.width, "width", *positive),
            b=None if is_auto(e.b) else number(e.b, "b", *positive),
            max_iter=whole_number(e.max_iter, "max_iter"),
            tol=number(e.tol, "tol", lambda v: 0.0 <= v < np.inf, "at least 0"),
            learn_rows=whole_number(e.start_rows, "start_rows"),
        )  # fmt: skip

    def choice(self, X: Array, inputs: InputScaling) -> Choice:
        """X scaled."""
        return Choice(
            self.local, self.habits, self.width, self.b, self._centres(X, inputs), self.max_iter,
            self.tol,
        )  # fmt: skip

    def _centres(self, X: Array, inputs: InputScaling) -> Array | None:
        """Scaled, each once: experts with the same centre are one where streams are merged."""
        d = X.shape[1]
        if isinstance(self.centres, np.ndarray):
            if self.centres.shape[1] != d:
                raise ValueError(f"centres has {self.centres.shape[1]} columns, X has {d}")
            return _each_once(inputs.forward(self.centres))
        if self.centres == "grow":
            return None
        side = int(np.floor(self.habits.max_experts ** (1.0 / d) + 1e-9))
        if side < 2:
            raise ValueError(
                f"centres='grid' on {d} columns needs max_experts of at least {2.0**d:.0f}: give "
                "more, or centres='grow'"
            )
        axes = [np.linspace(low, high, side) for low, high in zip(X.min(0), X.max(0), strict=True)]
        mesh = np.meshgrid(*axes, indexing="ij")
        return _each_once(np.column_stack([axis.ravel() for axis in mesh]))


def _each_once(centres: Array) -> Array:
    _, first = np.unique(centres, axis=0, return_index=True)
    return centres[np.sort(first)]


def _numbers(values) -> Array:
    """Of real numbers; of no dimension where they are none."""
    try:
        return np.array(values, dtype=float) if not np.iscomplexobj(values) else np.empty(())
    except (TypeError, ValueError):
        return np.empty(())


@dataclass(frozen=True, eq=False)
class RVCStream(Model):
    """Fitted experts of every output, and what they need to go on."""

    inputs: InputScaling
    units: Units
    races: tuple[Race, ...]  # one an output
    bounds: tuple[float, ...]  # Σ of the experts' bounds after `fit`, one an output
    n_iter: int  # sweeps of `fit`
    waiting: Waiting | None
    n_seen: int

    def heard(self, rows: Rows) -> RVCStream:
        return self.foretold(rows)[0]

    def foretold(self, rows: Rows) -> tuple[RVCStream, Array, Array]:
        """After rows; mean and variance (n, p) for each before it came, y scaled."""
        X, Y = self.inputs.forward(rows.X), self.scaling.forward(rows.y)
        if np.abs(Y).max(initial=0.0) > LARGEST_TARGET:
            raise ValueError(
                f"y has values {LARGEST_TARGET:.0e} times the scale of the first rows: fit again"
            )
        found = [
            race.foretold(X, np.ascontiguousarray(y), rows.w)
            for race, y in zip(self.races, Y.T, strict=True)
        ]
        stream = replace(
            self,
            races=tuple(race for race, _, _ in found),
            bounds=(),
            n_iter=0,
            n_seen=self.n_seen + rows.w.size,
        )
        means, variances = (np.column_stack(each) for each in list(zip(*found, strict=True))[1:])
        return stream, means, variances

    def answers(self, X: Array) -> list[Answer]:
        """One an output, y scaled."""
        X = self.inputs.forward(X)
        return [race.best.answer(X) for race in self.races]

    @property
    def committees(self) -> tuple[LocalCommittee, ...]:
        return tuple(race.best for race in self.races)

    @property
    def likelihoods(self) -> tuple[Scalar, ...]:  # type: ignore[override]
        """Gaussian; its noise is part of each answer."""
        return (Gaussian(0.0),) * len(self.races)

    @property
    def settled(self) -> bool:
        """Whether scales and widths are final."""
        return self.waiting is None and all(race.laps == 0 for race in self.races)

    def experts(self, j: int) -> dict[str, Array]:
        """What every expert of output j knows, in the units of X and y."""
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
            "rows": e.heard[: e.size].copy(),
        }


def started(rows: Rows, options: RVCOptions) -> RVCStream:
    """Before a row is heard; the rows given set the scales of X and y."""
    inputs, scaling = InputScaling.of(rows.X), Scaling.of(rows.y, rows.w)
    X, Y = inputs.forward(rows.X), scaling.forward(rows.y)
    choice = options.choice(X, inputs)
    races = tuple(
        begin(choice, X, np.ascontiguousarray(y), rows.w, options.learn_rows) for y in Y.T
    )
    return RVCStream(inputs, Units(scaling), races, (), 0, None, 0)


def fitted(rows: Rows, options: RVCOptions, say: Progress) -> RVCStream:
    """All rows at once, by variational EM."""
    inputs, scaling = InputScaling.of(rows.X), Scaling.of(rows.y, rows.w)
    X, Y = inputs.forward(rows.X), scaling.forward(rows.y)
    choice = options.choice(X, inputs)
    found = [fit(choice, X, np.ascontiguousarray(y), rows.w, say) for y in Y.T]
    races = tuple(Race.start((each.committee,), 0, 1, 0) for each in found)
    bounds = tuple(each.bound for each in found)
    sweeps = max(each.sweeps for each in found)
    return RVCStream(inputs, Units(scaling), races, bounds, sweeps, None, rows.w.size)


def merged(streams: list[RVCStream], common: RVCStream | None) -> RVCStream:
    """What several streams have heard together; what all of them began with counts once."""
    first = streams[0]
    races = []
    for output in range(len(first.races)):
        shared = None if common is None else common.committees[output]
        committee = merged_committees([s.committees[output] for s in streams], shared)
        races.append(Race.start((committee,), 0, 1, 0))
    seen = sum(s.n_seen for s in streams)
    seen -= 0 if common is None else (len(streams) - 1) * common.n_seen
    return replace(first, races=tuple(races), bounds=(), n_iter=0, waiting=None, n_seen=seen)
