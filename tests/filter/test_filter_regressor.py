"""RegressionFilter: what it promises on batches, streams and nasty rows."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from collegium import RegressionFilter, kernels
from collegium.filter import (
    Cosines,
    Empirical,
    GaussianBumps,
    LinearSplines,
    NormalInputs,
    RandomFourier,
    UniformBox,
)
from collegium.filter.bases import BASES
from collegium.filter.densities import DENSITIES
from collegium.filter.regressor import OutsideWarning
from collegium.filter.tuning import TUNING
from estimator_cases import (
    assert_same_answers,
    assert_same_state,
    leaves,
    queries,
    rmse,
    rows,
    state,
)

SPLINES = LinearSplines((np.linspace(-2, 2, 12),))
BUMPS = GaussianBumps(np.random.default_rng(0).uniform(-2, 2, (20, 2)), np.array([1.0, 1.5]))
ONE = {"kernel": kernels.Matern32(30.0, 0.8), "noise": 0.4, "learn": False}
TWO = {"kernel": kernels.RBF(30.0, [1.0, 1.5]), "noise": 0.4, "learn": False, "basis": BUMPS,
       "density": NormalInputs(np.zeros(2), np.ones(2))}  # fmt: skip
USUAL = [
    RegressionFilter(random_state=0, n_basis=30),
    RegressionFilter(random_state=0, n_basis=20, basis="fourier", learn=False),
]
OTHERS = [
    RegressionFilter(
        kernels.Matern12(1.0, 2.0), noise=0.1, n_basis=20, learn=False, random_state=0
    ),
    RegressionFilter(random_state=0, n_basis=60, linear=False, density="gaussian"),
    RegressionFilter(random_state=0, n_basis=20, prior_mean=1.0),
]


@parametrize_with_checks(USUAL)
def test_scikit_learn_conventions_hold(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(OTHERS)
def test_scikit_learn_conventions_hold_for_every_kind(estimator, check):
    check(estimator)


# -- streams ----------------------------------------------------------------------------------


@pytest.mark.diagonal
@pytest.mark.parametrize("p", [None, 2])
@pytest.mark.parametrize("linear", [False, True])
def test_a_stream_in_any_order_and_batches_is_the_batch(p, linear):
    X, y = rows(90, p=p)
    arguments = {**TWO, "linear": linear, "prior_mean": 45.0, "start_rows": 1}
    whole = RegressionFilter(**arguments).fit(X, y)
    order = np.random.default_rng(3).permutation(90)
    stream = RegressionFilter(**arguments)
    for part in np.split(order, [1, 2, 30, 31]):
        stream.partial_fit(X[part], y[part])
    # scale of y and centre of the linear part come from the first rows: priors differ there
    if not linear and p is None:
        assert_same_answers(whole, stream, queries(), rtol=1e-6)
    by_row = RegressionFilter(**arguments)
    for i in order:
        by_row.partial_fit(X[[i]], y[[i]])
    assert_same_answers(stream, by_row, queries(), rtol=1e-7)
    assert stream.n_seen_ == by_row.n_seen_ == 90


def test_memory_does_not_grow_with_the_rows():
    model = RegressionFilter(**ONE, start_rows=50)
    sizes = []
    for seed in range(20):
        X, y = rows(250, d=1, seed=seed)
        model.partial_fit(X, y)
        sizes.append(len(pickle.dumps(model)))
    full = sizes[TUNING.sample // 250 :]
    assert max(full) - min(full) < 100


def test_weights_are_repetitions():
    X, y = rows(40)
    w = np.random.default_rng(0).integers(0, 4, 40)
    again = np.repeat(np.arange(40), w)
    weighed = RegressionFilter(**TWO).fit(X, y, w)
    assert_same_answers(weighed, RegressionFilter(**TWO).fit(X[again], y[again]), queries())


def test_forgetting_is_a_weight_and_drift_follows_the_world():
    X, y = rows(80)
    faded = RegressionFilter(**TWO, forgetting=0.95, prior_mean=45.0, linear=False).fit(X, y)
    w = 0.95 ** np.arange(79, -1, -1.0)
    weighed = RegressionFilter(**TWO, prior_mean=45.0, linear=False).fit(X, y, w)
    assert_allclose(
        faded.predict(queries(), return_std=True), weighed.predict(queries(), return_std=True),
        rtol=1e-6,
    )  # fmt: skip
    parts = RegressionFilter(**TWO, forgetting=0.95, prior_mean=45.0, linear=False, start_rows=80)
    for part in np.split(np.arange(80), 8):
        parts.partial_fit(X[part], y[part])
    assert_same_answers(faded, parts, queries(), rtol=1e-7)

    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (3_000, 1))
    phase = np.linspace(0, 3, 3_000)
    y = np.sin(2 * X[:, 0] + phase) + 0.1 * rng.normal(size=3_000)
    now = np.sin(2 * np.linspace(-2, 2, 30) + 3)
    errors = {}
    for name, given in {
        "still": {},
        "drift": {"drift": 1e-4},
        "fade": {"forgetting": 0.99},
    }.items():
        model = RegressionFilter(kernels.RBF(1.0, 0.8), noise=0.01, learn=False, **given)
        model.fit(X, y)
        errors[name] = rmse(model.predict(np.linspace(-2, 2, 30)[:, None]), now)
    assert errors["drift"] < 0.25 * errors["still"] and errors["fade"] < 0.25 * errors["still"]


def test_a_stream_that_leaves_a_given_density_warns_and_spoils_nothing():
    rng = np.random.default_rng(0)
    model = RegressionFilter(density=UniformBox(-0.05, 1.05), random_state=0)
    X = rng.uniform(0, 1, (600, 1))
    model.partial_fit(X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=600))
    inside = np.linspace(0, 1, 20)[:, None]
    before = model.predict(inside)
    X = rng.uniform(1.2, 2, (600, 1))
    with pytest.warns(OutsideWarning, match=r"600 of 1200 rows.*density="):
        model.partial_fit(X, np.sin(2 * X[:, 0]))
    assert model.n_outside_ == 600 and model.n_seen_ == 1200
    assert_allclose(model.predict(inside), before)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X, np.sin(2 * X[:, 0]))  # said once
    box = RegressionFilter(density=UniformBox(0, 2), random_state=0)
    for low in (0, 1):
        X = rng.uniform(low, low + 1, (600, 1))
        box.partial_fit(X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=600))
    assert box.n_outside_ == 0
    assert rmse(box.predict(2 * inside), np.sin(4 * inside[:, 0])) < 0.05


def test_one_glitch_among_the_first_rows_does_no_harm():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (600, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=600)
    X[5] = 1e6
    model = RegressionFilter(random_state=0).fit(X, y)
    inside = np.linspace(-2.9, 2.9, 30)[:, None]
    assert rmse(model.predict(inside), np.sin(2 * inside[:, 0])) < 0.05
    assert model.n_outside_ == 1


def test_small_bases_have_honest_bars():
    """Powers of x, few waves: 95 % intervals of y cover about that share."""
    rng = np.random.default_rng(0)
    X, Xs = rng.uniform(-3, 3, (400, 1)), rng.uniform(-3, 3, (2_000, 1))

    def noisy(X):
        return np.sin(2 * X[:, 0]) + 0.3 * X[:, 0] + 0.2 * rng.normal(size=len(X))

    y, ys = noisy(X), noisy(Xs)
    for given in ({"basis": lambda X: X ** np.arange(10)}, {"basis": "fourier", "n_basis": 16}):
        model = RegressionFilter(random_state=0, **given).fit(X, y)
        lower, upper = model.predict_interval(Xs)
        assert 0.92 < np.mean((ys > lower) & (ys < upper)) < 0.98
        assert_allclose(np.sqrt(model.noise_), 0.2, rtol=0.25)


def test_the_first_rows_of_a_stream_are_answered_for():
    X, y = rows(40, d=1)
    model = RegressionFilter(n_basis=30, random_state=0)
    for i in range(40):
        model.partial_fit(X[[i]], y[[i]])
        mean, std = model.predict(X[:5], return_std=True)
        assert np.isfinite(mean).all() and (std > 0).all()
    assert rmse(model.predict(X), y) < 2.0


@pytest.mark.diagonal
@pytest.mark.parametrize("given", [{}, {"forgetting": 0.99}])
def test_a_stream_learns_that_its_noise_has_changed(given):
    rng = np.random.default_rng(0)
    model = RegressionFilter(random_state=0, n_basis=30, start_rows=100, **given)
    for i in range(60):
        X = rng.uniform(-2, 2, (100, 1))
        noise = 0.5 if i < 1 else 0.05
        model.partial_fit(X, np.sin(2 * X[:, 0]) + noise * rng.normal(size=100))
    assert model.model_.relearning.learnt_at > 2_000
    assert np.sqrt(model.noise_) < (0.06 if given else 0.1)


@pytest.mark.diagonal
@pytest.mark.parametrize("w", [10.0, 1_000.0])
def test_equal_copies_are_no_proof_that_there_is_no_noise(w):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (60, 1))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=60)
    once = RegressionFilter(random_state=0).fit(X, y)
    often = RegressionFilter(random_state=0).fit(X, y, np.full(60, w))
    assert_allclose(often.noise_, once.noise_, rtol=0.1)
    copies = RegressionFilter(random_state=0)
    copies.partial_fit(np.repeat(X, 10, axis=0), np.repeat(y, 10))
    assert_allclose(copies.noise_, once.noise_, rtol=0.1)


def test_a_prior_mean_far_from_the_data_is_overruled():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (400, 1))
    y = 1_000.0 + np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=400)
    model = RegressionFilter(prior_mean=0.0, random_state=0).fit(X, y)
    inside = np.linspace(-2.8, 2.8, 40)[:, None]
    assert rmse(model.predict(inside), 1_000.0 + np.sin(2 * inside[:, 0])) < 0.1


def test_samples_far_away_are_finite():
    X, y = rows(60, d=1)
    model = RegressionFilter(random_state=0).fit(X, y)
    for level in ("model", "function", "observation"):
        far = 1e7 * np.arange(1.0, 5.0)[:, None]
        assert np.isfinite(model.sample_y(far, 3, level=level)).all()


@pytest.mark.slow
def test_learning_goes_on_from_the_sums():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (4_000, 1))
    y = 3.0 * np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=4_000)
    model = RegressionFilter(random_state=0, start_rows=60)
    for part in np.split(np.arange(4_000), 40):
        model.partial_fit(X[part], y[part])
    assert_allclose(np.sqrt(model.noise_), 0.2, rtol=0.05)
    before = model.log_evidence_
    model.relearn()
    assert model.log_evidence_ >= before - 0.5
    assert_allclose(np.sqrt(model.noise_), 0.2, rtol=0.05)
    kept = RegressionFilter(random_state=0, noise=0.25).fit(X, y)
    assert_allclose(kept.noise_, 0.25)
    with pytest.raises(ValueError, match="drift"):
        RegressionFilter(drift=1e-4, random_state=0).fit(X[:200], y[:200]).relearn()


# -- answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [None, 2])
def test_three_levels(p):
    X, y = rows(70, p=p)
    model = RegressionFilter(**TWO).fit(X, y)
    Xs = queries()
    bars = {}
    for level in ("model", "function", "observation", "paper"):
        mean, std = model.predict(Xs, return_std=True, level=level)
        again, cov = model.predict(Xs, return_cov=True, level=level)
        assert_allclose(mean, again)
        assert_allclose(np.sqrt(np.einsum("ii...->i...", cov)), std, rtol=1e-9)
        assert_allclose(model.predict(Xs, level=level), mean)
        bars[level] = std
        draws = model.sample_y(Xs, 3_000, level=level)
        assert_allclose(draws.mean(axis=-1), mean, atol=0.15 * std.max())
        assert_allclose(draws.std(axis=-1), std, rtol=0.1)
    noise = np.broadcast_to(model.noise_, bars["function"].shape)
    assert_allclose(bars["observation"] ** 2 - bars["function"] ** 2, noise, rtol=1e-9)
    lower, upper = model.predict_interval(Xs, 0.9, level="model")
    assert_allclose(upper - lower, 2 * 1.6448536269514722 * bars["model"], rtol=1e-9)
    with pytest.raises(ValueError, match="level="):
        model.predict(Xs, level="all")


def test_units_do_not_matter():
    X, y = rows(60)
    one = RegressionFilter(random_state=0, n_basis=30).fit(X, y)
    other = RegressionFilter(random_state=0, n_basis=30).fit(X * [1e3, 1e-4] + [7, -2], 1e6 * y - 5)
    Xs = queries()
    mean, std = one.predict(Xs, return_std=True)
    scaled, wide = other.predict(Xs * [1e3, 1e-4] + [7, -2], return_std=True)
    assert_allclose((scaled + 5) / 1e6, mean, rtol=1e-3)
    assert_allclose(wide / 1e6, std, rtol=1e-2)


def test_found_hyperparameters_given_back_are_the_same_model():
    X, y = rows(80)
    one = RegressionFilter(basis=BUMPS, density="empirical", cut=1e-9, random_state=0).fit(X, y)
    two = RegressionFilter(
        one.kernel_, noise=one.noise_, learn=False, basis=BUMPS, density="empirical", cut=1e-9
    ).fit(X, y)
    assert_same_answers(one, two, queries(), rtol=1e-6)


def test_a_prior_mean_in_the_span_is_that_of_the_paper():
    """Eqs 2.10–2.11 by inverses: y − f̂₀ is learnt, which is ŵ₀ = ΨᵀPf̂₀ for f̂₀ in the span."""
    X, y = rows(60, d=1)
    low, high = X.min() - 0.1, X.max() + 0.1
    knots, kernel, noise = np.linspace(low, high, 8), ONE["kernel"], ONE["noise"]
    heights, basis = 3.0 * np.random.default_rng(4).normal(size=8), LinearSplines((knots,))
    found = RegressionFilter(
        **ONE, basis=basis, density=UniformBox(low, high), linear=False, misfit=False, cut=1e-12,
        prior_mean=lambda X: np.interp(X[:, 0], knots, heights),
    ).fit(X, y)  # fmt: skip
    points, weights = UniformBox(low, high).nodes(900)
    weighted, Phi = weights[:, None] * basis(points), basis(X)
    H = basis(points).T @ weighted
    S0 = np.linalg.inv(H) @ weighted.T @ kernel.value(points) @ weighted @ np.linalg.inv(H)
    w0 = np.linalg.inv(H) @ weighted.T @ np.interp(points[:, 0], knots, heights)
    precision = np.linalg.inv(S0) + Phi.T @ Phi / noise
    w = np.linalg.solve(precision, np.linalg.solve(S0, w0) + Phi.T @ y / noise)
    Xs = np.linspace(low, high, 15)[:, None]
    assert_allclose(found.predict(Xs, level="model"), basis(Xs) @ w, rtol=1e-4, atol=1e-4)


def test_prior_mean_is_where_bars_are_wide():
    X, y = rows(60, d=1)
    far = np.array([[60.0]])
    arguments = {**ONE, "linear": False, "basis": SPLINES}
    for given, value in ((3.0, 3.0), (lambda X: 2.0 * X[:, 0], 120.0), (None, y.mean())):
        model = RegressionFilter(**arguments, prior_mean=given).fit(X, y)
        mean, std = model.predict(far, return_std=True, level="function")
        assert_allclose(mean, value, rtol=1e-9)
        assert_allclose(std, np.sqrt(30.0), rtol=1e-9)
        assert rmse(model.predict(X), y) < 1.5
    p2 = RegressionFilter(**arguments, prior_mean=lambda X: np.hstack([X, -X]))
    p2.fit(X, np.column_stack([y, -y]))
    assert_allclose(p2.predict(far), [[60.0, -60.0]])
    assert p2.sample_y(X[:3], 4).shape == (3, 2, 4)


def test_the_linear_part_carries_on_where_the_rest_ends():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (400, 1))
    y = 4.0 + 5.0 * X[:, 0] + np.sin(4 * X[:, 0]) + 0.1 * rng.normal(size=400)
    model = RegressionFilter(random_state=0).fit(X, y)
    near, std = model.predict([[6.0]], return_std=True)
    assert abs(near[0] - 34.0) < 3.0 * std[0] and std[0] > 0.5
    without = RegressionFilter(random_state=0, linear=False).fit(X, y)
    assert abs(without.predict([[60.0]])[0] - y.mean()) < 1.0


def test_prior_samples_have_the_prior_moments():
    X, y = rows(60, d=1)
    model = RegressionFilter(**ONE, prior_mean=7.0).fit(X, y)
    Xs = np.linspace(-2, 2, 6)[:, None]
    draws = model.sample_prior(Xs, 6_000, random_state=0)
    assert_allclose(draws.mean(axis=1), 7.0, atol=0.3)
    assert_allclose(np.cov(draws), ONE["kernel"].value(Xs, Xs), atol=2.5)


def test_defaults_of_the_paper():
    """σ₀ = C₀N^(−1/d) column scales, σ₂ = C₂σ₁, σ₁ the scale of the linear fit's residuals."""
    X, y = rows(100)
    model = RegressionFilter(learn=False, c0=3.0, c2=0.1, random_state=0).fit(X, y)
    F = np.column_stack([np.ones(100), X])
    residual = y - F @ np.linalg.lstsq(F, y, rcond=None)[0]
    assert_allclose(model.kernel_.length_scale, 3.0 * 100**-0.5 * X.std(axis=0), rtol=1e-9)
    assert_allclose(model.kernel_.variance, np.mean(residual**2), rtol=1e-6)
    assert_allclose(model.noise_, 0.01 * model.kernel_.variance, rtol=1e-9)


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.diagonal
def test_every_basis_with_every_density(basis, density):
    X, y = rows(150)
    model = RegressionFilter(basis=basis, density=density, n_basis=60, random_state=0).fit(X, y)
    assert rmse(model.predict(X), y) < 0.75
    assert 0.0 <= model.projection_error_ < (1.0 if density == "empirical" else 0.1)
    own = RegressionFilter(basis=model.basis_, density=model.density_, random_state=0).fit(X, y)
    assert rmse(own.predict(X), model.predict(X)) < 0.3


@pytest.mark.diagonal
@pytest.mark.parametrize("name", ["RBF", "Matern12", "Matern32", "Matern52", "Hat", "Periodic",
                                  "RationalQuadratic", "Linear", "Constant"])  # fmt: skip
def test_every_kernel_is_a_prior(name):
    X, y = rows(80)
    kernel = getattr(kernels, name)()
    model = RegressionFilter(kernel, random_state=0, n_basis=40).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    both = RegressionFilter(kernel + kernels.RBF(), random_state=0, n_basis=40).fit(X, y)
    assert np.isfinite(both.predict(X, return_std=True)[1]).all()


# -- nasty rows -------------------------------------------------------------------------------


NASTY = {
    "one row": (np.zeros((1, 2)), np.array([3.0])),
    "equal inputs": (np.ones((30, 2)), np.arange(30.0)),
    "one column constant": (np.column_stack([np.linspace(0, 1, 30), np.ones(30)]), np.arange(30.0)),
    "constant y": (rows(30)[0], np.full(30, 5.0)),
    "two rows far apart": (np.array([[0.0, 0.0], [1e9, -1e9]]), np.array([0.0, 1.0])),
    "tiny": (1e-120 * rows(30)[0], 1e-120 * rows(30)[1]),
    "huge": (1e120 * rows(30)[0], 1e120 * rows(30)[1]),
    "outlier": (np.vstack([rows(30)[0], [[1e8, 1e8]]]), np.append(rows(30)[1], 1e8)),
    "copies": (np.repeat(rows(5)[0], 20, axis=0), np.repeat(rows(5)[1], 20)),
}


@pytest.mark.parametrize("arguments", [
    {}, {"basis": "splines"}, {"basis": "harmonics"}, {"basis": "fourier", "density": "gaussian"},
    {"noise": 0.0}, {"learn": False}, {"drift": 1e-3}, {"forgetting": 0.9}, {"linear": False},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("name", NASTY)
@pytest.mark.filterwarnings("ignore::collegium.numerics.linalg.JitterWarning")
@pytest.mark.diagonal(9)
def test_finite_rows_give_finite_answers(name, arguments):
    X, y = NASTY[name]
    Xs = np.vstack([X[:3], X[:1] + 1.0, 50.0 * X[-1:]])
    for stream in (False, True):
        model = RegressionFilter(random_state=0, n_basis=25, **arguments)
        if stream:
            model.partial_fit(X[:1], y[:1]).partial_fit(X, y)
        else:
            model.fit(X, y)
        for level in ("model", "function", "observation"):
            mean, std = model.predict(Xs, return_std=True, level=level)
            assert np.isfinite(mean).all() and np.isfinite(std).all() and (std >= 0).all()
        assert np.isfinite(model.log_evidence_)
        assert np.isfinite(model.sample_y(Xs, 2)).all()


def test_no_noise_goes_through_the_rows():
    X = np.linspace(-2, 2, 9)[:, None]
    y = np.sin(3 * X[:, 0])
    model = RegressionFilter(kernels.RBF(1.0, 0.6), noise=0.0, learn=False).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert_allclose(mean, y, atol=1e-3)
    assert std.max() < 0.05


def test_a_spoilt_row_is_refused_and_nothing_changes():
    X, y = rows(60)
    model = RegressionFilter(**TWO).partial_fit(X, y)
    before = leaves(state(model))
    for bad_X, bad_y in (
        (np.full((1, 2), np.nan), [1.0]), (X[:1], [np.inf]), (X[:1, :1], [1.0]), (1e160 * X, y),
        (X[:2], np.ones((2, 2))),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            model.partial_fit(bad_X, bad_y)
        assert_same_state(before, model)


@pytest.mark.parametrize(("name", "values"), {
    "basis": ["spline", 3, None], "n_basis": [0, 2.5, "many"], "density": ["box", 1],
    "noise": [-1.0, "a"], "prior_mean": ["a", np.nan], "linear": [2], "learn": ["yes"],
    "c0": [0.0, -1, "a"], "c2": [0.0, None], "cut": [0.0, 2.0, "auto"], "misfit": [None],
    "forgetting": [0.0, 1.5], "drift": [-1e-9, "a"], "start_rows": [0, 1.5],
    "verbose": [-1], "random_state": ["a"],
}.items())  # fmt: skip
def test_bad_arguments_are_named(name, values):
    X, y = rows(20)
    for value in values:
        with pytest.raises(ValueError, match=f"{name}"):
            RegressionFilter(**{name: value}).fit(X, y)


def test_arguments_that_do_not_fit_each_other_are_refused():
    X, y = rows(20, d=4)
    for arguments, message in (
        ({"basis": "splines"}, "splines"),
        ({"basis": BUMPS}, "GaussianBumps is for 2"),
        ({"basis": Cosines(np.zeros(2), np.ones(2), np.ones((3, 2)))}, "Cosines is for 2"),
        ({"basis": RandomFourier(np.ones((3, 2)))}, "RandomFourier is for 2"),
        ({"basis": lambda X: X[:, 0]}, "basis gives"),
        ({"density": UniformBox(np.zeros(2), np.ones(2))}, "density is for"),
        ({"density": Empirical(np.zeros((5, 3)))}, "density is for"),
        ({"drift": 0.1, "forgetting": 0.9}, "exclude each other"),
        ({"prior_mean": lambda X: X}, "prior_mean"),
        ({"kernel": kernels.RBF(1.0, [1.0, 2.0])}, "length_scale"),
    ):
        with pytest.raises(ValueError, match=message):
            RegressionFilter(**arguments).fit(X, y)


def test_a_clone_and_a_pickle_answer_alike():
    X, y = rows(60)
    model = RegressionFilter(random_state=3, n_basis=25).fit(X, y)
    again = clone(model).fit(X, y)
    assert_same_answers(model, again, queries(), rtol=0)
    assert_same_answers(model, pickle.loads(pickle.dumps(model)), queries(), rtol=0)
