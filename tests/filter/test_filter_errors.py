"""RegressionFilter whose errors have a varying scale."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

import collegium
from collegium import RegressionFilter, kernels
from collegium.errors.tuning import TUNING
from collegium.filter import UniformBox
from collegium.filter.arguments import Making
from collegium.filter.errors import held_out_predictions
from collegium.filter.model import FilterModel, LinearPart, Posterior
from collegium.filter.sums import Sums
from collegium.rows.rows import Rows

KERNEL = kernels.RBF(4.0, [1.5, 3.0])
SMALL = {"n_basis": 25, "start_rows": 120, "random_state": 0}


def noise_sd(X):
    return np.exp(1.2 * X[:, 0]) / 10


def level(X):
    return 10.0 + 3.0 * np.sin(X[:, 0] + 0.5 * X[:, 1])


def uneven(n=900, seed=0):
    """Noise whose standard deviation is e^(1.2 x₁)/10, x₁ between −2 and 2: from .01 to 1.1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    return X, level(X) + noise_sd(X) * rng.normal(size=n)


def streamed(X, y, noise, **given):
    model = RegressionFilter(KERNEL, noise=noise, **SMALL, **given)
    for start in range(0, len(y), 60):
        model.partial_fit(X[start : start + 60], y[start : start + 60])
    return model


def widths(model, X):
    """Mean widths of intervals where the noise is large, over those where it is small."""
    low, high = model.predict_interval(X)
    wide = high - low
    return wide[X[:, 0] > 1.0].mean(axis=0) / wide[X[:, 0] < -1.0].mean(axis=0)


@pytest.fixture(scope="module")
def models():
    return {noise: streamed(*uneven(), noise) for noise in ("constant", "auto")}


def test_error_bars_are_right_everywhere_and_means_stay(models):
    plain, model = models["constant"], models["auto"]
    X, y = uneven(800, seed=1)
    assert_array_equal(model.predict(X), plain.predict(X))
    assert model.log_density(X, y).mean() - plain.log_density(X, y).mean() > 0.3
    low, high = model.predict_interval(X)
    inside = (low <= y) & (y <= high)
    for side in (X[:, 0] < 0.0, X[:, 0] > 0.0):
        assert 0.9 < inside[side].mean() < 0.99
    assert widths(model, X) > 5.0 and widths(plain, X) < 1.5
    std = model.predict(X, return_std=True)[1]
    assert std[X[:, 0] > 1.0].mean() > 3.0 * std[X[:, 0] < -1.0].mean()


def test_density_quantiles_distribution_and_draws_agree(models):
    model, X = models["auto"], uneven(5, seed=2)[0]
    low = model.quantile(X, 0.1)
    assert_allclose(model.cdf(X, low), 0.1, rtol=1e-6)
    step = 1e-5
    slope = (model.cdf(X, low + step) - model.cdf(X, low - step)) / (2.0 * step)
    assert_allclose(np.log(slope), model.log_density(X, low), rtol=1e-5)
    draws = model.sample_y(X, 4000)
    assert_allclose((draws < low[:, None]).mean(axis=1), 0.1, atol=0.025)


@pytest.mark.parametrize("name", ["function", "model"])
def test_what_is_known_of_the_function_stays(models, name):
    X = uneven(5, seed=2)[0]

    def answers(model):
        yield from model.predict(X, return_std=True, level=name)
        yield model.predict(X, return_cov=True, level=name)[1]
        yield from model.predict_interval(X, level=name)
        yield model.sample_y(X, 2, level=name)

    for own, plain in zip(answers(models["auto"]), answers(models["constant"]), strict=True):
        assert_array_equal(own, plain)


def test_rows_are_checked_as_predicted_before_any_of_a_call_is_learnt_from():
    X, y = uneven(460)
    model = RegressionFilter(KERNEL, noise="auto", **SMALL).partial_fit(X[:400], y[:400])
    mean, known = model.predict(X[400:]), model.model_
    variance = model.predict(X[400:], return_std=True, level="function")[1] ** 2 + model.noise_
    own = model.partial_fit(X[400:], y[400:]).model_.checked
    assert_allclose(own.rows.y[-60:], known.scaling.forward(y[400:, None]), rtol=1e-12)
    assert_allclose(own.mean[-60:], known.scaling.forward(mean[:, None]), rtol=1e-9)
    scale = known.scaling.scale**2
    assert_allclose(np.exp(2.0 * own.log_sd[-60:]) * scale, variance[:, None], rtol=1e-9)


@pytest.mark.parametrize("linear", [True, False])
def test_held_out_rows_are_predicted_from_all_others(linear):
    rng = np.random.default_rng(0)
    X, n = rng.uniform(-2.0, 2.0, (60, 2)), 60
    rows = Rows(X, rng.normal(size=(n, 2)), rng.integers(1, 4, n).astype(float))
    density = UniformBox(np.array([-1.9, -3.0]), np.array([1.9, 3.0]))  # some rows are outside
    basis = Making("bumps", "uniform", 20).basis_of(KERNEL, X, density, rng)
    line = LinearPart(X.mean(axis=0), X.std(axis=0)) if linear else None
    model = FilterModel.of(KERNEL, 0.2, basis, density, line, 1e-9, misfit=True)
    start = Sums.start(model.k, 2)
    found = held_out_predictions(model, Posterior.of(model, model.add(start, *rows.fields())), rows)
    for i in range(0, n, 7):
        others = rows.take(np.delete(np.arange(n), i))
        posterior = Posterior.of(model, model.add(start, *others.fields()))
        expected = posterior.of_function(model, X[i : i + 1])
        assert_allclose(found.mean[i], expected.mean[0], rtol=1e-6, atol=1e-9)
        assert_allclose(found.variance[i], expected.variance[0], rtol=1e-7)


@pytest.mark.parametrize("given", [{}, {"forgetting": 0.999}, {"drift": 1e-6}])
def test_fit_learns_a_scale_and_several_outputs_have_one_each(given):
    X, y = uneven()
    even = level(X) + 0.3 * np.random.default_rng(7).normal(size=y.size)
    model = RegressionFilter(KERNEL, noise="auto", **SMALL, **given)
    wide = widths(model.fit(X, np.column_stack([y, even])), X)
    assert wide[0] > 4.0 and 0.5 < wide[1] < 2.0


@pytest.mark.parametrize("given", [{"forgetting": 0.999}, {"drift": 1e-6}])
def test_streams_that_forget_learn_a_scale(given):
    X, y = uneven()
    assert widths(streamed(X, y, "auto", **given), X) > 4.0


def test_constant_noise_stays_constant_unless_it_must_vary():
    rng = np.random.default_rng(5)
    X = rng.uniform(-2.0, 2.0, (700, 2))
    y = 3.0 * np.sin(X[:, 0]) + 0.3 * rng.normal(size=700)
    model = streamed(X, y, "auto")
    mean, std = model.predict(X[:5], return_std=True)
    assert_allclose(model.log_density(X[:5], y[:5]), norm.logpdf(y[:5], mean, std), rtol=1e-9)
    assert streamed(X, y, "varying").model_.errors is not None
    few = streamed(X[: TUNING.stream.first - 20], y[: TUNING.stream.first - 20], "varying")
    assert few.model_.errors is None


def test_a_noise_in_the_kernel_may_vary_too():
    X, y = uneven(400)
    white = KERNEL + kernels.White(0.1)
    model = RegressionFilter(white, noise="auto", learn=False, **SMALL).fit(X, y)
    assert model.noise_ == pytest.approx(0.1) and widths(model, X) > 4.0


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_scale_that_fails_is_given_up():
    X, y = uneven()
    model = streamed(X, y, "auto")
    rng = np.random.default_rng(6)
    Xn = rng.uniform(-2.0, 2.0, (120, 2))
    yn = level(Xn) + np.exp(-1.2 * Xn[:, 0]) * rng.normal(size=120)
    assert model.model_.errors is not None
    for start in (0, 60):
        model.partial_fit(Xn[start : start + 60], yn[start : start + 60])
    assert model.model_.errors is None


def test_a_changed_prior_keeps_errors_and_has_deviations_of_its_own():
    X, y = uneven(600)
    model = RegressionFilter(KERNEL, noise="auto", **SMALL).partial_fit(X[:400], y[:400])
    model.partial_fit(X[400:], y[400:])
    before, kernel = model.model_.checked, model.kernel_
    after = model.relearn().model_.checked
    assert model.kernel_ != kernel
    assert_array_equal(after.mean, before.mean)
    sd = model.predict(after.rows.X, return_std=True, level="function")[1]
    variance = (sd**2 + model.noise_) / model.scaling_.scale**2
    # a variance is what is left of the prior's, which is about one: that sets its rounding
    assert_allclose(np.exp(2.0 * after.log_sd[:, 0]), variance, rtol=1e-9, atol=1e-10)
    assert after.learnt_at == after.seen


def test_a_prior_mean_moves_answers_and_nothing_else():
    X, y = uneven(400)
    given = {"kernel": KERNEL, "noise": "auto", **SMALL}
    plain = RegressionFilter(prior_mean=0.0, **given).fit(X, y - level(X))
    model = RegressionFilter(prior_mean=level, **given).fit(X, y)
    own, other = (one.quantile(X[:9], [0.1, 0.9]) for one in (model, plain))
    assert_allclose(own, other + level(X[:9])[:, None], rtol=1e-9)
    assert_allclose(
        model.log_density(X, y), plain.log_density(X, y - level(X)), rtol=1e-6, atol=1e-6
    )


def test_draws_beside_a_query_far_away_are_finite(models):
    X = np.vstack([uneven(3)[0], [[1e9, -1e9]]])
    assert np.isfinite(models["auto"].sample_y(X, 20)).all()


def test_a_weight_of_two_is_a_row_that_came_twice():
    X, y = uneven(300)
    twice = np.arange(300) % 2 + 1.0
    model = RegressionFilter(KERNEL, noise="auto", **SMALL).fit(X, y, twice)
    repeated = np.repeat(np.arange(300), twice.astype(int))[::-1]
    again = RegressionFilter(KERNEL, noise="auto", **SMALL).fit(X[repeated], y[repeated])
    assert model.model_.errors is not None
    assert_array_equal(model.predict_interval(X), again.predict_interval(X))


def test_files_and_pickles_answer_alike_and_the_stream_goes_on(models, tmp_path):
    model, X = models["auto"], uneven(6, seed=3)[0]
    model.save(tmp_path / "model.clg")
    model.save(tmp_path / "few.clg", rows=False)
    loaded = [collegium.load(tmp_path / name) for name in ("model.clg", "few.clg")]
    for other in (*loaded, pickle.loads(pickle.dumps(model))):
        assert_array_equal(other.predict_interval(X), model.predict_interval(X))
        other.partial_fit(*uneven(60, seed=4))
        assert other.model_.errors is not None and other.model_.checked.seen >= 60
