"""Committees of counts, of heavy tails, and of likelihoods of your own."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import nbinom, poisson
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from collegium import (
    CommitteeRegressor,
    Inductive,
    Learn,
    Sweeps,
    Transductive,
    kernels,
    likelihoods,
)
from collegium.laplace.tuning import TUNING
from collegium.pipeline.swept import settings as swept
from estimator_cases import assert_same_state, leaves, queries, rmse, smooth_rows, state, truth

pytestmark = pytest.mark.filterwarnings("ignore:the rows came with exposures")
KERNEL = kernels.Matern52(0.8, [1.1, 1.7])
COUNTS = {"likelihood": "poisson", "kernel": KERNEL, "learn": False, "random_state": 0}
HEAVY = {"likelihood": "student-t", "kernel": KERNEL, "noise": 0.05, "learn": False,
         "random_state": 0}  # fmt: skip
SETTLED = {"chunks": 15, "anchors": 10}
both = pytest.mark.parametrize("given", [COUNTS, HEAVY], ids=["poisson", "student-t"])
VARIANTS = {
    "exact": {},
    "local": {"chunks": 15, "anchors": 10, "n_local": 12},
    "anchors only": {"chunks": 15, "anchors": 10, "n_local": 0},
    "transductive": {"chunks": 15, "anchors": 10, "inference": "transductive"},
}
every_variant = pytest.mark.parametrize("variant", VARIANTS)


def counts(n=60, seed=0, log_rate=1.2):
    """Inputs, counts and exposures."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    e = rng.uniform(0.4, 3.0, n)
    return X, rng.poisson(e * np.exp(log_rate + np.sin(1.4 * X[:, 0]) + 0.3 * X[:, 1])), e


def heavy(n=60, seed=0):
    X, _, _ = counts(n, seed)
    noise = 0.25 * np.random.default_rng(seed + 100).standard_t(3.0, n)
    return X, 4.0 + np.sin(1.4 * X[:, 0]) + 0.3 * X[:, 1] + noise


def rows_for(given, n=60, seed=0):
    return counts(n, seed)[:2] if given["likelihood"] == "poisson" else heavy(n, seed)


def slow_mode(K, y, offset, w=1.0):
    """argmax log p(y | f + offset) − ½fᵀK⁻¹f by plain Newton steps, and Laplace's covariance."""
    f = np.zeros(len(y))
    for _ in range(60):
        rate = w * np.exp(f + offset)
        f = f + np.linalg.solve(
            np.linalg.inv(K) + np.diag(rate), w * y - rate - np.linalg.solve(K, f)
        )
    return f, np.diag(w * np.exp(f + offset))


def answers(model, Xs, **more):
    """Everything a model says at some queries, side by side."""
    said = [*model.predict_interval(Xs, 0.8, **more)]
    for level in ("function", "observation"):
        said += [*model.predict(Xs, return_std=True, level=level, **more)]
    return np.column_stack(said)


# -- theorems -----------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_one_chunk_of_counts_is_the_mode_of_newtons_method(weighted):
    X, y, e = counts(40)
    w = np.random.default_rng(5).integers(1, 4, 40).astype(float) if weighted else np.ones(40)
    model = CommitteeRegressor(**COUNTS).fit(X, y, sample_weight=w, exposure=e)
    Xs, base = queries(), np.log((w * y).sum() / (w * e).sum())
    K, k = KERNEL.value(X), KERNEL.value(Xs, X)
    f, W = slow_mode(K, y, base + np.log(e), w)
    a = np.linalg.solve(K, f)
    C = KERNEL.value(Xs, Xs) - k @ np.linalg.solve(K + np.linalg.inv(W), k.T)
    m, v = base + k @ a, np.diag(C)
    mean = np.exp(m + v / 2)
    covariance = np.outer(mean, mean) * np.expm1(C)
    found, std = model.predict(Xs, return_std=True, level="function")
    assert_allclose(found, mean, rtol=1e-8)
    assert_allclose(std**2, np.diag(covariance), rtol=1e-7)
    assert_allclose(model.predict(Xs, return_cov=True, level="function")[1], covariance, rtol=1e-6)
    assert_allclose(model.predict(Xs, return_cov=True)[1], covariance + np.diag(mean), rtol=1e-6)
    evidence = w @ poisson.logpmf(y, e * np.exp(base + f)) - 0.5 * a @ f
    evidence -= 0.5 * np.linalg.slogdet(np.eye(40) + K @ W)[1]
    assert_allclose(model.log_evidence_, evidence, rtol=1e-9)
    assert model.noise_ is None and model.n_sweeps_ == 1 and model.change_ == 0.0


@pytest.mark.parametrize("variant", ["exact", "local", "anchors only"])
def test_gaussian_noise_as_a_likelihood_is_the_gaussian_committee(variant):
    X, y = heavy(60)
    y = y - y.mean()  # one of your own has a prior mean of zero
    chosen = {**VARIANTS[variant], "kernel": KERNEL, "learn": False, "random_state": 0}
    chosen |= {"anchors": queries(10, seed=9), "chunks": np.arange(60) % 4}
    if variant == "exact":
        chosen["chunks"] = np.zeros(60)
    plain = CommitteeRegressor(noise=0.07, **chosen).fit(X, y)
    own = CommitteeRegressor(likelihood=likelihoods.Gaussian(0.07), **chosen).fit(X, y)
    assert own.n_chunks_ == plain.n_chunks_ == (1 if variant == "exact" else 4)
    Xs = queries()
    assert_allclose(answers(own, Xs), answers(plain, Xs), rtol=1e-8)
    for level in ("function", "observation"):
        a, b = (m.predict(Xs, return_cov=True, level=level)[1] for m in (own, plain))
        assert_allclose(a, b, rtol=1e-6, atol=1e-10)
    assert_allclose(own.log_evidence_, plain.log_evidence_, rtol=1e-9)
    assert own.noise_ == 0.07 and own.likelihood_ == likelihoods.Gaussian(0.07)
    assert own.n_sweeps_ <= 2 and plain.n_sweeps_ == 1 and plain.change_ == 0.0


def test_many_degrees_of_freedom_are_gaussian_noise():
    X, y = heavy(60)
    y = y - np.median(y)
    chosen = {"kernel": KERNEL, "learn": False, "chunks": np.arange(60) % 4, "random_state": 0}
    chosen |= {"anchors": queries(10, seed=9), "inference": Inductive(Sweeps(30, 1e-10))}
    light = likelihoods.StudentT(dof=1e7, noise=0.07)
    one = CommitteeRegressor(likelihood=light, **chosen).fit(X, y)
    other = CommitteeRegressor(likelihood=likelihoods.Gaussian(0.07), **chosen).fit(X, y)
    assert_allclose(answers(one, queries()), answers(other, queries()), rtol=1e-5)
    assert_allclose(one.log_evidence_, other.log_evidence_, rtol=1e-5)


@both
def test_chunks_about_all_rows_are_the_whole_model(given):
    """Transductive, and every row among the query points: nothing is left to approximate."""
    X, y = rows_for(given)
    joint = CommitteeRegressor(**given, **SETTLED, inference="transductive").fit(X, y)
    whole = CommitteeRegressor(**given).fit(X, y)
    assert joint.n_chunks_ > 1 and joint.query_size_ >= 80
    assert_allclose(answers(joint, queries()), answers(whole, queries()), rtol=1e-5)
    a, b = (model.predict(queries(), return_cov=True)[1] for model in (joint, whole))
    assert_allclose(a, b, rtol=1e-4, atol=1e-7)


@both
def test_schedules_rest_at_the_same_place_and_one_sweep_does_not(given):
    X, y = rows_for(given)
    found = [
        CommitteeRegressor(
            **given, **SETTLED, inference=Inductive(Sweeps(tol=1e-11, schedule=schedule))
        ).fit(X, y)
        for schedule in ("parallel", "sequence")
    ]
    first, second = (answers(model, queries()) for model in found)
    assert_allclose(first, second, rtol=1e-7)
    assert all(model.n_sweeps_ > 2 and model.change_ <= 1e-11 for model in found)
    once = CommitteeRegressor(**given, **SETTLED, inference=Inductive(1)).fit(X, y)
    assert once.n_sweeps_ == 1
    assert np.abs(answers(once, queries()) - first).max() > 1e-4
    in_turn = Inductive(Sweeps(1, schedule="sequence"))
    turns = CommitteeRegressor(**given, **SETTLED, inference=in_turn).fit(X, y)
    assert np.abs(answers(turns, queries()) - answers(once, queries())).max() > 1e-4


@pytest.mark.diagonal
@every_variant
def test_an_exposure_is_an_offset_of_the_log_rate(variant):
    X, y, e = counts()
    Xs, asked = queries(), np.linspace(0.2, 30.0, 11)
    model = CommitteeRegressor(**COUNTS, **VARIANTS[variant]).fit(X, y, exposure=e)
    more = CommitteeRegressor(**COUNTS, **VARIANTS[variant]).fit(X, y, exposure=7.0 * e)
    assert_allclose(
        answers(model, Xs, exposure=asked), answers(more, Xs, exposure=7.0 * asked), rtol=1e-9
    )
    assert_allclose(more.log_evidence_, model.log_evidence_, rtol=1e-9)
    rate, std = model.predict(Xs, return_std=True, level="function")
    count, spread = model.predict(Xs, return_std=True, exposure=asked)
    assert_allclose(count, asked * rate, rtol=1e-12)
    assert_allclose(spread**2, asked * rate + (asked * std) ** 2, rtol=1e-12)
    assert_allclose(model.predict(Xs), model.predict(Xs, exposure=np.ones(11)), rtol=0)


def test_intervals_of_counts_are_whole_numbers_with_enough_between_them():
    X, y, e = counts(80)
    model = CommitteeRegressor(**COUNTS).fit(X, y, exposure=e)
    Xs, asked = queries(), np.full(11, 4.0)
    low, high = model.predict_interval(Xs, 0.9, exposure=asked)
    assert_array_equal([low, high], np.floor([low, high]))
    draws = model.sample_y(Xs, 20_000, 3, exposure=asked)
    inside = ((draws >= low[:, None]) & (draws <= high[:, None])).mean(axis=1)
    assert (inside > 0.89).all()
    tight = ((draws > low[:, None]) & (draws < high[:, None])).mean(axis=1)
    assert (tight < 0.91).all()
    # a log-normal rate of little variance is about a gamma: counts are negative binomial
    mean, std = model.predict(Xs, return_std=True, exposure=asked)
    r = mean**2 / (std**2 - mean)
    expected = nbinom.ppf(0.95, r, r / (r + mean))
    assert np.abs(high - expected).max() <= 1.0


def test_bars_of_heavy_tails_at_both_levels():
    X, y = heavy(80)
    model = CommitteeRegressor(**{**HEAVY, "likelihood": likelihoods.StudentT(dof=3.5)}).fit(X, y)
    Xs = queries()
    mean, std = model.predict(Xs, return_std=True, level="function")
    _, noisy = model.predict(Xs, return_std=True)
    assert_allclose(noisy**2, std**2 + 0.05 * 3.5 / 1.5, rtol=1e-9)
    low, high = model.predict_interval(Xs, 0.9, level="function")
    assert_allclose(high - mean, 1.6448536 * std, rtol=1e-6)
    assert_allclose(mean - low, 1.6448536 * std, rtol=1e-6)
    low, high = model.predict_interval(Xs, 0.98)
    draws = model.sample_y(Xs, 40_000, 1)
    assert_allclose((draws < low[:, None]).mean(axis=1), 0.01, atol=0.003)
    assert_allclose((draws > high[:, None]).mean(axis=1), 0.01, atol=0.003)
    _, C = model.predict(Xs, return_cov=True, level="function")
    _, D = model.predict(Xs, return_cov=True)
    assert_allclose(D - C, 0.05 * 3.5 / 1.5 * np.eye(11), atol=1e-12)
    functions = model.sample_y(Xs, 40_000, 2, level="function")
    assert_allclose(np.cov(functions), C, atol=0.05 * C.max())
    assert np.isinf(
        CommitteeRegressor(**{**HEAVY, "likelihood": likelihoods.StudentT(dof=1.5)})
        .fit(X, y).predict(Xs, return_std=True)[1]
    ).all()  # fmt: skip


@pytest.mark.diagonal
@every_variant
def test_units_of_y_do_not_matter_to_heavy_tails(variant):
    X, y = heavy()
    one = CommitteeRegressor(**HEAVY, **VARIANTS[variant]).fit(X, y)
    levels = ("function", "observation")
    said = {level: one.predict(queries(), return_std=True, level=level) for level in levels}
    interval = one.predict_interval(queries(), 0.7)
    for a, b in ((1e-3, 0.0), (-70.0, 1e3), (1e120, 0.0)):
        given = {**HEAVY, "kernel": KERNEL.scaled(a * a), "noise": HEAVY["noise"] * a * a}
        other = CommitteeRegressor(**given, **VARIANTS[variant]).fit(X, a * y + b)
        for level, (mean, std) in said.items():
            found = other.predict(queries(), return_std=True, level=level)
            assert_allclose(found[0], a * mean + b, rtol=1e-6)
            assert_allclose(found[1], abs(a) * std, rtol=1e-6)
        ends = np.sort([a * end + b for end in interval], axis=0)
        assert_allclose(other.predict_interval(queries(), 0.7), ends, rtol=1e-6)
        evidence = one.log_evidence_ - 60 * np.log(abs(a))
        assert_allclose(other.log_evidence_, evidence, rtol=1e-6)
        assert_allclose(other.noise_, given["noise"], rtol=1e-12)


@pytest.fixture(scope="module")
def learnt():
    """One learnt model of each likelihood, in several chunks."""
    X, y, e = counts(200)
    Xt, t = heavy(200)
    few = {"chunks": 70, "anchors": 25, "n_local": 50, "random_state": 0}
    return {
        "poisson": CommitteeRegressor(likelihood="poisson", **few).fit(X, y, exposure=e),
        "student-t": CommitteeRegressor(likelihood="student-t", **few).fit(Xt, t),
    }


def test_learnt_kernel_and_noise_fed_back_give_the_same_model(learnt):
    for name, model in learnt.items():
        again = clone(model).set_params(kernel=model.kernel_, noise=model.noise_, learn=False)
        again.set_params(anchors=model.anchors_)
        X, y, e = counts(200) if name == "poisson" else (*heavy(200), None)
        again.fit(X, y, exposure=e)
        assert_allclose(answers(again, queries()), answers(model, queries()), rtol=1e-2)
        assert_allclose(again.log_evidence_, model.log_evidence_, rtol=1e-4)
        assert again.noise_ == pytest.approx(model.noise_)


def test_learning_does_not_depend_on_units():
    X, y = heavy(120)
    one = CommitteeRegressor(likelihood="student-t", random_state=0).fit(X, y)
    other = CommitteeRegressor(likelihood="student-t", random_state=0).fit(X, 1e3 * y - 50.0)
    assert_allclose(other.noise_, 1e6 * one.noise_, rtol=1e-3)
    assert_allclose(other.kernel_.length_scale, one.kernel_.length_scale, rtol=1e-3)
    assert_allclose(other.predict(queries()), 1e3 * one.predict(queries()) - 50.0, rtol=1e-4)
    own = [
        CommitteeRegressor(likelihood=likelihoods.Gaussian(a * a), random_state=0).fit(X, a * y)
        for a in (1.0, 1e4)
    ]
    assert_allclose(own[1].noise_, 1e8 * own[0].noise_, rtol=1e-2)
    assert 0.01 < own[0].noise_ < 0.5


# -- simulated data ------------------------------------------------------------------------------


def test_intervals_cover_what_they_promise(learnt):
    X, y, e = counts(600, seed=7)
    low, high = learnt["poisson"].predict_interval(X, 0.95, exposure=e)
    assert 0.945 < ((low <= y) & (y <= high)).mean() < 0.99
    X, y = heavy(600, seed=7)
    low, high = learnt["student-t"].predict_interval(X, 0.95)
    assert 0.92 < ((low <= y) & (y <= high)).mean() < 0.98


@pytest.mark.diagonal
@both
def test_intervals_cover_functions_and_observations_from_the_prior(given):
    """Over functions drawn from the prior; of counts at least what is asked."""
    rng, inside = np.random.default_rng(8), []
    likelihood = likelihoods.Poisson() if given is COUNTS else likelihoods.StudentT(4.0, 0.05)
    centre = np.log(3.0) if given is COUNTS else 0.0
    for _ in range(20):
        X = rng.uniform(-2.0, 2.0, (100, 2))
        f = centre + np.linalg.cholesky(KERNEL.value(X) + 1e-9 * np.eye(100)) @ rng.normal(size=100)
        y = likelihood.draw(f, rng)
        model = CommitteeRegressor(**given).fit(X[:60], y[:60])
        for level, told in (("function", likelihood.mean(f)), ("observation", y)):
            for coverage in (0.9, 0.99):
                low, high = model.predict_interval(X[60:], coverage, level=level)
                inside.append(((low <= told[60:]) & (told[60:] <= high)).mean())
    function, surely, observed, sure = np.array(inside).reshape(20, 4).mean(axis=0)
    assert 0.85 < function < 0.95 and 0.97 < surely < 0.999
    assert 0.87 < observed < 0.98 and 0.98 < sure


@pytest.mark.slow
def test_corrupted_targets_do_not_matter_to_heavy_tails():
    X, y = smooth_rows(1500)
    y = y + 0.25 * np.random.default_rng(1).normal(size=1500)
    rng = np.random.default_rng(2)
    wrong, bad = rng.random(1500) < 0.1, y.copy()
    bad[wrong] += rng.choice([-1.0, 1.0], wrong.sum()) * rng.uniform(10.0, 40.0, wrong.sum())
    Xs = np.random.default_rng(3).uniform(-3.0, 3.0, (400, 2))
    few = {"kernel": kernels.RBF(), "chunks": 500, "anchors": 100, "n_local": 30}
    robust = CommitteeRegressor(likelihood="student-t", random_state=0, **few)
    clean = rmse(clone(robust).fit(X, y).predict(Xs), truth(Xs))
    assert rmse(robust.fit(X, bad).predict(Xs), truth(Xs)) < 1.2 * clean
    plain = CommitteeRegressor(random_state=0, **few).fit(X, bad)
    assert rmse(plain.predict(Xs), truth(Xs)) > 3.0 * clean


# -- nasty cases ---------------------------------------------------------------------------------


def assert_sound(model, Xs, **more):
    said = answers(model, Xs, **more)
    assert np.isfinite(said).all() and np.isfinite(model.log_evidence_)
    assert (said[:, [3, 5]] >= 0.0).all() and (said[:, 0] <= said[:, 1]).all()
    assert np.isfinite(model.sample_y(Xs, 3, **more)).all()
    assert np.isfinite(model.predict(Xs, return_cov=True, **more)[1]).all()


@every_variant
def test_no_counts_at_all(variant):
    X, _, e = counts()
    model = CommitteeRegressor(**COUNTS, **VARIANTS[variant]).fit(X, np.zeros(60), exposure=e)
    assert_sound(model, queries())
    assert (model.predict(queries()) < 0.1).all()
    assert model.predict_interval(queries(), 0.9)[1].max() <= 1.0
    learnt = CommitteeRegressor(likelihood="poisson", random_state=0, **VARIANTS[variant])
    assert_sound(learnt.fit(X, np.zeros(60)), queries())


@pytest.mark.diagonal
@every_variant
@pytest.mark.parametrize("learn", [False, True])
def test_huge_counts(variant, learn):
    X, _, _ = counts()
    rate = 1e9 * np.exp(np.sin(X[:, 0]))
    y = np.random.default_rng(1).poisson(rate)
    model = CommitteeRegressor(**{**COUNTS, "learn": learn}, **VARIANTS[variant]).fit(X, y)
    assert_sound(model, queries())
    assert_allclose(model.predict(queries()), 1e9 * np.exp(np.sin(queries()[:, 0])), rtol=0.5)
    if variant != "anchors only":
        low, high = model.predict_interval(X, 0.999)
        assert ((low <= y) & (y <= high)).mean() > 0.9


@pytest.mark.diagonal
@every_variant
@pytest.mark.parametrize("schedule", ["parallel", "sequence"])
def test_huge_rough_counts(variant, schedule):
    """Rates of no smooth function: rows are answered by what they say themselves."""
    X, y, _ = counts()
    y = 1e9 * y
    chosen = {**COUNTS, **VARIANTS[variant], "kernel": kernels.Matern12(0.8, [1.1, 1.7])}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind = Transductive if variant == "transductive" else Inductive
        chosen["inference"] = kind(sweeps=Sweeps(schedule=schedule))
        model = CommitteeRegressor(**chosen).fit(X, y)
        assert_sound(model, queries())
        found = model.predict(X)
    assert found.max() < 3.0 * y.max()
    if variant != "anchors only":
        assert_allclose(found[y > 0], y[y > 0], rtol=1e-3)
        assert (found[y == 0] < 1e7).all()


@both
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_few_rows(given, rows):
    X, y = rows_for(given, rows)
    name = given["likelihood"]
    assert_sound(CommitteeRegressor(**given).fit(X, y), queries())
    assert_sound(CommitteeRegressor(likelihood=name, random_state=0).fit(X, y), queries())


@pytest.mark.diagonal
@pytest.mark.parametrize("y", [
    np.full(60, 3.0), np.r_[np.zeros(58), 1.0, 7.0], np.r_[np.zeros(59), 1e100],
    1e-140 * np.arange(60.0), 1e8 + np.arange(60.0),
], ids=["constant", "mostly zero", "one giant", "tiny", "far from zero"])  # fmt: skip
def test_odd_targets_of_heavy_tails(y):
    X, _ = heavy()
    model = CommitteeRegressor(likelihood="student-t", random_state=0).fit(X, y)
    assert_sound(model, queries())
    few = CommitteeRegressor(likelihood="student-t", random_state=0, **VARIANTS["local"])
    assert_sound(few.fit(X, y), queries())


@pytest.mark.diagonal
@pytest.mark.parametrize("schedule", ["parallel", "sequence"])
@pytest.mark.parametrize("inference", [Inductive, Transductive])
def test_heavy_tails_at_one_place_come_to_rest(schedule, inference):
    """Chunks are then of rows in order of y: each is full of outliers to the others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    rng.poisson(np.exp(1.0 + np.sin(X[:, 0])))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_t(3, size=120)
    X, chosen = np.zeros((120, 2)), {"kernel": kernels.Matern32(1.0, [1.0, 1.0]), "noise": 0.01}
    chosen |= {"likelihood": "student-t", "learn": False, "random_state": 0}
    whole = CommitteeRegressor(**chosen).fit(X, y)
    chosen |= {"inference": inference(sweeps=Sweeps(schedule=schedule))}
    model = CommitteeRegressor(**chosen, chunks=30, anchors=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (mean,), (std,) = model.fit(X, y).predict(X[:1], return_std=True)
    assert model.n_chunks_ == 4 and model.n_sweeps_ < 50
    expected = whole.predict(X[:1], return_std=True)
    assert_allclose([mean, std], np.ravel(expected), rtol=0.02)
    assert_allclose(model.log_evidence_, whole.log_evidence_, rtol=1e-4)


def test_exposures_of_any_size():
    X, y, e = counts()
    for size in (1e-100, 1e100):
        model = CommitteeRegressor(**COUNTS).fit(X, y, exposure=size * e)
        asked = np.full(11, size)
        assert_sound(model, queries(), exposure=asked)
        plain = CommitteeRegressor(**COUNTS).fit(X, y, exposure=e)
        assert_allclose(model.predict(queries(), exposure=asked), plain.predict(queries()))


# -- what did not converge -----------------------------------------------------------------------


@pytest.mark.diagonal
@both
@every_variant
def test_modes_that_were_not_found_are_warned_of(given, variant, monkeypatch):
    X, y = rows_for(given)
    model = CommitteeRegressor(**given, **VARIANTS[variant])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y).predict(queries())
        stream = clone(model).set_params(anchors=queries(12, seed=9)).partial_fit(X, y)
        stream.partial_fit(X, y)
    with monkeypatch.context() as m:
        few = replace(TUNING, modes=replace(TUNING.modes, max_iter=1))
        m.setattr("collegium.laplace.mode.TUNING", few)
        with pytest.warns(ConvergenceWarning, match="mode of every chunk"):
            clone(model).fit(X, y)
        with pytest.warns(ConvergenceWarning, match="mode of every chunk"):
            stream.partial_fit(X + 0.1, y)
        if variant == "transductive":
            model = pickle.loads(pickle.dumps(model))
            for ask in (model.predict, lambda Xs: model.sample_y(Xs, 2)):
                with pytest.warns(ConvergenceWarning, match="mode of every chunk"):
                    ask(queries())
    if variant == "anchors only":  # it is remembered of rows that were not kept
        with pytest.warns(ConvergenceWarning, match="mode of every chunk"):
            stream.partial_fit(X - 0.1, y)


def at_most(monkeypatch, sweeps):
    """Let "auto" end after so many sweeps."""
    few = replace(swept.TUNING, sweeps=replace(swept.TUNING.sweeps, most=sweeps))
    monkeypatch.setattr(swept, "TUNING", few)


@both
def test_restless_transductive_answers_are_warned_of(given, monkeypatch):
    X, y = rows_for(given)
    chosen = {**given, **VARIANTS["transductive"]}
    few, once = Transductive(sweeps=Sweeps(tol=1e-8)), Transductive(sweeps=Sweeps(3, 1e-8))
    at_most(monkeypatch, 3)
    with pytest.warns(ConvergenceWarning, match="after 3 sweeps"):
        model = CommitteeRegressor(**{**chosen, "inference": few}).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="after 3 sweeps"):
        model.predict(queries())
    with pytest.warns(ConvergenceWarning, match="after 3 sweeps"):
        model.predict(queries(), return_cov=True)
    model = CommitteeRegressor(**{**chosen, "inference": once})  # as asked for
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y).predict(queries())


# -- weights, streams, state ----------------------------------------------------------------------


@both
def test_a_weight_is_a_repetition(given):
    X, y = rows_for(given)
    w = np.random.default_rng(4).integers(0, 4, 60)
    chosen = {**given, **VARIANTS["local"]}
    weighted = CommitteeRegressor(**chosen).fit(X, y, sample_weight=w)
    again = np.repeat(np.arange(60), w)
    repeated = CommitteeRegressor(**chosen).fit(X[again], y[again])
    assert_array_equal(answers(weighted, queries()), answers(repeated, queries()))
    assert weighted.log_evidence_ == repeated.log_evidence_


def test_copies_of_rows_are_no_proof_that_there_is_no_noise():
    X, y = heavy(100)
    one = CommitteeRegressor(likelihood="student-t", random_state=0).fit(X, y)
    many = CommitteeRegressor(likelihood="student-t", random_state=0)
    many.fit(X, y, sample_weight=np.full(100, 5.0))
    assert_allclose(many.noise_, one.noise_, rtol=1e-3)


@pytest.mark.diagonal
@both
@pytest.mark.parametrize("variant", ["local", "anchors only", "transductive"])
def test_a_stream_comes_near_to_the_fit(given, variant):
    X, y = rows_for(given, 120)
    chosen = {**given, **VARIANTS[variant], "anchors": queries(12, seed=9)}
    stream = CommitteeRegressor(**chosen)
    for batch in np.split(np.arange(120), 4):
        stream.partial_fit(X[batch], y[batch])
        assert_sound(stream, queries())
    whole = CommitteeRegressor(**chosen).fit(X, y)
    a, b = stream.predict(queries(), level="function"), whole.predict(queries(), level="function")
    assert rmse(a, b) < 0.3 * np.std(b)
    assert stream.n_chunks_ == 8


@both
def test_a_stream_that_waits_is_the_exact_model_of_its_rows(given):
    X, y = rows_for(given, 40)
    stream = CommitteeRegressor(**given, chunks=100)
    for batch in np.split(np.arange(40), 4):
        stream.partial_fit(X[batch], y[batch])
    whole = CommitteeRegressor(**given).fit(X, y)
    assert_allclose(answers(stream, queries()), answers(whole, queries()), rtol=1e-7)
    learning = CommitteeRegressor(kernels.RBF(), likelihood=given["likelihood"], random_state=0)
    for batch in np.split(np.arange(40), 4):
        assert_sound(learning.partial_fit(X[batch], y[batch]), queries())


@both
def test_relearning_is_a_fit_to_the_rows_that_were_kept(given):
    X, y = rows_for(given)
    chosen = {"likelihood": given["likelihood"], "random_state": 0, **VARIANTS["local"]}
    chosen |= {"kernel": kernels.RBF()}
    stream = CommitteeRegressor(**chosen).partial_fit(X[:30], y[:30])
    for model in (CommitteeRegressor(**chosen).fit(X, y), stream.partial_fit(X[30:], y[30:])):
        model.relearn()
        whole = CommitteeRegressor(**chosen).fit(X, y)
        assert_allclose(answers(model, queries()), answers(whole, queries()), rtol=1e-3)
    forgetful = CommitteeRegressor(**given, **VARIANTS["anchors only"]).fit(X, y)
    with pytest.raises(ValueError, match="n_local=0"):
        forgetful.relearn()


@pytest.mark.diagonal
@both
@every_variant
def test_pickles_and_workers_change_nothing(given, variant):
    X, y = rows_for(given)
    model = CommitteeRegressor(**given, **VARIANTS[variant]).fit(X, y)
    said = answers(model, queries())
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(answers(again, queries()), said)
    two = CommitteeRegressor(**given, **VARIANTS[variant], n_jobs=2).fit(X, y)
    assert_array_equal(answers(two, queries()), said)


class Failing(Exception):
    pass


@both
def test_what_fails_changes_nothing(given, monkeypatch):
    X, y = rows_for(given)
    model = CommitteeRegressor(**given, **VARIANTS["local"]).fit(X, y)
    before = leaves(state(model))
    for bad in (-np.inf, np.nan, "a"):
        with pytest.raises(ValueError):
            model.partial_fit(X, np.r_[y[:-1].astype(object), bad])
    with pytest.raises(ValueError, match="exposure"):
        model.partial_fit(X, y, exposure=np.zeros(60))
    with pytest.raises(ValueError, match="outputs"):
        model.fit(X, np.column_stack([y, y]))

    def fail(*arguments, **keywords):
        raise Failing

    monkeypatch.setattr("collegium.laplace.mode.find_sites", fail)
    monkeypatch.setattr("collegium.laplace.committee.find_sites", fail)
    for method in (model.fit, model.partial_fit):
        with pytest.raises(Failing):
            method(X, y)
    assert_same_state(before, model)


# -- likelihoods of your own, and arguments that mean nothing --------------------------------------


def test_labels_are_a_likelihood_too():
    X, _, _ = counts(80)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    model = CommitteeRegressor(kernels.RBF(4.0, 1.0), likelihood=likelihoods.Logit(), learn=False)
    model.fit(X, y)
    mean, std = model.predict([[1.5, 0.0], [-1.5, 0.0]], return_std=True)
    assert mean[0] > 0.6 and mean[1] < -0.6
    assert_allclose(std**2, 1.0 - mean**2, rtol=1e-9)
    assert set(np.unique(model.sample_y(X, 5))) == {-1.0, 1.0}
    assert_array_equal(model.predict_interval([[1.9, 0.0]], 0.2), [[1.0], [1.0]])
    with pytest.raises(ValueError, match="signs"):
        model.fit(X, X[:, 0])


X, Y = counts(30)[:2]


@pytest.mark.parametrize("arguments, message", [
    ({"likelihood": "poisson", "noise": 0.1}, "noise means nothing with likelihood='poisson'"),
    ({"likelihood": likelihoods.Gaussian(), "noise": 0.1}, "noise means nothing"),
    ({"likelihood": "poisson", "kernel": KERNEL + kernels.White(), }, "White"),
    ({"likelihood": "student-t", "inference": "cg"}, "inference='cg' needs likelihood='gaussian'"),
    ({"likelihood": "student-t", "learn": "anchored"}, "learn='anchored' needs"),
    ({"likelihood": "student-t", "learn": Learn(n_starts=2)}, "n_starts=2.* needs"),
    ({"likelihood": "student-t", "noise": [0.1, 0.2]}, "noise has 2 values"),
    ({"likelihood": "student-t", "noise": 0.0}, "noise=0 means nothing"),
    ({"likelihood": "student-t", "learn": False, "kernel": KERNEL}, "learn=False needs both"),
    ({"likelihood": "student-t", "learn": False, "noise": 1.0}, "learn=False needs a kernel"),
    ({"likelihood": "poisson", "learn": False}, "learn=False needs a kernel"),
    ({"likelihood": likelihoods.StudentT(fixed=("noise",)), "noise": 1.0}, "given twice"),
    ({"likelihood": "poisson", "inference": Inductive(0)}, "sweeps of .*=0"),
    ({"likelihood": "poisson", "inference": Inductive(Sweeps(schedule="all"))},
     "schedule of .*'all'"),
    ({"likelihood": "poisson", "inference": Inductive(Sweeps(tol=-1.0))}, "tol of .*-1.0"),
    ({"likelihood": "gaussian", "inference": Inductive(4)}, "sweeps of .* means nothing"),
    ({"likelihood": likelihoods.Scalar()}, "likelihood=Scalar"),
])  # fmt: skip
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_arguments_that_mean_nothing_are_named(arguments, message, method):
    model = CommitteeRegressor(**arguments)
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(X, Y)
    assert not hasattr(model, "n_features_in_")


def test_exposures_and_counts_that_cannot_be_are_refused():
    model = CommitteeRegressor(**COUNTS)
    for exposure in (np.ones(29), np.zeros(30), -np.ones(30), np.full(30, np.nan), "long", 0.0,
                     np.ones((30, 1))):  # fmt: skip
        with pytest.raises(ValueError, match="exposure"):
            model.fit(X, Y, exposure=exposure)
    for y in (-Y - 1.0, np.full(30, 1e16)):
        with pytest.raises(ValueError, match="counts"):
            model.fit(X, y)
    model.fit(X, Y)
    for ask in (model.predict, model.predict_interval, model.sample_y):
        with pytest.raises(ValueError, match="exposure"):
            ask(X, exposure=np.zeros(30))
        with pytest.raises(ValueError, match="level"):
            ask(X, level="noise")
    for other in (CommitteeRegressor(**HEAVY), CommitteeRegressor(KERNEL, noise=1.0, learn=False)):
        with pytest.raises(ValueError, match="exposure"):
            other.fit(X, Y, exposure=np.ones(30))
        other.fit(X, Y)
        for ask in (other.predict, other.predict_interval, other.sample_y):
            with pytest.raises(ValueError, match="exposure"):
                ask(X, exposure=np.ones(30))
    with pytest.raises(ValueError, match="exclude each other"):
        model.predict(X, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="coverage"):
        model.predict_interval(X, 1.0)
    with pytest.raises(ValueError, match="n_samples"):
        model.sample_y(X, 0)
    assert not hasattr(model, "effective_dof_") and model.residuals_.size == 0
