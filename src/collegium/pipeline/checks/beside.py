"""Members beside a committee: grown from its rows, weighed by held-out ones, kept if they help."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...engines.local import here
from ...errors.errors import Errors
from ...errors.features import ScaleInputs
from ...members.folds import folds_by, hashes
from ...members.members import Members, OutputMember
from ...members.scale import ScaleMembers, grow_scale
from ...members.tuning import TUNING as MEMBERS
from ...members.weighing import Opinions, Verdict, behind, hopeless, judge
from ...rows.partition import evenly_spaced
from ...rows.rows import Prediction, Rows
from ..job import Job
from .bars import HeldOut

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Answered:
    """Held-out rows as the committee answers them."""

    rows: Rows  # held out, targets scaled
    found: Prediction
    at: ScaleInputs
    errors: Errors | None

    def opinions(self, j: int, t: Array, some: Array | slice = slice(None)) -> Opinions:
        """Compare the committee with t (n,) about output j at some of the rows."""
        n = self.rows.w.size
        g, nu = np.zeros(n), np.inf
        if self.errors is not None:
            g = self.errors.scale.log_scale(self.at)[:, j]
            nu = self.errors.scale.outputs[j].nu
        w = self.rows.w / self.rows.w.mean()
        return Opinions(
            self.rows.y[some, j], self.found.mean[some, j], t, self.at.log_sd[some, j], g[some],
            nu, w[some],
        )  # fmt: skip

    def verdict(self, j: int, t: Array) -> Verdict:
        return judge(self.opinions(j, t), self.rows.X, self.rows.group)


#: All rows, the numbers of some of them, and these as the other rows answer them.
More = tuple[Rows, Array, Answered]


@dataclass(frozen=True, eq=False)
class Heard:
    """A member that was asked about one output, and whether it is used."""

    member: OutputMember | None  # None: held-out rows do not gain by it
    parts: tuple[Any, ...] | None = ()  # that each lack a fold, if grown; None: they are hopeless
    undecided: bool = False  # rows gain by it, but are too few to be sure


@dataclass(frozen=True, eq=False)
class Asked:
    """A model with the members that are used, what it answers at held-out rows, and what was
    grown for each output (nothing, where members were not asked)."""

    model: Any
    found: Prediction
    parts: tuple[tuple[Any, ...] | None, ...] = ()


def with_members(
    job: Job, model: Any, left: HeldOut, answered: Answered, more: Callable[[], More] | None = None
) -> Asked:
    """Let members learn from the rows that are not held out; keep those by which held-out rows
    gain. `more` answers at further rows, for members that the held-out ones leave undecided."""
    if model.members is not None:
        return reweighed(job, model, answered)
    if not job.settings.members.wanted(job, model):
        return Asked(model, answered.found)
    rows = left.others.rows_in_chunks(MEMBERS.growing.most_rows)
    if not has_time(job, rows, forests=1):
        return Asked(model, answered.found)
    job.say.task = "asking members"
    heard = [_beside(job, model, rows, answered, j) for j in range(rows.y.shape[1])]
    open = [j for j, one in enumerate(heard) if one.undecided]
    if more is not None and open and has_time(job, rows, forests=MEMBERS.folds.exact):
        every = more()
        for j in open:
            heard[j] = _out_of_fold(job, model, *every, j)
    return _kept(job, model, heard, answered, left_out=bool(open))


def with_members_of_all(job: Job, model: Any, rows: Rows, held: Array, answered: Answered) -> Asked:
    """Let members learn from the rows of an exact GP, each in turn without one fold, whose rows
    they answer; `held`: numbers of the rows that the GP has answered."""
    if model.members is not None:
        return reweighed(job, model, answered)
    wanted = job.settings.members.wanted(job, model)
    if not wanted or not has_time(job, rows, forests=MEMBERS.folds.exact):
        return Asked(model, answered.found)
    job.say.task = "asking members"
    each = range(rows.y.shape[1])
    heard = [_out_of_fold(job, model, rows, held, answered, j) for j in each]
    return _kept(job, model, heard, answered, left_out=True)


def scale_members(job: Job, asked: Asked, rows: Rows) -> ScaleMembers | None:
    """Grow trees for the size of errors from rows that members have learnt from; None where these
    are no trees or hopeless, or there is no time."""
    folds = MEMBERS.folds
    if job.settings.members.own is not None or not any(one is not None for one in asked.parts):
        return None
    if not has_time(job, rows, folds.exact):
        return None
    job.say.task = "growing trees for the size of errors"
    grow, each = job.settings.members.grower(job, asked.model, 0), here(job.settings.engine).map
    outputs = []
    some = rows.take(evenly_spaced(rows.w.size, MEMBERS.growing.scale_rows))
    for j, parts in enumerate(asked.parts):
        own = _of_output(some if parts == () else rows, j)
        if parts == () and (fold := folds_apart(own, folds.deciding)) is not None:
            parts = tuple(_grown(job, grow, ((own.take(fold != i), i) for i in (0, 1))))
        fold = folds_apart(own, len(parts)) if parts else None
        outputs.append(
            () if not parts or fold is None else grow_scale(parts, own, fold, grow, each)
        )
    if not any(outputs):
        return None
    return ScaleMembers(tuple(outputs))


def reweighed(job: Job, model: Any, answered: Answered) -> Asked:
    """Weigh the members that are there by the errors of rows that they may have seen."""
    X, heard = answered.rows.X, list[Heard]()
    for j, one in enumerate(model.members.outputs):
        own = one
        if one is not None:
            told = answered.verdict(j, one.left_out(X, answered.rows.group))
            own = one.weighed(told) or one.muted()
        heard.append(Heard(own, None))
    return _kept(job, replace(model, members=None), heard, answered, left_out=True)


def folds_apart(rows: Rows, k: int) -> Array | None:
    """Deal rows to k folds; None where one of them has most of the rows, as with few distinct
    inputs: too few would be left to learn from."""
    fold = folds_by(rows.X, rows.group, k)
    most = np.bincount(fold, minlength=k).max(initial=0)
    return fold if most <= MEMBERS.folds.largest * rows.w.size else None


def has_time(job: Job, rows: Rows, forests: int) -> bool:
    """Whether a time limit leaves room for so many forests."""
    n, d = rows.X.shape
    return job.settings.clock.fits(forests * MEMBERS.growing.seconds * n * d)


def _beside(job: Job, model: Any, rows: Rows, answered: Answered, j: int) -> Heard:
    """Grow a first part, then, if it promises something, others, each without a share of the rows;
    their mean decides."""
    own, X, asked = _of_output(rows, j), answered.rows.X, job.settings.members
    grow, unlikely = asked.grower(job, model, j), list[Verdict]()

    def give_up(part: Callable[[Array], Array]) -> bool:
        t = part(X)
        at = answered.opinions(j, t)
        if hopeless(at):
            return True
        told = answered.verdict(j, t)
        if told.unlikely and not (behind(at) and told.gain.mean <= 0.0):
            unlikely.append(told)
        return told.unlikely or (behind(at) and told.gain.mean <= 0.0)

    with _timed(job, rows):
        first = grow(own, 0, give_up)
    if first is None and unlikely:
        say_verdict(job, unlikely[0], _which(rows, j))
        return Heard(None)
    if first is None:
        job.say(f"{asked.words} err much more than the committee{_which(rows, j)}: not used")
        return Heard(None, None)
    verdict = answered.verdict(j, first(X))
    k = MEMBERS.folds.others
    if asked.fixed or not verdict.promising:
        say_verdict(job, verdict, _which(rows, j))
        one = OutputMember((first,), 0, verdict.weight, verdict.gain, verdict.ratio)
        return Heard(one if asked.fixed and verdict.taken else None)
    fold = folds_apart(rows, k)
    if fold is None or not has_time(job, rows, k):
        job.say(f"{asked.words}: not used, there is no time or there are too few distinct rows")
        return Heard(None, None)
    more = tuple(_grown(job, grow, ((own.take(fold != i), 1 + i) for i in range(k))))
    found = OutputMember((first, *more), k, verdict.weight, verdict.gain, verdict.ratio)
    verdict = answered.verdict(j, found(X))
    say_verdict(job, verdict, _which(rows, j))
    return Heard(found.weighed(verdict), more, undecided=verdict.promising and not verdict.taken)


def _out_of_fold(
    job: Job, model: Any, rows: Rows, held: Array, answered: Answered, j: int
) -> Heard:
    """Grow one part without each fold, whose rows it answers."""
    own, X, asked = _of_output(rows, j), answered.rows.X, job.settings.members

    def give_up(part: Callable[[Array], Array], some: Array) -> bool:
        return hopeless(answered.opinions(j, part(X[some]), some))

    grow, group = asked.grower(job, model, j), answered.rows.group
    found = parts_out_of_fold(job, own, X, grow, give_up, group, once=asked.fixed)
    if found is None:
        job.say(f"{asked.words} err much more than the model{_which(rows, j)}: not used")
        return Heard(None, None)
    parts, t = found
    verdict = answered.verdict(j, t)
    say_verdict(job, verdict, _which(rows, j))
    folds = 0 if asked.fixed else len(parts)
    one = OutputMember(parts, folds, verdict.weight, verdict.gain, verdict.ratio)
    return Heard(one if verdict.taken else None, parts)


def parts_out_of_fold(
    job: Job, rows: Rows, X: Array, grow: Callable[..., Any],
    give_up: Callable[[Any, Array], bool], group: Array | None = None, *, once: bool = False,
) -> tuple[tuple[Any, ...], Array] | None:  # fmt: skip
    """Grow one part without each fold of the rows, and answer at some of them, X (n, d) of these
    groups, by the part that has not seen them. None: the first part was given up, by what it says
    of its fold. `once`: one part answers for all."""
    k = 1 if once else MEMBERS.folds.exact
    at = folds_by(X, group, k)

    def stop(part: Any) -> bool:
        some = np.flatnonzero(at == 0)
        return some.size > 0 and give_up(part, some)

    if once:
        first = grow(rows, 0, stop)
        parts = None if first is None else (first,)
    else:
        parts = _parts(job, rows, range(k), grow, stop)
    if parts is None:
        return None
    each = [(np.flatnonzero(at == i), part) for i, part in enumerate(parts)]
    told = np.concatenate([part(X[own]) for own, part in each])
    t = np.empty_like(told)
    t[np.concatenate([own for own, _ in each])] = told
    return parts, t


def bagged(
    job: Job, rows: Rows, X: Array, grow: Callable[..., Any],
    give_up: Callable[[Any, Array], bool], judged: Callable[[Array], Verdict],
) -> tuple[tuple[Any, ...], Verdict] | None:  # fmt: skip
    """Grow parts that have seen none of the rows at X (n, d), each also without one fold of the
    others, and judge their mean; None where they are not worth keeping.

    Where X are many of the rows, some parts decide, and the parts kept are of all rows; where they
    are most of them, each row is answered by the part that has not seen it.
    """
    t, folds = MEMBERS.folds, MEMBERS.folds.exact
    held = np.isin(hashes(rows.X), hashes(X))
    if held.mean() > t.most_held:
        found = parts_out_of_fold(job, rows, X, grow, give_up)
        return None if found is None else _told(job, found[0], judged(found[1]))
    again, every = held.mean() > t.few_held, np.arange(X.shape[0])
    parts: tuple[Any, ...] = ()
    verdict = None
    for k in (t.deciding, folds) if again else (folds,):
        some = range(len(parts), k)
        more = _parts(job, rows.take(~held), some, grow, lambda part: give_up(part, every))
        if more is None:
            job.say(f"{job.settings.members.words}: not used, they err much more")
            return None
        parts += more
        verdict = judged(sum((part(X) for part in parts[1:]), parts[0](X)) / len(parts))
        if verdict.taken or not verdict.hopeful:
            break
    assert verdict is not None
    if again and verdict.taken:
        parts = _parts(job, rows, range(folds), grow) or parts
    return _told(job, parts, verdict)


def _told(
    job: Job, parts: tuple[Any, ...], verdict: Verdict
) -> tuple[tuple[Any, ...], Verdict] | None:
    say_verdict(job, verdict)
    return (parts, verdict) if verdict.taken else None


def _parts(
    job: Job, rows: Rows, some: range, grow: Callable[..., Any], *stop: Callable[[Any], bool]
) -> tuple[Any, ...] | None:
    """Grow some of the parts that each lack one fold; None where one of them cannot be grown."""
    fold = folds_apart(rows, MEMBERS.folds.exact)
    if fold is None:
        return None
    own = [(rows.take(fold != i), i) for i in some]
    first = grow(*own[0], *stop)
    if first is None:
        return None
    parts = (first, *_grown(job, grow, own[1:]))
    return None if any(part is None for part in parts) else parts


def _grown(job: Job, grow: Callable[..., Any], each: Iterable[tuple[Rows, int]]) -> list[Any]:
    """Grow one part from each of several sets of rows, in parallel."""
    return here(job.settings.engine).map(lambda one: grow(*one), list(each))


def _timed(job: Job, rows: Rows) -> Any:
    """Learn the pace from the first part."""
    n, d = rows.X.shape
    return job.settings.clock.step(MEMBERS.growing.seconds * n * d)


def _of_output(rows: Rows, j: int) -> Rows:
    return replace(rows, y=rows.y[:, j : j + 1])


def _kept(
    job: Job, model: Any, heard: Sequence[Heard], answered: Answered, *, left_out: bool
) -> Asked:
    parts = tuple(one.parts for one in heard)
    own = Members(tuple(one.member for one in heard), job.settings.members.words)
    if not own.any:
        return Asked(model, answered.found, parts)
    X, noise = answered.rows.X, model.sum.noise
    group = answered.rows.group
    found = own.beside(answered.found, X, noise, left_out=left_out, group=group)
    return Asked(replace(model, members=own), found, parts)


def _which(rows: Rows, j: int) -> str:
    return "" if rows.y.shape[1] == 1 else f" (output {j})"


def say_verdict(job: Job, verdict: Verdict, which: str = "") -> None:
    """Say what held-out rows gain by a member."""
    gain, words = verdict.gain, job.settings.members.words
    job.say(
        f"{words} beside the committee{which}: log density of held-out rows {gain.mean:+.3f} ± "
        f"{gain.error:.3f}, squared error x {verdict.ratio:.3f}; "
        f"{'used' if verdict.taken else 'not used'}"
    )
