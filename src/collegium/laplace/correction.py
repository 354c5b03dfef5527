"""Correct the Laplace evidence by what each row's site leaves out.

A site has the curvature of log p(y | f) at the mode. Where p has heavy tails that is too much, and
the evidence is too low by a share of a nat for every row that f follows: rough functions lose by
it, and smooth ones with much noise are learnt instead. Without its own site, a row's latent value
is N(m₋, v₋), v₋ = v/(1 − Wv), m₋ = f̂ − v₋g. With p itself in place of its site, e^ℓ with
ℓ = log p(y | f̂) + g(f − f̂) − ½W(f − f̂)², the evidence grows by

    c = log ∫ p(y | f)N(f; m₋, v₋) df − log ∫ e^ℓ N(f; m₋, v₋) df.

Vanhatalo, Jylänki and Vehtari (2009) compare Laplace's evidence with others under Student's t; c is
the first term of the expansion of Opper, Paquet and Winther (2013). A row of weight w > 1 has w
times the correction of one copy; one of weight w < 1 has pʷ in place of p, and e^(wℓ) of e^ℓ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray
#: Steps of central differences: of log θ, of f̂ in posterior standard deviations, of log v.
STEP = 1e-4
#: Least 1 − Wv, of which rounding leaves few digits.
LEAST = 1e-9


@dataclass(frozen=True, eq=False)
class CorrectionTerm:
    """Σ wc, and its derivatives in what it is made of."""

    value: float
    f_bar: Array  # (n,)
    v_bar: Array  # (n,)
    theta_bar: Array  # (k,)


def correction(likelihood: Any, y: Array, f: Array, v: Array, share: Array) -> Array:
    """c of each row, at the mode f̂ with the variance v, or of the `share` ≤ 1 of a copy  (n,)."""
    g, W = share * likelihood.derivatives(y, f)[0], share * likelihood.curvature(y, f)[0]
    others = v / np.maximum(1.0 - W * v, LEAST)
    away = -others * g  # m₋ − f̂
    exact = likelihood.log_tempered(y, f + away, others, share)
    wide = 1.0 + W * others
    site = (g * away - 0.5 * W * away**2 + 0.5 * others * g**2) / wide - 0.5 * np.log(wide)
    return exact - share * likelihood.log_density(y, f) - site


def correct(likelihood: Any, y: Array, w: Array, f: Array, v: Array) -> CorrectionTerm:
    """Add up the corrections of rows, w copies each; differentiate row by row, numerically."""
    v = np.maximum(v, 1e-300)
    h, share, copies = STEP * np.sqrt(v), np.minimum(w, 1.0), np.maximum(w, 1.0)

    def total(own: Any, f: Array, v: Array) -> Array:
        return copies * correction(own, y, f, v, share)

    f_bar = (total(likelihood, f + h, v) - total(likelihood, f - h, v)) / (2.0 * h)
    wider, narrower = (total(likelihood, f, v * (1.0 + e)) for e in (STEP, -STEP))
    theta_bar = np.zeros(likelihood.theta.size)
    for k in range(theta_bar.size):
        e = STEP * (np.arange(theta_bar.size) == k)
        up, down = (likelihood.with_theta(likelihood.theta + one) for one in (e, -e))
        theta_bar[k] = (total(up, f, v) - total(down, f, v)).sum() / (2.0 * STEP)
    value = float(total(likelihood, f, v).sum())
    return CorrectionTerm(value, f_bar, (wider - narrower) / (2.0 * STEP * v), theta_bar)
