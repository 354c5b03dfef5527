"""Randomly varying coefficients against slow code, and what they claim of themselves."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import digamma

import reference_rvc as slow
from collegium.rvc import batch
from collegium.rvc.committee import Habits, LocalCommittee
from collegium.rvc.experts import Assumptions, Experts
from reference_rvc import assert_a_maximum, of_coefficients, of_expert, of_posterior, of_prior, rows

DIMENSIONS = pytest.mark.parametrize("d", [1, 3])
BOTH = pytest.mark.parametrize("local", [False, True])
FIELDS = ("mu", "S", "a", "b", "c", "d")


def assumptions(d, local, **changes):
    slope = np.linspace(0.4, -0.3, d)
    found = Assumptions(0.7, local, slope, 2.3, 1.7, a0=1.3, b0=0.06, c0=0.8, d0=0.05)
    return replace(found, **changes)


def batch_problem(d, local):
    """One expert's rows, its prior, and a posterior that is nobody's optimum."""
    rng, assumed = np.random.default_rng(d), assumptions(d, local)
    heard = batch.Heard.of(*rows(d), 0.2 * np.ones(d), assumed)
    prior = batch.Prior.of(assumed, rng.standard_normal(d + 1))
    root = rng.uniform(0.1, 0.5, d + 1)
    if local:
        root = np.diag(root) + np.triu(0.2 * rng.standard_normal((d + 1, d + 1)), 1)
    a, b = rng.uniform(2, 5, d + 1), rng.uniform(0.05, 0.5, d + 1)
    return heard, prior, batch.Posterior(rng.standard_normal(d + 1), root, a, b, 3.1, 0.3)


# -- experts as published, all rows --------------------------------------------------------------


@DIMENSIONS
def test_published_updates_are_maxima_of_the_bound(d):
    heard, prior, q = batch_problem(d, local=False)
    rng, prior_ = np.random.default_rng(5), of_prior(prior)

    def F(nu, Gs, p, prior_=prior_):
        return slow.published_bound(heard.x, heard.y, heard.weight, nu, Gs, p, prior_)

    p = of_posterior(q)
    z = batch.coefficients(heard, q)
    gains, Gs = of_coefficients(heard, p)
    assert_allclose(z.G, np.einsum("nii->ni", Gs), rtol=1e-9)
    assert_allclose(z.spread, np.einsum("ni,nij,nj->n", heard.x, Gs, heard.x), rtol=1e-9)
    assert_a_maximum(lambda nu, G: F(nu, G, p), [z.nu, Gs], rng, 1e-4)

    nu, Gs = z.nu + 0.1 * rng.standard_normal(z.nu.shape), 1.3 * Gs  # no longer optimal
    z = batch.Coefficients(nu, np.einsum("nii->ni", Gs), 1.3 * z.spread)
    p = of_posterior(batch.published_lines(heard, prior, q, z))
    assert_a_maximum(lambda mu, S: F(nu, Gs, dict(p, mu=mu, S=S)), [p["mu"], p["S"]], rng)

    p = of_posterior(batch.published_variances(heard, prior, q, z))
    blocks = [p[key] for key in "abcd"]
    assert_a_maximum(lambda *z: F(nu, Gs, p | dict(zip("abcd", z, strict=True))), blocks, rng, 1e-4)
    assert_a_maximum(
        lambda *z: F(nu, Gs, p, dict(prior_, a=z[0], b=z[1])), blocks[:2], rng
    )  # eq. 22


@DIMENSIONS
def test_published_bound_is_the_slow_one_and_climbs(d):
    heard, prior, q = batch_problem(d, local=False)

    def both(q, prior):
        z, (_, Gs) = batch.coefficients(heard, q), of_coefficients(heard, of_posterior(q))
        args = heard.x, heard.y, heard.weight, z.nu, Gs, of_posterior(q), of_prior(prior)
        return batch.published_bound(heard, prior, q, z), slow.published_bound(*args)

    assert_allclose(*both(q, prior), rtol=1e-10)
    found, trace = batch.published_fit(heard, prior, q, 30, 0.0)
    assert len(trace) > 5
    assert np.diff(trace).min() > -1e-9
    before, _ = batch.published_fit(heard, prior, q, len(trace) - 1, 0.0)
    assert_allclose(trace[-1], both(found, replace(prior, a=before.a, b=before.b))[1], rtol=1e-10)


# -- local experts, all rows ---------------------------------------------------------------------


@DIMENSIONS
def test_local_bound_is_the_slow_one_and_its_updates_maxima(d):
    heard, prior, q = batch_problem(d, local=True)
    rng, prior_ = np.random.default_rng(6), of_prior(prior)

    def F(p, gains, Gs):
        return slow.local_bound(heard.x, heard.y, heard.weight, gains, Gs, p, prior_)

    z = of_coefficients(heard, p := of_posterior(q))
    assert_allclose(batch.bound(heard, prior, q), F(p, *z), rtol=1e-10)
    assert_a_maximum(lambda k, G: F(p, k, G), [*z], rng, 1e-4)
    found = of_posterior(batch.variances(heard, prior, q))
    blocks = [found[key] for key in "abcd"]
    assert_a_maximum(lambda a, b, c, d: F(dict(p, a=a, b=b, c=c, d=d), *z), blocks, rng, 1e-4)
    found = of_posterior(batch.lines(heard, prior, q))
    assert_a_maximum(lambda mu, S: F(dict(p, mu=mu, S=S), *z), [found["mu"], found["S"]], rng)


@DIMENSIONS
@pytest.mark.parametrize("whole", [False, True])
def test_local_bound_with_the_best_line_is_the_evidence(d, whole):
    """F = log evidence of y given s and ⟨h⟩, less what σ² and h cost."""
    heard, prior, q = batch_problem(d, local=True)
    if whole:
        heard = replace(heard, weight=np.ones(heard.y.size))
    q = batch.lines(heard, prior, q)
    p, prior_ = of_posterior(q), of_prior(prior)
    cost = slow.of_parameters(dict(p, mu=prior_["mu"], S=prior_["S"]), prior_)
    open_ = np.log(q.noise) - np.log(q.d) + digamma(q.c)
    open_ += (digamma(q.a) - np.log(q.b) + np.log(q.misfit)).sum()
    evidence = slow.log_evidence(heard.x, heard.y, heard.weight, p, prior_)
    expected = evidence + 0.5 * heard.weight.sum() * open_ + cost
    assert_allclose(batch.bound(heard, prior, q), expected, rtol=1e-10)


@DIMENSIONS
def test_local_fit_climbs_to_where_no_gradient_is_left(d):
    heard, prior, q = batch_problem(d, local=True)
    found, trace = batch.fitted(heard, prior, q, 20000, 0.0)
    assert np.diff(trace).min() > -1e-9
    for name in ("mu", "root", "a", "b", "c", "d"):
        value = np.asarray(getattr(found, name), dtype=float)
        for at in np.ndindex(value.shape):
            if name == "root" and at[0] > at[1]:
                continue
            step = np.zeros_like(value)
            step[at] = 1e-4 * np.abs(value).max()
            moved = [replace(found, **{name: value + t * step}) for t in (1, -1)]
            up, down = (batch.bound(heard, prior, q) for q in moved)
            assert abs(up - down) / 2e-4 < 1e-4, (name, at)  # per unit of the log of a parameter


@pytest.mark.parametrize("weight", [1.0, 1e12])
def test_local_lines_keep_what_rows_cannot_tell(weight):
    """Of two equal columns only the sum is learnt, however heavy the rows."""
    assumed, (X, y, _) = assumptions(2, True, slope_variance=1e6), rows(1)
    heard = batch.Heard.of(X[:, [0, 0]], y, np.full(y.size, weight), np.full(2, 0.2), assumed)
    prior = batch.Prior.of(assumed, np.zeros(3))
    q = batch.lines(heard, prior, prior.posterior(True))
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
    heard = batch.Heard.of(X, y, ws[0], experts.centres[1], assumed)
    prior = batch.Prior.of(assumed, experts.start[1])
    fit = batch.fitted if local else batch.published_fit
    q, trace = fit(heard, prior, prior.posterior(local), 7, 0.0)
    assert trace == traces[1]
    assert_allclose(one.covariance()[1], of_posterior(q)["S"], rtol=1e-9, atol=1e-12)
    assert_allclose([one.noise()[1], *one.misfit()[1]], [q.noise, *q.misfit], rtol=1e-12)
    if local:  # shares of a row add to one
        counts = one.c[1] - assumed.c0 + (one.a[1] - assumed.a0).sum()
        assert_allclose(counts, 0.5 * heard.weight.sum())


# -- row by row ----------------------------------------------------------------------------------

SLOW_ROW = {False: slow.published_row, True: slow.local_row}


def one_expert(d, local, **habits):
    centres = np.array([np.linspace(0.3, -0.2, d)])
    habits = Habits(max_experts=1, grow=False, **habits)
    return LocalCommittee.start(assumptions(d, local), habits, centres)


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
        after, *_ = committee.heard(X[: i + 1], y[: i + 1], w[: i + 1])
        for key in FIELDS:
            found = of_expert(after.experts, 0)[key]
            assert_allclose(found, p[key], rtol=1e-7, atol=1e-9, err_msg=key)
    total = np.sum(w * ([slow.locality(z) for z in x] if local else 1.0))
    assert_allclose(after.experts.heard[0], total, rtol=1e-3)


@DIMENSIONS
def test_published_batch_of_one_row_is_the_row(d):
    committee = one_expert(d, False)
    X, y, w = rows(d, 1)
    heard = batch.Heard.of(X, y, w, committee.experts.centres[0], committee.assumed)
    prior = batch.Prior.of(committee.assumed, committee.experts.start[0])
    q, _ = batch.published_fit(heard, prior, prior.posterior(False), 1, 0.0)
    found = of_expert(committee.heard(X, y, w)[0].experts, 0)
    for key in FIELDS:
        assert_allclose(found[key], of_posterior(q)[key], rtol=1e-12)


@DIMENSIONS
def test_local_variances_move_along_the_gradient_of_the_density(d):
    """Δd − sΔc = s ∂/∂log s of K log N(e | 0, v), and so for 1/⟨h_j⟩."""
    committee = one_expert(d, True)
    for i, (row, y, w) in enumerate(zip(*rows(d, 6, seed=1), strict=True)):
        p = of_expert(committee.experts, 0)
        committee, *_ = committee.heard(row[None], np.array([y]), np.array([w]))
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
    after, mean, variance = committee.heard(X, X @ [1.0, -2.0, 0.5] + 0.7, np.ones(100_000))
    spread = np.linalg.eigvalsh(after.experts.covariance()[0])
    assert 0 < spread.min() < spread.max() < 1e-7
    assert variance.min() > 0
    assert_allclose(after.experts.mu[0, :3] / committee.assumed.unit, [1.0, -2.0, 0.5], atol=1e-4)


# -- the committee -------------------------------------------------------------------------------


def grown(d, local, n=120, **habits):
    habits = Habits(**{"max_experts": 6, "alike": 0.01, "add_below": -1.0, **habits})
    return LocalCommittee.start(assumptions(d, local), habits).heard(*rows(d, n, seed=8))[0]


@BOTH
@DIMENSIONS
def test_answers_are_products_of_the_experts(local, d):
    committee = grown(d, local)
    e, unit, Xs = committee.experts, committee.assumed.unit, rows(d, 7, seed=9)[0]
    assert e.size > 1
    found = committee.answer(Xs)
    bars = np.exp(2 * committee.scale[0]) if local else 1.0
    assert not local or bars != 1.0
    ps = [of_expert(e, k) for k in range(e.size)]
    for i, row in enumerate(Xs):
        xs = [slow.inputs(row[None], e.centres[k], unit)[0] for k in range(e.size)]
        near = np.array([slow.locality(x) for x in xs])
        keep = [k for k in range(e.size) if not local or near[k] >= 1e-4 * near.max()]
        seen = [xs[k] for k in keep], [ps[k] for k in keep]
        m, v, noise, slopes = slow.combined(*seen, unit, local)
        assert_allclose(found.mean[i], m, rtol=1e-9)
        assert_allclose([found.variance[i], found.noise[i]], [bars * v, bars * noise], rtol=1e-9)
        assert_allclose(found.slopes[i], slopes, rtol=1e-9)
    assert np.all(found.noise <= found.variance)


@BOTH
@DIMENSIONS
def test_a_stream_in_parts_is_the_stream(local, d):
    X, y, w = rows(d, 90, seed=2)
    habits = Habits(max_experts=5, sweeps=2, forgetting=0.98, alike=0.02, add_below=-1.0)
    start = committee = LocalCommittee.start(assumptions(d, local), habits)
    whole, mean, variance = start.heard(X, y, w)
    assert 1 < whole.experts.size <= 5
    for i in range(y.size):  # what was said before a row is the answer before it
        found = committee.answer(X[i : i + 1])
        assert_allclose([found.mean[0], found.variance[0]], [mean[i], variance[i]], rtol=1e-12)
        committee, *_ = committee.heard(X[i : i + 1], y[i : i + 1], w[i : i + 1])
        assert committee.experts.size <= 5
    for one, other in zip(whole.experts.arrays(), committee.experts.arrays(), strict=True):
        assert_array_equal(one, other)
    assert_array_equal(whole.scale, committee.scale)
    assert start.experts.size == 0  # records do not change


@BOTH
def test_rows_without_weight_change_nothing(local):
    committee = grown(3, local)
    X, y, w = rows(3, 40, seed=4)
    whole = committee.heard(3 * X, 3 * y, np.where(np.arange(40) < 30, 0.0, w))[0]
    last = committee.heard(3 * X[30:], 3 * y[30:], w[30:])[0]
    assert all(map(np.array_equal, whole.experts.arrays(), last.experts.arrays()))
    assert_array_equal(whole.scale, last.scale)


def test_bars_widen_when_rows_fall_outside():
    """The log of the scale moves by its step times (outside − 5 %)."""
    committee = grown(1, True)
    X = np.array([[0.1]])
    said = committee.answer(X)
    for far, outside in ((1.9, 0.0), (2.1, 1.0)):
        y = said.mean + far * np.sqrt(said.variance)
        after = committee.heard(X, y, np.ones(1))[0]
        step = max(0.5 / (1 + committee.scale[1] / 10), 0.02)
        assert_allclose(after.scale[0] - committee.scale[0], step * (outside - 0.05), rtol=1e-12)


def test_local_experts_join_beyond_reach_with_the_committees_line():
    assumed = assumptions(1, True)
    committee = LocalCommittee.start(assumed, Habits(max_experts=9, reach=0.5, alike=0.0))
    edge = assumed.unit * np.sqrt(2 * np.log(2))  # where K = reach
    rest = (np.array([0.3]), np.ones(1))
    committee = committee.heard(np.zeros((1, 1)), *rest)[0]
    assert committee.heard(np.array([[edge - 1e-6]]), *rest)[0].experts.size == 1
    X = np.array([[edge + 1e-6]])
    said = committee.answer(X)
    e = committee.heard(X, *rest)[0].experts
    assert e.size == 2
    assert_allclose(e.start[1], [said.slopes[0, 0] * assumed.unit, said.mean[0]])


def test_published_experts_join_where_the_density_is_low():
    committee = grown(1, False, n=10, alike=0.0, max_experts=30)
    X = np.array([[0.2]])
    assert committee.experts.size < 30
    said = committee.answer(X)
    below = -0.5 * (3.0**2 + np.log(2 * np.pi * said.variance[0]))
    y = said.mean + 3.0 * np.sqrt(said.variance)
    empty = LocalCommittee.start(committee.assumed, committee.habits)
    assert empty.heard(X, np.zeros(1), np.ones(1))[0].experts.size == 1
    for shift, more in ((-1e-6, 0), (1e-6, 1)):
        habits = replace(committee.habits, add_below=below + shift)
        after = replace(committee, habits=habits).heard(X, y, np.ones(1))[0]
        assert after.experts.size == committee.experts.size + more


@BOTH
def test_of_two_alike_experts_one_is_dropped(local):
    centres, habits = np.array([[0.0, 3.0, 0.0, -3.0]]).T, Habits(max_experts=4, add_below=-np.inf)
    start = LocalCommittee.start(assumptions(1, local), habits, centres)
    X, y, w = rows(1, 16)
    assert start.heard(X[:15], y[:15], w[:15])[0].experts.size == 4
    e = start.heard(X, y, w)[0].experts  # after four rows an expert
    assert_array_equal(np.sort(e.centres[: e.size, 0]), [-3.0, 0.0, 3.0])
    kept = replace(start, habits=replace(start.habits, grow=False)).heard(*rows(1, 60))[0]
    assert kept.experts.size == 4


@BOTH
def test_forgetting_follows_a_jump(local):
    rng = np.random.default_rng(0)
    X, w = 0.2 * rng.standard_normal((400, 1)), np.ones(400)
    y = np.where(np.arange(400) < 300, 1.0, -1.0) + 0.05 * rng.standard_normal(400)
    after = [one_expert(1, local, forgetting=f).heard(X, y, w)[0] for f in (1.0, 0.9)]
    errors = [abs(committee.answer(X[:1]).mean[0] + 1.0) for committee in after]
    assert errors[1] < 0.5 * errors[0]


# -- nothing finite breaks them ------------------------------------------------------------------

HARD = dict(slow.hard_rows(*rows(2, 60)))


@BOTH
@pytest.mark.parametrize("forgetting", [1.0, 0.9])
@pytest.mark.parametrize("case, data", HARD.items(), ids=HARD)
def test_finite_rows_give_finite_answers(local, forgetting, case, data):
    habits = Habits(max_experts=5, sweeps=2, forgetting=forgetting)
    start = LocalCommittee.start(assumptions(2, local, slope_variance=1e6), habits)
    committee, mean, variance = start.heard(*data)
    Xs = np.concatenate([data[0][:20], [[1e6, -1e6], [0.0, 3.0]]])
    found = committee.answer(Xs)
    for values in (mean, variance, found.mean, found.variance, found.noise, found.slopes):
        assert np.isfinite(values).all()
    assert min(variance.min(), found.variance.min(), found.noise.min()) > 0
    e = committee.experts
    pivots = np.einsum("kii->ki", e.factor[: e.size]) if local else e.factor[: e.size]
    assert min(pivots.min(), *(z[: e.size].min() for z in (e.a, e.b, e.c, e.d))) > 0
    fitted, _ = batch.fit_experts(e, *data, committee.assumed, 20, 1e-6)
    assert all(np.isfinite(z[: e.size]).all() for z in fitted.arrays())
    assert min(fitted.noise().min(), fitted.misfit().min()) > 0
