"""What estimators remember when they are asked to go on after their arguments or rows changed."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from collegium import AnswerTime, CommitteeClassifier, CommitteeRegressor
from collegium.kernels import Matern32

pytestmark = pytest.mark.filterwarnings("ignore::collegium.StreamWarning")
RNG = np.random.default_rng(4)
X = RNG.uniform(-2, 2, (400, 2))
COUNTS = RNG.poisson(np.exp(0.4 + 0.5 * X[:, 0]))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=400)
GIVEN = {"kernel": Matern32(0.7, [0.9, 1.4]), "learn": False, "random_state": 0}


@pytest.mark.parametrize("likelihood", ["student-t", "gaussian"])
@pytest.mark.parametrize("size", [90, 500])
def test_relearning_keeps_the_likelihood_of_the_fit(likelihood, size):
    """Counts and their exposures are no targets of another likelihood."""
    model = CommitteeRegressor(**GIVEN, likelihood="poisson", chunks=size, anchors=12)
    right = model.fit(X, COUNTS).predict(X[:9], return_std=True)
    with pytest.warns(UserWarning, match="likelihood"):
        model.set_params(likelihood=likelihood)
    for found, expected in zip(model.relearn().predict(X[:9], return_std=True), right):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_relearning_keeps_gaussian_noise():
    model = CommitteeRegressor(**GIVEN, noise=0.02, chunks=90, anchors=12).fit(X, Y)
    right = model.predict(X[:9])
    with pytest.warns(UserWarning, match="likelihood"):
        model.set_params(likelihood="student-t")
    np.testing.assert_allclose(model.relearn().predict(X[:9]), right, rtol=1e-12)


def test_a_time_for_answers_needs_rows_in_a_stream_too():
    model = CommitteeRegressor(**GIVEN, noise=0.02, chunks=90, anchors=12, n_local=0)
    model.fit(X, Y).set_params(n_local=AnswerTime(1e9))
    before = model.model_
    with pytest.raises(ValueError, match="means nothing"):
        model.partial_fit(X[:50], Y[:50])
    assert model.model_ is before


def test_a_stream_of_equal_rows_notes_the_classes_that_it_learnt_from():
    """Six distinct rows: their number does not grow, the shares of the classes change."""
    rng = np.random.default_rng(0)
    model = CommitteeClassifier(random_state=0)
    for share in [0.9] * 3 + [0.1] * 5:
        x = (np.arange(200.0) % 6)[:, None]
        model.partial_fit(x, rng.random(200) < share, classes=[False, True])
    total = model.class_count_ / model.class_count_.sum()
    learnt = model.learnt_count_ / model.learnt_count_.sum()
    assert np.abs(total - learnt).max() <= 0.25  # else it would have been relearnt


def test_a_chunk_of_classes_without_weight_keeps_its_id():
    y = (X[:, 0] > 0).astype(int)
    model = CommitteeClassifier(**GIVEN, chunks=90, anchors=12, class_weight={2: 0.0})
    model.partial_fit(X, y, classes=[0, 1, 2], chunk_id="a")
    before = model.predict_proba(X[:9])
    model.partial_fit(X[:20], np.full(20, 2), chunk_id="zz")
    assert model.chunk_ids_ == ["a", "zz"]
    assert_array_equal(model.predict_proba(X[:9]), before)
    with pytest.raises(ValueError, match="was learnt already"):
        model.partial_fit(X[:20], np.full(20, 2), chunk_id="zz")


def test_a_stream_of_labels_is_on_disk_once_there_are_enough_rows(tmp_path):
    y = (X[:, 0] > 0).astype(int)
    model = CommitteeClassifier(store=tmp_path / "s.rows", chunks=200, random_state=0)
    for part in np.array_split(np.arange(400), 4):
        model.partial_fit(X[part], y[part], classes=[0, 1])
        assert (model.model_.stored is not None) == (part[-1] >= 199)
