"""Coverage, PIT and reliability are drawn as slow counting finds them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from collegium import CommitteeClassifier, CommitteeRegressor, plots
from collegium.diagnostics import coverage_of_levels, pit_histogram, predicted_rows
from collegium.plots import Predictions
from picture_cases import label


def normal(n, wide=1.0, seed=0):
    """Rows whose sd is one, predicted with another."""
    y = np.random.default_rng(seed).normal(size=n)
    half = 1.96 * wide * np.ones(n)
    return Predictions(y, 0.0 * y, -half, half, 0.95, n, "y", norm.cdf(y / wide))


def test_real_coverage_is_counted_interval_by_interval():
    found = normal(500, wide=0.7)
    levels = (0.9, 0.3, 0.5)
    ax = plots.calibration(found, levels=levels)
    drawn = label(ax, "real")
    for level, share in zip(*drawn.get_data()):
        z = 0.7 * norm.ppf(0.5 + 0.005 * level)
        assert_allclose(share, 100 * sum(-z <= y <= z for y in found.y) / 500)
    assert_allclose(drawn.get_xdata(), [30, 50, 90])
    assert_allclose(label(ax, "beyond chance").get_xdata(), [30, 50, 90])
    assert ax.get_title(loc="left").replace("\n", " ").startswith("90 % intervals hold")
    assert 20 < label(ax, "honest, within").get_paths()[0].vertices[:, 1].min() < 30


def test_honest_bars_are_near_the_diagonal_and_nothing_is_marked():
    ax = plots.calibration(normal(2_000))
    assert "beyond chance" not in ax.get_legend_handles_labels()[1]
    real = label(ax, "real")
    assert np.abs(real.get_ydata() - real.get_xdata()).max() < 4


def test_a_model_and_what_was_found_before_give_one_picture(one_column):
    model, X, y = one_column
    known = predicted_rows(model, X, y)
    each = [
        (model, X, y), (known,), (plots.predictions(model, X, y),),
        (coverage_of_levels(known.pit, plots.honesty.LEVELS),),
    ]  # fmt: skip
    drawn = [label(plots.calibration(*one), "real").get_data() for one in each]
    for other in drawn[1:]:
        assert_allclose(drawn[0], other)
    shares = [
        [bar.get_height() for bar in plots.pit(*one).patches[:12]]
        for one in [*each[:3], (pit_histogram(known.pit),)]
    ]
    for other in shares[1:]:
        assert_allclose(shares[0], other)


def test_heights_of_the_histogram_are_densities():
    found = normal(400, wide=2.0)
    ax = plots.pit(found, bins=8)
    heights = [bar.get_height() for bar in ax.patches[:8]]
    slowly = [8 * np.mean([k / 8 <= u < (k + 1) / 8 for u in found.pit]) for k in range(8)]
    assert_allclose(heights, slowly)
    assert heights[3] > 1.3 > heights[0]
    assert "7 of 8 bars beyond" in ax.get_title(loc="left")
    marked = [bool(bar.get_hatch()) for bar in ax.patches[:8]]
    assert marked[0] and marked[3]
    assert "flat, as it should be" in plots.pit(normal(400)).get_title(loc="left")


def test_a_million_rows_are_few_artists():
    found = normal(1_000_000)
    for ax in (plots.calibration(found), plots.pit(found)):
        assert len(ax.get_children()) < 60
        assert all(np.size(line.get_xdata()) < 100 for line in ax.lines)


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(-2, 2, 150), "place": rng.choice(["in", "out"], 150)})
    p = 1 / (1 + np.exp(-2 * X["x"] - (X["place"] == "in")))
    y = np.where(rng.uniform(size=150) < p, "yes", "no")
    return CommitteeClassifier(random_state=0).fit(X[:75], y[:75]), X[75:], y[75:]


def test_probabilities_are_compared_with_what_came_true(classes):
    model, X, y = classes
    ax = plots.calibration(model, X, y, bins=3)
    p = model.predict_proba(X)[:, 1]
    order = np.argsort(p)
    parts = np.array_split(order, 3)
    x, share = label(ax, "parts").get_data()
    assert_allclose(x, [100 * p[part].mean() for part in parts])
    assert_allclose(share, [100 * np.mean([y[i] == "yes" for i in part]) for part in parts])
    other = plots.calibration(model, X, y, bins=3, label="no")
    assert_allclose(label(other, "parts").get_xdata(), 100 - x[::-1])
    assert "of no (%)" in other.get_xlabel()


def test_counts_are_judged_by_randomised_positions():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 2, (200, 1))
    y = rng.poisson(np.exp(X[:, 0]))
    model = CommitteeRegressor(likelihood="poisson", random_state=0).fit(X[:100], y[:100])
    ax = plots.pit(model, X[100:], y[100:])
    u = predicted_rows(model, X[100:], y[100:]).pit
    heights = [bar.get_height() for bar in ax.patches[: pit_histogram(u).shares.size]]
    assert_allclose(heights, pit_histogram(u).shares * len(heights))


def test_what_makes_no_sense_is_refused(one_column, classes):
    model, X, y = one_column
    with pytest.raises(ValueError, match="give X and y"):
        plots.calibration(model)
    with pytest.raises(ValueError, match=r"q=\(0.5, 95\)|levels"):
        plots.calibration(model, X, y, levels=(0.5, 95))
    with pytest.raises(ValueError, match="bins=1"):
        plots.pit(model, X, y, bins=1)
    with pytest.raises(ValueError, match="no pit"):
        plots.pit(Predictions(y, y, y, y))
    with pytest.raises(ValueError, match="label='maybe'"):
        plots.calibration(*classes, label="maybe")
    with pytest.raises(ValueError, match="plots.calibration"):
        plots.pit(*classes)
    with pytest.raises(ValueError, match="plots.calibration"):
        plots.residuals(*classes)
