"""Optuna asks collegium where to evaluate next.

study = optuna.create_study(sampler=collegium.optuna.CommitteeSampler(seed=0))
study.optimize(objective, n_trials=60)
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import clone

from .committee.regressor import CommitteeRegressor
from .interface.checks.arguments import one_of, whole_number
from .numerics.libraries import library
from .optimise.suggesting import HOW, suggest

#: A model is fitted to all trials after every so many; those in between are added to it.
RELEARN = 5


class _Sampling:
    """Suggest parameters of a trial by expected improvement, from all completed trials.

    Parameters
    ----------
    model : regressor, default=None
        With `partial_fit`; copies are fitted. None: a `CommitteeRegressor`.
    how : {"ei", "ucb", "thompson"}, default="ei"
        As in `collegium.optimise.suggest`.
    n_startup_trials : int, default=None
        Random trials at the beginning. None: two per parameter, five at least.
    seed : int, default=None

    Notes
    -----
    Parameters that not all trials have (conditional ones) are drawn at random. Trials that run
    elsewhere count with their expected values, so that parallel workers look at different places.
    Studies of several objectives are refused.
    """

    def __init__(
        self, model: Any = None, *, how: str = "ei", n_startup_trials: int | None = None,
        seed: int | None = None,
    ):  # fmt: skip
        one_of(how, "how", HOW)
        if n_startup_trials is not None:
            whole_number(n_startup_trials, "n_startup_trials", least=0)
        samplers = _optuna("samplers")
        self.model, self.how, self.n_startup_trials = model, how, n_startup_trials
        self._rng = np.random.default_rng(seed)
        self._random = samplers.RandomSampler(seed=seed)
        self._fitted: tuple[Any, list[int], Any] | None = None

    def reseed_rng(self) -> None:
        """Draw a new seed, in workers that are copies of one process."""
        self._rng = np.random.default_rng()
        self._random.reseed_rng()

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:
        """Parameters that all completed trials have, and that have more than one value."""
        found = _optuna("search_space").intersection_search_space(study.get_trials(deepcopy=False))
        return {name: one for name, one in sorted(found.items()) if not one.single()}

    def sample_relative(self, study: Any, trial: Any, search_space: dict[str, Any]) -> dict:
        """The point where the model expects most, of the parameters in `search_space`."""
        if len(study.directions) > 1:
            raise ValueError("CommitteeSampler is for one objective, and the study has several")
        states = _optuna("trial").TrialState
        done = [one for one in _with(study, states.COMPLETE, search_space) if _finite(one)]
        first = self.n_startup_trials
        if not search_space or len(done) < (
            max(5, 2 * len(search_space)) if first is None else max(first, 1)
        ):
            return {}
        axes = {name: _Axis(one) for name, one in search_space.items()}
        model = self._model(axes, done)
        running = [
            one for one in _with(study, states.RUNNING, search_space) if one.number != trial.number
        ]
        if running:
            model, table = deepcopy(model), _table(axes, running)
            model.partial_fit(table, model.predict(table))
        largest = study.direction == _optuna("study").StudyDirection.MAXIMIZE
        bounds = {name: axis.bounds for name, axis in axes.items()}
        point = suggest(model, bounds, how=self.how, maximise=largest, random_state=self._rng)[0]
        return {name: axis.value(point[name]) for name, axis in axes.items()}

    def sample_independent(self, study: Any, trial: Any, name: str, distribution: Any) -> Any:
        """A random value."""
        return self._random.sample_independent(study, trial, name, distribution)

    def _model(self, axes: dict[str, _Axis], done: list[Any]) -> Any:
        """Fit to all trials, or add the new ones to the last fit while they are few."""
        space = {name: axis.distribution for name, axis in axes.items()}
        numbers = [one.number for one in done]
        if self._fitted is not None:
            own, known, last = self._fitted
            new = [one for one in done if one.number not in set(known)]
            kept = set(known) <= set(numbers)
            if own == space and kept and len(known) % RELEARN + len(new) < RELEARN:
                if new:
                    last.partial_fit(_table(axes, new), [one.value for one in new])
                self._fitted = own, numbers, last
                return last
        seed = int(self._rng.integers(2**31 - 1))
        model: Any = (
            CommitteeRegressor(random_state=seed) if self.model is None else clone(self.model)
        )
        model.fit(_table(axes, done), [one.value for one in done])
        self._fitted = space, numbers, model
        return model


class _Axis:
    """A distribution of Optuna as a column: logs of log scales, words of categories."""

    def __init__(self, distribution: Any):
        self.distribution = distribution
        self.choices = getattr(distribution, "choices", None)
        self.log = getattr(distribution, "log", False)
        self.step = getattr(distribution, "step", None)

    @property
    def bounds(self) -> Any:
        if self.choices is not None:
            return [str(k) for k in range(len(self.choices))]
        return self._column(self.distribution.low), self._column(self.distribution.high)

    def _column(self, value: float) -> float:
        return float(np.log(value)) if self.log else float(value)

    def told(self, value: Any) -> Any:
        """A value as the model has it."""
        if self.choices is None:
            return self._column(value)
        return str(self.distribution.to_internal_repr(value))

    def value(self, told: Any) -> Any:
        """A suggestion as Optuna has it: on the grid of steps, within the bounds."""
        if self.choices is not None:
            return self.choices[int(told)]
        low, high = self.distribution.low, self.distribution.high
        found = float(np.exp(told)) if self.log else float(told)
        if self.step is not None:
            found = low + self.step * round((found - low) / self.step)
        found = min(max(found, low), high)
        return int(found) if isinstance(low, int) else found


def _table(axes: dict[str, _Axis], trials: list[Any]) -> list[dict]:
    return [{name: axis.told(one.params[name]) for name, axis in axes.items()} for one in trials]


def _with(study: Any, state: Any, search_space: dict[str, Any]) -> list[Any]:
    """Trials of a state that have all parameters."""
    found = study.get_trials(deepcopy=False, states=(state,))
    return [one for one in found if set(search_space) <= set(one.params)]


def _finite(trial: Any) -> bool:
    return bool(np.isfinite(trial.value))


def _optuna(part: str) -> Any:
    return library(f"optuna.{part}", "optuna", "collegium.optuna")


def __getattr__(name: str) -> Any:
    """Make the class when it is first asked for: its base is Optuna's."""
    if name != "CommitteeSampler":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    base = _optuna("samplers").BaseSampler
    own = {"__doc__": _Sampling.__doc__, "__module__": __name__}
    found = globals()[name] = type(name, (_Sampling, base), own)
    return found
