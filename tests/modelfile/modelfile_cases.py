"""Fitted models of every kind, queries, and their predictions as bytes.

As a script: load files, predict again, print a digest of each prediction.
"""

import hashlib
import json
import sys
import warnings
from dataclasses import dataclass

import numpy as np

import collegium
from collegium import kernels, likelihoods
from fuzz.estimators import CASES, fitted, target
from fuzz.tables import table

TABLE = table(40, 2, 3, ("uniform", "smooth", "one"), [0, 0, 0], 1.0)
MORE = table(12, 2, 4, ("uniform", "smooth", "one"), [0, 0, 0], 1.0)


@dataclass(frozen=True)
class Bell(likelihoods.Scalar):
    """A likelihood of a user: normal noise of standard deviation `width`."""

    support = likelihoods.REALS
    width: float = 0.5

    def log_density(self, y, f):
        return -0.5 * ((y[..., 0] - f) / self.width) ** 2 - np.log(self.width * np.sqrt(2 * np.pi))

    def derivatives(self, y, f):
        slope = (y[..., 0] - f) / self.width**2
        return slope, np.full_like(slope, -1.0 / self.width**2), np.zeros_like(slope)

    def mean(self, f):
        return f

    def variance(self, f):
        return np.full_like(f, self.width**2)


@dataclass(frozen=True)
class Ramp:
    """A basis of a user, as a record."""

    slope: float = 1.0

    def __call__(self, X):
        return np.column_stack([np.ones(len(X)), self.slope * X, X**2])


OWN = [Bell, Ramp]


def odd_models():
    """(name, model) of arguments that the cases of the fuzzer do not have."""
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

    X, y, rng = TABLE.X, TABLE.y, np.random.default_rng
    two = np.column_stack([y, -2.0 * y + 1.0])
    labels = np.array(["a", "b", "c"], dtype=object)[np.arange(y.size) % 3]
    c, given = collegium, {"noise": 0.2, "learn": False}
    theirs = ConstantKernel(2.0) * Matern([1.0, 2.0], nu=1.5) + RBF(1.5, "fixed") + WhiteKernel(0.2)
    chunks = {"chunks": 10, "anchors": 6, "random_state": 0}
    yield "theirs", c.CommitteeRegressor(kernel=theirs, learn=False, random_state=0).fit(X, y)
    own = kernels.Matern52() + kernels.Linear() * kernels.Periodic(period=3.0)
    yield "composite", c.CommitteeRegressor(kernel=own, **given, **chunks).fit(X, two)
    rough = kernels.Filtered(kernels.LaplaceFilter(0.5), low=[-9, -9], high=[9, 9])
    yield "filtered", c.CommitteeRegressor(kernel=rough, **given, random_state=rng(3)).fit(X, y)
    options = {"anchors": c.Select("random", 7), "chunks": 10, "inference": c.CG(max_iter=5)}
    state = np.random.RandomState(5)
    yield (
        "options",
        c.CommitteeRegressor(kernel=kernels.RBF(), **given, **options, random_state=state).fit(
            X, y
        ),
    )
    yield "own likelihood", c.CommitteeRegressor(likelihood=Bell(0.4), **chunks).fit(X, y)
    yield (
        "labels",
        c.CommitteeClassifier(
            kernel=kernels.RBF(), learn=False, class_weight={"a": 1.0, "b": 2.0, "c": 1.0}, **chunks
        ).fit(X, labels),
    )
    whole = np.arange(y.size) % 3
    yield "three online", c.OnlineGPClassifier(kernel=kernels.RBF(), learn=False).fit(X, whole)
    yield "own basis", c.RegressionFilter(basis=Ramp(0.5), learn=False, **{
        "kernel": kernels.RBF(1.0, 1.5), "noise": 0.2}).fit(X, y)  # fmt: skip
    for basis, density in [("splines", "uniform"), ("harmonics", "gaussian"), ("fourier", "auto")]:
        yield (
            basis,
            c.RegressionFilter(
                basis=basis,
                density=density,
                n_basis=9,
                random_state=0,
                **given,
                kernel=kernels.RBF(),
            ).fit(X, two),
        )
    yield "drift", c.RegressionFilter(drift=1e-3, n_basis=9, random_state=0, **given,
                                      kernel=kernels.RBF()).fit(X, y)  # fmt: skip
    members = [("a", c.CommitteeRegressor(kernel=kernels.RBF(), **given)), ("b", "drop"),
               ("c", c.OnlineGPRegressor(kernel=kernels.RBF(), **given))]  # fmt: skip
    yield "members", c.CommitteeOf(members, random_state=0, query_size=20).fit(X, y)
    yield (
        "transductive counts",
        c.CommitteeRegressor(
            likelihood="poisson",
            kernel=kernels.RBF(),
            learn=False,
            inference="transductive",
            **chunks,
        ).fit(X, TABLE.counts),
    )
    yield (
        "forgets",
        c.OnlineGPRegressor(kernel=kernels.RBF(), forgetting=0.99, budget=15, random_state=0).fit(
            X, y
        ),
    )


def streams():
    """(name, model) of streams at their start, and later."""
    for case in CASES:
        model = case.make(TABLE)
        if hasattr(model, "partial_fit") and "refined" not in case.name:
            classes = {"classes": np.unique(TABLE.labels)} if case.target == "classes" else {}
            y = target(case, TABLE)
            yield f"{case.name}, young", model.partial_fit(TABLE.X[:6], y[:6], **classes)
            if not case.learns:
                model = case.make(TABLE).partial_fit(TABLE.X[:6], y[:6], **classes)
                yield f"{case.name}, old", model.partial_fit(TABLE.X[6:], y[6:])


def every():
    """All models by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {case.name: fitted(case, TABLE) for case in CASES}
        return {**found, **dict(odd_models()), **dict(streams())}


def _refined(model) -> bool:
    return isinstance(getattr(model, "inference", None), collegium.CG) or (
        getattr(model, "inference", None) == "cg"
    )


def told(model, learns=True) -> list[str]:
    """A digest of all predictions: means, intervals, draws, then the same after more rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _answers(model)
        if learns and hasattr(model, "partial_fit") and not _refined(model):
            model.partial_fit(MORE.X, _targets(model))
            found += _answers(model)
            found.append(_digest([repr(model.stream_)]))
        if learns and hasattr(model, "relearn"):
            try:
                found += _answers(model.relearn() or model)
            except ValueError as error:
                found.append(str(error))
    return found


def _targets(model):
    if hasattr(model, "classes_"):
        return model.classes_[np.arange(MORE.y.size) % model.classes_.size]
    y = MORE.counts if model.model_.likelihoods[0].support.low == 0.0 else MORE.y
    return y if model.y_ndim_ == 1 else np.column_stack([y, -y])


def _answers(model) -> list[str]:
    X = TABLE.Xs
    if hasattr(model, "classes_"):
        return [_digest([model.predict_proba(X)]), _digest(model.predict(X))]
    found = [_digest([model.predict(X)]), _digest(model.predict(X, return_std=True))]
    found.append(_digest(model.predict_interval(X, 0.8)))
    try:
        found.append(_digest(model.predict(X, return_cov=True)))
        found.append(_digest([model.sample_y(X, 2, random_state=1)]))
    except ValueError as error:
        found.append(str(error))
    return found


def _digest(values) -> str:
    found = hashlib.sha256()
    for value in values:
        found.update(np.asarray(value).astype(np.asarray(value).dtype.str).tobytes())
    return found.hexdigest()


if __name__ == "__main__":
    for line in sys.stdin:
        path, mapped = json.loads(line)
        print(json.dumps(told(collegium.load(path, mmap=mapped, types=OWN))), flush=True)
