"""Streams whose inputs wander: hyperparameters are relearnt, the belief about f is carried over."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium import OnlineGPClassifier, OnlineGPRegressor, kernels
from collegium.kernels import Matern32
from collegium.likelihoods import Gaussian
from collegium.likelihoods.labels.probit import Probit
from collegium.online.gp import OnlineGP, Rules
from collegium.online.tuning import TUNING
from collegium.online.watch import Latest, Watch
from collegium.rows.rows import Rows

NOISE = 0.04


def stream(n, seed=0):
    """Inputs that wander to the right."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.linspace(0, 10, n) + 0.1 * rng.normal(size=n), rng.uniform(-2, 2, n)])
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n)


def fed(model, X, y, size=500, **arguments):
    for start in range(0, len(y), size):
        part = slice(start, start + size)
        model.partial_fit(X[part], y[part], **arguments)
    return model


def believed(likelihood, n=90, d=2):
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, (n, d))
    y = np.sin(2 * X[:, :1]) + 0.2 * rng.normal(size=(n, 1))
    y = np.sign(y) if isinstance(likelihood, Probit) else y
    kernel = Matern32(1.7, [0.8, 1.3])
    gp = OnlineGP.start(kernel, likelihood, d, rules=Rules(budget=25, novelty=1e-3))
    return gp.add(X, y)[0], X, y


# --- carrying the belief over ---------------------------------------------------------------------


@pytest.mark.parametrize("likelihood", [Gaussian(NOISE), Probit()])
def test_an_unchanged_prior_changes_nothing(likelihood):
    gp, X, y = believed(likelihood)
    same = gp.with_prior(gp.kernel, likelihood)
    for name in ("mean", "covariance"):
        assert_allclose(getattr(same, name), getattr(gp, name), atol=1e-8)
    after, before = same.add(X[:40], y[:40])[0], gp.add(X[:40], y[:40])[0]
    found, expected = after.predict(X), before.predict(X)
    assert_allclose(found.mean, expected.mean, atol=1e-7)
    assert_allclose(found.variance, expected.variance, atol=1e-7)


def test_what_rows_at_the_basis_said_is_exact_under_any_prior():
    """Rows that all joined inform f(Z) alone: the same as adding them under the new prior."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, (30, 2))
    y = np.sin(2 * X[:, :1]) + 0.2 * rng.normal(size=(30, 1))
    old, new = Matern32(1.7, [0.8, 1.3]), kernels.RBF(0.6, [1.1, 0.7])
    rules = Rules(budget=60, novelty=0.0)
    carried = OnlineGP.start(old, Gaussian(NOISE), 2, rules=rules).add(X, y)[0]
    carried = carried.with_prior(new, Gaussian(NOISE))
    direct = OnlineGP.start(new, Gaussian(NOISE), 2, rules=rules).add(X, y)[0]
    Xs = rng.uniform(-2, 2, (20, 2))
    found, expected = carried.predict(Xs), direct.predict(Xs)
    assert_allclose(found.mean, expected.mean, atol=1e-4)  # nuggets differ by 1e-6 of the prior
    assert_allclose(found.variance, expected.variance, atol=1e-4)


def test_more_noise_weakens_what_rows_said_and_less_does_not_strengthen_it():
    gp, X, y = believed(Gaussian(NOISE), n=30)
    variance = gp.predict(X).variance
    assert (gp.with_prior(gp.kernel, Gaussian(9 * NOISE)).predict(X).variance > variance).all()
    calm = gp.with_prior(gp.kernel, Gaussian(NOISE / 9)).predict(X).variance
    assert_allclose(calm, variance, atol=1e-8)


def test_an_empty_basis_takes_a_new_prior():
    gp = OnlineGP.start(Matern32(1.0, [1.0]), Gaussian(NOISE), 1)
    assert (
        gp.with_prior(Matern32(2.0, [1.0]), Gaussian(NOISE)).predict(np.zeros((1, 1))).variance == 2
    )


# --- when it is due -------------------------------------------------------------------------------


def rows_of(n):
    return Rows(np.arange(float(n))[:, None], np.zeros((n, 1)), np.ones(n))


def test_learning_is_due_where_errors_are_large_and_rows_have_grown():
    watch = Watch.start(400, 1, 1, 1.0)
    surprised, calm = (watch.after(rows_of(100), np.full(100, s)) for s in (0.3, 0.2))
    assert surprised.due(500) and not surprised.due(499) and not calm.due(5000)
    assert not surprised.next_window().due(5000)
    later = surprised.relearnt(500).after(rows_of(10), np.full(10, 9.0))
    assert later.n_relearnt == 1 and later.due(625) and not later.due(624)
    glitch = watch.after(rows_of(100), np.append(np.zeros(99), 1e9))
    assert not glitch.due(5000)


def test_where_the_past_fades_the_sample_is_from_the_last_rows():
    watch = Watch.start(50, 1, 1, 0.99)
    for start in range(0, 1000, 125):
        rows = Rows(start + np.arange(125.0)[:, None], np.zeros((125, 1)), np.ones(125))
        watch = watch.after(rows, np.full(125, -0.45))
    assert isinstance(watch.sample, Latest)
    X = watch.sample.rows.X[:, 0]
    assert X.size == 50 and X[0] == 800 and X[-1] == 999  # two memories of 100 rows
    assert watch.due(1000)  # a noise that is far too large


def test_nothing_changes_on_a_stream_without_surprises():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (1_000, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=1_000)
    first = fed(OnlineGPRegressor(budget=60, learn_rows=200, random_state=0), X[:200], y[:200])
    kernel = first.kernel_.theta
    later = fed(first, X[200:], y[200:])
    assert later.n_relearnt_ == 0
    assert_array_equal(later.kernel_.theta, kernel)


def noisier(n):
    """The noise grows fivefold after 300 rows."""
    X, y = stream(n)
    return X, y + 0.5 * (np.arange(n) >= 300) * np.random.default_rng(5).normal(size=n)


def test_calls_may_cut_a_stream_anywhere():
    X, y = noisier(1_200)
    model = OnlineGPRegressor(budget=60, learn_rows=200, random_state=0)
    one, other = (fed(pickle.loads(pickle.dumps(model)), X, y, size) for size in (1_200, 170))
    assert one.n_relearnt_ == other.n_relearnt_ > 0
    assert_allclose(one.predict(X), other.predict(X), atol=1e-5)
    assert_allclose(one.noise_, other.noise_, rtol=1e-6)


def test_what_is_given_stays():
    X, y = noisier(1_200)
    kept = OnlineGPRegressor(noise=0.02, budget=60, learn_rows=200, random_state=0)
    assert fed(kept, X, y).n_relearnt_ > 0
    assert_allclose(kept.noise_, 0.02, rtol=1e-12)
    kernel = kernels.RBF(1.0, 3.0)
    fixed = fed(OnlineGPRegressor(kernel, noise=0.01, learn=False, budget=60), X, y)
    assert fixed.n_relearnt_ == 0 and fixed.model_.watch is None
    assert_allclose(fixed.kernel_.theta, kernel.for_width(2).theta, rtol=1e-12)


# --- and what it is worth -------------------------------------------------------------------------


def test_a_stream_that_wanders_is_followed():
    X, y = stream(6_000)
    model = fed(OnlineGPRegressor(random_state=0), X, y)
    mean, std = model.predict(X[-1_000:], return_std=True)
    assert np.sqrt(np.mean((y[-1_000:] - mean) ** 2)) <= 0.15
    assert 0.90 <= np.mean(np.abs(y[-1_000:] - mean) <= 1.96 * std) <= 0.99


def test_a_jump_is_forgotten_with_its_noise():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (2_500, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=2_500)
    y[1_000:] += 3.0
    model = fed(OnlineGPRegressor(forgetting=0.995, learn_rows=200, random_state=0), X, y, 250)
    assert model.n_relearnt_ >= 2
    assert model.noise_ < 0.03
    assert np.sqrt(np.mean((y[-300:] - model.predict(X[-300:])) ** 2)) < 0.15


def test_labels_and_counts_are_relearnt_too():
    """After 750 rows labels and counts are those of another function."""
    X = np.random.default_rng(0).uniform(-2, 2, (1_000, 2))
    turned = np.where(np.arange(1_000) < 750, 1.0, -1.0)
    count = np.random.default_rng(1).poisson(np.exp(2 + turned * X[:, 1])).astype(float)
    for model, target, arguments in [
        (OnlineGPRegressor(likelihood="poisson"), count, {}),
        (OnlineGPClassifier(), (turned * X[:, 1] > 0).astype(int), {"classes": [0, 1]}),
    ]:
        model.set_params(budget=50, learn_rows=100)
        fed(model, X[:750], target[:750], **arguments)
        theta = model.kernel_.theta
        assert model.n_relearnt_ == 0
        fed(model, X[750:], target[750:], **arguments)
        assert model.n_relearnt_ > 0 and np.abs(model.kernel_.theta - theta).max() > 1e-3


def test_memory_is_flat():
    X, y = stream(6_000)
    model = OnlineGPRegressor(budget=20, learn_rows=100, random_state=0)
    size = len(pickle.dumps(fed(model, X[:1_000], y[:1_000])))
    assert len(pickle.dumps(fed(model, X[1_000:], y[1_000:]))) < 1.1 * size
    assert model.n_seen_ % TUNING.window == 0


def test_bars_that_are_too_wide_are_relearnt_too():
    """The first rows are noisy; where later ones are not, nothing surprises, and much is lost."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-2, 2, (2_000, 1))
    noise = np.where(np.arange(2_000) < 500, 1.5, 0.05)
    y = np.sin(3 * X[:, 0]) + noise * rng.normal(size=2_000)
    model = OnlineGPRegressor(random_state=0, budget=40)
    for start in range(0, 2_000, 250):
        model.partial_fit(X[start : start + 250], y[start : start + 250])
    assert model.n_relearnt_ >= 1 and model.noise_ < 0.8
    Xs = np.linspace(-1.9, 1.9, 50)[:, None]
    assert np.sqrt(np.mean((model.predict(Xs) - np.sin(3 * Xs[:, 0])) ** 2)) < 0.12
