import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm
from sklearn.linear_model import LinearRegression

from collegium.datasets import make_art, make_robot_arm, make_sinc, robot_arm_distance

GENERATORS = pytest.mark.parametrize("make", [make_art, make_robot_arm, make_sinc])


def slow_robot_arm(angles):
    """The chain walked from base to hand, rotations as exponentials of their generators."""
    about_z = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 0]])
    about_y = np.array([[0, 0, 1], [0, 0, 0], [-1, 0, 0]])
    total = sum(0.9**j for j in range(len(angles)))
    frame, hand = np.eye(3), np.zeros(3)
    for j, angle in enumerate(angles):
        frame = frame @ expm(angle * (about_y if j % 2 else about_z))
        hand = hand + frame @ np.array([0.9**j / total, 0, 0])
    return np.sqrt(np.sum((hand - np.array([0.2, 0.1, 0.1])) ** 2))


def slow_art(x, centers, s=0.36):
    a = [1.16, 0.63, 0.08, 0.35, -0.70]
    e = [np.exp(-sum((x - c) ** 2) / (2 * s**2)) for c in centers]
    return sum(a[i] * e[i] for i in range(5)) / sum(e)


@GENERATORS
def test_shapes_and_types(make):
    X, y = make(7, random_state=0)
    assert X.shape == (7, {make_art: 5, make_robot_arm: 8, make_sinc: 1}[make])
    assert y.shape == (7,)
    assert X.dtype == y.dtype == np.float64
    assert make(1)[0].shape[0] == 1


def test_number_of_columns_is_an_argument():
    assert make_art(3, n_features=50)[0].shape == (3, 50)
    assert make_robot_arm(3, n_joints=1)[0].shape == (3, 1)


def test_robot_arm_defaults_to_forty_thousand_rows():
    assert make_robot_arm(random_state=0)[0].shape == (40_000, 8)


@GENERATORS
def test_same_seed_same_data(make):
    for seed in [3, np.int64(3)]:
        for first, again in zip(make(20, random_state=3), make(20, random_state=seed)):
            assert_array_equal(first, again)
    X, y = make(20, random_state=3)
    X_other, y_other = make(20, random_state=4)
    assert not np.any(X == X_other)
    assert not np.any(y == y_other)


@GENERATORS
@pytest.mark.parametrize("source", [np.random.default_rng, np.random.RandomState])
def test_a_generator_moves_on(make, source):
    rng = source(5)
    X, _ = make(20, random_state=rng)
    X_next, _ = make(20, random_state=rng)
    assert not np.any(X == X_next)
    assert_array_equal(X, make(20, random_state=source(5))[0])


@GENERATORS
def test_the_global_random_state_is_left_alone(make):
    _, key, position, *_ = np.random.get_state()  # noqa: NPY002
    make(20)
    _, key_after, position_after, *_ = np.random.get_state()  # noqa: NPY002
    assert_array_equal(key, key_after)
    assert position == position_after


@GENERATORS
@pytest.mark.parametrize("noise", [0.03, 2.0])
def test_noise_has_the_stated_deviation(make, noise):
    n = 20_000
    X, y = make(n, noise=noise, random_state=1)
    X_true, f = make(n, noise=0, random_state=1)
    assert_array_equal(X, X_true)
    e = (y - f) / noise
    assert abs(e.mean()) < 4 / np.sqrt(n)
    assert abs(e.var() - 1) < 4 * np.sqrt(2 / n)
    assert np.all(np.abs(X.T @ e) < 4 * np.sqrt(np.sum(X**2, axis=0)))  # uncorrelated with X


@pytest.mark.parametrize("n_joints", [1, 2, 5, 8])
def test_robot_arm_is_the_chain_of_rotations(n_joints):
    X, y = make_robot_arm(30, n_joints=n_joints, noise=0, random_state=2)
    assert_allclose(y, [slow_robot_arm(row) for row in X], rtol=1e-12)
    assert_array_equal(y, robot_arm_distance(X))


def test_robot_arm_angles_fill_their_range():
    X, y = make_robot_arm(5000, noise=0, random_state=0)
    assert np.all(np.abs(X) <= 2 * np.pi / 3)
    assert_allclose(X.min(axis=0), -2 * np.pi / 3, rtol=0.01)
    assert_allclose(X.max(axis=0), 2 * np.pi / 3, rtol=0.01)
    assert y.min() > 0
    assert y.max() < 1 + np.sqrt(0.06)  # reach + ‖target‖


def test_robot_arm_needs_more_than_a_line():
    X, y = make_robot_arm(5000, random_state=0)
    assert 0.17 < y.std() < 0.19
    assert LinearRegression().fit(X, y).score(X, y) < 0.1


@pytest.mark.parametrize("bad", [[1.0, 2.0], [[np.nan, 1.0]]])
def test_robot_arm_distance_names_a_bad_input(bad):
    with pytest.raises(ValueError, match=r"X|2D"):
        robot_arm_distance(bad)


@pytest.mark.parametrize("n_features", [1, 5])
def test_art_is_the_formula(n_features):
    X, y = make_art(30, n_features=n_features, noise=0, centers_state=6, random_state=2)
    centers = np.random.default_rng([6, 104]).uniform(size=(5, n_features))
    assert_allclose(y, [slow_art(x, centers) for x in X], rtol=1e-10, atol=1e-12)


def test_art_has_other_widths_and_centres():
    X, y = make_art(30, n_features=3, noise=0, width=0.2, centres=(-2, 1), random_state=2)
    centers = -2 + 3 * np.random.default_rng([0, 104]).uniform(size=(5, 3))
    assert_allclose(y, [slow_art(x, centers, 0.2) for x in X], rtol=1e-10, atol=1e-12)
    same = make_art(30, n_features=3, noise=0, width=0.2, centres=centers, random_state=2)
    assert_array_equal(same[1], y)


@pytest.mark.parametrize("n_features", [50, 5000])
def test_art_is_finite_in_many_dimensions(n_features):
    X, y = make_art(200, n_features=n_features, noise=0, random_state=0)
    assert np.all(np.abs(X) <= 1)
    assert np.all((y >= -0.70 - 1e-12) & (y <= 1.16 + 1e-12))  # a weighted mean of a
    assert y.std() > 0


def test_art_function_depends_on_centers_state_only():
    def function_at_the_first_rows(n_samples, centers_state):
        rng = np.random.default_rng(9)  # X is the first thing drawn: equal leading rows
        X, f = make_art(n_samples, noise=0, centers_state=centers_state, random_state=rng)
        return X[:10], f[:10]

    X, f = function_at_the_first_rows(10, 0)
    X_long, f_long = function_at_the_first_rows(500, 0)
    assert_array_equal(X, X_long)
    assert_allclose(f, f_long, rtol=1e-12)
    assert np.all(np.abs(f - function_at_the_first_rows(10, 1)[1]) > 1e-6)


def test_art_centres_are_not_rows_in_disguise():
    X, _ = make_art(1, n_features=25, noise=0, centers_state=0, random_state=0)
    centers = np.random.default_rng([0, 104]).uniform(size=(1, 25))
    assert abs(np.corrcoef(X[0], centers[0])[0, 1]) < 0.6


def test_sinc_is_the_formula():
    X, y = make_sinc(1000, noise=0, random_state=0)
    assert_allclose(y * X[:, 0], np.sin(X[:, 0]), atol=1e-14)
    assert -10 <= X.min() < -9.9
    assert 9.9 < X.max() <= 10


@GENERATORS
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_samples", 0),
        ("n_samples", -3),
        ("n_samples", 2.5),
        ("n_samples", "many"),
        ("noise", -0.1),
        ("noise", np.nan),
        ("noise", np.inf),
        ("noise", "loud"),
        ("random_state", -1),
        ("random_state", "seed"),
    ],
)
def test_bad_arguments_are_named(make, name, value):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        make(**{name: value})


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        (make_robot_arm, "n_joints", 0),
        (make_art, "n_features", 0),
        (make_art, "centers_state", -1),
        (make_art, "centers_state", None),
        (make_art, "width", 0.0),
        (make_art, "width", "wide"),
        (make_art, "centres", (0.0, np.inf)),
        (make_art, "centres", np.zeros((4, 5))),
    ],
)
def test_bad_sizes_and_seeds_are_named(make, name, value):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        make(**{name: value})


@GENERATORS
def test_options_are_keywords(make):
    with pytest.raises(TypeError):
        make(10, 2)
