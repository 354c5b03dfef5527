"""Models without a fold of their rows are those of the other rows, under the same prior."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from collegium import CommitteeRegressor
from collegium.pipeline.checks.folds import held_out_folds
from collegium.pipeline.tuning import TUNING
from estimator_cases import GIVEN, KERNEL, NOISE, committee, queries, rows


def all_folds(model):
    return held_out_folds(model.model_, model._engine())


@pytest.mark.parametrize("variant", ["exact", "local"])
def test_every_row_is_in_one_fold_and_not_in_its_model(variant):
    X, y = rows(97)
    model = committee(variant, **GIVEN).fit(X, y)
    found = all_folds(model)
    assert len(found) == TUNING.checking.folds
    held = np.concatenate([fold.rows.X for fold in found])
    assert_array_equal(np.unique(held, axis=0), np.unique(X, axis=0))
    for fold in found:
        left = fold.model.committee.rows().X
        assert len(left) + len(fold.rows.X) == 97
        assert not (left[:, None] == fold.rows.X[None]).all(axis=2).any()


def test_answers_are_those_of_the_gaussian_process_of_the_other_rows():
    """m = c + k(K + σ²I)⁻¹(y − c), with the centre c of all rows."""
    X, y = rows(60)
    model = committee(**GIVEN).fit(X, y)
    centre = model.scaling_.centre[0]
    for fold in all_folds(model)[:3]:
        stay = ~(X[:, None] == fold.rows.X[None]).all(axis=2).any(axis=1)
        K = KERNEL.value(X[stay], X[stay]) + NOISE * np.eye(int(stay.sum()))
        slow = centre + KERNEL.value(queries(), X[stay]) @ np.linalg.solve(K, y[stay] - centre)
        mean, _ = fold.asking()(queries()).moments("observation")
        assert_allclose(mean[:, 0], slow, rtol=1e-8)
        assert_array_equal(np.sort(fold.rows.y[:, 0]), np.sort(y[~stay]))


def test_messages_are_those_of_a_model_that_never_saw_the_fold():
    """With one row in a chunk leaving out rows is forgetting chunks, to the last bit."""
    X, y = rows(40)
    model = CommitteeRegressor(**GIVEN, chunks=np.arange(40), anchors=X[:7], n_local=9).fit(X, y)
    for fold in all_folds(model)[:3]:
        gone = np.flatnonzero((X[:, None] == fold.rows.X[None]).all(axis=2).any(axis=1))
        other = CommitteeRegressor(**GIVEN, chunks=np.arange(40), anchors=X[:7], n_local=9)
        other.fit(X, y).forget(gone.tolist())
        assert_array_equal(fold.model.committee.belief.mean, other.model_.committee.belief.mean)
        mean, _ = fold.asking()(queries()).moments("observation")
        assert_allclose(mean[:, 0], other.predict(queries()), rtol=1e-12)


def test_groups_of_rows_are_left_out_as_a_whole():
    X, y = rows(80)
    group = np.arange(80) % 16
    model = CommitteeRegressor(KERNEL, chunks=20, anchors=6, n_local=9)
    model.fit(X, y, groups=group)
    for fold in all_folds(model):
        held = (X[:, None] == fold.rows.X[None]).all(axis=2).any(axis=1)
        assert not set(group[held]) & set(group[~held])
