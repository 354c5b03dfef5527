"""Generalised Bayesian committee machine: chunks with non-Gaussian targets.

A chunk's message is a Laplace approximation of p(y | v), and where it is expanded depends on
the messages of the other chunks. So each chunk is approximated against the belief without its
own message, its *cavity*,

    cavity = prior + Σ_{j≠i} mⱼ      f_i ~ N(Vᵀμ_c, Q + VᵀΣ_cV)      m_i ← Laplace(y_i | cavity)

in sequence or all at once, in sweeps that are repeated until the messages stop changing. One
sweep from zero messages is the Bayesian committee machine; at the fixed point the mode is that
of the whole anchored model, and the evidence its Laplace evidence. Approximating a new chunk
once against the present belief, and never again, is online learning.

K latent functions (classes) send K messages: posterior covariances between functions are
dropped, which keeps Km² numbers instead of K²m² and leaves the mode unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from ..answers.predictors import LocalPredictor, Predictor, predict_each, predictor
from ..likelihoods.base import Observation
from ..messages.basis import Anchors
from ..messages.experts.base import Expert
from ..messages.experts.block import Block
from ..messages.message import Belief, Message
from ..numerics.records import record
from ..numerics.threads import single_threaded
from ..numerics.tree import place
from ..rows.chunk import Chunk
from ..rows.rows import Prediction, SiteRows
from .covariances import Residual, residual_covariance
from .mode import Each, Sites, find_sites
from .stack import Stack, Totals
from .tuning import TUNING

Array = np.ndarray


@record("laplace.state/1")
@dataclass(frozen=True, eq=False)
class ChunkState:
    """A chunk, its messages about v, and the sites of its rows."""

    chunk: Chunk
    messages: Stack
    sites: Sites | None = None  # None before its first sweep

    @property
    def id(self) -> Any:
        return self.chunk.id

    @property
    def mode_found(self) -> bool:
        return self.sites is None or self.sites.converged


@dataclass(frozen=True, eq=False)
class ChunkDesign:
    """f | v ~ N(Vᵀv, Q) at the rows of a chunk."""

    V: Array  # (m, n)
    Q: Residual


@dataclass(frozen=True, eq=False)
class Latent:
    """One latent function as a committee that predictors can use (`predictors.Informed`)."""

    basis: Anchors
    belief: Belief
    kept: tuple[SiteRows, ...]
    noise: float = 0.0  # sites carry their own

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(part.X.shape[0] for part in self.kept)

    @property
    def no_anchors(self) -> bool:
        return self.basis.m == 0

    def parts(self) -> tuple[SiteRows, ...]:
        """Kept rows, one `SiteRows` per chunk."""
        return self.kept

    def rows(self) -> SiteRows:
        """Kept rows of all chunks."""
        d = self.basis.Z.shape[1]
        nothing = SiteRows(np.empty((0, d)), np.empty((0, 1)), np.empty((0, 1)), np.empty(0))
        every = (nothing, *self.kept)
        fields = [[getattr(part, name) for part in every] for name in ("X", "f", "g", "W")]
        return SiteRows(*(np.concatenate(values) for values in fields))


@record("laplace.committee/1")
@dataclass(frozen=True, eq=False)
class LaplaceCommittee:
    """Prior + messages of chunks, which are kept so that sweeps can approximate them again."""

    basis: Anchors
    likelihood: Observation
    expert: Expert  # cov[f | v]; the noise is the likelihood's
    past: Totals  # messages of chunks that were not kept
    states: tuple[ChunkState, ...] = ()
    sweeps: int = 0
    change: float = np.inf  # of messages, in the last sweep
    past_found: bool = True  # whether Newton's method converged in the chunks not kept
    bounded: bool = False  # whether messages use bounds instead of curvatures

    @classmethod
    def of(
        cls, basis: Anchors, likelihood: Observation, expert: type[Expert] = Block
    ) -> LaplaceCommittee:
        """Start from the prior alone, before any chunk."""
        return cls(basis, likelihood, expert(0.0), Totals.zero(basis.m, likelihood.latents))

    def join(self, chunks: Sequence[Chunk]) -> LaplaceCommittee:
        """Add chunks, whose messages are zero until the next sweep; ordered by id."""
        zero = Stack.zero(self.basis.m, self.likelihood.latents)
        states = [*self.states, *(ChunkState(chunk, zero) for chunk in chunks)]
        return replace(self, states=sorted_states(states), change=np.inf)

    def add(self, chunks: Sequence[Chunk], *, keep: bool = True) -> LaplaceCommittee:
        """Learn online: approximate each new chunk once, against the present belief."""
        grown, totals, tolerance = self, self.totals, TUNING.modes.tolerance
        zero = Stack.zero(self.basis.m, self.likelihood.latents)
        with single_threaded():
            for chunk in sorted(chunks, key=lambda chunk: place(chunk.id)):
                belief = totals.with_prior(self.basis)
                new = self.approximate(
                    self.design(chunk), ChunkState(chunk, zero), belief, tolerance
                )
                totals = totals.plus([new.messages])
                if keep:
                    grown = replace(grown, states=(*grown.states, new))
                else:
                    found = grown.past_found and new.mode_found
                    past = grown.past.plus([new.messages])
                    grown = replace(grown, past=past, past_found=found)
        return replace(grown, states=sorted_states(grown.states))

    def design(self, chunk: Chunk) -> ChunkDesign:
        X, _, _ = chunk.load()
        V = self.basis.design(X)
        return ChunkDesign(V, residual_covariance(self.expert.residual(self.basis, X, V)))

    def approximate(
        self, design: ChunkDesign, state: ChunkState, cavity: Stack, tolerance: float,
        each: Each = iter,
    ) -> ChunkState:  # fmt: skip
        """Re-approximate one chunk against its cavity."""
        _, y, w = state.chunk.load()
        beliefs = cavity.beliefs()
        means = np.concatenate([design.V.T @ belief.mean for belief in beliefs], axis=1)
        priors = [design.Q.plus(belief.spread(design.V)) for belief in beliefs]
        start = None if state.sites is None else state.sites.g
        found = find_sites(self.likelihood, y, w, means, priors, start, tolerance, each)
        sites = self.as_sent(found, y, w)
        return ChunkState(state.chunk, Stack(sites.message(design.V, design.Q)), found)

    def as_sent(self, sites: Sites, y: Array, w: Array) -> Sites:
        """Sites to send; with bounds in place of curvatures while messages use bounds."""
        if not self.bounded:
            return sites
        f = sites.f[:, 0] if self.likelihood.latents == 1 else sites.f
        return replace(sites, W=w[:, None] * self.likelihood.bound(y, f).reshape(sites.W.shape))

    def with_curvatures(self, engine: Any) -> LaplaceCommittee:
        """Return to curvatures instead of bounds; at the fixed point the mode is the same."""

        def renew(state: ChunkState) -> ChunkState:
            assert state.sites is not None
            design = self.design(state.chunk)
            return replace(state, messages=Stack(state.sites.message(design.V, design.Q)))

        return replace(self, states=tuple(engine.map(renew, self.states)), bounded=False)

    def with_anchors(self, basis: Anchors) -> LaplaceCommittee:
        """Extend the basis by anchors appended to its own; no chunks may have been kept."""
        return replace(self, basis=basis, past=self.past.padded(basis.m))

    def with_messages(self, basis: Anchors, messages: Sequence[Message]) -> LaplaceCommittee:
        """Change the basis, given the messages of all chunks so far, which were not kept."""
        return replace(self, basis=basis, past=Totals.of(messages))

    def after_sweep(self, found: Sequence[ChunkState], step: float) -> LaplaceCommittee:
        """Old messages + step · (new − old)."""
        total, pairs = self.total, list(zip(found, self.states))
        change = max((new.messages.change(old.messages, total) for new, old in pairs), default=0.0)
        found = [
            replace(new, messages=new.messages.towards(old.messages, step)) for new, old in pairs
        ]
        return replace(self, states=tuple(found), sweeps=self.sweeps + 1, change=change)

    @cached_property
    def totals(self) -> Totals:
        """Σ messages, without the prior."""
        return self.past.plus(state.messages for state in self.states)

    @cached_property
    def total(self) -> Stack:
        """Prior + Σ messages."""
        return self.totals.with_prior(self.basis)

    @cached_property
    def beliefs(self) -> tuple[Belief, ...]:
        """One per latent function."""
        return self.total.beliefs()

    @property
    def log_evidence(self) -> float:
        """log p(y): the joint Laplace evidence at the fixed point, and only there."""
        return float(sum(belief.log_evidence[0] for belief in self.beliefs))

    @property
    def modes_found(self) -> bool:
        """Whether Newton's method converged in every chunk the last time."""
        return self.past_found and all(state.mode_found for state in self.states)

    def latent(self, k: int = 0) -> Latent:
        """Select the k-th latent function, with the sites of all kept rows."""
        kept = tuple(
            SiteRows(state.chunk.load()[0], s.f[:, k : k + 1], s.g[:, k : k + 1], s.W[:, k])
            for state in self.states
            if (s := state.sites) is not None
        )
        return Latent(self.basis, self.beliefs[k], kept)


#: Positions of some committees, the committees, their steps -> the committees after a sweep.
Sweep = Callable[[list[int], list[LaplaceCommittee], list[float]], list[LaplaceCommittee]]
#: A position, the committee there -> the committee with curvatures instead of bounds.
Renew = Callable[[int, LaplaceCommittee], LaplaceCommittee]


def sorted_states(states: Iterable[ChunkState]) -> tuple[ChunkState, ...]:
    """Sort by the ids of chunks."""
    return tuple(sorted(states, key=lambda state: place(state.id)))


def settle_together(
    committees: Sequence[LaplaceCommittee], engine: Any, *, sequential: bool, tolerance: float,
    max_sweeps: int,
) -> list[LaplaceCommittee]:  # fmt: skip
    """Sweep each committee until its messages change by no more than `tolerance`.

    The committees have the same anchors and the same rows in the same chunks, and share the
    designs.
    """

    def sweep(
        moving: list[int], some: list[LaplaceCommittee], steps: list[float]
    ) -> list[LaplaceCommittee]:
        return sweep_together(some, steps, engine, sequential=sequential)

    def renew(k: int, one: LaplaceCommittee) -> LaplaceCommittee:
        return one.with_curvatures(engine)

    return settle(committees, sweep, renew, tolerance, max_sweeps)


def settle(
    committees: Sequence[LaplaceCommittee], sweep: Sweep, renew: Renew, tolerance: float,
    max_sweeps: int,
) -> list[LaplaceCommittee]:  # fmt: skip
    """Repeat `sweep` for the committees whose messages still move.

    A step is shortened while changes grow, and only then. Where p is not log-concave, rows of
    negative curvature have sites of precision zero, and sweeps may diverge. If short steps do not
    help, bounds replace curvatures until the messages converge (as in EM for Student's t), and
    `renew` brings the curvatures back at the end.
    """
    now, steps, moving = list(committees), [1.0] * len(committees), list(range(len(committees)))
    growths, tuning = [0] * len(committees), TUNING.sweeps
    for _ in range(max_sweeps):
        new = sweep(moving, [now[k] for k in moving], [steps[k] for k in moving])
        for k, one in zip(moving, new):
            grows = one.change > now[k].change
            shorter, longer = max(0.5 * steps[k], tuning.least_step), min(1.5 * steps[k], 1.0)
            steps[k] = shorter if grows else longer
            growths[k] += grows and one.change > tuning.diverging
            now[k] = replace(one, bounded=True) if growths[k] >= tuning.growths else one
        moving = [k for k in moving if now[k].change > tolerance]
        if not moving:
            break
    small = max(tolerance, tuning.rounding)
    return [
        renew(k, one) if one.bounded and one.change <= small else one for k, one in enumerate(now)
    ]


def sweep_together(
    committees: Sequence[LaplaceCommittee], steps: Sequence[float], engine: Any, *,
    sequential: bool,
) -> list[LaplaceCommittee]:  # fmt: skip
    """Approximate every chunk once: in turn against new messages, or all against the old ones."""
    first, each = committees[0], getattr(engine, "each", iter)
    totals = [one.totals for one in committees]
    tolerances = [mode_tolerance(one.change) for one in committees]

    def approximate(i: int) -> list[ChunkState]:
        """Approximate chunk i in each committee."""
        design = first.design(first.states[i].chunk)
        found = []
        for one, total, tolerance in each(zip(committees, totals, tolerances)):
            old = one.states[i]
            cavity = total.minus(old.messages).with_prior(one.basis)
            found.append(one.approximate(design, old, cavity, tolerance, each))
        return found

    def approximate_in_turn(i: int) -> list[ChunkState]:
        found = approximate(i)
        for k, (one, new) in enumerate(zip(committees, found)):
            old = one.states[i].messages
            totals[k] = totals[k].minus(old).plus([new.messages.towards(old, steps[k])])
        return found

    numbers = range(len(first.states))
    if sequential:
        with single_threaded():
            found = [approximate_in_turn(i) for i in numbers]
    else:
        found = engine.map(approximate, numbers)
    return [
        one.after_sweep([states[k] for states in found], step)
        for k, (one, step) in enumerate(zip(committees, steps))
    ]


def mode_tolerance(change: float) -> float:
    """Newton tolerance: tight in the first sweep, then tied to the last change."""
    least = TUNING.modes.tolerance
    if change == np.inf:
        return least
    return max((TUNING.sweeps.mode_share * min(change, 1.0)) ** 2, least)


def latent_predictors(latents: Sequence[Latent], n_local: int) -> tuple[Predictor, ...]:
    """Make one predictor per latent function; rows and anchors are the same, so the predictors
    share the design."""
    first = predictor(latents[0], n_local)
    if isinstance(first, LocalPredictor):
        return (first, *(first.with_committee(latent) for latent in latents[1:]))
    return (first, *(predictor(latent, n_local) for latent in latents[1:]))


def predict_latents(predictors: Sequence[Predictor], Xs: Array, engine: Any) -> list[Prediction]:
    """Predict each latent function; local predictors also share neighbourhoods."""
    if all(isinstance(one, LocalPredictor) for one in predictors):
        return predict_each(cast(Sequence[LocalPredictor], predictors), Xs, engine)
    return [one.predict(Xs, engine) for one in predictors]
