"""Randomly varying coefficients of one expert, learnt from all rows, against slow code."""

from dataclasses import replace

import numpy as np
import pytest
import reference_rvc as slow
from numpy.testing import assert_allclose
from reference_rvc import assert_a_maximum, of_coefficients, of_posterior, of_prior, rows
from rvc_cases import BOTH, DIMENSIONS, assumptions
from scipy.special import digamma

from collegium.rvc import batch
from collegium.rvc.experts import Experts

FIELDS = ("mu", "S", "a", "b", "c", "d")


def batch_problem(d, local):
    """One expert's rows, its prior, and a posterior that is nobody's optimum."""
    rng, assumed = np.random.default_rng(d), assumptions(d, local)
    used = batch.ExpertRows.of(*rows(d), 0.2 * np.ones(d), assumed)
    prior = batch.ExpertPrior.of(assumed, rng.standard_normal(d + 1))
    root = rng.uniform(0.1, 0.5, d + 1)
    if local:
        root = np.diag(root) + np.triu(0.2 * rng.standard_normal((d + 1, d + 1)), 1)
    a, b = rng.uniform(2, 5, d + 1), rng.uniform(0.05, 0.5, d + 1)
    return used, prior, batch.ExpertPosterior(rng.standard_normal(d + 1), root, a, b, 3.1, 0.3)


# -- experts as published, all rows --------------------------------------------------------------


@DIMENSIONS
def test_published_updates_are_maxima_of_the_bound(d):
    """Each block of the slow sweep maximises F, and the fast sweep is the slow one."""
    used, prior, q = batch_problem(d, local=False)
    rng, prior_, p = np.random.default_rng(5), of_prior(prior), of_posterior(q)

    def F(nu, Gs, p):
        return slow.published_bound(used.x, used.y, used.weight, nu, Gs, p, prior_)

    nu, Gs, lines, after = slow.published_sweep(used.x, used.y, used.weight, p, prior_)
    assert_a_maximum(lambda nu, G: F(nu, G, p), [nu, Gs], rng, 1e-4)
    blocks = [lines["mu"], lines["S"]]
    assert_a_maximum(lambda mu, S: F(nu, Gs, dict(lines, mu=mu, S=S)), blocks, rng)
    blocks = [after[key] for key in "abcd"]
    assert_a_maximum(
        lambda *z: F(nu, Gs, after | dict(zip("abcd", z, strict=True))), blocks, rng, 1e-4
    )
    found = of_posterior(batch.published_sweep(used, prior, q))
    for name in FIELDS:
        assert_allclose(found[name], after[name], rtol=1e-10, atol=1e-14, err_msg=name)


@DIMENSIONS
def test_published_bound_is_the_slow_one_and_climbs(d):
    used, prior, q = batch_problem(d, local=False)

    def both(q):
        gains, Gs = of_coefficients(used, p := of_posterior(q))
        nu = p["mu"] + gains * (used.y - used.x @ p["mu"])[:, None]
        args = used.x, used.y, used.weight, nu, Gs, p, of_prior(prior)
        return batch.published_bound(used, prior, q), slow.published_bound(*args)

    assert_allclose(*both(q), rtol=1e-10)
    found, trace, converged = batch.published_fit(used, prior, q, 31, 0.0)
    assert len(trace) == 31 and not converged
    assert np.diff(trace).min() > -1e-9
    assert_allclose(trace[-1], both(found)[1], rtol=1e-10)


@DIMENSIONS
def test_published_fit_ends_where_plain_sweeps_end_and_sooner(d):
    used, prior, q = batch_problem(d, local=False)
    found, trace, converged = batch.published_fit(used, prior, q, 2000, 1e-13)
    assert converged
    plain = q
    for _ in range(20 * len(trace)):
        plain = batch.published_sweep(used, prior, plain)
    for name in ("mu", "root", "b", "d"):
        assert_allclose(getattr(found, name), getattr(plain, name), rtol=1e-4, err_msg=name)
    slower = q
    for _ in range(len(trace)):
        slower = batch.published_sweep(used, prior, slower)
    assert trace[-1] > batch.published_bound(used, prior, slower)


@DIMENSIONS
def test_an_extrapolation_of_a_geometric_path_is_its_end(d):
    _, _, q = batch_problem(d, local=False)
    step = 0.3 * np.random.default_rng(7).standard_normal(q.mu.size)

    def at(rate):
        scale = np.exp(rate * step)
        return replace(
            q, mu=q.mu + rate * step, root=q.root * scale, b=q.b * scale, d=q.d * np.exp(rate)
        )

    far = batch._extrapolated(at(1.0), at(0.9), at(0.81))  # each step .9 of the last
    for name in ("mu", "root", "b", "d"):
        assert_allclose(getattr(far, name), getattr(q, name), rtol=1e-9, err_msg=name)


# -- local experts, all rows ---------------------------------------------------------------------


@DIMENSIONS
def test_local_bound_is_the_slow_one_and_its_updates_maxima(d):
    used, prior, q = batch_problem(d, local=True)
    rng, prior_ = np.random.default_rng(6), of_prior(prior)

    def F(p, gains, Gs):
        return slow.local_bound(used.x, used.y, used.weight, gains, Gs, p, prior_)

    z = of_coefficients(used, p := of_posterior(q))
    assert_allclose(batch.local_bound(used, prior, q), F(p, *z), rtol=1e-10)
    assert_a_maximum(lambda k, G: F(p, k, G), [*z], rng, 1e-4)
    found = of_posterior(batch.local_variances(used, prior, q))
    blocks = [found[key] for key in "abcd"]
    assert_a_maximum(lambda a, b, c, d: F(dict(p, a=a, b=b, c=c, d=d), *z), blocks, rng, 1e-4)
    found = of_posterior(batch.local_lines(used, prior, q))
    assert_a_maximum(lambda mu, S: F(dict(p, mu=mu, S=S), *z), [found["mu"], found["S"]], rng)


@DIMENSIONS
@pytest.mark.parametrize("whole", [False, True])
def test_local_bound_with_the_best_line_is_the_evidence(d, whole):
    """F = log evidence of y given s and ⟨h⟩, less what σ² and h cost."""
    used, prior, q = batch_problem(d, local=True)
    if whole:
        used = replace(used, weight=np.ones(used.y.size))
    q = batch.local_lines(used, prior, q)
    p, prior_ = of_posterior(q), of_prior(prior)
    cost = slow.of_parameters(dict(p, mu=prior_["mu"], S=prior_["S"]), prior_)
    open_ = np.log(q.noise) - np.log(q.d) + digamma(q.c)
    open_ += (digamma(q.a) - np.log(q.b) + np.log(q.misfit)).sum()
    evidence = slow.log_evidence(used.x, used.y, used.weight, p, prior_)
    expected = evidence + 0.5 * used.weight.sum() * open_ + cost
    assert_allclose(batch.local_bound(used, prior, q), expected, rtol=1e-10)


@DIMENSIONS
def test_local_fit_climbs_to_where_no_gradient_is_left(d):
    used, prior, q = batch_problem(d, local=True)
    found, trace, _ = batch.local_fit(used, prior, q, 20000, 0.0)
    assert np.diff(trace).min() > -1e-9
    for name in ("mu", "root", "a", "b", "c", "d"):
        value = np.asarray(getattr(found, name), dtype=float)
        for at in np.ndindex(value.shape):
            if name == "root" and at[0] > at[1]:
                continue
            step = np.zeros_like(value)
            step[at] = 1e-4 * np.abs(value).max()
            moved = [replace(found, **{name: value + t * step}) for t in (1, -1)]
            up, down = (batch.local_bound(used, prior, q) for q in moved)
            assert abs(up - down) / 2e-4 < 1e-4, (name, at)  # per unit of the log of a parameter


@pytest.mark.parametrize("weight", [1.0, 1e10])
def test_local_lines_keep_what_rows_cannot_tell(weight):
    """Learn only the sum of two equal columns, however heavy the rows.

    Rounding of the sums moves the difference by about eps · weight · Σ|xy| · variance: at a weight
    of 1e10 some 1 % of its spread, at 1e12 as much as a tenth or more.
    """
    assumed, (X, y, _) = assumptions(2, True, slope_variance=1e6), rows(1)
    used = batch.ExpertRows.of(X[:, [0, 0]], y, np.full(y.size, weight), np.full(2, 0.2), assumed)
    prior = batch.ExpertPrior.of(assumed, np.zeros(3))
    q = batch.local_lines(used, prior, prior.posterior(True))
    apart, together = (((q.root[0] + t * q.root[1]) ** 2).sum() / 2 for t in (-1, 1))
    assert_allclose(apart, prior.variance[0], rtol=1e-6)
    assert together < 1e-4 * apart
    assert abs(q.mu[0] - q.mu[1]) < 0.05 * np.sqrt(2 * apart)


@BOTH
def test_a_row_of_weight_two_is_the_row_twice(local):
    assumed, (X, y, w) = assumptions(3, local), rows(3)
    twice = [np.concatenate([z, z[:4]]) for z in (X, y)]
    w[:4] = 1.0
    experts = Experts.at(np.array([[0.1, 0.2, -0.3], [1.0, 0.0, 0.0]]), assumed, 0.3)
    ws = np.where(np.arange(y.size) < 4, 2.0, w), np.append(w, w[:4])
    one, climbs = batch.fit_experts(experts, X, y, ws[0], assumed, 7, 0.0)
    other, _ = batch.fit_experts(experts, *twice, ws[1], assumed, 7, 0.0)
    for a, b in zip(one.arrays(), other.arrays(), strict=True):
        assert_allclose(a, b, rtol=1e-9)
    # what is kept is what was fitted
    used = batch.ExpertRows.of(X, y, ws[0], experts.centres[1], assumed)
    prior = batch.ExpertPrior.of(assumed, experts.start[1])
    fit = batch.local_fit if local else batch.published_fit
    q, trace, _ = fit(used, prior, prior.posterior(local), 7, 0.0)
    assert trace == climbs[1].bounds
    assert_allclose(one.covariance()[1], of_posterior(q)["S"], rtol=1e-9, atol=1e-12)
    assert_allclose([one.noise()[1], *one.misfit()[1]], [q.noise, *q.misfit], rtol=1e-12)
    if local:  # shares of a row add to one
        counts = one.c[1] - assumed.c0 + (one.a[1] - assumed.a0).sum()
        assert_allclose(counts, 0.5 * used.weight.sum())
