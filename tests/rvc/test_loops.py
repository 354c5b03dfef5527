"""Experts that learn row by row, against slow code."""

import numpy as np
import pytest
import reference_rvc as slow
from numpy.testing import assert_allclose
from reference_rvc import of_expert, of_posterior, rows
from rvc_cases import BOTH, DIMENSIONS, one_expert

from collegium.rvc import batch

FIELDS = ("mu", "S", "a", "b", "c", "d")


SLOW_ROW = {False: slow.published_row, True: slow.local_row}


@BOTH
@DIMENSIONS
@pytest.mark.parametrize("sweeps, forgetting", [(1, 1.0), (3, 1.0), (2, 0.8)])
def test_rows_are_learnt_as_slowly(local, d, sweeps, forgetting):
    committee = one_expert(d, local, sweeps=sweeps, forgetting=forgetting)
    X, y, w = rows(d, 25, seed=3)
    x = slow.inputs(X, committee.experts.centres[0], committee.assumed.unit)
    prior = p = of_expert(committee.experts, 0)
    assert_allclose(p["S"], np.diag(committee.assumed.prior_variance()))
    for i in range(y.size):
        K = slow.locality(x[i]) if local else 1.0
        if local and K < 1e-4:
            continue
        p = slow.faded(p, prior, forgetting ** (w[i] * K))
        more = {"prior_of_all": prior} if local and forgetting < 1 else {}
        p = SLOW_ROW[local](x[i], y[i], w[i], p, sweeps, **more)
        after, *_ = committee.add(X[: i + 1], y[: i + 1], w[: i + 1])
        for key in FIELDS:
            found = of_expert(after.experts, 0)[key]
            assert_allclose(found, p[key], rtol=1e-7, atol=1e-9, err_msg=key)
    total = np.sum(w * ([slow.locality(z) for z in x] if local else 1.0))
    assert_allclose(after.experts.seen[0], total, rtol=1e-3)


@DIMENSIONS
def test_published_batch_of_one_row_is_the_row(d):
    committee = one_expert(d, False)
    X, y, w = rows(d, 1)
    used = batch.ExpertRows.of(X, y, w, committee.experts.centres[0], committee.assumed)
    prior = batch.ExpertPrior.of(committee.assumed, committee.experts.start[0])
    q = batch.published_sweep(used, prior, prior.posterior(False))
    found = of_expert(committee.add(X, y, w)[0].experts, 0)
    for key in FIELDS:
        assert_allclose(found[key], of_posterior(q)[key], rtol=1e-12)


@DIMENSIONS
def test_local_variances_move_along_the_gradient_of_the_density(d):
    """Δd − sΔc = s ∂/∂log s of K log N(e | 0, v), and so for 1/⟨h_j⟩."""
    committee = one_expert(d, True)
    for i, (row, y, w) in enumerate(zip(*rows(d, 6, seed=1), strict=True)):
        p = of_expert(committee.experts, 0)
        committee, *_ = committee.add(row[None], np.array([y]), np.array([w]))
        after = of_expert(committee.experts, 0)
        x = slow.inputs(row[None], committee.experts.centres[0], committee.assumed.unit)[0]
        logs = np.log(np.append(p["d"] / p["c"], p["b"] / p["a"]))

        def density(logs, x=x, y=y, w=w, p=p):
            return slow.local_log_density(x, y, w, p, logs[0], logs[1:])

        h = 1e-5 * np.eye(d + 2)
        slope = [(density(logs + t) - density(logs - t)) / 2e-5 for t in h]
        step = [np.append(after[k], after[j]) - np.append(p[k], p[j]) for k, j in ("db", "ca")]
        assert_allclose(step[0] / np.exp(logs) - step[1], slope, rtol=1e-5, atol=1e-8)
        assert np.all(step[1] > 0), i


def test_many_rows_with_hardly_any_noise_leave_covariances_positive():
    committee = one_expert(3, True)
    X = 0.3 * np.random.default_rng(0).standard_normal((100_000, 3))
    after, mean, variance = committee.add(X, X @ [1.0, -2.0, 0.5] + 0.7, np.ones(100_000))
    spread = np.linalg.eigvalsh(after.experts.covariance()[0])
    assert 0 < spread.min() < spread.max() < 1e-7
    assert variance.min() > 0
    assert_allclose(after.experts.mu[0, :3] / committee.assumed.unit, [1.0, -2.0, 0.5], atol=1e-4)
