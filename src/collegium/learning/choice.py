"""Choose among candidates by held-out rows: the simplest that is about as good as the best.

A row's loss is its negative log density, errors with a scale of their own, plus half its squared
error in units of the least mean square. So the mean loss changes by that of the log density and
by half the log of the mean square, both in nats: density alone may prefer a mean that is worse
where it says so, squared errors alone do not see error bars.

Held-out rows lie among others. Regions that are held out as a whole show how a kernel interpolates
across gaps; few as they are, they count only as far as a candidate clearly loses there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..rows.groups import count_of, error_of_mean
from .tuning import TUNING

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Losses:
    """Losses of one candidate at held-out rows."""

    density: Array  # negative log density, summed over outputs  (n,)
    squares: Array  # (y − m)²  (n, p)
    gaps: Array | None = None  # mean negative log density of each held-out region  (g,)


@dataclass(frozen=True, eq=False)
class Compared:
    """Losses of several candidates, row by row, and the best of them."""

    each: Array  # less the median of the row, cut to ± `most`  (c, n)
    share: Array  # of each row, Σ = 1  (n,)
    group: Array | None = None
    across: Array | float = 0.0  # what is lost across gaps  (c,)

    @classmethod
    def of(
        cls, candidates: Sequence[Losses], w: Array | None = None, group: Array | None = None
    ) -> Compared:
        """Compare losses of the same rows; cut, so that a few rows do not decide."""
        density = np.stack([one.density for one in candidates])
        squares = np.stack([one.squares for one in candidates])  # (c, n, p)
        share = np.ones(density.shape[1]) if w is None else w
        share = share / share.sum()
        usual = np.nan_to_num(np.einsum("n,cnp->cp", share, squares), nan=np.inf).min(axis=0)
        loss = density + 0.5 * (squares / np.clip(usual, 1e-300, 1e300)).sum(axis=2)
        loss = np.nan_to_num(loss, nan=1e300, posinf=1e300, neginf=-1e300)
        gaps = [one.gaps for one in candidates if one.gaps is not None and one.gaps.size > 1]
        across = lost_across(np.stack(gaps)) if len(gaps) == len(candidates) else 0.0
        return cls(_cut(loss), share, group, across)

    @property
    def means(self) -> Array:
        return self.each @ self.share + self.across

    def behind(self, one: int, other: int) -> tuple[float, float]:
        """How much more `one` loses than `other`, and the standard error of that."""
        more, means = self.each[one] - self.each[other], self.means
        error = error_of_mean(self.share, more, self.group, self.needed)
        return float(means[one] - means[other]), error

    @property
    def needed(self) -> float:
        """Count the standard errors by which a candidate must be better than a simpler one."""
        t = TUNING.choice
        return t.errors if count_of(self.group, self.share) >= t.few else t.more_errors

    def simplest(self) -> int:
        """Number of the first candidate, simplest first, that is about as good as the best."""
        best, t = int(np.argmin(self.means)), TUNING.choice
        for one in range(best):
            more, error = self.behind(one, best)
            if more <= max(t.least, self.needed * error):
                return one
        return best


def lost_across(gaps: Array) -> Array:
    """Compute what each candidate clearly loses across gaps, in its part of the loss  (c,).

    `gaps` (c, g): to the best candidate there, less the standard error of the difference.
    """
    each, t = _cut(np.nan_to_num(gaps, nan=1e300, posinf=1e300)), TUNING.choice
    more = each - each[np.argmin(each.mean(axis=1))]
    error = more.std(axis=1, ddof=1) / np.sqrt(more.shape[1])
    return t.across * np.maximum(more.mean(axis=1) - t.across_errors * error, 0.0)


def _cut(losses: Array) -> Array:
    """Subtract the median of the candidates (c, …), and cut to ± `most`."""
    most = TUNING.choice.most
    return np.clip(losses - np.median(losses, axis=0), -most, most)
