"""Randomly varying coefficients of one expert against slow code: all rows, and row by row."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma

import reference_rvc as slow
from collegium.rvc import batch
from collegium.rvc.experts import Experts
from reference_rvc import assert_a_maximum, of_coefficients, of_expert, of_posterior, of_prior, rows
from rvc_cases import BOTH, DIMENSIONS, assumptions, one_expert

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
    used, prior, q = batch_problem(d, local=False)
    rng, prior_ = np.random.default_rng(5), of_prior(prior)

    def F(nu, Gs, p, prior_=prior_):
        return slow.published_bound(used.x, used.y, used.weight, nu, Gs, p, prior_)

    p = of_posterior(q)
    z = batch.coefficients(used, q)
    gains, Gs = of_coefficients(used, p)
    assert_allclose(z.G, np.einsum("nii->ni", Gs), rtol=1e-9)
    assert_allclose(z.spread, np.einsum("ni,nij,nj->n", used.x, Gs, used.x), rtol=1e-9)
    assert_a_maximum(lambda nu, G: F(nu, G, p), [z.nu, Gs], rng, 1e-4)

    nu, Gs = z.nu + 0.1 * rng.standard_normal(z.nu.shape), 1.3 * Gs  # no longer optimal
    z = batch.RowCoefficients(nu, np.einsum("nii->ni", Gs), 1.3 * z.spread)
    p = of_posterior(batch.published_lines(used, prior, q, z))
    assert_a_maximum(lambda mu, S: F(nu, Gs, dict(p, mu=mu, S=S)), [p["mu"], p["S"]], rng)

    p = of_posterior(batch.published_variances(used, prior, q, z))
    blocks = [p[key] for key in "abcd"]
    assert_a_maximum(lambda *z: F(nu, Gs, p | dict(zip("abcd", z, strict=True))), blocks, rng, 1e-4)
    assert_a_maximum(
        lambda *z: F(nu, Gs, p, dict(prior_, a=z[0], b=z[1])), blocks[:2], rng
    )  # eq. 22


@DIMENSIONS
def test_published_bound_is_the_slow_one_and_climbs(d):
    used, prior, q = batch_problem(d, local=False)

    def both(q, prior):
        z, (_, Gs) = batch.coefficients(used, q), of_coefficients(used, of_posterior(q))
        args = used.x, used.y, used.weight, z.nu, Gs, of_posterior(q), of_prior(prior)
        return batch.published_bound(used, prior, q, z), slow.published_bound(*args)

    assert_allclose(*both(q, prior), rtol=1e-10)
    found, trace = batch.published_fit(used, prior, q, 30, 0.0)
    assert len(trace) > 5
    assert np.diff(trace).min() > -1e-9
    before, _ = batch.published_fit(used, prior, q, len(trace) - 1, 0.0)
    assert_allclose(trace[-1], both(found, replace(prior, a=before.a, b=before.b))[1], rtol=1e-10)


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
    found, trace = batch.local_fit(used, prior, q, 20000, 0.0)
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
    """Of two equal columns only the sum is learnt, however heavy the rows.

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
    one, traces = batch.fit_experts(experts, X, y, ws[0], assumed, 7, 0.0)
    other, _ = batch.fit_experts(experts, *twice, ws[1], assumed, 7, 0.0)
    for a, b in zip(one.arrays(), other.arrays(), strict=True):
        assert_allclose(a, b, rtol=1e-9)
    # what is kept is what was fitted
    used = batch.ExpertRows.of(X, y, ws[0], experts.centres[1], assumed)
    prior = batch.ExpertPrior.of(assumed, experts.start[1])
    fit = batch.local_fit if local else batch.published_fit
    q, trace = fit(used, prior, prior.posterior(local), 7, 0.0)
    assert trace == traces[1]
    assert_allclose(one.covariance()[1], of_posterior(q)["S"], rtol=1e-9, atol=1e-12)
    assert_allclose([one.noise()[1], *one.misfit()[1]], [q.noise, *q.misfit], rtol=1e-12)
    if local:  # shares of a row add to one
        counts = one.c[1] - assumed.c0 + (one.a[1] - assumed.a0).sum()
        assert_allclose(counts, 0.5 * used.weight.sum())


# -- row by row ----------------------------------------------------------------------------------

SLOW_ROW = {False: slow.published_row, True: slow.local_row}


@BOTH
@DIMENSIONS
@pytest.mark.parametrize("sweeps, forgetting", [(1, 1.0), (3, 1.0), (2, 0.8)])
def test_rows_are_learnt_as_slowly(local, d, sweeps, forgetting):
    committee = one_expert(d, local, sweeps=sweeps, forgetting=forgetting)
    X, y, w = rows(d, 25, seed=3)
    x = slow.inputs(X, committee.experts.centres[0], committee.assumed.unit)
    prior = p = of_expert(committee.experts, 0)
    assert_allclose(p["S"], np.diag(committee.assumed.prior_variance()))
    for i in range(y.size):
        K = slow.locality(x[i]) if local else 1.0
        if local and K < 1e-4:
            continue
        p = slow.faded(p, prior, forgetting ** (w[i] * K))
        more = {"prior_of_all": prior} if local and forgetting < 1 else {}
        p = SLOW_ROW[local](x[i], y[i], w[i], p, sweeps, **more)
        after, *_ = committee.add(X[: i + 1], y[: i + 1], w[: i + 1])
        for key in FIELDS:
            found = of_expert(after.experts, 0)[key]
            assert_allclose(found, p[key], rtol=1e-7, atol=1e-9, err_msg=key)
    total = np.sum(w * ([slow.locality(z) for z in x] if local else 1.0))
    assert_allclose(after.experts.seen[0], total, rtol=1e-3)


@DIMENSIONS
def test_published_batch_of_one_row_is_the_row(d):
    committee = one_expert(d, False)
    X, y, w = rows(d, 1)
    used = batch.ExpertRows.of(X, y, w, committee.experts.centres[0], committee.assumed)
    prior = batch.ExpertPrior.of(committee.assumed, committee.experts.start[0])
    q, _ = batch.published_fit(used, prior, prior.posterior(False), 1, 0.0)
    found = of_expert(committee.add(X, y, w)[0].experts, 0)
    for key in FIELDS:
        assert_allclose(found[key], of_posterior(q)[key], rtol=1e-12)


@DIMENSIONS
def test_local_variances_move_along_the_gradient_of_the_density(d):
    """Δd − sΔc = s ∂/∂log s of K log N(e | 0, v), and so for 1/⟨h_j⟩."""
    committee = one_expert(d, True)
    for i, (row, y, w) in enumerate(zip(*rows(d, 6, seed=1), strict=True)):
        p = of_expert(committee.experts, 0)
        committee, *_ = committee.add(row[None], np.array([y]), np.array([w]))
        after = of_expert(committee.experts, 0)
        x = slow.inputs(row[None], committee.experts.centres[0], committee.assumed.unit)[0]
        logs = np.log(np.append(p["d"] / p["c"], p["b"] / p["a"]))

        def density(logs, x=x, y=y, w=w, p=p):
            return slow.local_log_density(x, y, w, p, logs[0], logs[1:])

        h = 1e-5 * np.eye(d + 2)
        slope = [(density(logs + t) - density(logs - t)) / 2e-5 for t in h]
        step = [np.append(after[k], after[j]) - np.append(p[k], p[j]) for k, j in ("db", "ca")]
        assert_allclose(step[0] / np.exp(logs) - step[1], slope, rtol=1e-5, atol=1e-8)
        assert np.all(step[1] > 0), i


def test_many_rows_with_hardly_any_noise_leave_covariances_positive():
    committee = one_expert(3, True)
    X = 0.3 * np.random.default_rng(0).standard_normal((100_000, 3))
    after, mean, variance = committee.add(X, X @ [1.0, -2.0, 0.5] + 0.7, np.ones(100_000))
    spread = np.linalg.eigvalsh(after.experts.covariance()[0])
    assert 0 < spread.min() < spread.max() < 1e-7
    assert variance.min() > 0
    assert_allclose(after.experts.mu[0, :3] / committee.assumed.unit, [1.0, -2.0, 0.5], atol=1e-4)
