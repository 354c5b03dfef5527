"""Data, variants and slow obvious code shared by the tests of the estimators."""

from dataclasses import dataclass, fields, is_dataclass, replace
from numbers import Number

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from collegium import CommitteeRegressor, kernels

KERNEL = kernels.Matern32(variance=30.0, length_scale=[0.7, 1.9])
NOISE = 0.4
GIVEN = {"kernel": KERNEL, "noise": NOISE, "learn": False, "random_state": 0}

#: One of each way to answer.
VARIANTS = {
    "exact": {},
    "local": {"chunks": 8, "anchors": 6, "n_local": 9},
    "anchors only": {"chunks": 8, "anchors": 6, "n_local": 0},
    "transductive": {"chunks": 8, "anchors": 6, "inference": "transductive"},
}
INDUCTIVE = [name for name in VARIANTS if name != "transductive"]


def committee(variant="exact", **arguments):
    """An estimator of a variant, seeded."""
    return CommitteeRegressor(**{"random_state": 0, **VARIANTS[variant], **arguments})


def rows(n=60, d=2, p=None, seed=0):
    """Inputs, and targets with a mean and a scale of their own: (n,) or (n, p)."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, d))
    smooth = [np.sin((1 + 0.5 * j) * X[:, 0] + j) + 0.3 * X[:, -1] for j in range(p or 1)]
    y = 50.0 + 7.0 * np.column_stack(smooth) + 0.6 * rng.normal(size=(n, p or 1))
    return X, y if p else y[:, 0]


def every_id_given(model):
    """Let the numbers of all chunks count as if users had given them, so that `forget` takes
    them: cells of a store, too."""
    own = model.model_
    ids = replace(own.chunks.ids, counted=())
    model.model_ = replace(own, chunks=replace(own.chunks, ids=ids))
    return model


def queries(q=11, d=2, seed=1):
    return np.random.default_rng(seed).uniform(-2.0, 2.0, size=(q, d))


def smooth_rows(n=400, seed=0):
    """A smooth function of two inputs, scaled to unit variance, with little noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, size=(n, 2))
    return X, np.sin(1.5 * X[:, 0]) * np.cos(X[:, 1]) * 2.0 + 0.05 * rng.normal(size=n)


def truth(X):
    return np.sin(1.5 * X[:, 0]) * np.cos(X[:, 1]) * 2.0


def rmse(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2)))


def slow_matern32(A, B, kernel=KERNEL):
    """The kernel, one pair at a time."""
    K = np.empty((len(A), len(B)))
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            r = np.sqrt(3.0 * np.sum(((a - b) / kernel.length_scale) ** 2))
            K[i, j] = kernel.variance * (1.0 + r) * np.exp(-r)
    return K


@dataclass
class SlowGP:
    """The textbook: dense inverse, prior mean = mean of y."""

    X: np.ndarray
    y: np.ndarray
    noise: float = NOISE

    def __post_init__(self):
        self.C = slow_matern32(self.X, self.X) + self.noise * np.eye(len(self.X))
        self.inverse = np.linalg.inv(self.C)
        self.centred = self.y - self.y.mean()

    def predict(self, Xs):
        """Mean and covariance of f."""
        k = slow_matern32(Xs, self.X)
        mean = self.y.mean() + k @ self.inverse @ self.centred
        return mean, slow_matern32(Xs, Xs) - k @ self.inverse @ k.T

    def log_evidence(self):
        quadratic = self.centred @ self.inverse @ self.centred
        return -0.5 * (quadratic + np.linalg.slogdet(2.0 * np.pi * self.C)[1])


def assert_is_the_gp(model, slow, Xs, rtol=1e-7):
    """Means, both levels of error bars, covariances and the evidence."""
    mean, cov = slow.predict(Xs)
    assert_allclose(model.predict(Xs), mean, rtol=rtol)
    noisy = cov + slow.noise * np.eye(len(Xs))
    for level, expected in (("function", cov), ("observation", noisy)):
        found, std = model.predict(Xs, return_std=True, level=level)
        assert_allclose(found, mean, rtol=rtol)
        assert_allclose(std, np.sqrt(np.diag(expected)), rtol=rtol)
        found, joint = model.predict(Xs, return_cov=True, level=level)
        assert_allclose(found, mean, rtol=rtol)
        assert_allclose(joint, expected, rtol=0, atol=rtol * np.diag(cov).max())
    assert_allclose(model.log_evidence_, slow.log_evidence(), rtol=rtol)


def assert_same_answers(a, b, Xs, rtol=1e-9):
    """Two models that say the same; rtol = 0: to the last bit."""
    for one, other in zip(a.predict(Xs, return_std=True), b.predict(Xs, return_std=True)):
        assert_allclose(one, other, rtol=rtol, atol=0)
    assert_allclose(a.log_evidence_, b.log_evidence_, rtol=rtol, atol=0)


def assert_sound(model, Xs):
    """Finite means, finite and non-negative error bars at both levels, finite evidence."""
    assert np.isfinite(model.predict(Xs)).all()
    for level in ("function", "observation"):
        _, std = model.predict(Xs, return_std=True, level=level)
        assert np.isfinite(std).all() and (std >= 0).all()
    _, cov = model.predict(Xs, return_cov=True, level="function")
    diagonal = np.einsum("ii...->i...", cov)
    assert np.isfinite(cov).all() and (diagonal >= 0).all()
    assert np.isfinite(model.sample_y(Xs, 2)).all()
    assert np.isfinite(model.log_evidence_)


def state(model):
    """The attributes of an estimator but its private cache of answers."""
    return {name: value for name, value in vars(model).items() if name != "_made"}


def leaves(node, path="", above=()):
    """(path, leaf) of a tree of records, dicts, lists and tuples; no branch holds itself."""
    assert not any(node is one for one in above), f"{path} refers back"
    if is_dataclass(node):
        stray = set(vars(node)) - {field.name for field in fields(node)}
        assert not stray, f"{path} has {stray} beside its fields"
        branches = [(f.name, getattr(node, f.name)) for f in fields(node)]
    elif type(node) is dict:
        branches = list(node.items())
    elif type(node) in (list, tuple):
        branches = list(enumerate(node))
    else:
        return [(path, node)]
    above = (*above, node)
    return [leaf for name, branch in branches for leaf in leaves(branch, f"{path}.{name}", above)]


def assert_same_state(before, model):
    """`before` are the leaves of an earlier state: nothing has changed since, to the last bit."""
    after = leaves(state(model))
    assert [path for path, _ in before] == [path for path, _ in after]
    for (path, old), (_, new) in zip(before, after):
        assert type(old) is type(new), path
        assert_array_equal(old, new, err_msg=path)


ALLOWED = (Number, np.bool_, str, type(None))


def assert_plain(model):
    for path, leaf in leaves(state(model)):
        if isinstance(leaf, np.ndarray):
            words = leaf.dtype == object and all(type(word) is str for word in leaf.flat)
            assert leaf.dtype.kind in "fiub" or words, f"{path}: an array of {leaf.dtype}"
        else:
            assert isinstance(leaf, ALLOWED), f"{path}: a {type(leaf).__name__}"
