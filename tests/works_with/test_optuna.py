"""Optuna: suggestions are those of `suggest`, in the terms of the study."""

import numpy as np
import pytest

optuna = pytest.importorskip("optuna")

import collegium.optuna  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.WARNING)


def bowl(trial):
    x = trial.suggest_float("x", -3.0, 3.0)
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    return (x - 1.0) ** 2 + (np.log10(rate) + 2.0) ** 2


def study_of(objective, trials, direction="minimize", **arguments):
    sampler = collegium.optuna.CommitteeSampler(seed=4, **arguments)
    study = optuna.create_study(sampler=sampler, direction=direction)
    study.optimize(objective, n_trials=trials)
    return study


def test_a_smooth_function_is_minimised_far_better_than_by_chance():
    found = study_of(bowl, 22).best_value
    random = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=4))
    random.optimize(bowl, n_trials=60)
    assert 10 * found < random.best_value


def test_the_same_seed_gives_the_same_trials():
    first, second = (study_of(bowl, 8) for _ in range(2))
    assert [t.params for t in first.trials] == [t.params for t in second.trials]


def test_values_keep_their_types_and_grids():
    def objective(trial):
        layers = trial.suggest_int("layers", 1, 9, step=2)
        width = trial.suggest_int("width", 4, 512, log=True)
        share = trial.suggest_float("share", 0.1, 0.9, step=0.2)
        kind = trial.suggest_categorical("kind", ["relu", None, 3, True])
        assert type(layers) is int and layers % 2 == 1 and type(width) is int
        assert min(abs(share - np.array([0.1, 0.3, 0.5, 0.7, 0.9]))) < 1e-9
        return layers - np.log(width) + share + (kind is None)

    study = study_of(objective, 12, direction="maximize", n_startup_trials=5)
    assert len(study.trials) == 12 and all(t.state.name == "COMPLETE" for t in study.trials)


def test_running_trials_keep_others_away():
    study = study_of(bowl, 6, n_startup_trials=5)
    one, two = study.ask(), study.ask()
    bowl(one), bowl(two)
    assert (
        abs(one.params["x"] - two.params["x"])
        + abs(np.log10(one.params["rate"]) - np.log10(two.params["rate"]))
        > 1e-3
    )


def test_several_objectives_are_refused():
    sampler = collegium.optuna.CommitteeSampler(seed=0, n_startup_trials=0)
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
    for _ in range(2):
        study.add_trial(optuna.trial.create_trial(
            params={"x": 0.5}, distributions={"x": optuna.distributions.FloatDistribution(0, 1)},
            values=[0.0, 1.0],
        ))  # fmt: skip
    with pytest.raises(ValueError, match="one objective"):
        study.ask().suggest_float("x", 0, 1)


def test_a_missing_library_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "optuna.samplers", None)
    with pytest.raises(ImportError, match=r"pip install 'collegium\[optuna\]'"):
        collegium.optuna._Sampling()


@pytest.mark.parametrize(
    ("given", "word"),
    [({"how": "lcb"}, "how='lcb'"), ({"n_startup_trials": "x"}, "n_startup_trials")],
)
def test_bad_arguments_are_named_before_the_study(given, word):
    with pytest.raises(ValueError, match=word):
        collegium.optuna.CommitteeSampler(**given)
