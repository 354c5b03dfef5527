"""Transforms of y and X in CommitteeRegressor: answers in the units of the user, and the choice."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

import collegium
from collegium import CommitteeRegressor, Transform
from collegium.combining.members import member
from collegium.kernels import Matern32
from collegium.pipeline.systems import system_for
from collegium.transforms.moments import warped_moments
from collegium.transforms.targets import KINDS, TargetTransform
from collegium.transforms.warping import Warping

KERNEL, NOISE = Matern32(1.1, [0.9, 1.4]), 0.2


def table(n=300, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    return X, np.exp(np.sin(2.0 * X[:, 0]) + X[:, 1] + noise * rng.normal(size=n))


def given(**more):
    """Kernel and noise are given, of transformed y."""
    arguments = {"learn": False, "noise": NOISE, "random_state": 0, **more}
    return CommitteeRegressor(KERNEL, **arguments)


X, Y = table()
XS, YS = table(40, seed=1)
#: One chunk, anchors with rows kept, anchors alone.
SIZES = {
    "exact": {},
    "kept": {"chunks": 60, "anchors": 25, "n_local": 30},
    "anchors": {"chunks": 60, "anchors": 25, "n_local": 0},
}


# --- answers are those about transformed y, taken back --------------------------------------------


@pytest.fixture(params=KINDS)
def pair(request):
    """A model with a transform of y, a model of transformed y, and the transform."""
    one = TargetTransform.of(request.param, Y, np.ones(Y.size))
    model = given(transforms=Transform(y=request.param)).fit(X, Y)
    plain = given(transforms=Transform(y=None)).fit(X, one.forward(Y))
    return model, plain, one


@pytest.mark.parametrize("level", ["observation", "function"])
def test_moments_are_those_of_a_normal_taken_back(pair, level):
    model, plain, one = pair
    mean, sd = model.predict(XS, return_std=True, level=level)
    m, s = warped_moments(one, *plain.predict(XS, return_std=True, level=level))
    assert_allclose(mean, m, rtol=1e-7)
    assert_allclose(sd, s, rtol=1e-6)
    assert_array_equal(model.predict(XS, level=level), mean)


@pytest.mark.parametrize("level", ["observation", "function"])
def test_intervals_quantiles_and_draws_are_taken_back(pair, level):
    model, plain, one = pair
    for a, b in zip(
        model.predict_interval(XS, level=level), plain.predict_interval(XS, level=level)
    ):
        assert_allclose(a, one.backward(b), rtol=1e-7)
    q = [0.03, 0.5, 0.9]
    found = model.quantile(XS, q, level=level)
    assert_allclose(found, one.backward(plain.quantile(XS, q, level=level)), rtol=1e-7)
    draws = model.sample_y(XS, 3, level=level)
    assert_allclose(draws, one.backward(plain.sample_y(XS, 3, level=level)), rtol=1e-6)


def test_densities_and_probabilities_are_of_y(pair):
    model, plain, one = pair
    t = one.forward(YS)
    assert_allclose(
        model.log_density(XS, YS), plain.log_density(XS, t) + one.log_slope(YS), atol=1e-7
    )
    assert_allclose(model.cdf(XS, YS), plain.cdf(XS, t), atol=1e-9)
    grid = np.linspace(1e-3, 60.0, 60_001)
    density = np.exp(model.log_density(np.repeat(XS[:1], grid.size, axis=0), grid))
    total = np.sum(density) * (grid[1] - grid[0])
    assert_allclose(
        total, np.diff(model.cdf(np.repeat(XS[:1], 2, axis=0), grid[[0, -1]]))[0], atol=1e-2
    )


@pytest.mark.parametrize("level", ["observation", "function"])
def test_covariances_have_the_correlations_of_transformed_y(pair, level):
    model, plain, _ = pair
    mean, C = model.predict(XS, return_cov=True, level=level)
    m, sd = model.predict(XS, return_std=True, level=level)
    inner = plain.predict(XS, return_cov=True, level=level)[1]
    s = np.sqrt(inner.diagonal())
    assert_allclose(mean, m, rtol=1e-9)
    assert_allclose(C / np.outer(sd, sd), inner / np.outer(s, s), rtol=1e-6, atol=1e-8)


def test_logarithm_gives_lognormal_answers():
    model = given(transforms="log").fit(X, Y)
    plain = given(transforms=Transform(y=None)).fit(X, np.log(Y))
    m, s = plain.predict(XS, return_std=True)
    assert_allclose(model.predict(XS), np.exp(m + 0.5 * s**2), rtol=1e-8)
    assert_allclose(model.quantile(XS, 0.1), np.exp(norm.ppf(0.1, m, s)), rtol=1e-8)
    assert model.predict_interval(XS, 0.9999)[0].min() > 0.0


def test_log_refuses_what_has_no_logarithm():
    with pytest.raises(ValueError, match="transforms='yeo-johnson' or Transform"):
        given(transforms="log").fit(X, Y - 1.0)
    model = given(transforms="log").fit(X, Y)
    assert np.isneginf(model.log_density(XS[:1], [-1.0])[0])
    stream = given(transforms="log", **SIZES["kept"]).fit(X, Y)
    before = stream.predict(XS)
    with pytest.raises(ValueError, match="no logarithm"):
        stream.partial_fit(X[:2], [1.0, 0.0])
    assert_array_equal(stream.predict(XS), before)


def test_y_that_have_no_logarithm_have_probability_zero():
    model = given(transforms="log").fit(X, np.stack([Y, Y[::-1]], axis=1))
    y = np.array([[0.0, 2.0], [-1.0, 0.0]])
    density, below = model.log_density(XS[:2], y), model.cdf(XS[:2], y)
    assert_array_equal(np.isneginf(density), y <= 0.0)
    assert_array_equal(below == 0.0, y <= 0.0)
    assert_allclose(density[0, 1], model.log_density(XS[:1], [[1.0, 2.0]])[0, 1])


# --- transforms of inputs -------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_inputs_are_transformed_first(size):
    wide, queries = np.exp(2.0 * X), np.exp(2.0 * XS)
    model = given(transforms=Transform(None, "rank"), **SIZES[size]).fit(wide, Y)
    assert model.input_transform_ == ("rank", "rank") and model.target_transform_ is None
    scores = model.model_.warping.inputs
    plain = given(transforms=None, **SIZES[size])
    plain.fit(scores.forward(wide), Y)
    for a, b in zip(
        model.predict(queries, return_std=True),
        plain.predict(scores.forward(queries), return_std=True),
    ):
        assert_allclose(a, b, rtol=1e-9)
    assert_allclose(scores.forward(model.anchors_), plain.anchors_, atol=1e-9)


def test_given_anchors_are_in_the_units_of_x():
    wide, Z = np.exp(2.0 * X), np.exp(2.0 * X[:30])
    model = given(transforms=Transform(X="rank"), anchors=Z, chunks=60).fit(wide, Y)
    assert_allclose(model.anchors_, Z, rtol=1e-9)


# --- nothing is transformed -----------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_none_is_the_model_without_transforms(size):
    """`auto` is None where kernel, noise or anchors are given: bitwise."""
    plain = given(transforms=None, **SIZES[size]).fit(X, Y)
    auto = given(**SIZES[size]).fit(X, Y)
    assert plain.model_.warping is None and auto.model_.warping is None
    assert_array_equal(plain.predict(XS), auto.predict(XS))
    assert plain.basis_id_ == auto.basis_id_
    assert plain.target_transform_ is None and plain.input_transform_ is None


@pytest.mark.parametrize(
    "arguments",
    [{"kernel": KERNEL}, {"noise": 0.1}, {"anchors": X[:20]}, {"limits": 10.0}],
)
def test_auto_is_none_where_something_is_given(arguments):
    model = CommitteeRegressor(random_state=0, **arguments)
    settings = system_for(model).settings(model)
    assert settings.transforms.y is None and settings.transforms.X is None
    model.set_params(transforms=Transform("log", "rank"))
    asked = system_for(model).settings(model)
    assert asked.transforms.y == "log" and asked.transforms.X == "rank"


@pytest.mark.parametrize(
    "arguments, words",
    [({"transforms": "sqrt"}, "transforms='sqrt': give one of"),
     ({"transforms": 3}, "transforms=3"),
     ({"transforms": Transform(y=3)}, "y of .*=3"),
     ({"transforms": Transform(y="sqrt")}, "y of .*='sqrt': give one of"),
     ({"transforms": Transform(X="log")}, "X of .*='log': give one of"),
     ({"likelihood": "poisson", "transforms": "log"}, "needs likelihood='gaussian'"),
     ({"likelihood": "student-t", "transforms": Transform(X="rank")},
      "needs likelihood='gaussian'")],
)  # fmt: skip
def test_what_is_not_known_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        CommitteeRegressor(**arguments).fit(X, np.floor(Y) + 1.0)


def test_other_likelihoods_see_y_as_it_is():
    model = CommitteeRegressor(likelihood="exponential", random_state=0).fit(X[:80], Y[:80])
    assert model.target_transform_ is None and model.input_transform_ is None


# --- the choice -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def prices():
    """A model of lognormal y, chosen by itself."""
    data = table(700, seed=3, noise=0.6)
    return CommitteeRegressor(random_state=0).fit(*data), data


def test_lognormal_targets_have_right_intervals_everywhere(prices):
    model, _ = prices
    assert model.target_transform_ == "log" and model.input_transform_ is None
    fresh, y = table(3000, seed=4, noise=0.6)
    lower, upper = model.predict_interval(fresh)
    assert lower.min() > 0.0
    inside = (lower <= y) & (y <= upper)
    for part in np.array_split(inside[np.argsort(model.predict(fresh))], 3):
        assert 0.91 < part.mean() < 0.99
    plain = CommitteeRegressor(random_state=0, transforms=Transform(y=None)).fit(*prices[1])
    found = model.log_density(fresh, y).mean()
    assert found > plain.log_density(fresh, y).mean() + 0.08  # skewed, with a scale that varies
    truth = norm.logpdf(np.log(y), np.sin(2.0 * fresh[:, 0]) + fresh[:, 1], 0.6) - np.log(y)
    assert found > truth.mean() - 0.06


@pytest.mark.slow
def test_order_of_rows_threads_and_repetitions_do_not_matter(prices):
    model, (X, y) = prices
    order = np.random.default_rng(0).permutation(y.size)
    same = CommitteeRegressor(random_state=0, n_jobs=2).fit(X[order], y[order])
    assert_array_equal(same.predict(XS), model.predict(XS))
    twice = np.append(np.arange(y.size), np.arange(50))
    w = np.ones(y.size)
    w[:50] = 2.0
    a = CommitteeRegressor(random_state=0).fit(X, y, w)
    b = CommitteeRegressor(random_state=0).fit(X[twice], y[twice])
    assert a.target_transform_ == b.target_transform_
    assert_array_equal(a.predict(XS), b.predict(XS))


def test_model_goes_through_files(prices, tmp_path):
    model, _ = prices
    model.save(tmp_path / "model.clg")
    for again in (collegium.load(tmp_path / "model.clg"), pickle.loads(pickle.dumps(model))):
        assert again.target_transform_ == "log"
        assert_array_equal(again.predict(XS), model.predict(XS))
        assert_array_equal(again.log_density(XS, YS), model.log_density(XS, YS))


@pytest.mark.slow
def test_skewed_inputs_are_found(tmp_path):
    rng = np.random.default_rng(0)
    u = rng.normal(size=(400, 2))
    y = np.sin(3.0 * u[:, 0]) + u[:, 1] + 0.1 * rng.normal(size=400)
    wide = np.column_stack([np.exp(2.0 * u[:, 0]), u[:, 1]])
    model = CommitteeRegressor(random_state=0).fit(wide, y)
    assert model.input_transform_ == ("rank", None)
    model.save(tmp_path / "model.clg")
    assert_array_equal(collegium.load(tmp_path / "model.clg").predict(wide), model.predict(wide))


# --- several outputs ------------------------------------------------------------------------------


def test_outputs_have_transforms_of_their_own():
    both = np.column_stack([Y, np.log(Y)])
    model = given(transforms="rank").fit(X, both)
    assert model.target_transform_ == ("rank", "rank")
    warping = Warping(None, (TargetTransform("log"), None))
    plain = given(transforms=Transform(y=None)).fit(X, warping.forward(both))
    mixed = given(transforms=Transform(y=None)).fit(X, warping.forward(both))
    mixed.model_ = type(mixed.model_)(**{**vars(mixed.model_), "warping": warping})
    assert mixed.target_transform_ == ("log", None)
    found, inner = mixed.predict(XS), plain.predict(XS)
    assert_array_equal(found[:, 1], inner[:, 1])
    lower, upper = mixed.predict_interval(XS)
    assert_allclose(np.log(upper[:, 0]), plain.predict_interval(XS)[1][:, 0], rtol=1e-9)
    assert mixed.predict(XS, return_cov=True)[1].shape == (40, 40, 2)
    assert mixed.sample_y(XS, 4).shape == (40, 2, 4) and lower.shape == (40, 2)
    fresh = np.column_stack([YS, np.log(YS)])
    density = mixed.log_density(XS, fresh)
    assert_allclose(density[:, 1], plain.log_density(XS, np.log(fresh[:, [0, 0]]))[:, 1])


# --- as a member of a committee of estimators -----------------------------------------------------


@pytest.mark.parametrize("kind", ["yeo-johnson", "log"])
def test_priors_and_noises_of_members_are_taken_back(kind):
    """Of a line they are those without a transform."""
    model = given(transforms=Transform(kind, "rank")).fit(X, Y)
    if kind == "yeo-johnson":
        plain = given(transforms=Transform(None, "rank")).fit(X, Y)
        line = TargetTransform(kind, 0.0, 1.0, 1.0)
        own = vars(plain.model_)
        model.model_ = type(plain.model_)(
            **{**own, "warping": Warping(plain.model_.warping.inputs, (line,))}
        )
        (one,), (two,) = member(model, XS), member(plain, XS)
        assert_allclose(one.prior.covariance, two.prior.covariance, rtol=1e-9)
        assert_allclose(one.noise, two.noise, rtol=1e-6)
        assert_allclose(one.prior.mean, two.prior.mean)
        K = KERNEL.value(model.model_.warping.places(XS))
        assert_allclose(two.prior.covariance, K)
        return
    (one,) = member(model, XS)
    m, v = np.log(Y).mean(), 1.1
    assert_allclose(one.prior.mean, np.exp(m + 0.5 * v), rtol=1e-6)
    assert_allclose(one.prior.covariance.diagonal(), np.exp(2 * m + v) * np.expm1(v), rtol=0.02)
    assert one.noise > 0.0


# --- streams --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["kept", "anchors"])
def test_a_stream_goes_on_with_the_transforms_it_has(size):
    options = {**SIZES[size], "transforms": Transform("rank", "rank")}
    stream = given(**options)
    for part in np.array_split(np.arange(300), 6):
        stream.partial_fit(X[part], Y[part])
    warping = stream.model_.warping
    assert warping is not None and stream.model_.waiting is None
    more_X, more_y = table(60, seed=7)
    stream.partial_fit(more_X, more_y)
    assert stream.model_.warping is warping
    plain = given(transforms=None, **SIZES[size])
    assert 0.0 <= stream.stream_.coverage <= 1.0 and np.isfinite(stream.stream_.log_density)
    assert plain.partial_fit(X, Y).basis_id_ != stream.basis_id_


def test_a_waiting_stream_is_the_model_of_its_rows():
    """Rows wait in the units of the user: transforms are learnt from all of them."""
    options = {"transforms": Transform("rank", "rank")}
    stream, batch = given(**options), given(**options).fit(X, Y)
    for part in np.array_split(np.arange(300), 4):
        stream.partial_fit(X[part], Y[part])
    assert_array_equal(stream.predict(XS), batch.predict(XS))


def test_a_stream_chooses_no_logarithm_by_itself():
    data, y = table(500, seed=1, noise=0.6)
    stream = CommitteeRegressor(random_state=0).partial_fit(data, y)
    assert stream.target_transform_ in ("rank", "yeo-johnson")
    stream.partial_fit(data[:5], np.full(5, -0.1))
    assert np.isfinite(stream.predict(XS)).all()


def test_rows_that_were_kept_come_back_in_the_units_of_the_user():
    for size in ("exact", "kept"):
        options = {**SIZES[size], "transforms": Transform("log", "rank")}
        rows = given(**options).fit(X, Y).model_.rows()
        order, back = np.lexsort(X.T), np.lexsort(rows.X.T)
        assert_allclose(rows.X[back], X[order], rtol=1e-9)
        assert_allclose(rows.y[back, 0], Y[order], rtol=1e-9)


def test_models_with_the_same_transforms_are_merged():
    options = {**SIZES["kept"], "transforms": "rank"}
    model = given(**options).fit(X[:200], Y[:200])
    one, two = model.blank(), model.blank()
    one.partial_fit(X[200:250], Y[200:250], chunk_id="a")
    two.partial_fit(X[250:], Y[250:], chunk_id="b")
    both = model.blank().partial_fit(X[200:250], Y[200:250], chunk_id="a")
    both.partial_fit(X[250:], Y[250:], chunk_id="b")
    assert_array_equal(one.merge(two).predict(XS), both.predict(XS))
    other = given(**{**options, "transforms": Transform(y=None)}).fit(X[:200], Y[:200])
    with pytest.raises(ValueError, match="transform of X or y"):
        model.blank().merge(other.blank())


def test_a_chunk_of_an_exact_model_is_forgotten_with_its_rows():
    options = {"transforms": Transform("rank", "rank")}
    stream = given(**options).partial_fit(X[:100], Y[:100], chunk_id="a")
    stream.partial_fit(X[100:], Y[100:], chunk_id="b")
    rows = stream.forget("a").model_.rows()
    assert_allclose(np.sort(rows.y[:, 0]), np.sort(Y[100:]))
    assert rows.X.shape == (200, 2)


def test_relearning_chooses_anew():
    model = given(transforms="yeo-johnson", **SIZES["kept"]).fit(X, Y)
    before = model.predict(XS)
    assert_allclose(model.relearn().predict(XS), before, rtol=1e-5)
