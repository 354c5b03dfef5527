"""Members of a classifier: log odds of boosted trees beside those of a committee.

    log p ∝ e^l [log p_c + ω(log p_t − log p_c)],   ω = σ(a + bu),   u = standardised log sd_c

sd_c is that of the latent functions; a, b and l minimise the log loss of held-out rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from ..errors.decision import Gain
from ..numerics.records import record
from ..numerics.threads import late_import, single_threaded
from ..rows.rows import Prediction, Rows
from .boosting import boosted, forest_of
from .columns import TreeColumns
from .folds import WEIGHTS, folds_of
from .forest import Forest
from .tuning import TUNING
from .weighing import Verdict, Weight

Array = np.ndarray
#: Smallest log probability of a class.
LEAST = float(np.log(np.finfo(float).tiny))


@record("members.grown_classes/1")
@dataclass(frozen=True, eq=False)
class GrownClasses:
    """Boosted trees of log odds: one forest for the second of two classes, or one per class."""

    columns: TreeColumns
    forests: tuple[Forest, ...]

    def __call__(self, X: Array) -> Array:
        """Log probabilities  (n, K)."""
        seen = self.columns(X)
        raw = np.column_stack([forest(seen) for forest in self.forests])
        if raw.shape[1] == 1:
            return -np.logaddexp(0.0, np.hstack([raw, -raw]))
        return raw - logsumexp(raw, axis=1, keepdims=True)


def grow_classes(
    rows: Rows, classes: int, levels: tuple[int, ...], seed: int,
    hopeless: Callable[[GrownClasses], bool] = lambda grown: False,
) -> GrownClasses | None:  # fmt: skip
    """Grow trees on rows whose y are codes of classes; None where the first are hopeless, or a
    class has too few rows."""
    kind = late_import("sklearn.ensemble", "HistGradientBoostingClassifier")
    t, codes = TUNING.growing, rows.y[:, 0].astype(int)
    if np.bincount(codes, minlength=classes).min() < t.fewest_of_class:
        return None
    y = codes.astype(float)
    columns = TreeColumns.of(rows.X, y, rows.w, levels)
    X = columns.for_growing(rows.X, y, rows.w, folds_of(rows.X, TUNING.folds.exact))
    weight = None if np.ptp(rows.w) == 0.0 else rows.w / rows.w.mean()
    with single_threaded():
        model = boosted(kind, y.size, len(columns.levels), seed)
        model.set_params(max_leaf_nodes=t.few_leaves).fit(X, codes, sample_weight=weight)
        found = GrownClasses(columns, _forests(model))
        if hopeless(found):
            return None
        if model.n_iter_ < t.first_trees:
            return found
        most = max(t.first_trees, t.most_trees // len(found.forests))
        model.set_params(max_iter=most).fit(X, codes, sample_weight=weight)
    return GrownClasses(columns, _forests(model))


def _forests(model: Any) -> tuple[Forest, ...]:
    return tuple(forest_of(model, k) for k in range(len(model._predictors[0])))


@dataclass(frozen=True, eq=False)
class ClassOpinions:
    """Two opinions about the classes of held-out rows."""

    codes: Array  # (n,)
    own: Array  # log probabilities of the committee  (n, K)
    other: Array  # those of the member  (n, K)
    log_sd: Array  # of the latent functions  (n,)
    weight: Array  # (n,)

    def take(self, index: Array) -> ClassOpinions:
        return ClassOpinions(
            self.codes[index], self.own[index], self.other[index], self.log_sd[index],
            self.weight[index],
        )  # fmt: skip

    def told(self, table: Array) -> Array:
        """Log probabilities of the classes that came  (n,)."""
        return table[np.arange(self.codes.size), self.codes]

    def brier(self, table: Array) -> Array:
        """Squared error of the probabilities of each row  (n,)."""
        p = np.exp(table)
        p[np.arange(self.codes.size), self.codes] -= 1.0
        return (p**2).sum(axis=1)


def log_sd_of(latents: list[Prediction]) -> Array:
    """Log of the mean standard deviation of the latent functions  (n,)."""
    sds = np.stack([np.sqrt(one.variance) for one in latents], axis=1)
    return np.log(np.maximum(sds.mean(axis=1), 1e-150))


def mixed(own: Array, other: Array, omega: Array, sharpness: Array | float) -> Array:
    """log p ∝ sharpness · (own + ω(other − own))  (n, K)."""
    table = np.reshape(sharpness, (-1, 1)) * (own + omega[:, None] * (other - own))
    return np.maximum(table - logsumexp(table, axis=1, keepdims=True), LEAST)


def learn_class_weight(at: ClassOpinions) -> tuple[Weight, float]:
    """Learn ω, and the log l of the sharpness."""
    start = Weight.start(at.log_sd, at.weight)
    u, t = start.u(at.log_sd), TUNING.weighing
    penalty = np.array([t.level, t.slope, t.scale])
    rows = np.arange(at.codes.size)

    def loss(theta: Array) -> tuple[float, Array]:
        a, b, l = theta
        omega, sharp = expit(a + b * u), np.exp(l)
        step = at.other - at.own
        table = sharp * (at.own + omega[:, None] * step)
        log_p = table - logsumexp(table, axis=1, keepdims=True)
        left = -np.exp(log_p)  # ∂ log p(class that came)/∂ table
        left[rows, at.codes] += 1.0
        logit = at.weight * sharp * (left * step).sum(axis=1) * omega * (1.0 - omega)
        by_l = at.weight @ (left * table).sum(axis=1)
        slopes = np.array([logit.sum(), logit @ u, by_l])
        total = float(at.weight @ log_p[rows, at.codes])
        return -total + float(penalty @ theta**2), -slopes + 2.0 * penalty * theta

    bounds = [(-12.0, 12.0), (0.0, 12.0), (-1.5, 1.5)]
    found = minimize(loss, [-1.0, 0.0, 0.0], jac=True, method="L-BFGS-B", bounds=bounds)
    a, b, l = (float(one) for one in found.x)
    return replace(start, a=a, b=b), l


def judge_classes(at: ClassOpinions, X: Array) -> Verdict:
    """Weigh a member by held-out rows at X, each judged by what the others say."""
    fold, alone = folds_of(X, TUNING.weighing.folds, WEIGHTS), replace(at, other=at.own)
    table, rescaled = at.own.copy(), at.own.copy()
    for number in np.unique(fold):
        here = fold == number
        if here.all():
            continue
        weight, l = learn_class_weight(at.take(~here))
        own = at.take(here)
        table[here] = mixed(own.own, own.other, weight(own.log_sd), np.exp(l))
        l = learn_class_weight(alone.take(~here))[1]
        rescaled[here] = mixed(own.own, own.own, np.zeros(own.codes.size), np.exp(l))
    new = at.told(table)
    both = (Gain.of(new, at.told(one), at.weight) for one in (at.own, rescaled))
    gain = min(both, key=lambda one: one.mean)
    before, after = at.brier(at.own), at.brier(table)
    ratio = float(at.weight @ after) / max(float(at.weight @ before), 1e-300)
    weight, l = learn_class_weight(at)
    return Verdict(weight, gain, ratio, l, Gain.of(-after, -before, at.weight))


def hopeless_classes(at: ClassOpinions) -> bool:
    """Whether a member's log loss is so much above the committee's that it cannot help."""
    other, own = (-float(at.weight @ at.told(one)) for one in (at.other, at.own))
    return other > TUNING.weighing.hopeless**2 * own


@record("members.class_members/1")
@dataclass(frozen=True, eq=False)
class ClassMembers:
    """Members of a classifier, and how much they count."""

    parts: tuple[Any, ...]  # each a function of X (n, d) -> log probabilities (n, K)
    folds: int  # of rows; part k − folds has not seen fold k; 0: none has
    weight: Weight
    sharpness: float  # e^l
    gain: Gain  # of held-out rows in log probability
    error: float  # squared error of probabilities, relative to that without the member
    kind: str = "trees"

    def __call__(self, X: Array) -> Array:
        """Average log probabilities of the parts, not normalised  (n, K)."""
        total = self.parts[0](X)
        for part in self.parts[1:]:
            total = total + part(X)
        return total / len(self.parts)

    def beside(self, own: Array, X: Array, latents: list[Prediction]) -> Array:
        """Mix the member into log probabilities of the committee  (n, K)."""
        log_sd = log_sd_of(latents)
        omega, known = self.weight(log_sd), self.weight.known(log_sd)
        return mixed(own, self(X), omega, 1.0 + known * (self.sharpness - 1.0))

    def identity(self) -> tuple[Any, ...]:
        """Name what two models have to share if their sums are to be added: parts, not weights."""
        return self.kind, self.parts, self.folds

    def words(self) -> list[str]:
        sure, unsure = self.weight.range()
        return [
            f"{self.kind}, which count {sure:.0%} where the committee is sure and {unsure:.0%} "
            f"where it is not; squared errors of held-out probabilities {self.error - 1.0:+.0%}"
        ]
