"""The generalised Bayesian committee machine: non-Gaussian chunks, heard again and again.

A chunk's message is a Gaussian approximation of p(y | v), and where it is tangent depends on
what the others say. So each chunk meets the belief of all others, its *cavity*,

    cavity = prior + Σ_{j≠i} mⱼ      f_i ~ N(Vᵀμ_c, Q + VᵀΣ_cV)      m_i ← Laplace(y_i | cavity)

in sequence or all at once, until no message moves. One sweep from silence is the BCM; at rest
the mode is that of the whole anchored model, and the evidence its Laplace evidence. A new chunk
that meets the present belief once, and is not heard again, is online learning.

K latent functions (classes) send K messages: what a chunk says about their covariances between
each other is left out, which keeps K m² numbers, not K²m², and leaves the mode as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from ..answers.predictors import Local, Predictor, predict_each, predictor
from ..kernels import Kernel
from ..likelihoods.base import Observation
from ..messages.basis import Anchors
from ..messages.experts import Block, Expert
from ..messages.message import Belief, Message, normalise
from ..numerics.threads import single_threaded
from ..numerics.tree import Tree
from ..rows.chunk import Chunk
from ..rows.rows import Prediction, SiteRows
from .covariances import Left, left_over
from .mode import TOLERANCE, Sites, find_sites

Array = np.ndarray
#: A sweep's messages are taken by half, a quarter, … while changes grow, no less than this.
LEAST_STEP = 1.0 / 16.0
#: Changes that have grown so often, to no less than this, will go on to.
RESTLESS, SWING = 4, 1e-2
#: Messages that move by less are at rest but for rounding.
ROUNDING = 1e-9
#: Modes are found to so much of what messages moved by in the last sweep.
CARE = 1e-2
#: Messages that move by less, relative to their sum, are at rest but for rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Stack:
    """Messages side by side, one a latent function."""

    parts: tuple[Message, ...]

    @classmethod
    def silent(cls, m: int, K: int) -> Stack:
        return cls(tuple(Message.zero(m) for _ in range(K)))

    def __add__(self, other: Stack) -> Stack:
        return Stack(tuple(a + b for a, b in zip(self.parts, other.parts)))

    def __sub__(self, other: Stack) -> Stack:
        return Stack(tuple(a - b for a, b in zip(self.parts, other.parts)))

    def __mul__(self, power: float) -> Stack:
        return Stack(tuple(power * part for part in self.parts))

    __rmul__ = __mul__

    def beliefs(self) -> tuple[Belief, ...]:
        return tuple(normalise(part) for part in self.parts)

    def change(self, old: Stack, total: Stack) -> float:
        """The largest change of a natural parameter, relative to the sum's."""
        sizes = [0.0]
        for a, b, c in zip(self.parts, old.parts, total.parts):
            for name in ("precision", "shift"):
                moved = np.abs(getattr(a, name) - getattr(b, name)).max(initial=0.0)
                sizes.append(moved / (1.0 + np.abs(getattr(c, name)).max(initial=0.0)))
        return float(max(sizes))


@dataclass(frozen=True, eq=False)
class Heard:
    """A chunk, what it says about v, and the sites of its rows."""

    chunk: Chunk
    said: Stack
    sites: Sites | None = None  # None: it was not asked yet

    @property
    def id(self) -> int:
        return self.chunk.id

    @property
    def mode_found(self) -> bool:
        return self.sites is None or self.sites.converged


@dataclass(frozen=True, eq=False)
class Seen:
    """A chunk as the anchors see it: f | v ~ N(Vᵀv, Q)."""

    V: Array  # (m, n)
    Q: Left


@dataclass(frozen=True, eq=False)
class Latent:
    """One latent function of a committee with sites, as predictors want it."""

    basis: Anchors
    belief: Belief
    kept: tuple[SiteRows, ...]
    noise: float = 0.0  # sites bring their own

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(part.X.shape[0] for part in self.kept)

    @property
    def no_anchors(self) -> bool:
        return self.basis.m == 0

    def parts(self) -> tuple[SiteRows, ...]:
        return self.kept

    def rows(self) -> SiteRows:
        d = self.basis.Z.shape[1]
        nothing = SiteRows(np.empty((0, d)), np.empty((0, 1)), np.empty((0, 1)), np.empty(0))
        every = (nothing, *self.kept)
        fields = [[getattr(part, name) for part in every] for name in ("X", "f", "g", "W")]
        return SiteRows(*(np.concatenate(values) for values in fields))


@dataclass(frozen=True, eq=False)
class Generalised:
    """Prior + messages of chunks that can be heard again."""

    basis: Anchors
    likelihood: Observation
    expert: Expert  # what is left of f given v; the noise is the likelihood's
    past: Stack  # the prior, and messages of chunks that were not kept
    heard: tuple[Heard, ...] = ()
    sweeps: int = 0
    change: float = np.inf  # of messages, in the last sweep
    past_found: bool = True  # whether the modes of chunks that were not kept were
    bounded: bool = False  # whether messages have bounds in the place of curvatures

    @classmethod
    def start(
        cls, kernel: Kernel, likelihood: Observation, Z: Array, expert: type[Expert] = Block
    ) -> Generalised:
        return cls.about(Anchors.at(kernel, Z), likelihood, expert)

    @classmethod
    def about(
        cls, basis: Anchors, likelihood: Observation, expert: type[Expert] = Block
    ) -> Generalised:
        prior = Stack(tuple(basis.prior() for _ in range(likelihood.latents)))
        return cls(basis, likelihood, expert(0.0), prior)

    def join(self, chunks: Sequence[Chunk]) -> Generalised:
        """With chunks that have said nothing yet; sweeps go through them by their numbers."""
        silent = Stack.silent(self.basis.m, self.likelihood.latents)
        members = [*self.heard, *(Heard(chunk, silent) for chunk in chunks)]
        ordered = tuple(sorted(members, key=lambda one: one.id))
        return replace(self, heard=ordered, change=np.inf)

    def add(self, chunks: Sequence[Chunk], *, keep: bool = True) -> Generalised:
        """Each new chunk meets the present belief once: online learning, no data kept if not
        asked for."""
        grown, total = self, self.total
        silent = Stack.silent(self.basis.m, self.likelihood.latents)
        with single_threaded():
            for chunk in sorted(chunks, key=lambda chunk: chunk.id):
                one = self.ask(self.see(chunk), Heard(chunk, silent), total, TOLERANCE)
                total = total + one.said
                if keep:
                    grown = replace(grown, heard=(*grown.heard, one))
                else:
                    found = grown.past_found and one.mode_found
                    grown = replace(grown, past=grown.past + one.said, past_found=found)
        return grown

    # -- sweeps -----------------------------------------------------------------------------------

    def sweep(self, engine: Any, *, sequential: bool = False, step: float = 1.0) -> Generalised:
        """Every chunk once: against the others' new messages, or all against the old ones."""
        return sweep_together([self], [step], engine, sequential=sequential)[0]

    def settle(
        self, engine: Any, *, sequential: bool = False, tolerance: float = 1e-8,
        max_sweeps: int = 50,
    ) -> Generalised:  # fmt: skip
        """Sweeps until no message moves by more than the tolerance; `sweeps` and `change` say
        how that went. Steps are shortened while the change grows, and only then."""

        def sweep(now: Sequence[Generalised], steps: Sequence[float]) -> list[Generalised]:
            return [now[0].sweep(engine, sequential=sequential, step=steps[0])]

        return _rest([self], sweep, tolerance, max_sweeps, engine)[0]

    def see(self, chunk: Chunk) -> Seen:
        X, _, _ = chunk.load()
        V = self.basis.design(X)
        return Seen(V, left_over(self.expert.residual(self.basis, X, V)))

    def ask(self, seen: Seen, one: Heard, cavity: Stack, tolerance: float) -> Heard:
        """The chunk, and what it says where the others say this."""
        _, y, w = one.chunk.load()
        beliefs = cavity.beliefs()
        means = np.concatenate([seen.V.T @ belief.mean for belief in beliefs], axis=1)
        priors = [seen.Q.plus(belief.spread(seen.V)) for belief in beliefs]
        start = None if one.sites is None else one.sites.g
        found = find_sites(self.likelihood, y, w, means, priors, start, tolerance)
        sites = found
        if self.bounded:
            f = found.f[:, 0] if self.likelihood.latents == 1 else found.f
            W = w[:, None] * self.likelihood.bound(y, f).reshape(found.W.shape)
            sites = replace(found, W=W)
        return Heard(one.chunk, Stack(sites.message(seen.V, seen.Q)), found)

    def unbounded(self, engine: Any) -> Generalised:
        """With the curvatures at the modes of a committee at rest: these are modes whatever the
        precision of the sites."""

        def say(one: Heard) -> Heard:
            assert one.sites is not None
            seen = self.see(one.chunk)
            return replace(one, said=Stack(one.sites.message(seen.V, seen.Q)))

        return replace(self, heard=tuple(engine.map(say, self.heard)), bounded=False)

    def moved(self, asked: Sequence[Heard], step: float) -> Generalised:
        """After a sweep, of which so much is taken."""
        total = self.total
        change = max(
            (new.said.change(old.said, total) for new, old in zip(asked, self.heard)), default=0.0
        )
        moved = tuple(
            new if step == 1.0 else replace(new, said=old.said + step * (new.said - old.said))
            for new, old in zip(asked, self.heard)
        )
        return replace(self, heard=moved, sweeps=self.sweeps + 1, change=change)

    # -- what was found ---------------------------------------------------------------------------

    @cached_property
    def total(self) -> Stack:
        """Prior + Σ messages, added in a tree whose shape depends on their number alone."""
        tree = Tree()
        for one in self.heard:
            tree = tree.push(one.said)
        return tree.total(self.past)

    @cached_property
    def beliefs(self) -> tuple[Belief, ...]:
        """One a latent function."""
        return self.total.beliefs()

    @property
    def log_evidence(self) -> float:
        """At rest that of the joint Laplace approximation; before, not safe to learn by."""
        return float(sum(belief.log_evidence[0] for belief in self.beliefs))

    @property
    def modes_found(self) -> bool:
        """Whether Newton's method came to an end in every chunk when it was heard last."""
        return self.past_found and all(one.mode_found for one in self.heard)

    def latent(self, k: int = 0) -> Latent:
        """The k-th latent function, with the sites of all rows that were kept."""
        kept = tuple(
            SiteRows(one.chunk.load()[0], s.f[:, k : k + 1], s.g[:, k : k + 1], s.W[:, k])
            for one in self.heard
            if (s := one.sites) is not None
        )
        return Latent(self.basis, self.beliefs[k], kept)

    def predictors(self, n_local: int) -> tuple[Predictor, ...]:
        """Answers about each latent function: exact with one chunk, else by the n_local rows
        nearest to a query; 0: by the anchors alone."""
        return about_latents([self.latent(k) for k in range(self.likelihood.latents)], n_local)


def settle_together(
    committees: Sequence[Generalised], engine: Any, *, sequential: bool, tolerance: float,
    max_sweeps: int,
) -> list[Generalised]:  # fmt: skip
    """Each as by `settle` alone, with the work shared that is the same for all: committees of
    the same rows in the same chunks, and of the same anchors."""
    sweep = partial(sweep_together, engine=engine, sequential=sequential)
    return _rest(committees, sweep, tolerance, max_sweeps, engine)


def sweep_together(
    committees: Sequence[Generalised], steps: Sequence[float], engine: Any, *, sequential: bool
) -> list[Generalised]:
    """Every chunk is looked at once, and asked by each committee."""
    first = committees[0]
    totals = [one.total for one in committees]
    care = [_mode_tolerance(one.change) for one in committees]

    def ask(i: int) -> list[Heard]:
        seen = first.see(first.heard[i].chunk)
        asked = []
        for one, total, tolerance in zip(committees, totals, care):
            own = one.heard[i]
            asked.append(one.ask(seen, own, total - own.said, tolerance))
        return asked

    def ask_in_turn(i: int) -> list[Heard]:
        asked = ask(i)
        for k, (one, new) in enumerate(zip(committees, asked)):
            totals[k] = totals[k] + steps[k] * (new.said - one.heard[i].said)
        return asked

    places = range(len(first.heard))
    if sequential:
        with single_threaded():
            found = [ask_in_turn(i) for i in places]
    else:
        found = engine.map(ask, places)
    return [
        one.moved([asked[k] for asked in found], step)
        for k, (one, step) in enumerate(zip(committees, steps))
    ]


def _mode_tolerance(change: float) -> float:
    """Of a first sweep, which may be the only one, to rounding."""
    return TOLERANCE if change == np.inf else max((CARE * min(change, 1.0)) ** 2, TOLERANCE)


def _rest(
    committees: Sequence[Generalised],
    sweep: Callable[[Sequence[Generalised], Sequence[float]], list[Generalised]],
    tolerance: float, max_sweeps: int, engine: Any,
) -> list[Generalised]:  # fmt: skip
    """Sweeps of those that still move; see `Generalised.settle`.

    Where p is not log-concave, rows that bend the wrong way pull with no precision at all, and
    beliefs may swing wider and wider. Where short steps have not stilled them, sites have their
    bounds for precisions until all rest (as in EM for Student's t), and then their own again.
    """
    now, steps, moving = list(committees), [1.0] * len(committees), list(range(len(committees)))
    growths = [0] * len(committees)
    for _ in range(max_sweeps):
        new = sweep([now[k] for k in moving], [steps[k] for k in moving])
        for k, one in zip(moving, new):
            grows = one.change > now[k].change
            steps[k] = max(0.5 * steps[k], LEAST_STEP) if grows else min(1.5 * steps[k], 1.0)
            growths[k] += grows and one.change > SWING
            now[k] = replace(one, bounded=True) if growths[k] >= RESTLESS else one
        moving = [k for k in moving if now[k].change > tolerance]
        if not moving:
            break
    small = max(tolerance, ROUNDING)
    return [one.unbounded(engine) if one.bounded and one.change <= small else one for one in now]


def about_latents(latents: Sequence[Latent], n_local: int) -> tuple[Predictor, ...]:
    """Answers about latent functions of the same rows and anchors, which share the design."""
    first = predictor(latents[0], n_local)
    if isinstance(first, Local):
        return (first, *(first.about(latent) for latent in latents[1:]))
    return (first, *(predictor(latent, n_local) for latent in latents[1:]))


def predict_latents(answers: Sequence[Predictor], Xs: Array, engine: Any) -> list[Prediction]:
    """Of each, with the neighbourhoods shared as well."""
    if all(isinstance(one, Local) for one in answers):
        return predict_each(cast(Sequence[Local], answers), Xs, engine)
    return [one.predict(Xs, engine) for one in answers]
