"""One of every likelihood in the registry, with nothing at its default."""

from dataclasses import fields

import numpy as np
import pytest

from collegium.likelihoods import Observation, Scalar


def at_random(cls):
    """A likelihood of this class with nothing at its default."""
    rng = np.random.default_rng([*cls.__name__.encode()])
    given = {f.name: f.default for f in fields(cls) if f.name != "fixed"}
    return cls(**{n: v + 1 if isinstance(v, int) else v * rng.uniform(1.1, 1.6) for n, v in
                  given.items()})  # fmt: skip


ALL = {cls.__name__: at_random(cls) for cls in Observation.registry}


every = pytest.mark.parametrize("likelihood", ALL.values(), ids=ALL.keys())


every_scalar = pytest.mark.parametrize(
    "likelihood",
    [one for one in ALL.values() if isinstance(one, Scalar)],
    ids=[name for name, one in ALL.items() if isinstance(one, Scalar)],
)
