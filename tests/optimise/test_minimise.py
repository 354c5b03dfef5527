"""minimise: the loop around suggest."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium import CommitteeRegressor, OnlineGPRegressor, kernels
from collegium.optimise import minimise

BOX = [(-1.0, 2.0), (-2.0, 1.0)]
GIVEN = CommitteeRegressor(kernels.RBF(9.0, [1.5, 2.0]), noise=1e-8, learn=False)


def bowl(x):
    return 2.0 + (x[0] - 0.7) ** 2 + 2.0 * (x[1] + 0.3) ** 2


def test_the_least_value_is_found_and_all_evaluations_are_kept():
    calls = []
    found = minimise(lambda x: calls.append(x) or bowl(x), BOX, 18, random_state=1)
    assert_allclose(found.x, [0.7, -0.3], atol=0.05)
    assert found.value == found.y.min() or abs(found.value - 2.0) < 0.02
    assert_array_equal(found.X, calls)
    assert_array_equal(found.y, [bowl(x) for x in calls])
    assert found.X.shape == (18, 2) and found.model.n_features_in_ == 2
    assert_allclose(found.model.predict(found.X), found.y, atol=0.05)


def test_without_noise_the_value_is_that_of_the_function():
    found = minimise(bowl, BOX, 14, model=GIVEN, random_state=0)
    assert found.value == bowl(found.x) == found.y.min()
    assert found.model is not GIVEN and not hasattr(GIVEN, "model_")


@pytest.mark.parametrize("how", ["ei", "ucb", "thompson"])
def test_maximising_takes_the_same_points_as_minimising_the_negative(how):
    asked = {"model": GIVEN, "how": how, "random_state": 3}
    up = minimise(lambda x: -bowl(x), BOX, 9, maximise=True, **asked)
    down = minimise(bowl, BOX, 9, **asked)
    assert_array_equal(up.X, down.X)
    assert up.value == -down.value
    assert_array_equal(minimise(bowl, BOX, 9, **asked).X, down.X)
    assert (minimise(bowl, BOX, 9, **{**asked, "random_state": 4}).X != down.X).any()


def test_names_words_and_whole_numbers():
    bounds = {"x": (0.0, 3.0), "kind": ["red", "blue", "green"], "count": range(1, 10)}

    def cost(row):
        return (row["x"] - 1.0) ** 2 + (row["kind"] != "blue") + 0.1 * (row["count"] - 6) ** 2

    kernel = kernels.Matern52(9.0, [2.0, 2.0, 5.0])
    model = CommitteeRegressor(kernel, noise=1e-6, learn=False)
    found = minimise(cost, bounds, 25, model=model, random_state=0)
    assert found.x["kind"] == "blue" and abs(found.x["count"] - 6) <= 1
    assert abs(found.x["x"] - 1.0) < 0.2 and len(found.X) == 25


def test_a_stream_of_another_kind_may_learn():
    model = OnlineGPRegressor(kernels.RBF(9.0, [1.5, 2.0]), noise=1e-6, learn=False)
    found = minimise(bowl, BOX, 16, model=model, random_state=0)
    assert_allclose(found.x, [0.7, -0.3], atol=0.3)
    assert found.model.n_seen_ == 16


def test_noise_is_averaged_out():
    """The value is the mean of the posterior: far above the least y, which is luck."""
    rng = np.random.default_rng(0)
    model = CommitteeRegressor(kernels.RBF(9.0, [1.5, 2.0]), noise=0.25, learn=False)
    found = minimise(lambda x: bowl(x) + 0.5 * rng.normal(), BOX, 40, model=model, random_state=0)
    assert bowl(found.x) < 2.5
    assert found.value > found.y.min() + 0.1 and abs(found.value - bowl(found.x)) < 0.6


@pytest.mark.parametrize("value", [np.nan, np.inf, "low", None, np.zeros(2)])
def test_a_function_that_gives_no_number_is_named(value):
    with pytest.raises(ValueError, match="function gave .*: return one finite number"):
        minimise(lambda x: value, BOX, 6, random_state=0)


def test_hostile_arguments_are_named_before_anything_is_evaluated():
    wrong = [
        ({"bounds": [(0, 0)]}, r"bounds\[0\]"), ({"bounds": []}, "bounds has 0 entries"),
        ({"bounds": {}}, "bounds: empty"), ({"evaluations": 0}, "evaluations=0"),
        ({"how": "x"}, "how='x'"), ({"maximise": 2}, "maximise=2"),
        ({"bounds": [["a", 1]]}, r"bounds\[0\]"),
    ]  # fmt: skip
    for arguments, words in wrong:
        with pytest.raises(ValueError, match=words):
            minimise(pytest.fail, **{"bounds": BOX, **arguments})
