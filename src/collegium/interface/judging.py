"""Compare a regressor with rows whose y is known, from one prediction of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..answers.answers import OBSERVATION
from ..numerics.threads import single_threaded
from .turns import as_it_is

Array = np.ndarray


def known_answers(model: Any, X: Any, y: Array, exposure: Any) -> tuple[Array, ...]:
    """Mean, standard deviation, P(Y ≤ y) and log density of rows of one output  (n,) each.

    As `predict`, `cdf` and `log_density` have them, which would predict the rows once each.
    """
    answers, seen = as_it_is(model)._answers_and_targets(X, y, exposure, None)
    with single_threaded():
        mean, sd = answers.moments(OBSERVATION)
        found = (mean, sd, answers.distribution(seen), answers.log_density(seen))
    return tuple(one[:, 0] for one in found)
