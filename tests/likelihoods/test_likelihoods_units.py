"""Units in which likelihoods see y."""

from dataclasses import replace

import numpy as np
from likelihood_cases import (
    every_scalar,
)
from numpy.testing import assert_allclose

from collegium.likelihoods.conformance import examples


@every_scalar
def test_units_go_back_and_forth(likelihood):
    y, _ = examples(likelihood)
    w = np.linspace(0.5, 2.0, len(y))
    columns = [y]
    if likelihood.takes_exposure:
        columns.append(np.linspace(0.2, 3.0, len(y))[:, None])
    y = np.hstack(columns)
    units = likelihood.units(y, w)
    assert_allclose(units.backward(units.forward(y)), y, rtol=1e-13, atol=1e-13)
    likelihood.check(units.forward(y))
    if likelihood.takes_exposure:  # f = 0 is the mean rate
        seen = units.forward(y)
        assert_allclose(w @ seen[:, 0], w @ seen[:, 1], rtol=1e-12)
        assert (
            units.exposed
            and not likelihood.units(np.hstack([y[:, :1], 1 + 0 * y[:, 1:]]), w).exposed
        )
    f = np.linspace(-1.0, 1.0, len(y))
    same = likelihood.log_density(
        y, units.scaling.mean(f) if likelihood.identity else f + units.shift
    )
    seen = replace(likelihood, **seen_noise(likelihood, units)).log_density(units.forward(y), f)
    assert_allclose(seen, same + np.log(units.scaling.scale[0]), rtol=1e-11)


def seen_noise(likelihood, units):
    noise = getattr(likelihood, "noise", None)
    return {} if noise is None else {"noise": noise / units.square}
