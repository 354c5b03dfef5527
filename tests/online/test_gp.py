"""The online GP is exact until points are dropped; dropping and fading keep the other moments."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import norm, poisson

import reference
from collegium import kernels
from collegium.likelihoods import Gaussian, Logit, Poisson, Probit
from collegium.online.gp import NUGGET, OnlineGP, Rules
from collegium.online.learning import default_kernel, search_kernel
from collegium.online.tuning import TUNING

KERNEL = kernels.Matern32(variance=1.7, length_scale=[0.8, 1.9])
NOISE = 0.23
ALL_NOVEL = Rules(budget=500, novelty=0.0)


def white(kernel=KERNEL, variance=1.7):
    """Add the nugget to the kernel: variance that no two points share."""
    return kernel + kernels.White(NUGGET * variance)


def rows(n=60, p=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    return X, np.sin(2.0 * X[:, :1]) * np.arange(1, p + 1) + 0.5 * rng.normal(size=(n, p))


def queries(q=9):
    return np.random.default_rng(5).uniform(-2.0, 2.0, size=(q, 2))


def start(rules=ALL_NOVEL, p=2, likelihood=None, kernel=KERNEL, shift=0.0):
    return OnlineGP.start(kernel, likelihood or Gaussian(NOISE), 2, p, rules, shift)


def assert_same(a, b, rtol=1e-8):
    """Assert that two states answer alike."""
    found, expected, Xs = a.predict(queries()), b.predict(queries()), queries()
    assert_allclose(found.mean, expected.mean, rtol=rtol, atol=rtol)
    assert_allclose(found.variance, expected.variance, rtol=rtol)
    assert_allclose(a.joint(Xs), b.joint(Xs), rtol=0, atol=rtol)
    assert_allclose(a.log_evidence, b.log_evidence, rtol=rtol)


def assert_is(gp, mean, covariance, rtol=1e-8):
    found = gp.predict(queries())
    assert_allclose(found.mean, mean, rtol=rtol, atol=rtol)
    assert_allclose(found.variance, np.diag(covariance), rtol=rtol)
    assert_allclose(gp.joint(queries()), covariance, rtol=0, atol=rtol)


# --- nothing dropped ------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 60, TUNING.block + 40])
def test_without_removal_it_is_the_exact_gp(n):
    X, y = rows(n)
    gp, _ = start().add(X, y)
    noise = NOISE + NUGGET * KERNEL.variance
    mean, covariance, evidence = reference.gp(KERNEL, noise, X, y, np.ones(n), queries())
    assert_is(gp, mean, covariance)
    assert_allclose(gp.log_evidence, evidence, rtol=1e-9)
    assert gp.Z.shape == (n, 2) and gp.n_rows == n


def test_a_weight_is_that_many_equal_rows():
    X, y = rows(25)
    w = np.random.default_rng(1).integers(1, 5, size=25)
    gp, _ = start().add(X, y, w.astype(float))
    again = np.repeat(np.arange(25), w)
    C = reference.covariance(white(), X)[np.ix_(again, again)] + NOISE * np.eye(again.size)
    Ks = reference.covariance(KERNEL, queries(), X)[:, again]
    mean, covariance = reference.condition(C, Ks, reference.covariance(KERNEL, queries()), y[again])
    assert_is(gp, mean, covariance)
    assert_allclose(gp.log_evidence, reference.log_density(y[again], C), rtol=1e-9)


def test_the_order_of_rows_does_not_matter():
    X, y = rows()
    order = np.random.default_rng(2).permutation(60)
    assert_same(start().add(X, y)[0], start().add(X[order], y[order])[0])


@pytest.mark.parametrize("rules", [ALL_NOVEL, Rules(budget=15), Rules(budget=15, forgetting=0.997)])
def test_a_stream_may_be_cut_anywhere(rules):
    X, y = rows(TUNING.block + 90)
    whole, before = start(rules).add(X, y)
    cut, means = start(rules), []
    for part in np.split(np.arange(TUNING.block + 90), [1, 2, 40, 40, 53, 200, TUNING.block + 88]):
        cut, found = cut.add(X[part], y[part])
        means.append(found.mean)
    assert_same(cut, whole)
    assert_allclose(np.concatenate(means), before.mean, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("rules", [ALL_NOVEL, Rules(budget=7)])
def test_rows_are_predicted_before_they_are_added(rules):
    X, y = rows(30)
    _, before = start(rules).add(X, y)
    total, nugget = 0.0, NUGGET * KERNEL.variance
    for i in range(30):
        found = start(rules).add(X[:i], y[:i])[0].predict(X[i : i + 1])
        assert_allclose(before.mean[i], found.mean[0], rtol=1e-8, atol=1e-9)
        assert_allclose(before.variance[i], found.variance[0] + nugget, rtol=1e-8)
        total += norm.logpdf(y[i], before.mean[i], np.sqrt(before.variance[i] + NOISE))
    assert_allclose(start(rules).add(X, y)[0].log_evidence, total, rtol=1e-10)


# --- projection and removal -----------------------------------------------------------------------


def test_a_row_seen_before_is_projected_without_loss():
    X, y = rows(20)
    twice, heard = np.vstack([X, X[::2]]), np.vstack([y, y[::2] + 0.3])
    gp, _ = start(Rules(budget=500, novelty=1e-4)).add(twice, heard)
    assert_array_equal(gp.Z, X)
    mean, covariance, evidence = reference.gp(KERNEL, NOISE, twice, heard, np.ones(30), queries())
    assert_is(gp, mean, covariance, rtol=1e-4)
    assert_allclose(gp.log_evidence, evidence, rtol=1e-5)


def test_novelty_decides_who_joins():
    X, y = rows(40)
    for novelty in (0.02, 0.3):
        gp, _ = start(Rules(budget=500, novelty=novelty)).add(X, y)
        basis = X[:0]
        for x in X:
            k = reference.covariance(KERNEL, basis, x[None])
            K = reference.covariance(white(), basis)
            left = KERNEL.variance - (k.T @ np.linalg.solve(K, k)).item()
            basis = np.vstack([basis, x]) if left > novelty * KERNEL.variance else basis
        assert_array_equal(gp.Z, basis)
        assert 3 < len(basis) < 40


@pytest.mark.parametrize("removal", ["posterior", "mean"])
def test_removal_drops_the_lowest_score_and_leaves_the_others_as_they_were(removal):
    X, y = rows(25)
    full, _ = start(Rules(budget=25, novelty=0.0)).add(X, y)
    fewer, _ = start(Rules(budget=24, novelty=0.0, removal=removal)).add(X, y)
    Q = np.linalg.inv(reference.covariance(white(), X))
    alpha = Q @ full.mean
    C = Q @ full.covariance @ Q - Q
    if removal == "posterior":
        score = (alpha**2).sum(axis=1) / (np.diag(Q) + np.diag(C))
    else:
        score = np.sqrt((alpha**2).sum(axis=1)) / np.diag(Q)
    kept = np.delete(np.arange(25), score.argmin())
    at = [int(np.flatnonzero((X == z).all(axis=1))[0]) for z in fewer.Z]
    assert_array_equal(np.sort(at), kept)
    assert_allclose(fewer.mean, full.mean[at], rtol=1e-10)
    assert_allclose(fewer.covariance, full.covariance[np.ix_(at, at)], rtol=1e-10)
    assert_allclose(fewer.predict(X[at]).mean, fewer.mean, atol=1e-4)


@pytest.mark.parametrize("removal", ["posterior", "mean"])
@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_the_units_of_y_do_not_decide_who_stays(removal, unit):
    X, y = rows(60)
    rules = Rules(budget=15, removal=removal)
    plain, _ = start(rules).add(X, y)
    kernel = replace(KERNEL, variance=unit**2 * KERNEL.variance)
    other, _ = start(rules, kernel=kernel, likelihood=Gaussian(unit**2 * NOISE)).add(X, unit * y)
    assert_array_equal(other.Z, plain.Z)
    assert_allclose(other.mean / unit, plain.mean, rtol=1e-9)


@pytest.mark.parametrize("removal", ["posterior", "mean"])
def test_what_is_updated_row_by_row_is_what_it_would_be_afresh(removal):
    X, y = rows(90)
    gp, _ = start(Rules(budget=12, removal=removal)).add(X, y)
    assert gp.n_rows % gp.rules.refresh_every > 20
    Q = np.linalg.inv(reference.covariance(white(), gp.Z))
    assert_allclose(gp.Q, Q, rtol=0, atol=1e-10 * np.abs(Q).max())
    assert_allclose(gp.alpha, Q @ gp.mean, rtol=1e-9, atol=1e-10)
    assert_allclose(gp.spread, np.diag(Q @ gp.covariance @ Q), rtol=1e-9)


@pytest.mark.parametrize("times", [2, 3])
def test_the_last_sweep_is_fitc_in_any_order(times):
    X, y = rows(50)
    rules = Rules(budget=12)
    gp = start(rules).sweep(X, y, times=times)
    chunk = type("Chunk", (), {"X": X, "y": y, "w": np.ones(50)})
    mean, covariance, evidence = reference.sparse_gp(
        "fitc", white(), NOISE, [chunk], gp.Z, queries()
    )
    covariance -= NUGGET * KERNEL.variance * np.eye(9)
    assert_is(gp, mean, covariance)
    assert_allclose(gp.log_evidence, evidence, rtol=1e-9)
    assert gp.rules == rules and gp.n_rows == 50
    if times == 2:
        assert_array_equal(np.sort(gp.Z, axis=0), np.sort(start(rules).add(X, y)[0].Z, axis=0))
    held = replace(gp.forgotten(), rules=replace(rules, novelty=np.inf))
    order = np.random.default_rng(3).permutation(50)
    assert_same(held.add(X[order], y[order])[0], gp)


def test_one_sweep_is_one_pass_and_several_want_all_rows():
    X, y = rows(50)
    with pytest.raises(ValueError, match="earlier rows"):
        start().add(X, y)[0].sweep(X, y, times=2)
    assert_same(start(Rules(budget=12)).sweep(X, y), start(Rules(budget=12)).add(X, y)[0], rtol=0)


# --- forgetting -----------------------------------------------------------------------------------


@pytest.mark.parametrize("forgetting, every", [(0.9, 1), (0.99, 2), (0.997, 6)])
def test_a_row_fades_as_if_its_noise_grew(forgetting, every):
    X, y = rows(41)
    rules = replace(ALL_NOVEL, forgetting=forgetting)
    gp, _ = start(rules).add(X, y)
    assert rules.forget_every == every
    steps = np.array([sum(j % every == 0 for j in range(i + 1, 41)) for i in range(41)])
    noise = NOISE / forgetting ** (every * steps) + NUGGET * KERNEL.variance
    mean, covariance, _ = reference.gp(KERNEL, 1.0, X, y, 1.0 / noise, queries())
    assert_is(gp, mean, covariance)


def test_forgetting_by_one_forgets_nothing():
    X, y = rows()
    assert Rules(forgetting=1.0).forget_every == 0
    nearly = replace(ALL_NOVEL, forgetting=1.0 - 1e-12)
    plain = start(ALL_NOVEL).add(X, y)[0]
    work = start(nearly).add(X, y)[0]
    assert_same(plain, work)


def test_a_drifting_function_wants_forgetting():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(3000, 2))
    y = np.sin(2 * X[:, :1] + np.arange(3000)[:, None] / 400) + 0.1 * rng.normal(size=(3000, 1))
    error = {}
    for forgetting in (1.0, 0.99):
        rules = Rules(budget=40, forgetting=forgetting)
        _, before = start(rules, p=1, likelihood=Gaussian(0.01)).add(X, y)
        error[forgetting] = np.sqrt(np.mean((before.mean - y)[500:] ** 2))
    assert error[0.99] < 0.25 < 0.5 < error[1.0]


# --- other likelihoods ----------------------------------------------------------------------------


def slow_matching(density, X, y):
    """Match moments over all of f(X) at once, row by row, with integrals by quad."""
    mean, S = np.zeros(len(X)), reference.covariance(white(), X)
    log_evidence = 0.0
    for i in range(len(X)):
        m, v = mean[i], S[i, i]
        sd = np.sqrt(v)

        def moment(k, m=m, sd=sd, i=i):
            return quad(
                lambda f: (f - m) ** k * density(y[i], f) * norm.pdf(f, m, sd),
                m - 9 * sd, m + 9 * sd, epsabs=1e-13, limit=200,
            )[0]  # fmt: skip

        Z, first, second = moment(0), moment(1), moment(2)
        q, r = first / Z / v, ((second / Z - (first / Z) ** 2) / v - 1.0) / v
        log_evidence += np.log(Z)
        mean, S = mean + q * S[:, i], S + r * np.outer(S[:, i], S[:, i])
    return mean, S, log_evidence


@pytest.mark.diagonal
@pytest.mark.parametrize("name", ["probit", "poisson"])
def test_other_likelihoods_match_moments(name):
    X, y = rows(14, p=1)
    if name == "probit":
        likelihood, shift, y = Probit(), -0.3, np.sign(y)
        expected = slow_matching(lambda y, f: norm.cdf(y * (f - 0.3)), X, y[:, 0])
    else:
        likelihood, shift, y = Poisson(), 0.7, np.floor(np.exp(y))
        expected = slow_matching(lambda y, f: poisson.pmf(y, np.exp(0.7 + f)), X, y[:, 0])
    gp, _ = start(p=1, likelihood=likelihood, shift=shift).add(X, y)
    assert_allclose(gp.mean[:, 0], expected[0], rtol=1e-7)
    assert_allclose(gp.covariance, expected[1], rtol=1e-7, atol=1e-9)
    assert_allclose(gp.log_evidence[0], expected[2], rtol=1e-8)


def test_a_shift_is_taken_from_gaussian_targets():
    X, y = rows(40)
    rules = Rules(budget=12)
    assert_same(start(rules, shift=-1.9).add(X, y)[0], start(rules).add(X, y + 1.9)[0])


def test_only_likelihoods_with_a_site_are_taken():
    with pytest.raises(ValueError, match=r"Logit\(.*\) has no `code`"):
        start(p=1, likelihood=Logit())


def test_weights_need_a_gaussian():
    X, y = rows(5, p=1)
    with pytest.raises(ValueError, match="repeat the rows"):
        start(p=1, likelihood=Probit()).add(X, np.sign(y), np.full(5, 2.0))


def test_the_search_finds_a_better_kernel_within_bounds():
    X, y = rows(150, p=1)
    y = np.sign(np.sin(3.0 * X[:, :1]))

    def log_evidence(kernel):
        return float(start(p=1, likelihood=Probit(), kernel=kernel).add(X, y)[0].log_evidence[0])

    begin = default_kernel(X)
    found = search_kernel(log_evidence, begin, X)
    grid = [
        kernels.Matern52(variance, factor * begin.length_scale)
        for variance in (1.0, 10.0, 100.0, 1000.0)
        for factor in (0.1, 0.2, 0.4, 0.8)
    ]
    assert log_evidence(begin) + 10.0 < max(map(log_evidence, grid)) < log_evidence(found) + 0.5
    assert np.ptp(found.length_scale / begin.length_scale) < 1e-12
    assert found.length_scale[0] < begin.length_scale[0] and found.variance < 1.001e3
    still = kernels.RBF(1.0, 1.0, fixed=("variance", "length_scale"))
    assert search_kernel(log_evidence, still, X) is still
    half = search_kernel(log_evidence, kernels.RBF(1.0, 1.0, fixed=("length_scale",)), X)
    assert half.length_scale == 1.0 and half.variance != 1.0


# --- long streams ---------------------------------------------------------------------------------

STREAMS = ["smooth", "one row over and over", "outliers", "noiseless", "far-out inputs"]


def batch(stream, rng, n):
    X = rng.uniform(-3.0, 3.0, size=(n, 2))
    if stream == "one row over and over":
        X[:] = [0.3, -1.1]
    y = np.sin(X[:, :1]) * np.cos(X[:, 1:]) + 1e-3 * rng.normal(size=(n, 1))
    if stream == "outliers":
        y[::97] += 1e6 * rng.choice([-1.0, 1.0], size=y[::97].shape)
    if stream == "far-out inputs":
        X[::97] *= 1e6
    return X, y


def assert_sound_stream(stream, n_rows, novelty, budget=30):
    rng = np.random.default_rng(0)
    kernel = kernels.RBF(1.0, [1.5, 1.5])
    if stream == "far-out inputs":
        kernel = kernel + kernels.Linear(2.0)
    noise = 0.0 if stream == "noiseless" else 1e-6
    gp = OnlineGP.start(kernel, Gaussian(noise), 2, 1, Rules(budget=budget, novelty=novelty))
    largest = 3 * 8 * budget**2 + 20 * 8 * budget + 5000
    for _ in range(n_rows // 10_000):
        gp, before = gp.add(*batch(stream, rng, 10_000))
        assert len(pickle.dumps(gp)) < largest
        assert np.isfinite(before.mean).all() and (before.variance > 0).all()
    for values in (gp.mean, gp.covariance, gp.Q, gp.alpha, gp.spread, gp.log_evidence):
        assert np.isfinite(values).all()
    assert np.linalg.eigvalsh(gp.covariance).min() > 0
    assert np.linalg.eigvalsh(gp.Q).min() > 0
    assert (gp.predict(batch(stream, rng, 500)[0]).variance >= 0).all()
    assert gp.n_rows == n_rows
    return gp


@pytest.mark.parametrize("novelty", [0.0, 1e-4])
@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("n_rows", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_long_streams_stay_finite_and_positive_definite(n_rows, stream, novelty):
    gp = assert_sound_stream(stream, n_rows, novelty)
    if stream == "one row over and over":
        found = gp.predict(np.array([[0.3, -1.1]]))
        assert_allclose(found.mean[0, 0], np.sin(0.3) * np.cos(1.1), atol=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("stream", STREAMS[:3])
def test_a_million_rows_stay_finite_and_positive_definite(stream):
    assert_sound_stream(stream, 1_000_000, 0.0)


@pytest.mark.parametrize("noise", [0.1, 0.0])
def test_a_point_that_the_prior_knows_teaches_nothing(noise):
    gp = OnlineGP.start(kernels.Linear(1.0), Gaussian(noise), 2, 1, Rules(novelty=0.0))
    gp, before = gp.add(np.array([[0.0, 0.0], [1.0, 0.5], [0.0, 0.0]]), np.array([[3.0]] * 3))
    assert gp.Z.shape == (1, 2)
    assert_allclose(before.mean[[0, 2]], 0.0)
    assert_allclose(gp.predict(np.array([[2.0, 1.0]])).mean, 6.0, rtol=0.1 if noise else 1e-5)
    assert np.isfinite(gp.log_evidence).all()
