"""A slow curve beside a bend: its variance is an average by evidence."""

import numpy as np
from numpy.testing import assert_allclose

from collegium.learning.seasons.slow import slow_curve
from collegium.learning.tuning import TUNING
from collegium.rows.rows import Rows


def test_the_variance_is_averaged_and_the_length_is_the_likeliest():
    n, tuning = 80, TUNING.slow
    rows = Rows(np.arange(float(n))[:, None], np.zeros((n, 1)), np.ones(n))
    variances = np.geomspace(*tuning.variances, tuning.steps)
    best = tuning.lengths[-1] * (n - 1.0)

    def value(curve, some):
        far = abs(float(curve.kernel.length_scale[0]) - best) / n
        return -0.8 * (np.log(float(curve.kernel.variance)) - np.log(variances[2])) ** 2 - far

    found = slow_curve(rows, 0, value)
    weight = np.exp(-0.8 * (np.log(variances) - np.log(variances[2])) ** 2)
    assert_allclose(found.kernel.variance, weight @ variances / weight.sum(), rtol=1e-10)
    assert_allclose(found.kernel.length_scale, best)
    assert abs(found.kernel.variance / variances[2] - 1.0) > 0.05
