"""CommitteeRegressor with default arguments, except those in brackets."""

from benchmarks.harness import warm_up as small
from benchmarks.harness.forecast import Forecast
from collegium import CommitteeRegressor


class Model:
    def __init__(self, seed: int, threads: int, **arguments):
        self.model = CommitteeRegressor(random_state=seed, n_jobs=threads, **arguments)

    def fit(self, X, y):
        self.model.fit(X, y)
        self.found = f"{self.model.kernel_!r}, noise {self.model.noise_:.3g}"

    def predict(self, Xs):
        return self.model.predict(Xs, return_std=True)

    def forecast(self, Xs, y, answer):
        return Forecast.own(self.model, Xs, y, mean=answer[0])


def warm_up() -> None:
    small.warm_up({}, {"n_local": 0}, {"inference": "cg"})
