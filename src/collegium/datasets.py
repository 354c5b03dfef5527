"""Generate regression problems ``X, y`` whose true function is known.

Every generator draws the inputs first and the noise second, so that the same ``random_state``
with ``noise=0`` returns the same inputs with the true function values.
"""

from numbers import Integral, Real

import numpy as np
from scipy.special import softmax
from sklearn.utils import check_array

__all__ = ["make_art", "make_robot_arm", "make_sinc", "robot_arm_distance"]

ARM_RANGE = 2 * np.pi / 3  # joints turn by up to ±120°
ARM_TAPER = 0.9  # length of each link relative to the one before; all together have length 1
ARM_TARGET = np.array([0.2, 0.1, 0.1])

ART_WEIGHTS = np.array([1.16, 0.63, 0.08, 0.35, -0.70])  # a  Tresp (2000) App. 10.4
ART_WIDTH = 0.36  # σ
ART_STREAM = 104  # makes centres and rows independent when both seeds are equal


def robot_arm_distance(X):
    """Distance of a robot arm's hand from a fixed point: the function behind `make_robot_arm`.

    Joint j turns the rest of the arm, about z if j is even and about y if it is odd, and
    carries a link of length l_j along its own x axis. With e = (1, 0, 0) the hand is at

        p = R_0 (l_0 e + R_1 (l_1 e + ... R_{d-1} (l_{d-1} e))),

    and the value is ‖p − (0.2, 0.1, 0.1)‖. Links shrink by a tenth from one to the next and add
    up to 1, so the value lies between 0 and 1.25.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_joints)
        Joint angles in radians.

    Returns
    -------
    distance : ndarray of shape (n_samples,)

    Examples
    --------
    The stretched arm ends at (1, 0, 0); turned to the left it ends at (0, 1, 0).

    >>> import numpy as np
    >>> from collegium.datasets import robot_arm_distance
    >>> robot_arm_distance([[0, 0, 0, 0], [np.pi / 2, 0, 0, 0]]).round(3)
    array([0.812, 0.927])
    """
    X = check_array(X, dtype=np.float64, input_name="X")
    n, d = X.shape
    links = ARM_TAPER ** np.arange(d)
    links /= links.sum()
    cos, sin = np.cos(X), np.sin(X)
    x, y, z = np.zeros((3, n))
    for j in reversed(range(d)):  # p <- R_j (l_j e + p), from the hand to the base
        c, s = cos[:, j], sin[:, j]
        x = x + links[j]
        if j % 2 == 0:
            x, y = c * x - s * y, s * x + c * y
        else:
            x, z = c * x + s * z, c * z - s * x
    return np.linalg.norm(np.stack([x, y, z], axis=1) - ARM_TARGET, axis=1)


def make_robot_arm(n_samples=40_000, *, n_joints=8, noise=0.005, random_state=None):
    """Forward kinematics of an all-revolute robot arm in three dimensions.

    The angles are uniform between −120° and 120°; the target is the distance of the arm's hand
    from a fixed point (see `robot_arm_distance`) plus Gaussian noise. All joints matter, and
    they interact: with eight of them a linear model explains less than a tenth of the
    variance, yet the function is smooth wherever the hand is away from the point. At the
    default settings the target has a standard deviation of about 0.18.

    Parameters
    ----------
    n_samples : int, default=40_000
        Number of rows.
    n_joints : int, default=8
        Number of joints, the columns of X.
    noise : float, default=0.005
        Standard deviation of the noise.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the angles and the noise.

    Returns
    -------
    X : ndarray of shape (n_samples, n_joints)
        Joint angles in radians.
    y : ndarray of shape (n_samples,)
        Noisy distances.

    Examples
    --------
    >>> from collegium.datasets import make_robot_arm
    >>> X, y = make_robot_arm(500, random_state=0)
    >>> X.shape, y.shape
    ((500, 8), (500,))
    """
    n_samples = _count(n_samples, "n_samples")
    n_joints = _count(n_joints, "n_joints")
    noise = _deviation(noise)
    rng = _generator(random_state)
    X = rng.uniform(-ARM_RANGE, ARM_RANGE, (n_samples, n_joints))
    return X, _observe(robot_arm_distance(X), noise, rng)


def make_art(
    n_samples=1000,
    *,
    n_features=5,
    noise=0.1,
    width=ART_WIDTH,
    centres=(0.0, 1.0),
    centers_state=0,
    random_state=None,
):
    """Artificial data of Tresp (2000): a soft partition of space into five constant regions.

    f(x) = Σᵢ aᵢ eᵢ / Σᵢ eᵢ,   eᵢ = exp(−‖x − cᵢ‖² / 2s²),

    with a = (1.16, 0.63, 0.08, 0.35, −0.70), s = 0.36, x uniform in [−1, 1]^d and the centres
    cᵢ uniform in [0, 1]^d.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    n_features : int, default=5
        Number of inputs, d.
    noise : float, default=0.1
        Standard deviation of the noise.
    width : float, default=0.36
        s: with a smaller one the borders of the regions are sharper.
    centres : (low, high) or array of shape (5, n_features), default=(0, 1)
        Range in which the centres are drawn, or the centres themselves. The paper draws them in
        "the unit hypercube"; its Table 2 agrees better with (-1, 1), the cube of the inputs, and
        `width=0.36 * (n_features / 5) ** 0.5`.
    centers_state : int, default=0
        Seed of the centres, and so of the function. They depend on this number and on
        `n_features` only: calls that differ in `n_samples` or `random_state` (training and
        test data, say) have the same function.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the inputs and the noise.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)

    References
    ----------
    V. Tresp (2000). A Bayesian committee machine. Neural Computation 12(11), Appendix 10.4.

    Examples
    --------
    >>> from collegium.datasets import make_art
    >>> X, y = make_art(300, random_state=0)
    >>> X_test, y_test = make_art(100, random_state=1)  # other rows, same function
    >>> X.shape, X_test.shape
    ((300, 5), (100, 5))
    """
    n_samples = _count(n_samples, "n_samples")
    n_features = _count(n_features, "n_features")
    noise = _deviation(noise)
    centers_state = _count(centers_state, "centers_state", least=0)
    rng = _generator(random_state)
    C = _centres(centres, n_features, np.random.default_rng([centers_state, ART_STREAM]))
    if not isinstance(width, Real) or not 0 < width < np.inf:
        raise ValueError(f"width must be a finite number, more than 0, got {width!r}")
    X = rng.uniform(-1.0, 1.0, (n_samples, n_features))
    # log eᵢ = (xᵀcᵢ − ½‖cᵢ‖²) / σ² + a term in x alone, which cancels  (n, 5)
    log_e = (X @ C.T - 0.5 * np.sum(C**2, axis=1)) / width**2
    return X, _observe(softmax(log_e, axis=1) @ ART_WEIGHTS, noise, rng)


def _centres(centres, d, rng):
    """Draw the centres of ART in a range, or take those given  (5, d)."""
    shape, given = (len(ART_WEIGHTS), d), np.asarray(centres, dtype=float)
    if given.shape not in ((2,), shape) or not np.isfinite(given).all():
        raise ValueError(f"centres must be finite: (low, high), or an array of shape {shape}")
    return given if given.ndim == 2 else given[0] + np.ptp(given) * rng.uniform(size=shape)


def make_sinc(n_samples=200, *, noise=0.1, random_state=None):
    """One input: y = sin(x) / x plus Gaussian noise, x uniform in [−10, 10].

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows.
    noise : float, default=0.1
        Standard deviation of the noise.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the inputs and the noise.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
    y : ndarray of shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> from collegium.datasets import make_sinc
    >>> X, y = make_sinc(50, noise=0, random_state=0)
    >>> np.allclose(y, np.sin(X[:, 0]) / X[:, 0])
    True
    """
    n_samples = _count(n_samples, "n_samples")
    noise = _deviation(noise)
    rng = _generator(random_state)
    X = rng.uniform(-10.0, 10.0, (n_samples, 1))
    return X, _observe(np.sinc(X[:, 0] / np.pi), noise, rng)  # NumPy's sinc is sin(πx) / (πx)


def _observe(f, noise, rng):
    return f + noise * rng.standard_normal(len(f))


def _generator(random_state):
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31, size=4)
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "random_state must be a non-negative integer, a NumPy generator or None, "
            f"got {random_state!r}"
        ) from error


def _count(value, name, least=1):
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer, at least {least}, got {value!r}")
    return int(value)


def _deviation(noise):
    if not isinstance(noise, Real) or not 0 <= noise < np.inf:
        raise ValueError(f"noise must be a finite number, at least 0, got {noise!r}")
    return float(noise)
