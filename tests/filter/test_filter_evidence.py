"""Evidence of a filter and its gradient; learning from sums."""

import numpy as np
import pytest
from filter_cases import (
    BOX,
    KERNELS,
    data,
    model_of,
)
from numpy.testing import assert_allclose

from collegium.filter.bases import (
    GaussianBumps,
    LinearSplines,
    RandomFourier,
)
from collegium.filter.densities import Empirical, NormalInputs
from collegium.filter.evidence import FilterEvidence, relearnt
from collegium.filter.model import FilterModel, LinearPart, Posterior
from collegium.filter.rules import Panels
from collegium.filter.sums import Sums
from collegium.kernels import (
    RBF,
    Constant,
    Matern12,
)
from collegium.kernels import Linear as LinearKernel
from collegium.learning.optimise import Scales

BUMPS = GaussianBumps(np.linspace(-2, 3, 9)[:, None], np.array([0.9]))


def test_the_gradient_of_a_sum_on_panels():
    X, Y = data(50)
    kernel = RBF(1.3, np.array([0.8])) + Matern12(0.4, np.array([1.7]))
    model = model_of(kernel, 0.15, LinearSplines((np.linspace(-2, 3, 12),)), BOX)
    evidence = FilterEvidence(model, model.add(Sums.start(model.k), X, Y, np.ones(50)))
    assert isinstance(model.projection.rule, Panels)
    _, gradient = evidence(kernel, 0.15)
    for i in range(4):
        step = 1e-4 * np.eye(4)[i]
        up, down = (evidence(kernel.with_theta(kernel.theta + s), 0.15)[0] for s in (step, -step))
        assert_allclose(gradient[i], (up - down) / 2e-4, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize(("basis", "density"), [
    (LinearSplines((np.linspace(-2, 3, 12),)), BOX),
    (BUMPS, NormalInputs(np.zeros(1), np.ones(1))),
    (RandomFourier(np.array([[0.3], [0.9], [1.6], [2.4]])), NormalInputs([0.2], [1.0])),
    (BUMPS, Empirical(data(70)[0])),
], ids=["panels", "closed", "waves", "nodes"])  # fmt: skip
def test_evidence_and_its_gradient(basis, density, linear):
    """Against a five-point stencil of step h.

    The evidence reads S = EᵀCE, |E|² ≤ 1/(cut·|H|), through ∂/∂S of the size of its data term's,
    pn/2σ²: rounding of C moves it by δ = (pn/2σ²)·ε/cut, and the stencil by 3δ/2h. With
    cut = 1e-5 and h = 3e-3 that is 4e-6; what the stencil leaves out (h⁴/30 of a fifth
    derivative that was seen to be 6e4) is 2e-7.
    """
    X, Y = data(50, p=2)
    lines = LinearPart(X.mean(axis=0), X.std(axis=0), sd=0.8) if linear else None
    kernel, noise, cut, h = RBF(1.3, np.array([0.8])), 0.15, 1e-5, 3e-3
    model = FilterModel.of(kernel, noise, basis, density, lines, cut)
    sums = model.add(Sums.start(model.k, 2), X, Y, np.ones(50))
    evidence = FilterEvidence(model, sums)
    value, gradient = evidence(kernel, noise)
    assert_allclose(value, Posterior.of(model, sums).log_evidence.sum(), rtol=1e-7)
    point = np.append(kernel.theta, np.log(noise))
    rounding = 2 * 50 / (2 * noise) * np.finfo(float).eps / cut * 1.5 / h

    def along(i: int, t: float) -> float:
        moved = point + t * np.eye(3)[i]
        return evidence(kernel.with_theta(moved[:2]), float(np.exp(moved[2])))[0]

    for i in range(3):
        near, far = (along(i, t) - along(i, -t) for t in (h, 2 * h))
        assert_allclose(gradient[i], (8 * near - far) / (12 * h), rtol=0, atol=rounding)


@pytest.mark.parametrize("kernel", [*KERNELS, Constant(0.4) + LinearKernel(1.2)], ids=str)
def test_the_misfit_is_the_mean_of_what_the_basis_leaves_open(kernel):
    basis = LinearSplines((np.linspace(-2, 3, 7),))
    model = FilterModel.of(kernel, 0.1, basis, BOX, None, 1e-11, misfit=True)
    x = -2.0 + 5.0 * (np.arange(2_000)[:, None] + 0.5) / 2_000
    assert_allclose(model.misfit, model.conditional(x)[1].mean(), rtol=5e-3, atol=1e-8)
    assert_allclose(model.row_noise, 0.1 + model.misfit)
    same = model.with_row_noise(kernel, model.row_noise)
    assert_allclose([same.noise, same.row_noise], [model.noise, model.row_noise])
    least = model.with_row_noise(kernel, 0.0)  # less than the misfit alone
    assert 0.0 < least.noise < 1e-8


def test_learning_does_not_depend_on_the_units_of_y():
    X, Y = data(200)
    found = []
    for unit in (1.0, 1e4):
        kernel = RBF(unit**2, np.array([0.8]))
        model = FilterModel.of(kernel, 0.1 * unit**2, BUMPS, BOX, None, 1e-9, misfit=True)
        sums = model.add(Sums.start(model.k), X, unit * Y, np.ones(200))
        learnt = relearnt(model, sums, Scales.of(X))
        found.append([learnt.kernel.variance / unit**2, learnt.noise / unit**2])
        assert Posterior.of(learnt, sums).log_evidence > Posterior.of(model, sums).log_evidence
    assert_allclose(*found, rtol=1e-3)
